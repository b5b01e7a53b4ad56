"""A record of the offsets topic in a few words, for tables."""

from collections.abc import Iterable
from typing import assert_never
from uuid import UUID

from kgroup.log.files.entries import ReadRecord
from kgroup.protocol.records.consumer_group import TopicPartitions
from kgroup.protocol.records.entries import (
    OffsetsEntry,
    RecordType,
    TransactionMarker,
    TransactionOutcome,
    Undecodable,
)
from kgroup.protocol.records.keys import ConsumerGroupRegularExpressionKey, OffsetCommitKey
from kgroup.protocol.records.streams_group import TaskIds
from kgroup.protocol.records.values import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
    GroupMetadataValue,
    OffsetCommitValue,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyValue,
    Value,
)
from kgroup.protocol.topic_id import TopicId, topic_id_text
from kgroup.report.emit import Row
from kgroup.report.records.entry_json import TopicNames
from kgroup.report.records.record_json import group_of_record

_NO_ID = UUID(int=0)
_GROUP_SUBJECTS = {
    RecordType.GROUP_METADATA: "group",
    RecordType.CONSUMER_GROUP_METADATA: "consumer group",
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: "topics",
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: "target assignment",
    RecordType.SHARE_GROUP_METADATA: "share group",
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: "target assignment",
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA: "share state",
    RecordType.STREAMS_GROUP_METADATA: "streams group",
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: "target assignment",
    RecordType.STREAMS_GROUP_TOPOLOGY: "topology",
}
_MEMBER_SUBJECTS = {
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: "target of member",
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: "assignment of member",
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: "target of member",
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: "assignment of member",
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: "target of member",
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: "assignment of member",
}


def table_row(read: ReadRecord, outcome: TransactionOutcome | None, topic_names: TopicNames) -> Row:
    """A record, or a batch that the cleaner emptied, in TABLE_COLUMNS."""
    partition = read.segment.partition
    if read.record is None or read.entry is None:
        batch = read.batch
        text = f"the cleaner took all of offsets {batch.base_offset} to {batch.last_offset}"
        return {"partition": partition, "offset": batch.base_offset, "what": text}
    text = entry_text(read.entry, topic_names)
    return {
        "partition": partition,
        "offset": read.record.offset,
        "timestamp": read.record.timestamp_ms if read.record.timestamp_ms >= 0 else None,
        "group": group_of_record(read),
        "what": f"{text} [{outcome.value}]" if outcome is not None else text,
    }


def entry_text(entry: OffsetsEntry | Undecodable | TransactionMarker, topic_names: TopicNames) -> str:
    """The contents of the entry, without its type and group."""
    match entry:
        case OffsetsEntry(value=None):
            return f"{subject(entry)} deleted{_note(entry)}"
        case OffsetsEntry():
            assert entry.value is not None
            return f"{subject(entry)} {_value_text(entry.value, topic_names)}{_note(entry)}"
        case Undecodable():
            return f"cannot be decoded: {entry.why}"
        case TransactionMarker():
            ending = "committed" if entry.committed else "aborted"
            return f"transaction {ending}: producer {entry.producer_id}, epoch {entry.producer_epoch}"
        case _:
            assert_never(entry)


def subject(entry: OffsetsEntry) -> str:
    """The subject of a key: a partition, a member, or some side of the group."""
    key = entry.key
    if isinstance(key, OffsetCommitKey):
        return f"{key.topic}-{key.partition}"
    if isinstance(key, ConsumerGroupRegularExpressionKey):
        return f"pattern {key.regular_expression}"
    member_id: str | None = getattr(key, "member_id", None)
    if member_id is not None:
        return f"{_MEMBER_SUBJECTS.get(entry.type, 'member')} {member_id}"
    return _GROUP_SUBJECTS[entry.type]


def _note(entry: OffsetsEntry) -> str:
    return f" ({entry.note})" if entry.note else ""


def _value_text(value: Value, topic_names: TopicNames) -> str:
    match value:
        case OffsetCommitValue():
            return _commit_text(value)
        case GroupMetadataValue():
            return _classic_group_text(value)
        case ConsumerGroupMetadataValue() | ShareGroupMetadataValue() | StreamsGroupMetadataValue():
            return f"epoch {value.epoch}"
        case (
            ConsumerGroupTargetAssignmentMetadataValue()
            | ShareGroupTargetAssignmentMetadataValue()
            | StreamsGroupTargetAssignmentMetadataValue()
        ):
            return f"epoch {value.assignment_epoch}"
        case ConsumerGroupMemberMetadataValue():
            return _consumer_member_text(value)
        case ShareGroupMemberMetadataValue():
            return f"subscribes to {_names(value.subscribed_topic_names)}"
        case StreamsGroupMemberMetadataValue():
            return f"of process {value.process_id}, topology epoch {value.topology_epoch}"
        case ConsumerGroupTargetAssignmentMemberValue() | ShareGroupTargetAssignmentMemberValue():
            return f"is {_partitions(value.topic_partitions, topic_names)}"
        case StreamsGroupTargetAssignmentMemberValue():
            return f"is {_tasks(value.active_tasks, value.standby_tasks, value.warmup_tasks)}"
        case ConsumerGroupCurrentMemberAssignmentValue():
            owned = f"at epoch {value.member_epoch}: {_partitions(value.assigned_partitions, topic_names)}"
            revoked = value.partitions_pending_revocation
            return f"{owned}; gives up {_partitions(revoked, topic_names)}" if revoked else owned
        case ShareGroupCurrentMemberAssignmentValue():
            return f"at epoch {value.member_epoch}: {_partitions(value.assigned_partitions, topic_names)}"
        case StreamsGroupCurrentMemberAssignmentValue():
            tasks = _tasks(value.active_tasks, value.standby_tasks, value.warmup_tasks)
            return f"at epoch {value.member_epoch}: {tasks}"
        case ConsumerGroupRegularExpressionValue():
            return f"matches {_names(value.topics)}"
        case ConsumerGroupPartitionMetadataValue():
            return "are " + _names(f"{topic.topic_name} ({topic.num_partitions})" for topic in value.topics)
        case ShareGroupStatePartitionMetadataValue():
            return (
                f"of {_names(topic.topic_name for topic in value.initialized_topics)}; "
                f"to be made: {_names(topic.topic_name for topic in value.initializing_topics)}; "
                f"to be deleted: {_names(topic.topic_name for topic in value.deleting_topics)}"
            )
        case StreamsGroupTopologyValue():
            return f"epoch {value.epoch}, {_count(len(value.subtopologies), 'subtopology')}"
        case _:
            assert_never(value)


def _commit_text(value: OffsetCommitValue) -> str:
    epoch = f", epoch {value.leader_epoch}" if value.leader_epoch >= 0 else ""
    metadata = f', "{value.metadata}"' if value.metadata else ""
    return f"@ {value.offset}{epoch}{metadata}"


def _classic_group_text(value: GroupMetadataValue) -> str:
    protocol = f" {value.protocol}," if value.protocol else ""
    return f"generation {value.generation},{protocol} {_count(len(value.members), 'member')}"


def _consumer_member_text(value: ConsumerGroupMemberMetadataValue) -> str:
    topics = list(value.subscribed_topic_names)
    if value.subscribed_topic_regex:
        topics.append(f"pattern {value.subscribed_topic_regex}")
    classic = ", by the classic protocol" if value.classic_member_metadata is not None else ""
    return f"subscribes to {_names(topics)}{classic}"


def _partitions(assigned: Iterable[TopicPartitions], topic_names: TopicNames) -> str:
    return _names(
        f"{_topic(each.topic_id, topic_names)}-{partition}"
        for each in assigned
        for partition in each.partitions
    )


def _topic(topic_id: TopicId, topic_names: TopicNames) -> str:
    binary_id = topic_id or _NO_ID
    return topic_names.get(binary_id) or topic_id_text(binary_id)


def _tasks(active: Iterable[TaskIds], standby: Iterable[TaskIds], warmup: Iterable[TaskIds]) -> str:
    """Tasks as Kafka Streams writes them: `0_1` is partition 1 of subtopology 0."""
    kinds = {"": active, "standby ": standby, "warm-up ": warmup}
    return _names(
        f"{kind}{task.subtopology_id}_{partition}"
        for kind, tasks in kinds.items()
        for task in tasks
        for partition in task.partitions
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {plural}"
