"""Values of the offsets topic: commits and classic groups here, the newer group kinds in their own files."""

from dataclasses import dataclass

from kgroup.protocol.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from kgroup.protocol.records.share_group import (
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataValue,
)
from kgroup.protocol.records.streams_group import (
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyValue,
)
from kgroup.protocol.topic_id import TopicId

__all__ = [
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupPartitionMetadataValue",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadataValue",
    "GroupMetadataValue",
    "MemberMetadata",
    "OffsetCommitValue",
    "ShareGroupCurrentMemberAssignmentValue",
    "ShareGroupMemberMetadataValue",
    "ShareGroupMetadataValue",
    "ShareGroupStatePartitionMetadataValue",
    "ShareGroupTargetAssignmentMemberValue",
    "ShareGroupTargetAssignmentMetadataValue",
    "StreamsGroupCurrentMemberAssignmentValue",
    "StreamsGroupMemberMetadataValue",
    "StreamsGroupMetadataValue",
    "StreamsGroupTargetAssignmentMemberValue",
    "StreamsGroupTargetAssignmentMetadataValue",
    "StreamsGroupTopologyValue",
    "Value",
]


# Not frozen, which takes three times as long to make: a record has one for each member. Nobody changes one.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class MemberMetadata:
    """A member of a classic group; `subscription` and `assignment` are bytes of the protocol type.

    Timeouts are ms. `rebalance_timeout` is -1 in version 0, which has only `session_timeout`.
    """

    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout: int = -1
    session_timeout: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue:
    """A classic group at one generation. `protocol` and `leader` are None while it has no members."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int = -1
    members: tuple[MemberMetadata, ...]


# Not frozen, which takes three times as long to make: most records of a log are commits. Nobody changes one.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class OffsetCommitValue:
    """A committed offset; the position of the next record to read.

    `leader_epoch` is that of the record before it, -1 if unknown; `expire_timestamp` is -1 unless the
    commit asked for its own retention; both timestamps are epoch ms.
    """

    offset: int
    leader_epoch: int = -1
    metadata: str
    commit_timestamp: int
    expire_timestamp: int = -1
    topic_id: TopicId = None


Value = (
    ConsumerGroupCurrentMemberAssignmentValue
    | ConsumerGroupMemberMetadataValue
    | ConsumerGroupMetadataValue
    | ConsumerGroupPartitionMetadataValue
    | ConsumerGroupRegularExpressionValue
    | ConsumerGroupTargetAssignmentMemberValue
    | ConsumerGroupTargetAssignmentMetadataValue
    | GroupMetadataValue
    | OffsetCommitValue
    | ShareGroupCurrentMemberAssignmentValue
    | ShareGroupMemberMetadataValue
    | ShareGroupMetadataValue
    | ShareGroupStatePartitionMetadataValue
    | ShareGroupTargetAssignmentMemberValue
    | ShareGroupTargetAssignmentMetadataValue
    | StreamsGroupCurrentMemberAssignmentValue
    | StreamsGroupMemberMetadataValue
    | StreamsGroupMetadataValue
    | StreamsGroupTargetAssignmentMemberValue
    | StreamsGroupTargetAssignmentMetadataValue
    | StreamsGroupTopologyValue
)
