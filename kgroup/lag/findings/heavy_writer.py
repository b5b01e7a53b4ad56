"""A group that fills most of the offsets topic, and what another commit interval would save."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.durations import lasting
from kgroup.lag.findings.text import counted

_SHARE_MIN: Final = 0.5
_RUN_MS_MIN: Final = 60_000
"""In less time a group that has just begun, or closes, writes most of what there is."""
_RECORDS_PER_S_MIN: Final = 1.0
"""A record a second is 86,400 a day: below that a broker has no work with it, whatever the share."""
DEFAULT_INTERVAL_MS: Final = 5000
"""auto.commit.interval.ms of Kafka's consumer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """A group's write rate, measured in `run_ms` at the log's end, where nothing has been compacted yet.

    `commits` of its records, for `keys` partitions, take `commit_bytes` of the bytes.
    """

    group: str
    run_ms: int
    records: int
    commits: int
    keys: int
    commit_bytes: int
    bytes: int

    @property
    def bytes_per_s(self) -> float:
        """Bytes in a second."""
        return self.bytes * 1000 / self.run_ms

    @property
    def commit_interval_ms(self) -> int | None:
        """The average time between commits of a partition; None if no partition was committed twice."""
        if self.commits <= self.keys or not self.keys:
            return None
        return round(self.run_ms * self.keys / (self.commits - self.keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyWriter:
    """A group that writes at least half of the bytes. `left` is the share of its bytes that commits every
    5 seconds would leave, None where the interval is not what does it.
    """

    group: str
    share: float
    interval_ms: int | None
    left: float | None
    text: str


def heavy_writer(writing: Sequence[Writing]) -> HeavyWriter | None:
    """The one group, if there is one, that fills the topic."""
    if len(writing) < 2:
        return None
    whole = sum(each.bytes_per_s for each in writing)
    first = max(writing, key=lambda each: (each.bytes_per_s, each.group))
    share = first.bytes_per_s / whole
    if (
        share < _SHARE_MIN
        or first.run_ms < _RUN_MS_MIN
        or first.records * 1000 / first.run_ms < _RECORDS_PER_S_MIN
    ):
        return None
    evidence = f"{first.group} writes {share:.0%} of the bytes, {first.bytes_per_s:,.0f} B/s"
    interval_ms, commit_share = first.commit_interval_ms, first.commit_bytes / first.bytes
    left = None
    if commit_share < _SHARE_MIN:
        what = "mostly records of the group and its members, so it rebalances: see kgroup replay"
    elif interval_ms is None or interval_ms >= DEFAULT_INTERVAL_MS:
        every = "" if interval_ms is None else f", each every {lasting(interval_ms)}"
        what = f"it commits {counted(first.keys, 'partition')}{every}; only fewer commits make it less"
    else:
        left = 1 - commit_share * (1 - interval_ms / DEFAULT_INTERVAL_MS)
        what = (
            f"it commits {counted(first.keys, 'partition')} every {lasting(interval_ms)} each; a commit every"
            f" 5s, the default of auto.commit.interval.ms, would leave {left:.0%} of that"
        )
    return HeavyWriter(
        group=first.group, share=share, interval_ms=interval_ms, left=left, text=f"{evidence}: {what}"
    )
