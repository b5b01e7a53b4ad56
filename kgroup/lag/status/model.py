"""The status of a partition and of a group, and the reason a rule gives for it.

The names are Burrow's (linkedin/Burrow, `core/protocol/evaluator.go`), but partition and group have an enum
each, and UNKNOWN is kgroup's: Burrow says OK where it cannot tell.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import ClassVar


class PartitionStatus(StrEnum):
    """The status of a group on one partition."""

    OK = "OK"
    UNKNOWN = "UNKNOWN"
    """The evidence fits both a healthy group and a stopped one."""
    WARN = "WARN"
    """Commits advance and the lag grows all the same, or their reader waits for a transaction to end."""
    STOP = "STOP"
    """There is something to read, and commits have ceased."""
    STALL = "STALL"
    """There is something to read, and every commit is of the same offset."""
    REWIND = "REWIND"
    """The committed offset went back and has not come up again."""


class GroupStatus(StrEnum):
    """The status of a group: that of the worst of its partitions."""

    NOT_FOUND = "NOTFOUND"
    OK = "OK"
    UNKNOWN = "UNKNOWN"
    WARN = "WARN"
    ERR = "ERR"


class Rule(StrEnum):
    """The rule that decided."""

    NO_COMMITS = "no-commits"
    INCOMPLETE_WINDOW = "incomplete-window"
    WITHIN_ALLOWED = "within-allowed"
    OPEN_TRANSACTION = "open-transaction"
    STOPPED = "stopped"
    RHYTHM_BROKEN = "rhythm-broken"
    REPEATED = "repeated"
    REWOUND = "rewound"
    PERHAPS_STOPPED = "perhaps-stopped"
    LAG_GREW = "lag-grew"
    READER_STANDS_STILL = "reader-stands-still"
    READ_IN_TURN = "read-in-turn"
    NO_MEMBERS = "no-members"
    WAS_WITHIN_ALLOWED = "was-within-allowed"
    STALLED = "stalled"
    PERHAPS_STALLED = "perhaps-stalled"
    LAG_NEVER_FELL = "lag-never-fell"
    LAG_FELL = "lag-fell"
    LAG_KEPT = "lag-kept"
    FEW_UNREAD = "few-unread"
    LAG_TREND_UNKNOWN = "lag-trend-unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCommits:
    """Nothing to judge."""

    rule: ClassVar[Rule] = Rule.NO_COMMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class IncompleteWindow:
    """Fewer commits than the rules require; both are shares of the slots."""

    rule: ClassVar[Rule] = Rule.INCOMPLETE_WINDOW
    complete: float
    minimum_complete: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WithinAllowed:
    """No more is unread now than is allowed."""

    rule: ClassVar[Rule] = Rule.WITHIN_ALLOWED
    lag: int
    allowed_lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """No commit for `silent_ms`, which is more than `limit_ms`.

    `unread_by_ms`: there was something to read at this time at the latest; None if the rule does not ask.
    """

    rule: ClassVar[Rule] = Rule.STOPPED
    last_commit_ms: int
    unread_by_ms: int | None
    silent_ms: int
    limit_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RhythmBroken:
    """The log went on for `silent_ms` without a commit, and `limit_ms` is no pause in the group's rhythm.

    The silence counts from the last commit, or from `unread_by_ms` if that is later, when there was something
    to read at the latest, to `went_on_until_ms`, when the log is known to have been ahead last. Before it the
    commits followed each other in `longest_interval_ms` or less, `usual_step` records each.
    """

    rule: ClassVar[Rule] = Rule.RHYTHM_BROKEN
    last_commit_ms: int
    unread_by_ms: int
    went_on_until_ms: int
    silent_ms: int
    limit_ms: int
    longest_interval_ms: int
    usual_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """`offset` has been committed again and again since `since_ms`, longer than the window shows.

    Commits were so frequent that the last ones span less than a standstill takes. Something was unread
    from `unread_by_ms` on.
    """

    rule: ClassVar[Rule] = Rule.REPEATED
    offset: int
    since_ms: int
    unread_by_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BehindTransaction:
    """All that is unread lies behind the first offset of an open transaction: readers of committed data wait.

    `since_ms` is when it wrote its first record here. What nobody could say of its producer is None.
    """

    rule: ClassVar[Rule] = Rule.OPEN_TRANSACTION
    producer_id: int | None
    producer_epoch: int | None
    first_offset: int
    since_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderStandsStill:
    """The reader of this stands still on `partitions` others, since `since_ms`; of this one it is unproven.

    The reader is the group if it does so as a whole, else the member that owns the partition.
    """

    rule: ClassVar[Rule] = Rule.READER_STANDS_STILL
    partitions: int
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadInTurn:
    """Nothing moves since `since_ms`; but its member is busy with another partition, as far behind."""

    rule: ClassVar[Rule] = Rule.READ_IN_TURN
    since_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMembers:
    """The group has no members, since `since_ms` if that is known: to commit is up to the next member."""

    rule: ClassVar[Rule] = Rule.NO_MEMBERS
    since_ms: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LagGrew:
    """The group reads fewer records of the topic per second than were written in the time of its commits."""

    rule: ClassVar[Rule] = Rule.LAG_GREW
    read_per_s: float
    written_per_s: float


Proof = BehindTransaction | RhythmBroken | Repeated | LagGrew | ReaderStandsStill | ReadInTurn | NoMembers
"""Evidence about one partition from the rest of the group, and from others that read the partition.

See `lag/findings/proven_status.py`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerhapsStopped:
    """No commit since `last_commit_ms`; unknown since when there has been something to commit.

    The group has left unread records alone for `silent_min_ms` to `silent_max_ms`; `limit_ms` lies between.
    """

    rule: ClassVar[Rule] = Rule.PERHAPS_STOPPED
    last_commit_ms: int
    silent_min_ms: int
    silent_max_ms: int
    limit_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewound:
    """The committed offset went back from `from_offset` to `to_offset` and has not reached the former since.

    `at_ms` is the timestamp of the commit that went back. `membership_changed` says whether members or
    generation changed between it and the commit before; None is unknown.
    """

    rule: ClassVar[Rule] = Rule.REWOUND
    from_offset: int
    to_offset: int
    at_ms: int
    membership_changed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WasWithinAllowed:
    """At the commit of `at_ms` no more was unread than allowed."""

    rule: ClassVar[Rule] = Rule.WAS_WITHIN_ALLOWED
    lag: int
    allowed_lag: int
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalled:
    """All `commits` commits, the first one at `since_ms`, are of `offset`."""

    rule: ClassVar[Rule] = Rule.STALLED
    offset: int
    since_ms: int
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PerhapsStalled:
    """As `Stalled`, but it is not known that there was something to read at these commits for long enough."""

    rule: ClassVar[Rule] = Rule.PERHAPS_STALLED
    offset: int
    since_ms: int
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LagNeverFell:
    """The lag never fell from one commit to the next. Both are None where no commit's lag is known."""

    rule: ClassVar[Rule] = Rule.LAG_NEVER_FELL
    first_lag: int | None
    last_lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LagFell:
    """Commits advance, and the lag fell at the one of `at_ms`."""

    rule: ClassVar[Rule] = Rule.LAG_FELL
    from_lag: int
    to_lag: int
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LagKept:
    """Commits advance as fast as the log: the lag was the same at each."""

    rule: ClassVar[Rule] = Rule.LAG_KEPT
    lag: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FewUnread:
    """Commits advance, by `advanced` records in `commits`, and what is unread is less than ten such commits.

    That is on its way, or the tail of what the group reads at once, whether or not the lag grows.
    """

    rule: ClassVar[Rule] = Rule.FEW_UNREAD
    lag: int
    advanced: int
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LagTrendUnknown:
    """Much is unread; whether the lag grows is unclear from `known_lags` commits of known lag."""

    rule: ClassVar[Rule] = Rule.LAG_TREND_UNKNOWN
    known_lags: int


Reason = (
    NoCommits
    | IncompleteWindow
    | WithinAllowed
    | Stopped
    | Proof
    | PerhapsStopped
    | Rewound
    | WasWithinAllowed
    | Stalled
    | PerhapsStalled
    | LagNeverFell
    | LagFell
    | LagKept
    | FewUnread
    | LagTrendUnknown
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A partition's status, the rule that decided with its numbers, and what it was decided on.

    `lag` is records unread now. `complete` is the share of slots that hold a commit, a 32-bit float.
    """

    status: PartitionStatus
    reason: Reason
    lag: int
    complete: float

    @property
    def rule(self) -> Rule:
        """The rule that decided."""
        return self.reason.rule

    def numbers(self) -> dict[str, int | float | bool | None]:
        """The rule's numbers by name; times are epoch ms, lags and offsets records."""
        return numbers_of(self.reason)


def numbers_of(reason: Reason) -> dict[str, int | float | bool | None]:
    """The numbers of a reason by name, in their order."""
    return {field.name: getattr(reason, field.name) for field in fields(reason)}


# Not frozen, which takes three times as long to make: there are as many as rows. Nobody changes one.
@dataclass(slots=True, unsafe_hash=True)
class Judged:
    """The numbers of a verdict's rule by name, in their order; times are epoch ms."""

    status: PartitionStatus
    rule: Rule
    numbers: Mapping[str, int | float | bool | None]


def group_status(statuses: Iterable[PartitionStatus]) -> GroupStatus:
    """The status of a group that exists, from those of its partitions; OK if it has none."""
    return max(map(_as_group_status, statuses), key=_SEVERITY.index, default=GroupStatus.OK)


_SEVERITY = (GroupStatus.OK, GroupStatus.UNKNOWN, GroupStatus.WARN, GroupStatus.ERR)


def _as_group_status(status: PartitionStatus) -> GroupStatus:
    match status:
        case PartitionStatus.OK:
            return GroupStatus.OK
        case PartitionStatus.UNKNOWN:
            return GroupStatus.UNKNOWN
        case PartitionStatus.WARN:
            return GroupStatus.WARN
        case PartitionStatus.STOP | PartitionStatus.STALL | PartitionStatus.REWIND:
            return GroupStatus.ERR
