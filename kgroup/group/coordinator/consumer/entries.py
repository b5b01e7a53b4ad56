"""The records of a consumer group, with the fields Kafka 4.3 gives them."""

from collections.abc import Mapping
from uuid import UUID

from kgroup.assignors.java_order import hash_order, sorted_strings, uuid_hash
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember, Owned, Target
from kgroup.group.coordinator.consumer.regexes import ResolvedRegex
from kgroup.protocol.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartitions,
)
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    Key,
)
from kgroup.protocol.records.values import Value

T = RecordType


def _entry(kind: RecordType, key: Key, value: Value | None) -> OffsetsEntry:
    return OffsetsEntry(type=kind, key=key, value=value, value_version=None if value is None else 0)


def member_entry(group_id: str, member: ConsumerMember) -> OffsetsEntry:
    """The record of a member's identity and subscription."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=tuple(sorted_strings(member.topics)),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.assignor,
        classic_member_metadata=member.classic,
    )
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return _entry(T.CONSUMER_GROUP_MEMBER_METADATA, key, value)


def epoch_entry(group_id: str, epoch: int, metadata_hash: int) -> OffsetsEntry:
    """The group's epoch, and the hash of its topics at that."""
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return _entry(T.CONSUMER_GROUP_METADATA, ConsumerGroupMetadataKey(group_id=group_id), value)


def target_entry(group_id: str, member_id: str, target: Target) -> OffsetsEntry:
    """The record of a member's target."""
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(target[topic_id])))
            for topic_id in hash_order(target, uuid_hash)
        )
    )
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return _entry(T.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, key, value)


def target_epoch_entry(group_id: str, epoch: int, timestamp_ms: int) -> OffsetsEntry:
    """The epoch of all targets, and when they were worked out."""
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp_ms
    )
    key = ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    return _entry(T.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, key, value)


def assignment_entry(group_id: str, member: ConsumerMember) -> OffsetsEntry:
    """The record of a member's current assignment and state."""
    value = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.member_epoch,
        previous_member_epoch=member.previous_member_epoch,
        state=member.state.value,
        assigned_partitions=_with_epochs(member.assigned),
        partitions_pending_revocation=_with_epochs(member.revoking),
    )
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id)
    return _entry(T.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, key, value)


def _with_epochs(owned: Owned) -> tuple[TopicPartitions, ...]:
    return tuple(_topic_with_epochs(topic_id, owned[topic_id]) for topic_id in hash_order(owned, uuid_hash))


def _topic_with_epochs(topic_id: UUID, epochs: Mapping[int, int]) -> TopicPartitions:
    partitions = tuple(sorted(epochs))
    return TopicPartitions(
        topic_id=topic_id,
        partitions=partitions,
        assignment_epochs=tuple(epochs[partition] for partition in partitions),
    )


def regex_entry(group_id: str, regex: str, resolved: ResolvedRegex | None) -> OffsetsEntry:
    """The topics that an expression matched; None: nobody has it any more."""
    value = None
    if resolved is not None:
        value = ConsumerGroupRegularExpressionValue(
            topics=tuple(sorted_strings(resolved.topics)),
            version=resolved.version,
            timestamp=resolved.timestamp_ms,
        )
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return _entry(T.CONSUMER_GROUP_REGULAR_EXPRESSION, key, value)


def partition_metadata_tombstone(group_id: str) -> OffsetsEntry:
    """Deletes the topics that versions before 4.1 kept."""
    key = ConsumerGroupPartitionMetadataKey(group_id=group_id)
    return _entry(T.CONSUMER_GROUP_PARTITION_METADATA, key, None)


def member_tombstones(group_id: str, member_id: str) -> list[OffsetsEntry]:
    """Take a member out. Kafka cannot load them in another order."""
    return [
        _current_tombstone(group_id, member_id),
        _target_tombstone(group_id, member_id),
        _member_tombstone(group_id, member_id),
    ]


def group_tombstones(group: ConsumerGroup, replaced: Mapping[str, str] | None = None) -> list[OffsetsEntry]:
    """Delete a group with its members; `replaced` are ids that stand in the log instead of members' own."""
    group_id = group.group_id
    other = replaced or {}
    member_ids = [other.get(id_, id_) for id_ in group.members]
    return [
        *(_current_tombstone(group_id, member_id) for member_id in member_ids),
        *(_target_tombstone(group_id, member_id) for member_id in member_ids),
        _entry(
            T.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
            ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
            None,
        ),
        *(_member_tombstone(group_id, member_id) for member_id in member_ids),
        *(regex_entry(group_id, regex, None) for regex in group.regexes),
        partition_metadata_tombstone(group_id),
        _entry(T.CONSUMER_GROUP_METADATA, ConsumerGroupMetadataKey(group_id=group_id), None),
    ]


def _current_tombstone(group_id: str, member_id: str) -> OffsetsEntry:
    key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id)
    return _entry(T.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, key, None)


def _target_tombstone(group_id: str, member_id: str) -> OffsetsEntry:
    key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return _entry(T.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, key, None)


def _member_tombstone(group_id: str, member_id: str) -> OffsetsEntry:
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id)
    return _entry(T.CONSUMER_GROUP_MEMBER_METADATA, key, None)
