"""Values that a streams group (KIP-1071) writes to the offsets topic."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIds:
    """Tasks of one subtopology; `assignment_epochs`, if any, stand in the order of `partitions`."""

    subtopology_id: str
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupCurrentMemberAssignmentValue:
    """The tasks a member runs and must still give up; `state` is a MemberState code (1: stable)."""

    member_epoch: int
    previous_member_epoch: int
    state: int
    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]
    active_tasks_pending_revocation: tuple[TaskIds, ...]
    standby_tasks_pending_revocation: tuple[TaskIds, ...]
    warmup_tasks_pending_revocation: tuple[TaskIds, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address at which a Streams instance answers interactive queries."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue:
    """One setting or client tag."""

    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMemberMetadataValue:
    """A member: one thread of the Streams instance `process_id`."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int = -1
    topology_epoch: int
    process_id: str
    user_endpoint: Endpoint | None
    client_tags: tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupMetadataValue:
    """The group epoch, the topology epoch found valid, and the settings of the last assignment.

    The last two (Kafka 4.4, KIP-1331) are about the description of the topology that a plugin of the broker
    keeps: the topology epoch of the one that it holds, −1 for none, −2 if a change of it was interrupted; and
    of the one that it refused for good, −1 for none.
    """

    epoch: int
    metadata_hash: int
    validated_topology_epoch: int = -1
    last_assignment_configs: tuple[KeyValue, ...] | None = ()
    stored_description_topology_epoch: int = -1
    failed_description_topology_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMemberValue:
    """The tasks a member shall run."""

    active_tasks: tuple[TaskIds, ...]
    standby_tasks: tuple[TaskIds, ...]
    warmup_tasks: tuple[TaskIds, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTargetAssignmentMetadataValue:
    """The assignment epoch; `assignment_timestamp` is epoch ms, 0 if not recorded."""

    assignment_epoch: int
    assignment_timestamp: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    """An internal topic of a subtopology; 0 partitions and replication factor 0 mean "not fixed"."""

    name: str
    partitions: int
    replication_factor: int
    topic_configs: tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopartitionGroup:
    """Topics that need equal partition counts, as indexes into the lists of the subtopology."""

    source_topics: tuple[int, ...]
    source_topic_regex: tuple[int, ...]
    repartition_source_topics: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subtopology:
    """A connected part of the topology and the topics it reads and writes."""

    subtopology_id: str
    source_topics: tuple[str, ...]
    source_topic_regex: tuple[str, ...]
    state_changelog_topics: tuple[TopicInfo, ...]
    repartition_sink_topics: tuple[str, ...]
    repartition_source_topics: tuple[TopicInfo, ...]
    copartition_groups: tuple[CopartitionGroup, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGroupTopologyValue:
    """The topology that the members agreed on."""

    epoch: int
    subtopologies: tuple[Subtopology, ...]
