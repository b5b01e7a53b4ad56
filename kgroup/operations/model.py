"""The values that a change of offsets is planned with."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kgroup.protocol.topic_partition import TopicPartition


class Position(NamedTuple):
    """A committed offset as its request has it; a leader epoch of -1 is none."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionLimits:
    """The first offset that a log still has, and its high watermark: where its next record goes."""

    log_start: int
    log_end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffsets:
    """A group's commits before a change. `unstable` are partitions that an open transaction is to commit."""

    group: str
    commits: Mapping[TopicPartition, Position] = field(default_factory=dict)
    unstable: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The position that a partition is to get, None for no commit at all; `why` is worth a warning."""

    position: Position | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One partition's commit before and after; None is no commit."""

    group: str
    topic: str
    partition: int
    old: Position | None
    new: Position | None

    @property
    def place(self) -> TopicPartition:
        """The partition."""
        return self.topic, self.partition

    @property
    def records(self) -> int | None:
        """Offsets from the old to the new position, negative for going back; None if one is missing."""
        if self.old is None or self.new is None:
            return None
        return self.new.offset - self.old.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """A change with what is known about it.

    `time_ms` is how much log lies between the two positions by the time of the records there: negative for
    going back, None if unknown. `limits` is None where the log was not asked.
    """

    change: Change
    limits: PartitionLimits | None = None
    time_ms: int | None = None
    notes: tuple[str, ...] = ()
    others: tuple[tuple[str, int], ...] = ()
    """Where other groups stand on this partition, if that was asked for: their committed offsets by name."""

    @property
    def again(self) -> int:
        """Records that will be read a second time: offsets back, as far as the log has them."""
        change = self.change
        if change.old is None or change.new is None:
            return 0
        begin, end = change.new.offset, change.old.offset
        if self.limits is not None:
            begin, end = max(begin, self.limits.log_start), min(end, self.limits.log_end)
        return max(end - begin, 0)

    @property
    def skipped(self) -> int:
        """Records that will not be read: offsets forward, as far as the log still has them."""
        change = self.change
        if change.old is None or change.new is None:
            return 0
        begin, end = change.old.offset, change.new.offset
        if self.limits is not None:
            begin, end = max(begin, self.limits.log_start), min(end, self.limits.log_end)
        return max(end - begin, 0)

    @property
    def lag(self) -> int | None:
        """Offsets from the new position to the log's end, None without either."""
        if self.change.new is None or self.limits is None:
            return None
        return max(self.limits.log_end - self.change.new.offset, 0)

    def with_time(self, time_ms: int | None) -> "PlanRow":
        """The same with the time between the positions."""
        return replace(self, time_ms=time_ms)
