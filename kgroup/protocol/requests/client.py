"""A member's requests to brokers and their answers, free of wire versions.

The group's own apis have their values in `coordinator.py`; here are the others that a member uses.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    OffsetCommit,
    OffsetCommitResponse,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.topic_partition import TopicPartition

EARLIEST_TIMESTAMP: Final = -2
LATEST_TIMESTAMP: Final = -1

READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
"""Isolation levels, as ListOffsets and Fetch carry them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A broker's address. Bootstrap servers have ids below 0 until metadata names the brokers."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinator:
    """A request for the coordinator of the group `key`."""

    key: str
    key_type: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FindCoordinatorResponse:
    """`node` is None with an error."""

    error_code: ErrorCode = ErrorCode.NONE
    node: Node | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """Brokers, and these topics; None is every topic."""

    topics: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """`leader` is -1 where there is none."""

    partition: int
    leader: int
    replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """One topic, partitions in ascending order; `topic_id` from brokers of 2.8 and newer."""

    name: str
    error_code: ErrorCode = ErrorCode.NONE
    is_internal: bool = False
    partitions: tuple[PartitionMetadata, ...] = ()
    topic_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse:
    """The cluster as one broker sees it."""

    nodes: tuple[Node, ...] = ()
    topics: tuple[TopicMetadata, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetch:
    """A request for a group's committed offsets; topics and partitions in the order of the request.

    A member of the consumer protocol says who it is, and must be up to date; others do not.
    """

    group_id: str
    topics: tuple[tuple[str, tuple[int, ...]], ...]
    member_id: str | None = None
    member_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffset:
    """`offset` -1 with no error: nothing was committed."""

    partition: TopicPartition
    offset: int = -1
    error_code: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetFetchResponse:
    """A group-level error comes without offsets."""

    error_code: ErrorCode = ErrorCode.NONE
    offsets: tuple[CommittedOffset, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsets:
    """The offset at `timestamp`, or at the start (-2) or the end (-1), of each partition.

    With `read_committed` the end is the last stable offset.
    """

    partitions: tuple[TopicPartition, ...]
    timestamp: int
    read_committed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedOffset:
    """The answer for one partition."""

    partition: TopicPartition
    offset: int = -1
    error_code: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOffsetsResponse:
    """One line per partition asked about."""

    offsets: tuple[ListedOffset, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch:
    """Records from these offsets on.

    `session_id` and `session_epoch`: KIP-227; 0 and 0 ask for a new session. Every partition is sent each
    time, also in a session; `forgotten` are those that left it.
    """

    offsets: tuple[tuple[TopicPartition, int], ...]
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int
    session_id: int = 0
    session_epoch: int = 0
    forgotten: tuple[TopicPartition, ...] = ()
    rack_id: str = ""
    read_committed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedRecord:
    """One record of a data topic."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPartition:
    """Records in the order of their offsets, and the offset behind the last batch.

    `records` can begin before the offset asked for, as batches are sent whole; `next_offset` is None where
    no batch came. Markers of transactions are not records but move `next_offset`.
    """

    partition: TopicPartition
    error_code: ErrorCode = ErrorCode.NONE
    high_watermark: int = -1
    log_start_offset: int = -1
    records: tuple[FetchedRecord, ...] = ()
    next_offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchResponse:
    """The answer to a fetch; in a session only partitions with news are in it."""

    error_code: ErrorCode = ErrorCode.NONE
    session_id: int = 0
    partitions: tuple[FetchedPartition, ...] = ()


MemberRequest = (
    FindCoordinator
    | Metadata
    | JoinGroup
    | SyncGroup
    | Heartbeat
    | ConsumerGroupHeartbeat
    | LeaveGroup
    | OffsetCommit
    | OffsetFetch
    | ListOffsets
    | Fetch
)
MemberResponse = (
    FindCoordinatorResponse
    | MetadataResponse
    | JoinGroupResponse
    | SyncGroupResponse
    | HeartbeatResponse
    | ConsumerGroupHeartbeatResponse
    | LeaveGroupResponse
    | OffsetCommitResponse
    | OffsetFetchResponse
    | ListOffsetsResponse
    | FetchResponse
)
