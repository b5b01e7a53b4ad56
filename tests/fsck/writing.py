"""Records and batches of crafted offsets partitions, written with kgroup's own encoders."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.records import keys as k
from kgroup.protocol.records import values as v
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.consumer_group import TopicPartitions
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.streams_group import TaskIds

START_MS = 1_790_000_000_000
TOPIC_ID = UUID("6f1c3c51-0a7c-4f3c-9d7e-3d3a2f1b0c01")
T = RecordType
_VERSIONS = {T.OFFSET_COMMIT: 4, T.GROUP_METADATA: 4, T.LEGACY_OFFSET_COMMIT: 0}

Pair = tuple[bytes | None, bytes | None]


@dataclass
class Written:
    """The batches of one partition so far; `raw` are their bytes, and what was put between them."""

    batches: list[bytes] = field(default_factory=list)
    end: int = 0

    @property
    def raw(self) -> bytes:
        return b"".join(self.batches)

    def batch(self, *pairs: Pair, **how: Any) -> "Written":
        """One batch of these records."""
        records = [
            LogRecord(offset=self.end + n, timestamp_ms=START_MS + self.end + n, key=key, value=value)
            for n, (key, value) in enumerate(pairs)
        ]
        self.batches.append(encode_batch(records, leader_epoch=0, **how))
        self.end += len(records)
        return self

    def each(self, *pairs: Pair) -> "Written":
        """A batch for each record."""
        for pair in pairs:
            self.batch(pair)
        return self

    def marker(self, producer_id: int, *, commits: bool, key: bytes | None = None) -> "Written":
        pair = (bytes([0, 0, 0, commits]) if key is None else key, bytes(6))
        return self.batch(pair, transactional=True, control=True, producer_id=producer_id, producer_epoch=0)

    def transaction(self, producer_id: int, *pairs: Pair) -> "Written":
        return self.batch(*pairs, transactional=True, producer_id=producer_id, producer_epoch=0)

    def bytes_between(self, raw: bytes) -> "Written":
        self.batches.append(raw)
        return self


def record(kind: RecordType, key: Any, value: Any = None, version: int | None = None) -> Pair:
    """A record as the coordinator writes it; no value is a tombstone."""
    if value is not None and version is None:
        version = _VERSIONS.get(kind, 0)
    return encode_entry(OffsetsEntry(type=kind, key=key, value=value, value_version=version))


def commit(group: str, partition: int = 0, offset: int | None = 100, *, metadata: str = "") -> Pair:
    key = k.OffsetCommitKey(group=group, topic="orders", partition=partition)
    value = None
    if offset is not None:
        value = v.OffsetCommitValue(
            offset=offset, leader_epoch=0, metadata=metadata, commit_timestamp=START_MS, topic_id=TOPIC_ID
        )
    return record(T.OFFSET_COMMIT, key, value)


def member(name: str, *, instance: str | None = None, subscription: bytes | None = None) -> v.MemberMetadata:
    return v.MemberMetadata(
        member_id=name,
        group_instance_id=instance,
        client_id="app",
        client_host="/10.0.0.1",
        rebalance_timeout=60_000,
        session_timeout=45_000,
        subscription=SUBSCRIPTION if subscription is None else subscription,
        assignment=b"\0\0\0\0\0\0\xff\xff\xff\xff",
    )


SUBSCRIPTION = b"\0\0\0\0\0\1\0\6orders\xff\xff\xff\xff"
"""ConsumerProtocolSubscription version 0 of one topic."""


def classic(
    group: str, *members: v.MemberMetadata, protocol_type: str = "consumer", protocol: str | None = "range"
) -> Pair:
    value = v.GroupMetadataValue(
        protocol_type=protocol_type,
        generation=3,
        protocol=protocol if members else None,
        leader=members[0].member_id if members else None,
        current_state_timestamp=START_MS,
        members=members,
    )
    return record(T.GROUP_METADATA, k.GroupMetadataKey(group=group), value)


def no_classic(group: str) -> Pair:
    return record(T.GROUP_METADATA, k.GroupMetadataKey(group=group))


def owned(*partitions: int) -> tuple[TopicPartitions, ...]:
    return (TopicPartitions(topic_id=TOPIC_ID, partitions=partitions),) if partitions else ()


class Consumer:
    """Records of one consumer-protocol group."""

    def __init__(self, group: str) -> None:
        self.group = group

    def epoch(self, epoch: int | None) -> Pair:
        value = None if epoch is None else v.ConsumerGroupMetadataValue(epoch=epoch)
        return record(T.CONSUMER_GROUP_METADATA, k.ConsumerGroupMetadataKey(group_id=self.group), value)

    def member(self, name: str, *, gone: bool = False) -> Pair:
        key = k.ConsumerGroupMemberMetadataKey(group_id=self.group, member_id=name)
        value = v.ConsumerGroupMemberMetadataValue(
            instance_id=None,
            rack_id=None,
            client_id="app",
            client_host="/10.0.0.1",
            subscribed_topic_names=("orders",),
            subscribed_topic_regex=None,
            rebalance_timeout_ms=60_000,
            server_assignor=None,
            classic_member_metadata=None,
        )
        return record(T.CONSUMER_GROUP_MEMBER_METADATA, key, None if gone else value)

    def topics(self, *, gone: bool = False) -> Pair:
        key = k.ConsumerGroupPartitionMetadataKey(group_id=self.group)
        value = v.ConsumerGroupPartitionMetadataValue(topics=())
        return record(T.CONSUMER_GROUP_PARTITION_METADATA, key, None if gone else value)

    def pattern(self, *, gone: bool = False) -> Pair:
        key = k.ConsumerGroupRegularExpressionKey(group_id=self.group, regular_expression="ord.*")
        value = v.ConsumerGroupRegularExpressionValue(topics=("orders",), version=1, timestamp=START_MS)
        return record(T.CONSUMER_GROUP_REGULAR_EXPRESSION, key, None if gone else value)

    def target_epoch(self, epoch: int | None) -> Pair:
        key = k.ConsumerGroupTargetAssignmentMetadataKey(group_id=self.group)
        value = (
            None if epoch is None else v.ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
        )
        return record(T.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, key, value)

    def target(self, name: str, *partitions: int, gone: bool = False) -> Pair:
        key = k.ConsumerGroupTargetAssignmentMemberKey(group_id=self.group, member_id=name)
        value = v.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=owned(*partitions))
        return record(T.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, key, None if gone else value)

    def current(self, name: str, epoch: int | None, *partitions: int, revoking: tuple[int, ...] = ()) -> Pair:
        key = k.ConsumerGroupCurrentMemberAssignmentKey(group_id=self.group, member_id=name)
        value = None
        if epoch is not None:
            value = v.ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=epoch,
                previous_member_epoch=epoch - 1,
                state=0,
                assigned_partitions=owned(*partitions),
                partitions_pending_revocation=owned(*revoking),
            )
        return record(T.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, key, value)

    def joined(self, name: str, epoch: int, *partitions: int) -> tuple[Pair, ...]:
        """All that is written when a first member joins."""
        return (
            self.member(name),
            self.epoch(epoch),
            self.target(name, *partitions),
            self.target_epoch(epoch),
            self.current(name, epoch, *partitions),
        )

    def left(self, name: str) -> tuple[Pair, ...]:
        return (self.current(name, None), self.target(name, gone=True), self.member(name, gone=True))

    def deleted(self) -> tuple[Pair, ...]:
        return (self.target_epoch(None), self.topics(gone=True), self.epoch(None))


class Streams:
    """Records of one streams group."""

    def __init__(self, group: str) -> None:
        self.group = group

    def epoch(self, epoch: int | None) -> Pair:
        value = None if epoch is None else v.StreamsGroupMetadataValue(epoch=epoch, metadata_hash=0)
        return record(T.STREAMS_GROUP_METADATA, k.StreamsGroupMetadataKey(group_id=self.group), value)

    def member(self, name: str, process: str = "", *, gone: bool = False) -> Pair:
        key = k.StreamsGroupMemberMetadataKey(group_id=self.group, member_id=name)
        value = v.StreamsGroupMemberMetadataValue(
            instance_id=None,
            rack_id=None,
            client_id="app",
            client_host="/10.0.0.1",
            rebalance_timeout_ms=60_000,
            topology_epoch=0,
            process_id=process,
            user_endpoint=None,
            client_tags=(),
        )
        return record(T.STREAMS_GROUP_MEMBER_METADATA, key, None if gone else value)

    def topology(self, *, gone: bool = False) -> Pair:
        key = k.StreamsGroupTopologyKey(group_id=self.group)
        value = v.StreamsGroupTopologyValue(epoch=0, subtopologies=())
        return record(T.STREAMS_GROUP_TOPOLOGY, key, None if gone else value)

    def target_epoch(self, epoch: int | None) -> Pair:
        key = k.StreamsGroupTargetAssignmentMetadataKey(group_id=self.group)
        value = None if epoch is None else v.StreamsGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
        return record(T.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, key, value)

    def target(self, name: str, *tasks: int, gone: bool = False) -> Pair:
        key = k.StreamsGroupTargetAssignmentMemberKey(group_id=self.group, member_id=name)
        value = v.StreamsGroupTargetAssignmentMemberValue(
            active_tasks=_tasks(*tasks), standby_tasks=(), warmup_tasks=()
        )
        return record(T.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, key, None if gone else value)

    def current(self, name: str, epoch: int | None, *tasks: int) -> Pair:
        key = k.StreamsGroupCurrentMemberAssignmentKey(group_id=self.group, member_id=name)
        value = None
        if epoch is not None:
            value = v.StreamsGroupCurrentMemberAssignmentValue(
                member_epoch=epoch,
                previous_member_epoch=epoch - 1,
                state=1,
                active_tasks=_tasks(*tasks),
                standby_tasks=(),
                warmup_tasks=(),
                active_tasks_pending_revocation=(),
                standby_tasks_pending_revocation=(),
                warmup_tasks_pending_revocation=(),
            )
        return record(T.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, key, value)

    def joined(self, name: str, epoch: int, *tasks: int, process: str = "p1") -> tuple[Pair, ...]:
        return (
            self.member(name, process),
            self.topology(),
            self.epoch(epoch),
            self.target(name, *tasks),
            self.target_epoch(epoch),
            self.current(name, epoch, *tasks),
        )

    def left(self, name: str) -> tuple[Pair, ...]:
        return (self.current(name, None), self.target(name, gone=True), self.member(name, gone=True))

    def deleted(self) -> tuple[Pair, ...]:
        return (self.target_epoch(None), self.topology(gone=True), self.epoch(None))


def _tasks(*tasks: int) -> tuple[TaskIds, ...]:
    return (TaskIds(subtopology_id="0", partitions=tasks),) if tasks else ()


class Share:
    """Records of one share group."""

    def __init__(self, group: str) -> None:
        self.group = group

    def epoch(self, epoch: int | None) -> Pair:
        value = None if epoch is None else v.ShareGroupMetadataValue(epoch=epoch, metadata_hash=0)
        return record(T.SHARE_GROUP_METADATA, k.ShareGroupMetadataKey(group_id=self.group), value)

    def member(self, name: str, *, gone: bool = False) -> Pair:
        key = k.ShareGroupMemberMetadataKey(group_id=self.group, member_id=name)
        value = v.ShareGroupMemberMetadataValue(
            rack_id=None, client_id="app", client_host="/10.0.0.1", subscribed_topic_names=("orders",)
        )
        return record(T.SHARE_GROUP_MEMBER_METADATA, key, None if gone else value)

    def target_epoch(self, epoch: int | None) -> Pair:
        key = k.ShareGroupTargetAssignmentMetadataKey(group_id=self.group)
        value = None if epoch is None else v.ShareGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
        return record(T.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA, key, value)

    def target(self, name: str, *, gone: bool = False) -> Pair:
        key = k.ShareGroupTargetAssignmentMemberKey(group_id=self.group, member_id=name)
        value = v.ShareGroupTargetAssignmentMemberValue(topic_partitions=())
        return record(T.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, key, None if gone else value)

    def current(self, name: str, epoch: int | None) -> Pair:
        key = k.ShareGroupCurrentMemberAssignmentKey(group_id=self.group, member_id=name)
        value = None
        if epoch is not None:
            value = v.ShareGroupCurrentMemberAssignmentValue(
                member_epoch=epoch, previous_member_epoch=epoch - 1, state=0, assigned_partitions=()
            )
        return record(T.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT, key, value)

    def state(self, *, gone: bool = False) -> Pair:
        key = k.ShareGroupStatePartitionMetadataKey(group_id=self.group)
        value = v.ShareGroupStatePartitionMetadataValue(
            initializing_topics=(), initialized_topics=(), deleting_topics=()
        )
        return record(T.SHARE_GROUP_STATE_PARTITION_METADATA, key, None if gone else value)

    def joined(self, name: str) -> tuple[Pair, ...]:
        return (
            self.member(name),
            self.epoch(1),
            self.target(name),
            self.target_epoch(1),
            self.current(name, 1),
        )

    def left(self, name: str) -> tuple[Pair, ...]:
        return (self.current(name, None), self.target(name, gone=True), self.member(name, gone=True))

    def deleted(self) -> tuple[Pair, ...]:
        return (self.target_epoch(None), self.state(gone=True), self.epoch(None))
