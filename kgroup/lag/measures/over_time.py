"""Groups' lag over time, assembled from their positions in each window.

Where a partition's own log says how long it was, a lag is known. Where it does not, what all groups committed
says how long it was at least: whoever commits an offset has read the record before it. So the lag was no
less than the way to the furthest of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kgroup.protocol.topic_partition import TopicPartition


class PastOffset(NamedTuple):
    """The position of a group in a partition at the end of a window (from 0 on); `lag` is None if unknown."""

    group: str
    topic: str
    partition: int
    window: int
    current_offset: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class LagLine:
    """Lags by window, None before the first commit and after offsets were deleted.

    `at_least` says of each whether it may have been more; of None, that there was a commit, and no more.
    """

    lags: tuple[int | None, ...]
    at_least: tuple[bool, ...]

    @property
    def peak(self) -> int:
        """The largest of them, 0 if there is none."""
        return max((lag for lag in self.lags if lag is not None), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLags:
    """A group's lag over time, all its partitions together, and each of them by topic and partition."""

    group: str
    total: LagLine
    partitions: Mapping[TopicPartition, LagLine]


def lag_over_time(
    offsets: Iterable[PastOffset], windows: int, ends_now: Mapping[TopicPartition, int | None]
) -> list[GroupLags]:
    """The lags of all groups, by group; `offsets` may come in any order.

    An offset beyond the end that a log has now proves nothing, and neither does any where that is unknown.
    """
    by_group: dict[str, dict[TopicPartition, _Known]] = {}
    furthest: dict[TopicPartition, list[int]] = {}
    for past in offsets:
        partition = past.topic, past.partition
        of_group = by_group.setdefault(past.group, {})
        if partition not in of_group:
            of_group[partition] = _Known.of(windows)
        of_group[partition].offsets[past.window] = past.current_offset
        of_group[partition].lags[past.window] = past.lag
        end = ends_now.get(partition)
        if end is not None and past.current_offset <= end:
            reached = furthest.setdefault(partition, [-1] * windows)
            reached[past.window] = max(reached[past.window], past.current_offset)
    for reached in furthest.values():
        for window in range(1, windows):
            reached[window] = max(reached[window], reached[window - 1])
    return [
        _group_lags(
            group,
            {partition: lags.line(furthest.get(partition)) for partition, lags in sorted(places.items())},
        )
        for group, places in sorted(by_group.items())
    ]


@dataclass(slots=True)
class _Known:
    """Known offsets and lags of one group and partition, by window."""

    offsets: list[int | None] = field(default_factory=list)
    lags: list[int | None] = field(default_factory=list)

    @classmethod
    def of(cls, windows: int) -> "_Known":
        return cls([None] * windows, [None] * windows)

    def line(self, furthest: list[int] | None) -> LagLine:
        lags: list[int | None] = []
        at_least: list[bool] = []
        for window, (offset, lag) in enumerate(zip(self.offsets, self.lags, strict=True)):
            proven = None if offset is None or furthest is None else furthest[window] - offset
            lags.append(_not_negative(proven if lag is None else lag))
            at_least.append(lag is None and offset is not None)
        return LagLine(tuple(lags), tuple(at_least))


def _group_lags(group: str, lines: Mapping[TopicPartition, LagLine]) -> GroupLags:
    windows = len(next(iter(lines.values())).lags)
    lags: list[int | None] = []
    at_least: list[bool] = []
    for window in range(windows):
        with_lag = [line for line in lines.values() if line.lags[window] is not None]
        lags.append(sum(line.lags[window] or 0 for line in with_lag) if with_lag else None)
        at_least.append(any(line.at_least[window] for line in lines.values()))
    return GroupLags(group=group, total=LagLine(tuple(lags), tuple(at_least)), partitions=lines)


def _not_negative(lag: int | None) -> int | None:
    return None if lag is None else max(lag, 0)
