"""A plan: topics, members, and when each does what. Times are ms since the plan's start."""

from dataclasses import dataclass

from kgroup.history.timeline.model import Partition


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTopic:
    """A topic with its partitions at the start."""

    name: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMember:
    """One client through all its comings and goings. `name` is its own, `client_id` may be shared.

    `topics` are all that it ever subscribes to.
    """

    name: str
    client_id: str
    client_host: str
    instance_id: str | None
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """The member joins as a new process. `max_poll_interval_ms` is its rebalance timeout."""

    at_ms: int
    member: str
    topics: tuple[str, ...]
    assignors: tuple[str, ...]
    session_timeout_ms: int
    max_poll_interval_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """The member closes in order. A static one leaves, too."""

    at_ms: int
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Die:
    """The process is gone without a word: its session will expire, unless it comes back."""

    at_ms: int
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """The member does not poll for this long, while its heartbeats continue."""

    at_ms: int
    member: str
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resubscribe:
    """The member subscribes to other topics."""

    at_ms: int
    member: str
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejoin:
    """The member, which leads the group, joins again without a change."""

    at_ms: int
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitOffsets:
    """The member commits these offsets, counted as `Plan` says."""

    at_ms: int
    member: str
    offsets: tuple[tuple[Partition, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """This many records are produced."""

    at_ms: int
    partition: Partition
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grow:
    """The topic gets partitions up to this number."""

    at_ms: int
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveCoordinator:
    """Another broker takes over the group."""

    at_ms: int


Act = Join | Leave | Die | Stall | Resubscribe | Rejoin | CommitOffsets | Produce | Grow | MoveCoordinator


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The acts to play, in order of time. `start_ms` is epoch ms.

    Offsets count from the first one that the group committed in a partition; where more records were read
    than `RECORDS_MAX` a step of one commit is shorter by `thinned`, but never nothing. `heartbeat_ms` is what
    lets a round end as soon as the log has it. `notes` say what the log does not tell or cannot be played.
    """

    group_id: str
    start_ms: int
    duration_ms: int
    topics: tuple[PlannedTopic, ...]
    members: tuple[PlannedMember, ...]
    acts: tuple[Act, ...]
    thinned: int = 1
    heartbeat_ms: int = 200
    metadata_max_age_ms: int = 300_000
    initial_delay_ms: int = 100
    notes: tuple[str, ...] = ()

    def member(self, name: str) -> PlannedMember:
        """The member of that name."""
        return next(member for member in self.members if member.name == name)
