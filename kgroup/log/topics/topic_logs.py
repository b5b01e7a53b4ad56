"""The logs of data topics next to the offsets topic: what a group has not read, and past log ends."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Final

from kgroup.log.files.log_dir import LogDir, PartitionFolder
from kgroup.log.format.batch import Damage
from kgroup.log.topics.end_at import log_end_at, log_ends_at
from kgroup.log.topics.log_end_history import log_end_history
from kgroup.log.topics.open_transactions import blocking_transaction
from kgroup.log.topics.recorded_ends import RecordedHistory
from kgroup.log.topics.short_log import ShortLog, ShortLogs
from kgroup.log.topics.unread import PlacedBatch, batches_from, first_unread
from kgroup.log.topics.unread_parts import UnreadParts, unread_parts
from kgroup.protocol.log_listing import FirstUnread, LogEndAt, OpenTransaction
from kgroup.protocol.topic_partition import TopicPartition

_UNREAD_KEPT: Final = 100_000
_HISTORIES_KEPT: Final = 4096
_COUNTED_BYTES: Final = 64 * 1024 * 1024


class DataLogs:
    """The partition folders of log directories by topic and partition; of replicas, the longest.

    Answers are kept, as many groups ask about the same partition, and often about the same place. Every
    question raises SourceError if a file cannot be read.
    """

    def __init__(self, log_dirs: Iterable[LogDir]) -> None:
        self._log_dirs = tuple(log_dirs)
        self._replicas: dict[tuple[str, int], list[PartitionFolder]] = {}
        for log_dir in self._log_dirs:
            for folder in log_dir.partitions:
                if folder.topic is not None and folder.retired is None and folder.segments:
                    self._replicas.setdefault((folder.topic, folder.partition), []).append(folder)
        self._furthest: dict[tuple[str, int], tuple[int, PartitionFolder]] = {}
        self._short = ShortLogs()
        self._recorded: dict[int, RecordedHistory] = {}
        self._parts = lru_cache(_UNREAD_KEPT)(self._find_parts)
        self._unread = lru_cache(_UNREAD_KEPT)(self._find_unread)
        self._histories = lru_cache(_HISTORIES_KEPT)(self._find_history)
        self._blocking = lru_cache(_UNREAD_KEPT)(self._find_blocking)

    def places(self) -> list[TopicPartition]:
        """The partitions that are here, sorted."""
        return sorted(self._replicas)

    def has(self, topic: str, partition: int) -> bool:
        """Whether the partition is here. Many groups ask, and often none is."""
        return (topic, partition) in self._replicas

    def folder(self, topic: str, partition: int) -> PartitionFolder | None:
        """The partition's folder, of replicas the longest; None if it is not here."""
        log = self._find(topic, partition)
        if log is None:
            return None
        return log[1].folder if isinstance(log[1], ShortLog) else log[1]

    def end(self, topic: str, partition: int) -> int | None:
        """The offset at which the partition's log ends here; None if it is not here."""
        log = self._find(topic, partition)
        return log[0] if log else None

    def first_base_offset(self, topic: str, partition: int) -> int | None:
        """The base offset of the partition's first segment; None if it is not here."""
        log = self._find(topic, partition)
        return log[1].segments[0].base_offset if log else None

    def first_unread(self, topic: str, partition: int, offset: int) -> FirstUnread | None:
        """The first data record at or after `offset`; None if there is none here."""
        return self._unread(topic, partition, offset)

    def history(self, topic: str, partition: int, points_max: int) -> tuple[LogEndAt, ...]:
        """Past log ends, as `log_end_history` has them; if the log is not here, those that were recorded."""
        return self._histories(topic, partition, points_max)

    def end_at(self, topic: str, partition: int, time_ms: int) -> int | None:
        """The log end at a time, as `log_end_at` has it; None if the log is not here."""
        log = self._find(topic, partition)
        return log_end_at(log[1], time_ms) if log else None

    def ends_at(self, topic: str, partition: int, times_ms: Sequence[int]) -> list[int | None]:
        """The same for many times, which must rise."""
        log = self._find(topic, partition)
        return log_ends_at(log[1], times_ms, end_now=log[0]) if log else [None] * len(times_ms)

    def parts(self, topic: str, partition: int, offset: int) -> UnreadParts | None:
        """The parts that the offsets from `offset` on consist of; None if the log is not here."""
        return self._parts(topic, partition, offset)

    def blocking_transaction(self, topic: str, partition: int, offset: int) -> OpenTransaction | None:
        """The open transaction that keeps readers of committed data from all that is unread from `offset` on.

        None if there is none, or if the log is not here.
        """
        return self._blocking(topic, partition, offset) if self.has(topic, partition) else None

    def unread_records(self, topic: str, partition: int, offset: int) -> int | None:
        """The records from `offset` on, of a partition that the log cleaner has compacted; else None.

        Offsets say how many there were. None also if more than 64 MB would have to be read.
        """
        log = self._find(topic, partition) if (topic, partition) in self._cleaned else None
        if log is None or _bytes_from(log[1], offset) > _COUNTED_BYTES:
            return None
        parts = self.parts(topic, partition, offset)
        return None if parts is None else parts.records + parts.undecided

    @property
    def has_cleaned(self) -> bool:
        """Whether the log cleaner has compacted any partition here."""
        return bool(self._cleaned)

    @cached_property
    def _cleaned(self) -> set[tuple[str, int]]:
        return {cleaned for log_dir in self._log_dirs for cleaned in log_dir.cleaned()}

    def batches_from(self, topic: str, partition: int, offset: int) -> Iterator[PlacedBatch | Damage]:
        """The batches from the one that holds `offset`, or the log's start, on; none without the log."""
        log = self._find(topic, partition)
        if log is None:
            return
        first = max(offset, log[1].log_start_offset() or 0)
        for item in batches_from(log[1], first):
            if isinstance(item, Damage) or item.batch.last_offset >= first:
                yield item

    def _find_blocking(self, topic: str, partition: int, offset: int) -> OpenTransaction | None:
        log = self._find(topic, partition)
        return blocking_transaction(log[1], offset) if log else None

    def _find_unread(self, topic: str, partition: int, offset: int) -> FirstUnread | None:
        log = self._find(topic, partition)
        return first_unread(log[1], offset) if log else None

    def _find_parts(self, topic: str, partition: int, offset: int) -> UnreadParts | None:
        log = self._find(topic, partition)
        return unread_parts(log[1], offset) if log else None

    def _find_history(self, topic: str, partition: int, points_max: int) -> tuple[LogEndAt, ...]:
        log = self._find(topic, partition)
        if log:
            return log_end_history(log[1], points_max)
        if points_max not in self._recorded:
            self._recorded[points_max] = RecordedHistory(self._log_dirs, points_max)
        return self._recorded[points_max].of(topic, partition)

    def _find(self, topic: str, partition: int) -> tuple[int, PartitionFolder | ShortLog] | None:
        topic_partition = topic, partition
        if topic_partition not in self._furthest and topic_partition in self._replicas:
            ended = [
                (self._short.held(folder).log_end_offset() or 0, folder)
                for folder in self._replicas[topic_partition]
            ]
            self._furthest[topic_partition] = max(ended, key=lambda log: log[0])
        found = self._furthest.get(topic_partition)
        return None if found is None else (found[0], self._short.held(found[1]))


def _bytes_from(folder: PartitionFolder | ShortLog, offset: int) -> int:
    """The size of the segments that hold what follows."""
    ends = [segment.base_offset or 0 for segment in folder.segments[1:]]
    sizes = (Path(segment.path).stat().st_size for segment in folder.segments)
    return sum(size for size, end in zip_longest(sizes, ends) if size and (end is None or end > offset))
