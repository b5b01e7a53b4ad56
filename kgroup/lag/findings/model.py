"""Findings: what is wrong with a group, and the facts they are drawn from. Values only.

`find.find` makes `Finding`s of `GroupFacts`; where the facts come from (a log, a cluster, Spark) is the
caller's business. `docs/findings.md` explains every kind and its thresholds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kgroup.history.groups.model import Group
from kgroup.history.timeline.model import Grade, Pattern, Roster, Takeover
from kgroup.lag.findings.leap import Leap, Step
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.model import PartitionStatus, Rewound
from kgroup.lag.status.window import CommitWindow
from kgroup.protocol.log_listing import OpenTransaction
from kgroup.protocol.topic_partition import TopicPartition


class Severity(StrEnum):
    """The weight of a finding."""

    TROUBLE = "trouble"
    """Records are late, lost or read twice, or soon will be."""
    HYGIENE = "hygiene"
    """All works, and something is set up in a way that costs more than it needs to, or will mislead."""


class FindingKind(StrEnum):
    """The kinds of findings, the worst first."""

    STOPPED_GROUP = "stopped-group"
    """The group has members, or commits without any, and nothing is committed any more."""
    POISON_RECORD = "poison-record"
    """The same offset stops each member that gets the partition."""
    STATIC_MEMBER_SILENT = "static-member-silent"
    """A static member was taken over, is in the group, and has not committed since."""
    STALLED_MEMBER = "stalled-member"
    """All that a member owns and could read stands still, while others of the group continue."""
    STALLED_PARTITION = "stalled-partition"
    """One partition stands still under a live member that continues with others."""
    NEVER_COMMITS = "never-commits"
    """A member owns partitions with something to read, and the group has no offset for them."""
    DEAD_WITH_LAG = "dead-with-lag"
    """Nobody is in the group, and records wait behind its offsets."""
    OFFSETS_PARTITION_DOWN = "offsets-partition-down"
    """No broker leads the partition of the offsets topic that keeps the group."""
    STUCK_RECONCILIATION = "stuck-reconciliation"
    """A member of a consumer group neither gives up nor gets what the group's target asks (KIP-848)."""
    OPEN_TRANSACTION = "open-transaction"
    """Readers of committed data wait at the beginning of a transaction that has not ended."""
    HANGING_TRANSACTION = "hanging-transaction"
    """Offsets were committed in a transaction that ought to have ended by now."""
    REBALANCE_STORM = "rebalance-storm"
    """One rebalance after the other."""
    MEMBERS_OSCILLATE = "members-oscillate"
    """Members come and go, each with a new name: an autoscaler, as a rule."""
    INSTANCE_ID_DUEL = "instance-id-duel"
    """Two processes have one group.instance.id and fence each other off."""
    ZOMBIE_COMMITS = "zombie-commits"
    """Two members commit one partition in turn: one of them no longer owns it."""
    REWOUND = "rewound"
    """A committed offset went back and has not come up again."""
    SKIPPED_RECORDS = "skipped-records"
    """Its reader went on behind records that it had not read: deleted ones, or more than it can have read."""
    DOUBLED_RECORDS = "doubled-records"
    """A committed offset went back and has come up again: what lies between was handed out twice."""
    UNOWNED_PARTITION = "unowned-partition"
    """A partition that the group subscribes to exists, and no member owns it."""
    MIXED_SUBSCRIPTIONS = "mixed-subscriptions"
    """Members subscribe to different topics: two applications, or two versions of one, share a group id."""
    LAG_GROWING = "lag-growing"
    """Commits continue, slower than records are written."""
    HOT_PARTITION = "hot-partition"
    """More is written to one partition than to others, and it holds most of what is to read."""
    SLOW_MEMBER = "slow-member"
    """One member has most of the lag of a topic of which all partitions get as much."""
    OFFSETS_EXPIRE = "offsets-expire"
    """The broker is about to delete offsets: who comes back then begins at `auto.offset.reset`."""
    EMPTY_GROUP = "empty-group"
    """Nobody is in the group, and nothing is known to wait for it."""
    UNEVEN_ASSIGNMENT = "uneven-assignment"
    """Members' shares differ by more than an assignor of Kafka would let them."""
    USELESS_MEMBERS = "useless-members"
    """Members own nothing, as there are more of them than partitions."""
    COMMITS_LAST_OFFSET = "commits-last-offset"
    """The group commits the offset of the last record it read, and not the next one: lag is never 0."""
    ZERO_OFFSETS = "zero-offsets"
    """Offset 0 is committed where the log began after it, or after the group had got further."""
    IDLE_COMMITS = "idle-commits"
    """The same offsets are committed again and again, though nothing is read."""
    COMMITS_TOO_OFTEN = "commits-too-often"
    """Commits cost more than what is read between them."""
    COMMITS_TOO_SELDOM = "commits-too-seldom"
    """Too much is read between two commits: a restart reads a great deal again."""

    @property
    def severity(self) -> Severity:
        """The weight that a finding of this kind has, unless it says otherwise of itself."""
        return Severity.HYGIENE if self in HYGIENE_KINDS else Severity.TROUBLE


HYGIENE_KINDS: frozenset[FindingKind] = frozenset(
    {
        FindingKind.EMPTY_GROUP,
        FindingKind.UNEVEN_ASSIGNMENT,
        FindingKind.USELESS_MEMBERS,
        FindingKind.COMMITS_LAST_OFFSET,
        FindingKind.ZERO_OFFSETS,
        FindingKind.IDLE_COMMITS,
        FindingKind.COMMITS_TOO_OFTEN,
        FindingKind.COMMITS_TOO_SELDOM,
    }
)
STUCK_KINDS = frozenset(
    {
        FindingKind.STOPPED_GROUP,
        FindingKind.POISON_RECORD,
        FindingKind.STATIC_MEMBER_SILENT,
        FindingKind.STALLED_MEMBER,
        FindingKind.STALLED_PARTITION,
        FindingKind.NEVER_COMMITS,
        FindingKind.DEAD_WITH_LAG,
        FindingKind.STUCK_RECONCILIATION,
        FindingKind.OPEN_TRANSACTION,
        FindingKind.HANGING_TRANSACTION,
        FindingKind.OFFSETS_PARTITION_DOWN,
    }
)
"""The meaning of `--fail-on stuck`: there are records waiting that nobody reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a group.

    `topic`, `partition` and `member_id` are None where it is not about one. `since_ms` is epoch ms, None if
    unknown. `evidence` says in words what it is concluded from, `numbers` the same as values: times are epoch
    ms, durations ms, lags and offsets records. `try_this` is what to do about it. `weight` is there where
    this one weighs more, or less, than its kind does.
    """

    kind: FindingKind
    group: str
    topic: str | None = None
    partition: int | None = None
    member_id: str | None = None
    since_ms: int | None = None
    grade: Grade
    evidence: str
    numbers: Mapping[str, int | float | str | None] = field(default_factory=dict)
    try_this: str
    weight: Severity | None = None

    @property
    def severity(self) -> Severity:
        """Trouble, or hygiene."""
        return self.weight or self.kind.severity


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCommit:
    """A commit in a transaction that has not ended; `timestamp` is epoch ms."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    producer_id: int


# Not frozen, which takes three times as long to make: there are as many as rows. Nobody changes one.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class PartitionFacts:
    """One row of a lag report with further facts. Times are epoch ms.

    `commits` is the number of last commits that are kept, whose first and last are the `first_` and `last_`
    fields. `status` is that of kgroup's rules on the partition by itself, None where there is no log end to
    judge by or nobody asks for findings; `rewound` their reason if it is that.
    """

    row: LagRow
    commits: int = 0
    first_offset: int = 0
    first_ms: int = 0
    last_offset: int = 0
    last_ms: int = 0
    reached_ms: int = 0
    """The first of the last commits that are all of the last offset."""
    stood_since_ms: int | None = None
    """The first of all commits of the last offset without another one since, where the commits that are kept
    repeat it; None elsewhere, and if unknown."""
    longest_interval_ms: int | None = None
    """Between two of the commits; None if there are too few to tell a rhythm, or clocks disagree."""
    status: PartitionStatus | None = None
    rewound: Rewound | None = None
    unread_by_ms: int | None = None
    """The latest time by which something was unread, as a commit or the log itself proves."""
    passed_until_ms: int | None = None
    """The last time the log was proven to grow beyond the last commit."""
    written_per_s: float | None = None
    """Records, in the time of the commits; None if that is unknown."""
    open_transaction: OpenTransaction | None = None
    """What keeps readers of committed data from all that is unread; looked for where nothing moves."""
    unread_records: int | None = None
    """The records in a lag, as compaction leaves fewer than offsets; None where that was not looked for."""
    leap: Leap | None = None
    """The longest step of all its commits, if the log begins within it now."""
    steps: tuple[Step, ...] = ()
    """Its longest steps, the longest first, where one of the group may be further than could be read."""
    window: CommitWindow | None = None
    """The commits themselves, where an offset goes back; else they need not be kept."""

    @property
    def topic_partition(self) -> TopicPartition:
        """Topic and partition."""
        return self.row.topic, self.row.partition


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPartition:
    """A partition of a topic that a group subscribes to, and what proves it. Times are epoch ms.

    It has existed since `since_ms` at the latest, None where nothing tells; `seen_ms` is when it was seen
    last, None for one that a listing of logs names now. `unread` are the records there for the group.
    """

    topic: str
    partition: int
    since_ms: int | None = None
    seen_ms: int | None = None
    unread: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFacts:
    """One group at `now_ms` (epoch ms), with its partitions by topic and number.

    `usual_step` is how many records further its commits usually go, over all partitions, at least 1.
    `open_commits` are those of open transactions. `rosters` are the last assignments, in log order, and
    `takeovers` those of static members, where a partition stands for long. `retention_ms` is the broker's
    `offsets.retention.minutes`. `counts` are how many partitions the topics have that the group subscribes
    to, as far as is known; `unowned` those of them that no member owns. `one_record_left` are partitions
    where the only offset that the group has not read is a record that every reader gets; `reached_ms` is
    since when (epoch ms) somebody has been at the committed offset. The last two are looked up only where
    they may be hygiene.
    """

    group: Group
    partitions: tuple[PartitionFacts, ...]
    now_ms: int
    usual_step: int = 1
    patterns: tuple[Pattern, ...] = ()
    rosters: tuple[Roster, ...] = ()
    takeovers: tuple[Takeover, ...] = ()
    open_commits: tuple[OpenCommit, ...] = ()
    retention_ms: int = RETENTION_MS
    counts: Mapping[str, int] = field(default_factory=dict)
    unowned: tuple[KnownPartition, ...] = ()
    one_record_left: frozenset[TopicPartition] = frozenset()
    reached_ms: Mapping[TopicPartition, int] = field(default_factory=dict)
