"""The events of a world, in order: the truth against which logs, members and coordinators are judged.

`at_ms` is epoch ms on the world's own clock, whatever the clocks of nodes and members show. `member` is a
name of the scenario (`c1`), `member_id` what the coordinator calls one process of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from uuid import UUID

from kgroup.group.coordinator.events import GroupEvent
from kgroup.group.member.consumer.identity import ConsumerState
from kgroup.group.member.identity import MemberState
from kgroup.group.member.step import CallbackKind
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import MemberRequest, MemberResponse
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import Fault, FaultKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultBegan:
    """A fault strikes. `target` is who was hit in the end, when the scenario says `coordinator`."""

    at_ms: int
    kind: FaultKind
    target: str
    duration_ms: int | None
    amount: int | None
    other: str | None = None
    topics: tuple[str, ...] = ()

    @classmethod
    def of(cls, fault: Fault, at_ms: int) -> "FaultBegan":
        """The beginning of a fault whose target has its name."""
        return cls(
            at_ms=at_ms,
            kind=fault.kind,
            target=fault.target,
            duration_ms=fault.duration_ms,
            amount=fault.amount,
            other=fault.other,
            topics=fault.topics,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultEnded:
    """A fault is over: what it did is undone."""

    at_ms: int
    kind: FaultKind
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStarted:
    """A consumer process starts; `process` counts the processes of this member from 1."""

    at_ms: int
    member: str
    group: str
    process: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStopped:
    """A consumer process is gone. `why`: `closed`, `killed`, or the error that it failed with."""

    at_ms: int
    member: str
    group: str
    process: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMoved:
    """A member's protocol state changed; `member_id` is empty and `generation` -1 while it has none."""

    at_ms: int
    member: str
    group: str
    state: MemberState | ConsumerState
    generation: int
    member_id: str
    is_leader: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsChanged:
    """A member's rebalance callback: partitions came or went."""

    at_ms: int
    member: str
    group: str
    kind: CallbackKind
    generation: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsProcessed:
    """A member is done with the records `first` to `last` (inclusive) of a partition."""

    at_ms: int
    member: str
    group: str
    partition: TopicPartition
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEnded:
    """A member's commit was acknowledged, or failed with `error_code`."""

    at_ms: int
    member: str
    group: str
    error_code: ErrorCode
    offsets: tuple[tuple[TopicPartition, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSent:
    """A request leaves a member."""

    at_ms: int
    member: str
    node: str
    request_id: int
    body: MemberRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseReceived:
    """The answer reaches the member."""

    at_ms: int
    member: str
    node: str
    request_id: int
    body: MemberResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailed:
    """No answer will come: `why` is the member's error."""

    at_ms: int
    member: str
    node: str
    request_id: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStarted:
    """A node serves clients from now on."""

    at_ms: int
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStopped:
    """A node does not serve any more. `why`: `killed`, `shut down`, or `fenced` (silent for too long)."""

    at_ms: int
    node: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorMoved:
    """Another node (None: no node) leads the offsets partition in which a group lives."""

    at_ms: int
    group: str
    partition: int
    node: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCreated:
    """A topic with this many partitions that was not there from the start."""

    at_ms: int
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicGrown:
    """A topic has `partitions` partitions now."""

    at_ms: int
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorEvent:
    """A coordinator's decision, in its own words."""

    at_ms: int
    node: str
    event: GroupEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Every group is stable and every partition has an owner, after the last fault."""

    at_ms: int


TraceEvent = (
    FaultBegan
    | FaultEnded
    | MemberStarted
    | MemberStopped
    | MemberMoved
    | PartitionsChanged
    | RecordsProcessed
    | CommitEnded
    | RequestSent
    | ResponseReceived
    | RequestFailed
    | NodeStarted
    | NodeStopped
    | CoordinatorMoved
    | TopicCreated
    | TopicGrown
    | CoordinatorEvent
    | Settled
)


def to_json(event: object) -> dict[str, object]:
    """`{"type": "MemberStarted", "atMs": ...}`: field names in camel case, bytes in hex, enums by value."""
    return {"type": type(event).__name__} | _fields(event)


def _fields(value: object) -> dict[str, object]:
    names = getattr(value, "_fields", None) or [each.name for each in fields(value)]  # type: ignore[arg-type]
    return {_camel(name): _plain(getattr(value, name)) for name in names}


def _plain(value: object) -> object:
    if isinstance(value, ErrorCode):
        return value.name
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not hasattr(value, "_fields"):
        return [_plain(each) for each in value]
    return {"type": type(value).__name__} | _fields(value)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
