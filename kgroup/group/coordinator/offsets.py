"""Committed offsets: plain and transactional, reads, deletion and expiry.

Behaves as Kafka 4.3's OffsetMetadataManager. Of plain commits, tombstones and commits of committed
transactions, the one with the highest record offset counts, whenever its marker came.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count, repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from kgroup.group.coordinator.step import NO_PRODUCER_ID, CommitRun
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    FetchedOffset,
    FetchedTopic,
    OffsetRow,
    PartitionResult,
    TopicResult,
)
from kgroup.protocol.topic_partition import TopicPartition

NO_EXPIRY: Final = -1


class CommittedOffset(NamedTuple):
    """A commit and the offset of the record that holds it."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    topic_id: UUID | None
    record_offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTopic:
    """The partitions to read; `topic_id` is None when the client gave only the name."""

    name: str
    topic_id: UUID | None
    partition_indexes: Sequence[int]


class Offsets:
    """The offsets of all groups of one offsets partition."""

    def __init__(self, metadata_max_bytes: int) -> None:
        self._metadata_max = metadata_max_bytes
        self._committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        # producer id -> group -> place. Kept as one map per producer: a marker settles all at once.
        self._pending: dict[int, dict[str, dict[TopicPartition, CommittedOffset]]] = {}
        self._open_transactions: dict[str, set[int]] = {}

    # ---- deciding -----------------------------------------------------------------------------

    def check_commit(self, topic: CommitTopic) -> tuple[Sequence[CommitPartition], TopicResult]:
        """The partitions of a topic that may be committed to, and the answer for all of them."""
        if not any(map(_METADATA, topic.partitions)):
            results = list(map(_accepted, map(_PARTITION, topic.partitions)))
            return topic.partitions, TopicResult(name=topic.name, topic_id=topic.topic_id, partitions=results)
        accepted, results = [], []
        for partition in topic.partitions:
            # Kafka compares the length of the Java string with the limit in bytes.
            if len(partition.committed_metadata or "") > self._metadata_max:
                error = ErrorCode.OFFSET_METADATA_TOO_LARGE
                results.append(PartitionResult(partition_index=partition.partition_index, error_code=error))
                continue
            results.append(_accepted(partition.partition_index))
            accepted.append(partition)
        return accepted, TopicResult(name=topic.name, topic_id=topic.topic_id, partitions=results)

    def tombstones(
        self, group_id: str, keep: Callable[[str], bool] = lambda topic: False
    ) -> list[OffsetsEntry]:
        """Entries that delete every offset of a group, pending ones too, except of topics to keep."""
        places = dict.fromkeys(self._committed.get(group_id, {}))
        for producer_id in sorted(self._open_transactions.get(group_id, ())):
            places |= dict.fromkeys(self._pending[producer_id].get(group_id, {}))
        return [tombstone(group_id, topic, partition) for topic, partition in places if not keep(topic)]

    @property
    def count(self) -> int:
        """The number of committed offsets; pending ones do not count."""
        return sum(map(len, self._committed.values()))

    def groups_with_offsets(self) -> list[str]:
        """Ids of all groups that have an offset, committed or pending."""
        return list(dict.fromkeys([*self._committed, *self._open_transactions]))

    def expired(
        self, group_id: str, is_expired: Callable[[CommittedOffset], bool], keeps: Callable[[str], bool]
    ) -> tuple[list[OffsetsEntry], bool]:
        """Entries that delete a group's expired offsets, and whether none is left after that."""
        entries = []
        committed = self._committed.get(group_id, {})
        for (topic, partition), commit in committed.items():
            if keeps(topic) or not is_expired(commit) or self._is_pending(group_id, (topic, partition)):
                continue
            entries.append(tombstone(group_id, topic, partition))
        return entries, len(entries) == len(committed) and group_id not in self._open_transactions

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether there is an offset to delete, committed or pending."""
        topic_partition = (topic, partition)
        return topic_partition in self._committed.get(group_id, {}) or self._is_pending(
            group_id, topic_partition
        )

    # ---- reading ------------------------------------------------------------------------------

    def fetch(
        self, group_id: str, topics: tuple[FetchTopic, ...], require_stable: bool
    ) -> list[FetchedTopic]:
        """The offsets asked for; -1 where there is none or the topic has been recreated since."""
        committed = self._committed.get(group_id, {})
        may_be_pending = require_stable and group_id in self._open_transactions
        return [
            FetchedTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=_fetched_rows(committed, topic)
                if topic.topic_id is None and not may_be_pending
                else [
                    self._fetched(
                        group_id,
                        (topic.name, index),
                        committed.get((topic.name, index)),
                        topic,
                        require_stable,
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in topics
        ]

    def fetch_all(self, group_id: str, require_stable: bool) -> list[FetchedTopic]:
        """Every committed offset of a group, topics in the order they were first committed."""
        topics: dict[str, list[FetchedOffset]] = {}
        for topic_partition, commit in self._committed.get(group_id, {}).items():
            fetched = self._fetched(group_id, topic_partition, commit, None, require_stable)
            topics.setdefault(topic_partition[0], []).append(fetched)
        return [FetchedTopic(name=name, partitions=partitions) for name, partitions in topics.items()]

    def _fetched(
        self,
        group_id: str,
        topic_partition: TopicPartition,
        commit: CommittedOffset | None,
        topic: FetchTopic | None,
        require_stable: bool,
    ) -> FetchedOffset:
        if require_stable and self._is_pending(group_id, topic_partition):
            return FetchedOffset(
                partition_index=topic_partition[1], error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT
            )
        if commit is None or _is_of_other_topic(commit, topic):
            return FetchedOffset(partition_index=topic_partition[1])
        return FetchedOffset(
            partition_index=topic_partition[1],
            committed_offset=commit.offset,
            committed_leader_epoch=commit.leader_epoch,
            metadata=commit.metadata,
        )

    def _is_pending(self, group_id: str, topic_partition: TopicPartition) -> bool:
        return any(
            topic_partition in self._pending[producer_id].get(group_id, {})
            for producer_id in self._open_transactions.get(group_id, ())
        )

    # ---- applying -----------------------------------------------------------------------------

    def apply(
        self,
        key: OffsetCommitKey,
        value: OffsetCommitValue | None,
        producer_id: int | None,
        record_offset: int,
    ) -> None:
        """Take over one logged commit or tombstone; with a producer id it waits for the marker."""
        topic_partition = (key.topic, key.partition)
        if value is None:
            self._remove(key.group, topic_partition)
            return
        commit = CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            record_offset,
        )
        self._places(key.group, producer_id)[topic_partition] = commit

    def apply_run(self, run: CommitRun, record_offset: int) -> None:
        """Take over many logged commits, of which the first record has this offset."""
        places = self._places(run.group, None if run.producer_id == NO_PRODUCER_ID else run.producer_id)
        expires = run.expire_timestamp != NO_EXPIRY  # in a version without epoch and topic id
        partitions, offsets, epochs, metadata = zip(*run.partitions, strict=True)
        values = zip(
            offsets,
            repeat(-1) if expires else epochs,
            metadata if None not in metadata else [each or "" for each in metadata],
            repeat(run.timestamp_ms),
            repeat(run.expire_timestamp),
            repeat(None if expires else run.topic_id),
            count(record_offset),
            strict=False,
        )
        places.update(
            zip(zip(repeat(run.topic), partitions, strict=False), map(_COMMITTED, values), strict=True)
        )

    def _places(self, group_id: str, producer_id: int | None) -> dict[TopicPartition, CommittedOffset]:
        """A group's offsets, or those of them that a producer's transaction may yet bring."""
        if producer_id is None:
            return self._committed.setdefault(group_id, {})
        self._open_transactions.setdefault(group_id, set()).add(producer_id)
        return self._pending.setdefault(producer_id, {}).setdefault(group_id, {})

    def _remove(self, group_id: str, topic_partition: TopicPartition) -> None:
        committed = self._committed.get(group_id)
        if committed is not None:
            committed.pop(topic_partition, None)
            if not committed:
                del self._committed[group_id]
        for producer_id in self._open_transactions.get(group_id, ()):
            self._pending[producer_id].get(group_id, {}).pop(topic_partition, None)

    def apply_marker(self, producer_id: int, committed: bool) -> None:
        """Settle a producer's transaction; without pending offsets here nothing happens."""
        for group_id, offsets in self._pending.pop(producer_id, {}).items():
            open_here = self._open_transactions[group_id]
            open_here.discard(producer_id)
            if not open_here:
                del self._open_transactions[group_id]
            if committed and offsets:
                self._settle(self._committed.setdefault(group_id, {}), offsets)

    def _settle(
        self, current: dict[TopicPartition, CommittedOffset], offsets: dict[TopicPartition, CommittedOffset]
    ) -> None:
        for topic_partition, commit in offsets.items():
            # A plain commit made during the transaction outlives it.
            existing = current.get(topic_partition)
            if existing is None or commit.record_offset > existing.record_offset:
                current[topic_partition] = commit


# One call of C for each partition, where a named tuple's own constructor is one of Python.
_COMMITTED: Final[Callable[[Iterable[Any]], CommittedOffset]] = partial(tuple.__new__, CommittedOffset)
_PARTITION: Final = itemgetter(CommitPartition._fields.index("partition_index"))
_METADATA: Final = itemgetter(CommitPartition._fields.index("committed_metadata"))


@lru_cache(maxsize=4096)
def _accepted(partition: int) -> PartitionResult:
    return PartitionResult(partition_index=partition)


def _fetched_rows(committed: Mapping[TopicPartition, CommittedOffset], topic: FetchTopic) -> list[OffsetRow]:
    """The committed offsets for partitions of a topic known by its name only."""
    indexes, none = topic.partition_indexes, ErrorCode.NONE
    return [
        FetchedOffset(index) if commit is None else (index, commit[0], commit[1], commit[2], none)
        for index, commit in zip(indexes, map(committed.get, zip(repeat(topic.name), indexes)), strict=False)
    ]


def tombstone(group_id: str, topic: str, partition: int) -> OffsetsEntry:
    """The entry that deletes one committed offset."""
    return OffsetsEntry(
        type=RecordType.OFFSET_COMMIT,
        key=OffsetCommitKey(group=group_id, topic=topic, partition=partition),
        value=None,
        value_version=None,
    )


def _is_of_other_topic(commit: CommittedOffset, topic: FetchTopic | None) -> bool:
    """The topic was deleted and made again since the commit (both ids must be known to tell)."""
    return (
        topic is not None
        and topic.topic_id is not None
        and commit.topic_id is not None
        and commit.topic_id != topic.topic_id
    )
