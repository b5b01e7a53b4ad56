"""Commits that succeed but cost or mislead: the last offset, offset 0, far too many or too few."""

from collections.abc import Iterator, Sequence
from typing import Final

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.absence import FIRST_COMMIT_MS
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.patience import PATIENCE_MS
from kgroup.protocol.topic_partition import TopicPartition

_IDLE_PARTITIONS_MIN: Final = 2
"""Of one partition alone nobody knows whether its last record is being processed."""
_WINDOW: Final = 10
_OFTEN_PER_S: Final = 10
"""Commits of one partition: each is a record on three replicas, and a wait of the one who commits."""
_IDLE_PER_S: Final = 0.1
"""Commits of a group that say nothing new: at more there are over 8,000 records a day."""
_SELDOM_RECORDS: Final = 1_000

_TRY_LAST: Final = (
    "Commit the offset of the next record, record.offset + 1, as Kafka's own clients do. Until then each"
    " restart rereads the last record of every partition, and alerts on lag never clear."
)
_TRY_ZERO: Final = (
    "Look for code that commits 0 before it has a position: the next owner then starts at the log's start,"
    " or at auto.offset.reset."
)
_TRY_IDLE: Final = (
    "Commit only when something was read. enable.auto.commit always commits every auto.commit.interval.ms:"
    " raise that if a group mostly waits. Offsets of a group with members do not expire."
)
_TRY_OFTEN: Final = "Commit by batch or by time, not by record; what is read again after a crash stays small."
_TRY_SELDOM: Final = (
    "Commit at least every few seconds, or after each batch: everything since the last commit is reread"
    " after a crash, a rebalance or a deployment."
)


def could_commit_last(facts: GroupFacts) -> list[PartitionFacts]:
    """Partitions on which it shows that a group commits the last offset, if it does; else none.

    It shows on what stands idle: the record at the committed offset was there when that was committed, and is
    the only one since, which `GroupFacts.one_record_left` has looked up. A partition without any lag shows
    that the group does not.
    """
    if facts.group.state is GroupState.EMPTY and facts.group.kind is not GroupKind.SIMPLE:
        return []
    if not any(partition.row.lag == 1 for partition in facts.partitions):
        return []
    known = [
        partition
        for partition in facts.partitions
        if partition.commits
        and partition.row.lag is not None
        and partition.row.topic_state in (TopicState.EXISTS, TopicState.UNKNOWN)
    ]
    if any(partition.row.lag == 0 and partition.last_offset > 0 for partition in known):
        return []
    idle = [partition for partition in known if partition.row.lag == 1 and _stands_idle(partition, facts)]
    return idle if len(idle) >= _IDLE_PARTITIONS_MIN else []


def _stands_idle(partition: PartitionFacts, facts: GroupFacts) -> bool:
    return partition.unread_by_ms is not None and facts.now_ms - partition.last_ms >= FIRST_COMMIT_MS


def last_offset_places(facts: GroupFacts) -> frozenset[TopicPartition]:
    """The partitions whose lag of 1 is only that the last offset was committed; none if a group does not."""
    if not facts.one_record_left:
        return frozenset()
    idle = could_commit_last(facts)
    proven = frozenset(p.topic_partition for p in idle if p.topic_partition in facts.one_record_left)
    return proven if idle and len(proven) == len(idle) else frozenset()


def commits_last_offset(facts: GroupFacts) -> Iterator[Finding]:
    """A lag of exactly 1 wherever nothing is written, of a record that the group had read."""
    proven = sorted(last_offset_places(facts))
    if not proven:
        return
    places = listed([f"{topic}-{number}" for topic, number in proven])
    idle = [partition for partition in facts.partitions if partition.topic_partition in set(proven)]
    since_ms = min(partition.last_ms for partition in idle)
    yield Finding(
        kind=FindingKind.COMMITS_LAST_OFFSET,
        group=facts.group.group_id,
        topic=_only_topic(idle),
        since_ms=since_ms,
        grade=Grade.INFERRED,
        evidence=f"a lag of exactly 1 on all of {counted(len(proven), 'idle partition')} ({places}): the"
        " committed offset is that of a record that was there before the commit, and none has come since",
        numbers={"partitions": len(proven)},
        try_this=_TRY_LAST,
    )


def could_be_idle(facts: GroupFacts) -> list[PartitionFacts]:
    """The partitions of a group if all their last commits say the same, with nothing to read; else none."""
    full = _full(facts)
    still = [
        partition
        for partition in full
        if partition.first_offset == partition.last_offset
        and partition.row.lag is not None
        and partition.row.lag <= 0
        and facts.now_ms - partition.last_ms < FIRST_COMMIT_MS
        and partition.last_ms > partition.first_ms
    ]
    return still if len(still) == len(full) and _per_s(still) >= _IDLE_PER_S else []


def habits(facts: GroupFacts) -> Iterator[Finding]:
    """Commits of offset 0, too many, or too few."""
    yield from _zeros(facts)
    yield from _idle(facts)
    yield from _often(facts)
    yield from _seldom(facts)


def _zeros(facts: GroupFacts) -> Iterator[Finding]:
    zeros = [
        partition
        for partition in facts.partitions
        if partition.commits
        and partition.row.current_offset == 0
        and ((partition.row.log_start_offset or 0) > 0 or _had_got_further(partition))
    ]
    if not zeros:
        return
    places = listed([f"{partition.row.topic}-{partition.row.partition}" for partition in zeros])
    yield Finding(
        kind=FindingKind.ZERO_OFFSETS,
        group=facts.group.group_id,
        topic=_only_topic(zeros),
        partition=zeros[0].row.partition if len(zeros) == 1 else None,
        since_ms=max(partition.last_ms for partition in zeros),
        grade=Grade.RECORDED,
        evidence=f"offset 0 is committed on {counted(len(zeros), 'partition')} ({places}) whose log begins"
        " after it, or where the group was further along",
        numbers={"partitions": len(zeros)},
        try_this=_TRY_ZERO,
    )


def _had_got_further(partition: PartitionFacts) -> bool:
    window = partition.window
    return window is not None and any(commit.offset > 0 for commit in window.commits)


def _full(facts: GroupFacts) -> list[PartitionFacts]:
    return [partition for partition in facts.partitions if partition.commits >= _WINDOW]


def _per_s(partitions: Sequence[PartitionFacts]) -> float:
    return sum(
        (partition.commits - 1) * 1000 / max(partition.last_ms - partition.first_ms, 1)
        for partition in partitions
    )


def _idle(facts: GroupFacts) -> Iterator[Finding]:
    """Nothing has been there to read for a while, and each commit says what the one before said."""
    still = could_be_idle(facts)
    since = [facts.reached_ms.get(partition.topic_partition, partition.first_ms) for partition in still]
    if not still or facts.now_ms - max(since) < FIRST_COMMIT_MS:
        return
    rate = _per_s(still)
    yield Finding(
        kind=FindingKind.IDLE_COMMITS,
        group=facts.group.group_id,
        topic=_only_topic(still),
        since_ms=max(since),
        grade=Grade.RECORDED,
        evidence=f"nothing to read for {lasting(facts.now_ms - max(since))}, yet it keeps committing:"
        f" {round(rate * 86_400):,} a day at this rate on {counted(len(still), 'partition')}",
        numbers={"commits_per_s": round(rate, 3), "partitions": len(still)},
        try_this=_TRY_IDLE,
    )


def _often(facts: GroupFacts) -> Iterator[Finding]:
    often = [
        partition
        for partition in _full(facts)
        if partition.last_ms > partition.first_ms and _per_s([partition]) >= _OFTEN_PER_S
    ]
    # Ten commits in a burst are a group that has just begun, or that closes; so is one commit for much.
    if not often or facts.usual_step > _WINDOW:
        return
    rate = _per_s(often)
    yield Finding(
        kind=FindingKind.COMMITS_TOO_OFTEN,
        group=facts.group.group_id,
        topic=_only_topic(often),
        since_ms=min(partition.first_ms for partition in often),
        grade=Grade.INFERRED,
        evidence=f"{rate:,.0f} commits/s on {counted(len(often), 'partition')}, for"
        f" {counted(facts.usual_step, 'record')} each",
        numbers={
            "commits_per_s": round(rate, 3),
            "partitions": len(often),
            "usual_step": facts.usual_step,
        },
        try_this=_TRY_OFTEN,
    )


def _seldom(facts: GroupFacts) -> Iterator[Finding]:
    """Commits that come regularly, minutes apart, with much read between them."""
    seldom = [
        (partition, interval_ms)
        for partition in _full(facts)
        if (interval_ms := _usual_interval_ms(partition)) is not None and interval_ms >= PATIENCE_MS
    ]
    steps = [(p.last_offset - p.first_offset) // (p.commits - 1) for p, _ in seldom]
    if not seldom or sum(steps) < _SELDOM_RECORDS:
        return
    partitions = [partition for partition, _ in seldom]
    yield Finding(
        kind=FindingKind.COMMITS_TOO_SELDOM,
        group=facts.group.group_id,
        topic=_only_topic(partitions),
        since_ms=min(partition.first_ms for partition in partitions),
        grade=Grade.INFERRED,
        evidence=f"a commit every {lasting(max(interval_ms for _, interval_ms in seldom))} on"
        f" {counted(len(seldom), 'partition')}: {counted(sum(steps), 'record')} would be read again",
        numbers={
            "interval_ms": max(interval_ms for _, interval_ms in seldom),
            "partitions": len(seldom),
            "records": sum(steps),
        },
        try_this=_TRY_SELDOM,
    )


def _usual_interval_ms(partition: PartitionFacts) -> int | None:
    """The average interval over the commits that are kept; None without a rhythm."""
    if partition.longest_interval_ms is None:
        return None
    return (partition.last_ms - partition.first_ms) // (partition.commits - 1)


def _only_topic(partitions: Sequence[PartitionFacts]) -> str | None:
    topics = {partition.row.topic for partition in partitions}
    return topics.pop() if len(topics) == 1 else None
