"""The inputs and outputs of a member.

Tuples where one is made for every request: a frozen dataclass takes four times as long to make.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from kgroup.errors import KgroupError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import FetchedRecord, MemberRequest, MemberResponse
from kgroup.protocol.topic_partition import TopicPartition

ASSIGNOR: Final = "assignor"
"""The `api` of a MemberError for what the member's own assignor could not do."""


# Of the errors that a member may meet by what it was told, and whose names do not say what to change.
_MEANINGS: Final = {
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: "it has no assignor in common with the members of the group",
    ErrorCode.INVALID_SESSION_TIMEOUT: "see the broker's group.min and group.max.session.timeout.ms",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "the broker has group.max.size",
    ErrorCode.UNSUPPORTED_VERSION: "the cluster does not speak the consumer protocol of Kafka 4.0",
    ErrorCode.UNRELEASED_INSTANCE_ID: "another member has this group.instance.id",
    ErrorCode.FENCED_INSTANCE_ID: "another member took this group.instance.id",
}


class MemberError(KgroupError):
    """The member cannot continue: an error that no retry cures. `error_code` is the broker's.

    `api` is what was asked, ASSIGNOR when it was the member's own assignor.
    """

    def __init__(self, api: str, error_code: ErrorCode, why: str = "") -> None:
        meaning = why or _MEANINGS.get(error_code, "")
        super().__init__(f"{api}: {error_code.name}{f' ({meaning})' if meaning else ''}")
        self.api = api
        self.error_code = error_code


class UseError(KgroupError):
    """The member was used in a way that its state forbids; nothing was changed."""


# ---- in: what the user does, and what the network brings -----------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """Share these topics with the group."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscribePattern:
    """Share every topic whose whole name the regular expression matches."""

    pattern: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign:
    """Read exactly these partitions, outside of any rebalance."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsubscribe:
    """Give everything up and leave the group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """The user is alive and takes records: joins proceed and callbacks run only here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seek:
    """Read on from `offset`."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Fetch and hand out nothing of these partitions until `Resume`; what was fetched is kept."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Read these partitions again."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """Commit these offsets, or with None every position; `commit_id` comes back in `CommitOutcome`."""

    commit_id: int
    offsets: tuple[tuple[TopicPartition, int], ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """Commit (with auto-commit), give up the partitions, leave.

    A static member does not leave (KIP-345), unless `leave_group` says so (KIP-1092: LEAVE_GROUP).
    """

    leave_group: bool = False


UserCall = Subscribe | SubscribePattern | Assign | Unsubscribe | Poll | Seek | Pause | Resume | Commit | Close


class Answered(NamedTuple):
    """The answer to the request with this id."""

    request_id: int
    body: MemberResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """No answer will come: the connection broke, could not be made, or the request's time is over."""

    request_id: int
    why: str


MemberInput = UserCall | Answered | Failed


# ---- out ------------------------------------------------------------------------------------------


class Send(NamedTuple):
    """A request for the connection `connection_id` to `host:port`; without an answer in time it is `Failed`.

    As in Kafka's client, the coordinator has a connection of its own, with the id 2147483647 - node id, so
    that a parked JoinGroup or Fetch holds back nothing else.
    """

    request_id: int
    connection_id: int
    host: str
    port: int
    timeout_ms: int
    body: MemberRequest


class CallbackKind(StrEnum):
    """The methods of Kafka's ConsumerRebalanceListener."""

    REVOKED = "on_partitions_revoked"
    ASSIGNED = "on_partitions_assigned"
    LOST = "on_partitions_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """Partitions in ascending order; `generation` is the member's when it runs, -1 outside of any."""

    kind: CallbackKind
    partitions: tuple[TopicPartition, ...]
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOutcome:
    """`commit_id` is None for a commit that the member made by itself."""

    commit_id: int | None
    error_code: ErrorCode
    offsets: tuple[tuple[TopicPartition, int], ...]


class MemberStep(NamedTuple):
    """Run `callbacks` in their order, close `disconnects`, then send `requests`, then take the rest.

    `disconnects` are ids of connections. The member waits for no answer there any more: nobody needs to say
    that what was in flight has failed.
    `records` answer a Poll. `error` is what the member failed with: it does nothing more but Close.
    """

    callbacks: tuple[Callback, ...] = ()
    disconnects: tuple[int, ...] = ()
    requests: tuple[Send, ...] = ()
    records: tuple[tuple[TopicPartition, tuple[FetchedRecord, ...]], ...] = ()
    commits: tuple[CommitOutcome, ...] = ()
    error: MemberError | None = None
    closed: bool = False


_NOTHING: Final = MemberStep()


@dataclass(slots=True)
class MemberTurn:
    """A step in the making, one after the other."""

    now_ms: int = 0
    callbacks: list[Callback] = field(default_factory=list)
    disconnects: list[int] = field(default_factory=list)
    requests: list[Send] = field(default_factory=list)
    records: list[tuple[TopicPartition, tuple[FetchedRecord, ...]]] = field(default_factory=list)
    commits: list[CommitOutcome] = field(default_factory=list)
    error: MemberError | None = None
    closed: bool = False

    def run(
        self,
        kind: CallbackKind,
        partitions: set[TopicPartition] | frozenset[TopicPartition],
        generation: int,
    ) -> None:
        """Add a callback."""
        callback = Callback(kind=kind, partitions=tuple(sorted(partitions)), generation=generation)
        self.callbacks.append(callback)

    def finish(self) -> MemberStep:
        """The step, and a clean slate."""
        is_empty = not (self.requests or self.callbacks or self.disconnects or self.records)
        if is_empty and not (self.commits or self.error or self.closed):
            return _NOTHING
        step = MemberStep(
            callbacks=tuple(self.callbacks),
            disconnects=tuple(self.disconnects),
            requests=tuple(self.requests),
            records=tuple(self.records),
            commits=tuple(self.commits),
            error=self.error,
            closed=self.closed,
        )
        self.callbacks, self.requests, self.records, self.commits = [], [], [], []
        self.disconnects, self.error, self.closed = [], None, False
        return step
