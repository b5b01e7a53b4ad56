"""ConsumerGroupHeartbeat and ConsumerGroupDescribe (KIP-848), free of wire versions.

Tuples where one is made for every heartbeat: a frozen dataclass takes three times as long to make.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from kgroup.protocol.error_codes import ErrorCode

CLASSIC_MEMBER = 0
CONSUMER_MEMBER = 1


class ConsumerGroupHeartbeat(NamedTuple):
    """A member's whole conversation: it joins with epoch 0 and leaves with -1 or, to come back, -2.

    A field is None (`rebalance_timeout_ms`: -1) if it has not changed since the last heartbeat.
    `topic_partitions` are (topic id, partitions) that the member has. `makes_own_id`: it brings its member id
    (KIP-1082, from v1). `may_describe` says which topics the client may see, None: all; it is no part of the
    wire.
    """

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: tuple[tuple[UUID, tuple[int, ...]], ...] | None = None
    makes_own_id: bool = True
    may_describe: Callable[[str], bool] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedTopic:
    """Partitions of a topic; `topic_name` in descriptions only."""

    topic_id: UUID
    partitions: list[int]
    topic_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerAssignment:
    """A member's current or target assignment."""

    topic_partitions: list[AssignedTopic] = field(default_factory=list)


class ConsumerGroupHeartbeatResponse(NamedTuple):
    """`assignment` is None where it is what the member already knows."""

    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: ConsumerAssignment | None = None
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumerMember:
    """One member. `assignment` counts what it still has to give up."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    assignment: ConsumerAssignment
    target_assignment: ConsumerAssignment
    member_type: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConsumerGroup:
    """One group of ConsumerGroupDescribe; without members where `error_code` is set."""

    group_id: str
    error_code: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[DescribedConsumerMember] = field(default_factory=list)
    authorized_operations: frozenset[int] | None = None
