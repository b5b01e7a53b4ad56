"""Groups that read, and do not keep up; topics of which one partition has nearly all of the lag."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Final

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.group_standstill import Standings
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.standstill import broken_after_ms, has_unread
from kgroup.lag.findings.text import counted
from kgroup.lag.status.window_evidence import COMMITS_BEHIND

KEEPS_PACE: Final = 0.9
"""A group that reads at least this share of what is written is taken to keep pace: rates are rough."""
_WINDOW_MS: Final = 5_000  # shorter windows give no rate worth the name
_HOT_SHARE: Final = 0.8
_HOT_PARTITIONS: Final = 3
_HOT_TIMES_OTHERS: Final = 10

_TRY_GROWING: Final = (
    "Make each record cheaper or add members, up to one per partition; if all partitions have a member of"
    " their own, more partitions or threads. Look for what changed: a slower dependency, a burst."
)
_TRY_HOT: Final = (
    "More members do not help one partition. Look at the keys: a very frequent one, null keys with a sticky"
    " partitioner, or a custom partitioner; salt the key, or process by key in several threads."
)


@dataclass(frozen=True, slots=True)
class _Pace:
    partition: PartitionFacts
    written_per_s: float
    read_per_s: float


@dataclass(frozen=True, slots=True)
class Growth:
    """A topic of which a group reads clearly less than is written, over these partitions together."""

    partitions: tuple[PartitionFacts, ...]
    read_per_s: float
    written_per_s: float


def pace(facts: GroupFacts, standings: Standings) -> Iterator[Finding]:
    """Lag that grows, per topic, and hot partitions; what stands still is found already."""
    step, explained = facts.usual_step, standings.explained(facts.partitions)
    for of_topic in _by_topic(facts):
        going = [partition for partition in of_topic if partition.topic_partition not in explained]
        growth = _growth(going, step)
        if growth is not None:
            yield _lag_growing(facts, growth)
        if len(going) == len(of_topic):
            yield from _hot(facts, of_topic, step)


def growths(facts: GroupFacts, standings: Standings) -> Iterator[Growth]:
    """The topics of which the lag grows; what stands still is found already."""
    step, explained = facts.usual_step, standings.explained(facts.partitions)
    for of_topic in _by_topic(facts):
        going = [partition for partition in of_topic if partition.topic_partition not in explained]
        growth = _growth(going, step)
        if growth is not None:
            yield growth


def _by_topic(facts: GroupFacts) -> Iterator[list[PartitionFacts]]:
    """The partitions with commits, by topic."""
    for _, of_topic in groupby(facts.partitions, lambda partition: partition.row.topic):
        yield [partition for partition in of_topic if partition.commits]


def _growth(going: Sequence[PartitionFacts], step: int) -> Growth | None:
    paces = [pace for partition in going if (pace := _pace(partition)) is not None]
    lag = sum(pace.partition.row.lag or 0 for pace in paces)
    written = sum(pace.written_per_s for pace in paces)
    read = sum(pace.read_per_s for pace in paces)
    if not paces or read >= KEEPS_PACE * written or lag < COMMITS_BEHIND * step * len(paces):
        return None
    if read <= 0:
        return None  # nothing moves: that is a standstill, or too little is known for one
    return Growth(tuple(pace.partition for pace in paces), round(read, 3), round(written, 3))


def _lag_growing(facts: GroupFacts, growth: Growth) -> Finding:
    rows = [partition.row for partition in growth.partitions]
    lag = sum(row.lag or 0 for row in rows)
    return Finding(
        kind=FindingKind.LAG_GROWING,
        group=facts.group.group_id,
        topic=rows[0].topic,
        partition=rows[0].partition if len(rows) == 1 else None,
        since_ms=min(partition.first_ms for partition in growth.partitions),
        grade=Grade.INFERRED,
        evidence=f"reads {growth.read_per_s:.1f}/s, {growth.written_per_s:.1f}/s are written; {lag:,} unread"
        f" on {counted(len(rows), 'partition')}",
        numbers={
            "read_per_s": growth.read_per_s,
            "written_per_s": growth.written_per_s,
            "total_lag": lag,
            "partitions": len(rows),
        },
        try_this=_TRY_GROWING,
    )


def _pace(partition: PartitionFacts) -> _Pace | None:
    """Rates of a partition whose commits go on; None where they cannot be known."""
    longest_ms, written = partition.longest_interval_ms, partition.written_per_s
    if longest_ms is None or written is None or not has_unread(partition):
        return None
    span_ms = partition.last_ms - partition.first_ms
    silent_ms = (partition.passed_until_ms or partition.last_ms) - partition.last_ms
    if span_ms < _WINDOW_MS or silent_ms >= broken_after_ms(longest_ms):
        return None
    advanced = max(partition.last_offset - partition.first_offset, 0)
    return _Pace(partition, written, advanced * 1000 / span_ms)


def _is_read_as_the_others(hottest: PartitionFacts, with_lag: Sequence[PartitionFacts]) -> bool:
    """Whether it was committed as lately as the rest: else it is no load that makes it lag."""
    if hottest.longest_interval_ms is None:
        return False
    newest_ms = max(partition.last_ms for partition in with_lag)
    return newest_ms - hottest.last_ms <= 2 * hottest.longest_interval_ms


def _hot(facts: GroupFacts, of_topic: Sequence[PartitionFacts], step: int) -> Iterator[Finding]:
    with_lag = [partition for partition in of_topic if partition.row.lag is not None]
    total = sum(max(partition.row.lag or 0, 0) for partition in with_lag)
    if len(with_lag) < _HOT_PARTITIONS or not total:
        return
    hottest = max(with_lag, key=lambda partition: partition.row.lag or 0)
    lag = hottest.row.lag or 0
    others = [max(partition.row.lag or 0, 0) for partition in with_lag if partition is not hottest]
    is_hot = lag >= _HOT_SHARE * total and lag >= _HOT_TIMES_OTHERS * max(median(others), 1)
    if not is_hot or lag < COMMITS_BEHIND * step or not _is_read_as_the_others(hottest, with_lag):
        return
    yield Finding(
        kind=FindingKind.HOT_PARTITION,
        group=facts.group.group_id,
        topic=hottest.row.topic,
        partition=hottest.row.partition,
        member_id=hottest.row.member_id,
        grade=Grade.INFERRED,
        evidence=f"{lag:,} of the topic's {total:,} unread are in one of {len(with_lag)} partitions, the"
        f" others have {median(others):g} each",
        numbers={"lag": lag, "total_lag": total, "share": round(lag / total, 3), "partitions": len(with_lag)},
        try_this=_TRY_HOT,
    )
