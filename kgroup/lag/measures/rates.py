"""Rates at which a partition is written and read, whether the lag grows, and when it will be gone."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgroup.lag.status.window import CommitWindow

_Reading = tuple[int, int]
"""Epoch ms, and the offset that was seen then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRates:
    """Records per second over the window; None where two readings at different times are wanting.

    `drain_ms` is how long the lag takes to be gone at these rates: 0 if there is none, None if it never
    will be or if that is unknown.
    """

    written_per_s: float | None
    read_per_s: float | None
    growth_per_s: float | None
    drain_ms: int | None

    def fields(self) -> dict[str, float | int | None]:
        """All of them by name."""
        return {name: getattr(self, name) for name in self.__slots__}


def lag_rates(window: CommitWindow, end_offset: int) -> LagRates:
    """The rates of a partition whose log ends at `end_offset`.

    Both are taken over the same time, from when both were first seen up to the newest reading of either: else
    a group that stopped an hour ago would still read as it did then.
    """
    heads = [(head.timestamp, head.offset) for head in window.heads if head.timestamp is not None]
    commits = [(commit.timestamp, commit.offset) for commit in window.commits]
    if len(heads) < 2 or len(commits) < 2:
        return LagRates(
            written_per_s=_rate(heads, heads),
            read_per_s=_rate(commits, commits),
            growth_per_s=None,
            drain_ms=_drain_ms(window.lag(end_offset), None) if commits else None,
        )
    written, read = _rate(heads, commits), _rate(commits, heads)
    growth = None if written is None or read is None else written - read
    return LagRates(
        written_per_s=written,
        read_per_s=read,
        growth_per_s=growth,
        drain_ms=_drain_ms(window.lag(end_offset), growth),
    )


def _rate(readings: Sequence[_Reading], others: Sequence[_Reading]) -> float | None:
    """Records per second of `readings` over the time that they and the `others` have together."""
    if len(readings) < 2:
        return None
    since_ms, until_ms = max(readings[0][0], others[0][0]), max(readings[-1][0], others[-1][0])
    if until_ms <= since_ms:
        return None
    # Offsets stay where they are until the next reading; times may go back, as clocks do.
    first = next((offset for time_ms, offset in reversed(readings) if time_ms <= since_ms), readings[0][1])
    return (readings[-1][1] - first) * 1000 / (until_ms - since_ms)


def _drain_ms(lag: int, growth_per_s: float | None) -> int | None:
    if lag == 0:
        return 0
    if growth_per_s is None or growth_per_s >= 0:
        return None
    return round(lag * 1000 / -growth_per_s)
