"""Odd commits: they went backwards, two writers alternate, a transaction hangs."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, OpenCommit, PartitionFacts
from kgroup.lag.findings.standstill import has_unread, unread_text
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.status.model import Rewound
from kgroup.lag.status.window import CommitWindow
from kgroup.protocol.topic_partition import TopicPartition

TRANSACTION_MAX_MS: Final = 900_000
"""`transaction.max.timeout.ms`: no producer may keep a transaction open for longer than 15 minutes, after
which its coordinator aborts it (KIP-664 searches for hanging ones by the same limit)."""
TRANSACTION_USUAL_MS: Final = 70_000
"""`transaction.timeout.ms` of a producer that sets none, and the ten seconds after which its coordinator
looks for what has expired (`transaction.abort.timed.out.transaction.cleanup.interval.ms`): what is open for
longer has another timeout, or hangs."""
_TURNS: Final = 2

_TRY_TRANSACTION: Final = (
    "kafka-transactions.sh find-hanging, then abort. Until it ends, readers of committed data wait where it"
    " begins. A producer that is gone cannot end it."
)
_TRY_ZOMBIE: Final = (
    "Find the process that lost the partition and still commits: its log has CommitFailedException or a"
    " rebalance without onPartitionsLost. Commits with generation and member id are refused; those from"
    " assign() with the same group id are accepted."
)
_TRY_REWOUND: Final = (
    "Unless someone reset the offsets on purpose, records are read twice: look for seek(), auto.offset.reset"
    " after an out-of-range offset, and a member that committed late after it lost the partition."
)


def rewinds(facts: GroupFacts) -> Iterator[Finding]:
    """Partitions whose committed offset went back, or goes back and forth."""
    for partition in facts.partitions:
        window = partition.window
        turns = _turns(window) if window is not None else 0
        if window is not None and turns >= _TURNS:
            yield _zombie(facts, partition, window, turns)
        elif partition.rewound is not None:
            yield _rewound(facts, partition, partition.rewound)


def _turns(window: CommitWindow) -> int:
    """Count how often two sequences of commits that each go forward take turns: down, and up again beyond.

    A reset goes down once; two writers go down as often as the one that is behind commits.
    """
    commits = window.commits
    turns, highest = 0, -1
    for before, after in pairwise(commits):
        highest = max(highest, before.offset)
        if after.offset < before.offset and any(
            later.offset >= highest for later in commits if later.order > after.order
        ):
            turns += 1
    return turns


def _zombie(facts: GroupFacts, partition: PartitionFacts, window: CommitWindow, turns: int) -> Finding:
    row, commits = partition.row, window.commits
    falls = [(before, after) for before, after in pairwise(commits) if after.offset < before.offset]
    before, after = falls[-1]
    return Finding(
        kind=FindingKind.ZOMBIE_COMMITS,
        group=facts.group.group_id,
        topic=row.topic,
        partition=row.partition,
        member_id=row.member_id,
        since_ms=falls[0][1].timestamp,
        # A log has no member in a commit: who wrote it is for the processes' own logs to say.
        grade=Grade.UNKNOWN if window.membership_changes is None else Grade.INFERRED,
        evidence=f"the committed offset went back {turns} times in {counted(len(commits), 'commit')} and"
        f" recovered each time, last from {before.offset} to {after.offset}: two readers commit in turn",
        numbers={"turns": turns, "from_offset": before.offset, "to_offset": after.offset},
        try_this=_TRY_ZOMBIE,
    )


def _rewound(facts: GroupFacts, partition: PartitionFacts, reason: Rewound) -> Finding:
    row = partition.row
    changed = {
        None: "",
        True: ", just after members or generation changed",
        False: ", with no change of members or generation",
    }[reason.membership_changed]
    again = reason.from_offset - reason.to_offset
    return Finding(
        kind=FindingKind.REWOUND,
        group=facts.group.group_id,
        topic=row.topic,
        partition=row.partition,
        member_id=row.member_id,
        since_ms=reason.at_ms,
        grade=Grade.RECORDED,
        evidence=f"the committed offset went back from {reason.from_offset} to {reason.to_offset}{changed}:"
        f" {counted(again, 'offset')} to read again",
        numbers={"from_offset": reason.from_offset, "to_offset": reason.to_offset},
        try_this=_TRY_REWOUND,
    )


def hanging_transactions(facts: GroupFacts) -> Iterator[Finding]:
    """Commits in transactions that are open for longer than usual, one finding per producer."""
    for producer_id, commits in _overdue(facts):
        since_ms = min(commit.timestamp for commit in commits)
        held = sorted({(commit.topic, commit.partition) for commit in commits})
        topics = sorted({topic for topic, _ in held})
        # Partitions of one topic, as far as they can be taken in; of several, the topics, which matter more.
        places = listed([f"{topic}-{partition}" for topic, partition in held])
        if len(topics) > 1:
            places = f"{counted(len(held), 'partition')} of {listed(topics)}"
        waiting = _waiting(facts, commits) if _hangs(facts, commits) else []
        meanwhile = f"; nothing is committed there since, {unread_text(waiting)}" if waiting else ""
        yield Finding(
            kind=FindingKind.HANGING_TRANSACTION,
            group=facts.group.group_id,
            topic=topics[0] if len(topics) == 1 else None,
            partition=held[0][1] if len(held) == 1 else None,
            since_ms=since_ms,
            grade=Grade.INFERRED if _hangs(facts, commits) else Grade.UNKNOWN,
            evidence=f"producer {producer_id} committed offsets of {places} in a transaction"
            f" {lasting(facts.now_ms - since_ms)} ago, and neither commit nor abort followed{meanwhile}",
            numbers={
                "producer_id": producer_id,
                "open_ms": facts.now_ms - since_ms,
                "partitions": len(held),
            },
            try_this=_TRY_TRANSACTION,
        )


def held_by_transactions(facts: GroupFacts) -> frozenset[TopicPartition]:
    """The partitions that stand still as their offsets lie in a transaction that surely hangs.

    A consumer that fetches them gets UNSTABLE_OFFSET_COMMIT (KIP-447) until it ends, through no fault of its
    own.
    """
    return frozenset(
        partition.topic_partition
        for _, commits in _overdue(facts)
        if _hangs(facts, commits)
        for partition in _waiting(facts, commits)
    )


def _overdue(facts: GroupFacts) -> Iterator[tuple[int, list[OpenCommit]]]:
    by_producer: dict[int, list[OpenCommit]] = {}
    for commit in facts.open_commits:
        by_producer.setdefault(commit.producer_id, []).append(commit)
    for producer_id, commits in sorted(by_producer.items()):
        if facts.now_ms - min(commit.timestamp for commit in commits) > TRANSACTION_USUAL_MS:
            yield producer_id, commits


def _hangs(facts: GroupFacts, commits: Sequence[OpenCommit]) -> bool:
    return facts.now_ms - min(commit.timestamp for commit in commits) > TRANSACTION_MAX_MS


def _waiting(facts: GroupFacts, commits: Sequence[OpenCommit]) -> list[PartitionFacts]:
    """The partitions of these commits that have something unread, and have not been committed since."""
    held_ms = {(commit.topic, commit.partition): commit.timestamp for commit in commits}
    return [
        partition
        for partition in facts.partitions
        if has_unread(partition)
        and partition.commits
        and partition.last_ms <= held_ms.get(partition.topic_partition, -1)
    ]
