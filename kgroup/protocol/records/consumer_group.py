"""Values that a consumer-protocol group (KIP-848) writes to the offsets topic."""

from dataclasses import dataclass
from typing import Final

from kgroup.protocol.topic_id import TopicId

AWAY_EPOCH: Final = -2
"""The epoch of a static member that has left to come back, of a consumer or a streams group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitions:
    """Partitions of one topic; `assignment_epochs`, if any, stand in the order of `partitions` (KIP-1251)."""

    topic_id: TopicId
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    """The partitions a member owns and must still give up; `state` is a MemberState code (0: stable)."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[TopicPartitions, ...]
    partitions_pending_revocation: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicProtocol:
    """An assignor and the subscription that a classic member sent with it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMemberMetadata:
    """Fields that only a classic-protocol member of a consumer group has."""

    session_timeout_ms: int
    supported_protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMemberMetadataValue:
    """A member and what it subscribes to. `classic_member_metadata` is None for a native member."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int = -1
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupMetadataValue:
    """The group epoch; `metadata_hash` covers the subscribed topics (since 4.1, 0 before)."""

    epoch: int
    metadata_hash: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """A partition and the racks of its replicas."""

    partition: int
    racks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """A topic as the group knew it."""

    topic_id: TopicId
    topic_name: str
    num_partitions: int
    partition_metadata: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupPartitionMetadataValue:
    """The subscribed topics, from which a change is noticed (written by 3.7 to 4.0)."""

    topics: tuple[TopicMetadata, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupRegularExpressionValue:
    """The topics that matched, at which metadata image version and when (epoch ms)."""

    topics: tuple[str, ...]
    version: int
    timestamp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMemberValue:
    """The partitions a member shall own."""

    topic_partitions: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerGroupTargetAssignmentMetadataValue:
    """The assignment epoch; `assignment_timestamp` is epoch ms, 0 if not recorded."""

    assignment_epoch: int
    assignment_timestamp: int = 0
