"""Values that a share group (KIP-932) writes to the offsets topic."""

from dataclasses import dataclass

from kgroup.protocol.records.consumer_group import TopicPartitions
from kgroup.protocol.topic_id import TopicId


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupCurrentMemberAssignmentValue:
    """The partitions a member reads from; `state` is a MemberState code (0: stable)."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    assigned_partitions: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMemberMetadataValue:
    """A member and the topics it subscribes to."""

    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupMetadataValue:
    """The group epoch; `metadata_hash` covers the subscribed topics."""

    epoch: int
    metadata_hash: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPartitionsInfo:
    """A topic, by id and name, and some of its partitions."""

    topic_id: TopicId
    topic_name: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatePartitionsTopicInfo:
    """A topic, by id and name."""

    topic_id: TopicId
    topic_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupStatePartitionMetadataValue:
    """The topics that have share state: being made, made, being deleted."""

    initializing_topics: tuple[TopicPartitionsInfo, ...]
    initialized_topics: tuple[TopicPartitionsInfo, ...]
    deleting_topics: tuple[StatePartitionsTopicInfo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMemberValue:
    """The partitions a member shall read from."""

    topic_partitions: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareGroupTargetAssignmentMetadataValue:
    """The assignment epoch; `assignment_timestamp` is epoch ms, 0 if not recorded."""

    assignment_epoch: int
    assignment_timestamp: int = 0
