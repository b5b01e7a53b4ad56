"""Requests to a group coordinator and its answers, free of wire versions.

Fields are Kafka's, in snake case. A response's attributes are those of the wire schema, so that the
codec can write it as it is; what a version lacks is simply not written. Requests carry what every
version can say, with the defaults of the versions that cannot. What one request has by the hundred, one for
each partition, are tuples: a frozen dataclass takes several times as long to make.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import NamedTuple, TypeAlias
from uuid import UUID

from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse

UNKNOWN_MEMBER_ID = ""
NO_GENERATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroup:
    """`protocols` are (name, metadata) in the member's order of preference.

    `needs_known_id`: the client can be sent back once to return with a member id (KIP-394, from v4).
    `can_skip_assignment`: the client understands SkipAssignment (KIP-814, from v9).
    """

    group_id: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    reason: str | None = None
    needs_known_id: bool = False
    can_skip_assignment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroup:
    """`assignments` is empty except from the leader. `protocol_type` and `protocol_name` from v5."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    protocol_type: str | None
    protocol_name: str | None
    assignments: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A member's sign of life."""

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMember:
    """A leaving member, by member id, or by instance id with an empty member id (KIP-345)."""

    member_id: str
    group_instance_id: str | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroup:
    """`batched`: from v3, each member has an error of its own in the answer."""

    group_id: str
    members: tuple[LeavingMember, ...]
    batched: bool = True


class CommitPartition(NamedTuple):
    """One partition's offset to commit; `committed_leader_epoch` is -1 where there is none."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitTopic:
    """Offsets of one topic; `topic_id` is the id the broker knows the name by."""

    name: str
    topic_id: UUID | None
    partitions: Sequence[CommitPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommit:
    """`retention_time_ms` is -1 except from clients of v2 to v4. The topics are known to exist.

    `knows_group_not_found`: the client understands GROUP_ID_NOT_FOUND here (from v9).
    """

    group_id: str
    generation_id: int
    member_id: str
    group_instance_id: str | None
    retention_time_ms: int
    topics: tuple[CommitTopic, ...]
    knows_group_not_found: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOffsetCommit:
    """Offsets that count once the producer's transaction commits."""

    group_id: str
    producer_id: int
    producer_epoch: int
    generation_id: int
    member_id: str
    group_instance_id: str | None
    topics: tuple[CommitTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDelete:
    """`topics` are (name, partition indexes) and known to exist."""

    group_id: str
    topics: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroups:
    """Groups of one coordinator, each deleted or refused by itself."""

    group_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndTransaction:
    """The transaction coordinator's marker for one offsets partition (KIP-98)."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsDeleted:
    """Topics that are gone: every group's offsets of them go too."""

    topics: tuple[str, ...]


RequestBody = (
    JoinGroup
    | SyncGroup
    | Heartbeat
    | ConsumerGroupHeartbeat
    | LeaveGroup
    | OffsetCommit
    | TxnOffsetCommit
    | OffsetDelete
    | DeleteGroups
    | EndTransaction
    | PartitionsDeleted
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponseMember:
    """One member, as the leader sees it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinGroupResponse:
    """The answer to JoinGroup; only the leader's lists `members`."""

    error_code: ErrorCode = ErrorCode.NONE
    generation_id: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = field(default_factory=list)
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncGroupResponse:
    """The member's share of the leader's assignment."""

    error_code: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse:
    """REBALANCE_IN_PROGRESS tells the member to join again."""

    error_code: ErrorCode = ErrorCode.NONE
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberResponse:
    """The outcome for one leaving member."""

    member_id: str
    group_instance_id: str | None
    error_code: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveGroupResponse:
    """`members` is empty in the answer to a version before 3."""

    error_code: ErrorCode = ErrorCode.NONE
    members: list[MemberResponse] = field(default_factory=list)
    throttle_time_ms: int = 0


class PartitionResult(NamedTuple):
    """A partition and its error."""

    partition_index: int
    error_code: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicResult:
    """Results of one topic's partitions; the wire names it by id or by name, as the version says."""

    name: str
    partitions: list[PartitionResult]
    topic_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitResponse:
    """The answer to OffsetCommit, and to TxnOffsetCommit, which has the same fields."""

    topics: list[TopicResult] = field(default_factory=list)
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetDeleteResponse:
    """A group-level error comes with no topics."""

    error_code: ErrorCode = ErrorCode.NONE
    topics: list[TopicResult] = field(default_factory=list)
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletableGroupResult:
    """A group and whether it was deleted."""

    group_id: str
    error_code: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteGroupsResponse:
    """One result per group, in the order asked."""

    results: list[DeletableGroupResult] = field(default_factory=list)
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The answer to a request that cannot fail and says nothing."""


ReplyBody = (
    JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | ConsumerGroupHeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetDeleteResponse
    | DeleteGroupsResponse
    | Done
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroupMember:
    """One member; `member_metadata` is empty outside Stable."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedGroup:
    """`protocol_data` is the chosen protocol, empty outside Stable.

    `authorized_operations` are Kafka's operation codes, or None when not asked for.
    """

    group_id: str
    group_state: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = field(default_factory=list)
    authorized_operations: frozenset[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedGroup:
    """One line of ListGroups."""

    group_id: str
    protocol_type: str
    group_state: str
    group_type: str = "classic"


class FetchedOffset(NamedTuple):
    """A committed offset; -1 with no error where there is none."""

    partition_index: int
    committed_offset: int = -1
    committed_leader_epoch: int = -1
    metadata: str = ""
    error_code: ErrorCode = ErrorCode.NONE


OffsetRow: TypeAlias = tuple[int, int, int, str, ErrorCode]
"""The fields of a `FetchedOffset`; a named tuple takes twice as long to make, and hundreds come at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTopic:
    """The offsets of one topic."""

    name: str
    partitions: Sequence[OffsetRow]
    topic_id: UUID | None = None

    @property
    def offsets(self) -> list[FetchedOffset]:
        """The same with names."""
        return list(starmap(FetchedOffset, self.partitions))


def refusal(body: RequestBody, error: ErrorCode) -> ReplyBody:
    """The answer that refuses the whole of `body` with `error`, in the place the API has for it."""
    match body:
        case JoinGroup():
            return JoinGroupResponse(error_code=error, member_id=body.member_id)
        case SyncGroup():
            return SyncGroupResponse(error_code=error)
        case Heartbeat():
            return HeartbeatResponse(error_code=error)
        case ConsumerGroupHeartbeat():
            return ConsumerGroupHeartbeatResponse(error_code=error, error_message=error.name)
        case LeaveGroup():
            return LeaveGroupResponse(error_code=error)
        case OffsetCommit() | TxnOffsetCommit():
            return OffsetCommitResponse(topics=[refused_topic(topic, error) for topic in body.topics])
        case OffsetDelete():
            return OffsetDeleteResponse(error_code=error)
        case DeleteGroups():
            return DeleteGroupsResponse(
                results=[DeletableGroupResult(group_id=name, error_code=error) for name in body.group_ids]
            )
        case EndTransaction() | PartitionsDeleted():
            return Done()


def refused_topic(topic: CommitTopic, error: ErrorCode) -> TopicResult:
    """Every partition of a commit's topic with `error`."""
    return TopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            PartitionResult(partition_index=partition.partition_index, error_code=error)
            for partition in topic.partitions
        ],
    )
