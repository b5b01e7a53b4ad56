"""A group's replayed log as values: generations, changes, their causes, and how sure those are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from kgroup.history.groups.model import GroupKind


class Partition(NamedTuple):
    """A partition of a topic, a task of a streams group (`topic` is then the subtopology)."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Grade(StrEnum):
    """The certainty of a cause.

    `RECORDED`: a record of the log says it. `INFERRED`: it follows from what several records say, named as
    the evidence. `UNKNOWN`: the log allows more than one, named as alternatives.
    """

    RECORDED = "recorded"
    INFERRED = "inferred"
    UNKNOWN = "unknown"


class CauseKind(StrEnum):
    """The cause of a generation, or of something that happened outside of one."""

    FIRST_JOIN = "first-join"
    JOIN = "join"
    LEAVE = "leave"
    SESSION_EXPIRED = "session-expired"
    POLL_INTERVAL_EXCEEDED = "poll-interval-exceeded"
    REBALANCE_TIMEOUT = "rebalance-timeout"
    MEMBER_GONE = "member-gone"
    STATIC_RESTART = "static-restart"
    SUBSCRIPTION_CHANGED = "subscription-changed"
    TOPIC_GREW = "topic-grew"
    ASSIGNOR_CHANGED = "assignor-changed"
    COOPERATIVE_FOLLOW_UP = "cooperative-follow-up"
    LEADER_REJOINED = "leader-rejoined"
    PENDING_MEMBER = "pending-member"
    COORDINATOR_MOVED = "coordinator-moved"
    METADATA_CHANGED = "metadata-changed"
    TOPOLOGY_READY = "topology-ready"
    SHARE_STATE_READY = "share-state-ready"
    PROTOCOL_MIGRATED = "protocol-migrated"
    OFFSET_RESET = "offset-reset"
    REWIND = "rewind"
    TOPIC_RECREATED = "topic-recreated"
    TOPIC_DELETED = "topic-deleted"
    OFFSETS_DELETED = "offsets-deleted"
    OFFSETS_EXPIRED = "offsets-expired"
    OFFSETS_REMOVED = "offsets-removed"
    GROUP_DELETED = "group-deleted"
    GROUP_EXPIRED = "group-expired"
    GROUP_REMOVED = "group-removed"
    TRANSACTION_ABORTED = "transaction-aborted"
    NO_MEMBERSHIP = "no-membership"
    UNREADABLE_MEMBER = "unreadable-member"
    HISTORY_CUT = "history-cut"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One cause. `alternatives` are what an `UNKNOWN` one may have been."""

    kind: CauseKind
    grade: Grade
    evidence: str
    member_ids: tuple[str, ...] = ()
    alternatives: tuple[CauseKind, ...] = ()
    remedy: str | None = None


class ConnectWorker(NamedTuple):
    """A Connect worker's position in the config topic when it joined, and whether it was given no work
    because the leader had read less than another worker (CONFIG_MISMATCH)."""

    config_offset: int
    refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineMember:
    """A member at one generation. Timeouts are ms, None where the record has none.

    `subscribed` is None if it could not be read. `owned` is what it was given: in a group whose broker
    assigns, the target. `worker` is None but in groups of Kafka Connect.
    """

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    subscribed: frozenset[str] | None = frozenset()
    regex: str | None = None
    owned: frozenset[Partition] = frozenset()
    unreadable: str | None = None
    worker: ConnectWorker | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """The name that a process keeps when it comes back: the instance id, else client id and host."""
        return (self.instance_id, "") if self.instance_id else (self.client_id, self.client_host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roster:
    """A group as the records of one generation leave it. `at_ms` is None where no time was logged.

    Of groups whose broker assigns: `metadata_hash` covers what brokers know of the subscribed topics (0: not
    logged), `validated_topology` is the streams topology that was found complete (-1: none), and
    `share_state` has the partitions whose state a share group's coordinator has set up.
    """

    kind: GroupKind
    generation: int
    at_ms: int | None
    offset: int
    offsets_partition: int
    leader_epoch: int | None
    protocol_type: str = ""
    protocol: str | None = None
    leader: str | None = None
    members: tuple[TimelineMember, ...] = ()
    metadata_hash: int = 0
    validated_topology: int = -1
    share_state: frozenset[Partition] = frozenset()

    def owner_of(self, partition: Partition) -> TimelineMember | None:
        """The member that was given the partition."""
        return next((member for member in self.members if partition in member.owned), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentDeparture:
    """A departure after a silence about as long as the member's poll interval: what comes later decides.

    `quiet_ms` is from its last commit (`last_ms`, of `last_offset` in `partition`) until the round was
    stored, `longest_ms` the longest usual time between its commits, `round_ms` the longest that the round can
    have taken, `per_ms` how many records its commits moved on by in a ms. `commits_idle`: see `Silence`.
    `may_have_expired` says that its session may have run out as well, `may_have_left` that it may have left
    within its rhythm of commits, `stopped_reading` is that of `Silence`.
    """

    member: TimelineMember
    cause: Cause
    partition: Partition
    last_ms: int
    last_offset: int
    quiet_ms: int
    longest_ms: int
    round_ms: int
    per_ms: float
    commits_idle: bool
    may_have_expired: bool
    may_have_left: bool
    stopped_reading: bool


class CommitGap(NamedTuple):
    """The time a partition went without a commit around a rebalance, in epoch ms."""

    partition: Partition
    last_before_ms: int
    first_after_ms: int

    @property
    def length_ms(self) -> int:
        """The time from the last commit before to the first one after."""
        return self.first_after_ms - self.last_before_ms


class Moved(NamedTuple):
    """Partitions that changed hands between two generations: `gained` and `lost` by member id."""

    gained: dict[str, tuple[Partition, ...]]
    lost: dict[str, tuple[Partition, ...]]
    moved: int
    kept: int


NOTHING_MOVED = Moved({}, {}, 0, 0)


@dataclass(slots=True, kw_only=True)
class Wait:
    """A member of a consumer group whose target has partitions that another one still has.

    Times are epoch ms. `until_ms` is None if the log ends before. `released`: the other gave up the last of
    them then; if not, superseded by another target.
    """

    member_id: str
    holder_id: str
    partitions: tuple[Partition, ...]
    since_ms: int
    until_ms: int | None = None
    released: bool = False


@dataclass(slots=True, kw_only=True)
class Generation:
    """A generation (epoch) and how it differs from the one before; `gaps` fill while the log is read on.

    `unfinished` counts generations whose number was used and which never got an assignment. `cut` says that
    compaction or damage took records between the last generation and this one. `commits` counts those until
    the next. `silent` are departures of which more is known once the log has been read. `stalls` has how long
    (ms) some that are gone had committed nothing before their last commit, by member id. `waits` begin with
    a target of this epoch.
    """

    roster: Roster
    joined: tuple[TimelineMember, ...] = ()
    left: tuple[TimelineMember, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    causes: tuple[Cause, ...] = ()
    silent: tuple[SilentDeparture, ...] = ()
    stalls: Mapping[str, int] = field(default_factory=dict)
    moved: Moved = NOTHING_MOVED
    leader_changed: bool = False
    since_previous_ms: int | None = None
    unfinished: int = 0
    cut: bool = False
    gaps: list[CommitGap] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    usual_interval_ms: int | None = None
    commits: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """Something that happened outside of a rebalance: a reset, a deletion, a move of the coordinator.

    `records` say so, one after the other until `last_ms`.
    """

    at_ms: int | None
    offset: int
    offsets_partition: int
    generation: int | None
    cause: Cause
    partitions: tuple[Partition, ...] = ()
    records: int = 1
    last_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A pattern that only many generations show: a storm, a member that comes and goes."""

    name: str
    from_ms: int | None
    to_ms: int | None
    first_generation: int | None
    last_generation: int | None
    member_ids: tuple[str, ...]
    evidence: str
    remedy: str | None
    grade: Grade = Grade.INFERRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """An instance whose member id changed. `at_ms` is epoch ms.

    `quiet_ms` is the time since the old member's last commit, None if it made none; `usual_ms` the usual time
    between commits of its partitions. `before` and `after` are client id and host as the group has them.
    `was_free` says that the old member had left to come back, as it must where the broker assigns (KIP-848).
    """

    instance_id: str
    at_ms: int | None
    generation: int
    old_id: str
    new_id: str
    before: tuple[str, str]
    after: tuple[str, str]
    quiet_ms: int | None
    usual_ms: int | None
    was_free: bool = False

    @property
    def took_a_living_one(self) -> bool:
        """Whether the old member committed in its rhythm until it was replaced."""
        if self.quiet_ms is None or self.usual_ms is None:
            return False
        return 0 <= 4 * self.quiet_ms <= 5 * self.usual_ms


@dataclass(slots=True, kw_only=True)
class Timeline:
    """All that a log says of the history of one group, in log order."""

    group_id: str
    generations: list[Generation] = field(default_factory=list)
    occurrences: list[Occurrence] = field(default_factory=list)
    patterns: tuple[Pattern, ...] = ()
    takeovers: tuple[Takeover, ...] = ()
    commits: int = 0
    first_commit_ms: int | None = None
    last_commit_ms: int | None = None
    has_group_records: bool = False
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    """Of topics that a coordinator assigned, which logs their ids; a classic group's log has names alone."""
    is_cut: bool = False
    """The log skips offsets that may have held entries of this group."""
