"""How fast a partition is written and read, whether the lag grows, and when it will be gone."""

from dataclasses import dataclass

from kgroup.group.commit_window import CommitWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRates:
    """Records per second over the window; None where two readings at different times are wanting.

    `drain_ms` is how long the lag takes to be gone if both go on so: 0 if there is none, None if it never
    will be or if that is unknown.
    """

    written_per_s: float | None
    read_per_s: float | None
    growth_per_s: float | None
    drain_ms: int | None


def lag_rates(window: CommitWindow, end_offset: int) -> LagRates:
    """The rates of a partition whose log ends at `end_offset`."""
    written = _slope([(head.timestamp, head.offset) for head in window.heads if head.timestamp is not None])
    read = _slope([(commit.timestamp, commit.offset) for commit in window.commits])
    growth = written - read if written is not None and read is not None else None
    return LagRates(
        written_per_s=written,
        read_per_s=read,
        growth_per_s=growth,
        drain_ms=_drain_ms(window.lag(end_offset), growth) if window.commits else None,
    )


def _slope(readings: list[tuple[int, int]]) -> float | None:
    """Records per second from the first (ms, offset) to the last; None unless time passed between them."""
    if not readings or readings[-1][0] <= readings[0][0]:
        return None
    (first_ms, first), (last_ms, last) = readings[0], readings[-1]
    return (last - first) * 1000 / (last_ms - first_ms)


def _drain_ms(lag: int, growth_per_s: float | None) -> int | None:
    if lag == 0:
        return 0
    if growth_per_s is None or growth_per_s >= 0:
        return None
    return round(lag * 1000 / -growth_per_s)
