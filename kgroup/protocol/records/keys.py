"""Keys of the offsets topic: what a record is about, one class per record type.

Types 0 and 1 share a class, since a coordinator holds one commit for both.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitKey:
    """Types 0 and 1: the committed offset of a group for a partition."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataKey:
    """Type 2: a classic group with its members."""

    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataKey:
    """Type 3: the epoch of a consumer-protocol group."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataKey:
    """Type 4: the topics a group knew; 4.1 and later only delete them."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataKey:
    """Type 5: a member of a consumer-protocol group (KIP-848)."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataKey:
    """Type 6: the epoch of the target assignment."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberKey:
    """Type 7: what a consumer-protocol member shall own."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentKey:
    """Type 8: what a consumer-protocol member owns now."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMemberMetadataKey:
    """Type 10: a member of a share group (KIP-932)."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMetadataKey:
    """Type 11: the epoch of a share group."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMetadataKey:
    """Type 12: the epoch of the target assignment."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMemberKey:
    """Type 13: what a share-group member shall read from."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupCurrentMemberAssignmentKey:
    """Type 14: what a share-group member reads from now."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupStatePartitionMetadataKey:
    """Type 15: the partitions whose share state exists or is on its way."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionKey:
    """Type 16: the topics that a subscribed pattern matched."""

    group_id: str
    regular_expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMetadataKey:
    """Type 17: the epoch of a streams group."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMemberMetadataKey:
    """Type 19: a member of a streams group (KIP-1071)."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMetadataKey:
    """Type 20: the epoch of the target assignment."""

    group_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMemberKey:
    """Type 21: the tasks a streams-group member shall run."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupCurrentMemberAssignmentKey:
    """Type 22: the tasks a streams-group member runs now."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTopologyKey:
    """Type 23: the topology of a streams group."""

    group_id: str


Key = (
    OffsetCommitKey
    | GroupMetadataKey
    | ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ShareGroupMemberMetadataKey
    | ShareGroupMetadataKey
    | ShareGroupTargetAssignmentMetadataKey
    | ShareGroupTargetAssignmentMemberKey
    | ShareGroupCurrentMemberAssignmentKey
    | ShareGroupStatePartitionMetadataKey
    | ConsumerGroupRegularExpressionKey
    | StreamsGroupMetadataKey
    | StreamsGroupMemberMetadataKey
    | StreamsGroupTargetAssignmentMetadataKey
    | StreamsGroupTargetAssignmentMemberKey
    | StreamsGroupCurrentMemberAssignmentKey
    | StreamsGroupTopologyKey
)


def group_of(key: Key) -> str:
    """The group that a key is about, whatever its schema calls the field."""
    return key.group if isinstance(key, OffsetCommitKey | GroupMetadataKey) else key.group_id
