"""The effect of a consumer group's records on it, live and when loading: Kafka's `replay` methods."""

from typing import Final

from kgroup.group.coordinator.consumer.group import NO_ASSIGNMENT, ConsumerGroup
from kgroup.group.coordinator.consumer.member import LEAVING, ConsumerMember
from kgroup.group.coordinator.consumer.regexes import ResolvedRegex
from kgroup.protocol.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
)
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

RECORD_KEYS: Final[tuple[type[Key], ...]] = (
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupRegularExpressionKey,
)


def apply_record(group: ConsumerGroup, key: Key, value: Value | None) -> bool:
    """Take over a record of the group, None for a tombstone; False: the group is deleted with it.

    A tombstone of something that is not there means nothing: compaction may have taken the rest.
    """
    match key:
        case ConsumerGroupMetadataKey():
            if value is None:
                return False
            assert isinstance(value, ConsumerGroupMetadataValue)
            group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
        case ConsumerGroupPartitionMetadataKey():
            group.has_partition_metadata = value is not None
        case ConsumerGroupMemberMetadataKey(member_id=member_id):
            if value is None:
                group.remove(member_id)
            else:
                assert isinstance(value, ConsumerGroupMemberMetadataValue)
                group.put(_member(group, member_id).described_by(value))
        case ConsumerGroupTargetAssignmentMetadataKey():
            if value is None:
                group.assignment_epoch, group.assignment_timestamp_ms = NO_ASSIGNMENT, 0
            else:
                assert isinstance(value, ConsumerGroupTargetAssignmentMetadataValue)
                group.assignment_epoch = value.assignment_epoch
                group.assignment_timestamp_ms = value.assignment_timestamp
        case ConsumerGroupTargetAssignmentMemberKey(member_id=member_id):
            if value is None:
                group.targets.pop(member_id, None)
            else:
                assert isinstance(value, ConsumerGroupTargetAssignmentMemberValue)
                group.targets[member_id] = {
                    topic.topic_id: frozenset(topic.partitions)
                    for topic in value.topic_partitions
                    if topic.topic_id is not None
                }
        case ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id):
            _apply_assignment(group, member_id, value)
        case ConsumerGroupRegularExpressionKey(regular_expression=regex):
            resolved = None
            if value is not None:
                assert isinstance(value, ConsumerGroupRegularExpressionValue)
                resolved = ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
            group.resolve(regex, resolved)
        case _:  # pragma: no cover  the coordinator asks by RECORD_KEYS
            raise AssertionError(f"{key} is not of a consumer group")
    return True


def _member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    return group.members.get(member_id) or ConsumerMember(member_id=member_id)


def _apply_assignment(group: ConsumerGroup, member_id: str, value: Value | None) -> None:
    if value is not None:
        assert isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
        group.put(_member(group, member_id).assigned_by(value))
        return
    member = group.members.get(member_id)
    if member is not None:
        gone = member.assigned_by(
            ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=LEAVING,
                previous_member_epoch=LEAVING,
                state=member.state.value,
                assigned_partitions=(),
                partitions_pending_revocation=(),
            )
        )
        group.put(gone)
