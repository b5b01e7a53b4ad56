"""Groups that read but do not keep up."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.group_standstill import Standings
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.standstill import broken_after_ms, has_unread, unread_text
from kgroup.lag.findings.text import counted
from kgroup.lag.findings.unevenly_behind import unevenly_behind
from kgroup.lag.status.window_evidence import COMMITS_BEHIND
from kgroup.protocol.topic_partition import TopicPartition

KEEPS_PACE: Final = 0.9
"""A group that reads at least this share of what is written is taken to keep pace: rates are rough."""
_WINDOW_MS: Final = 5_000  # shorter windows give no rate worth the name

_TRY_GROWING: Final = (
    "Make each record cheaper to process or add members, up to one per partition; if every partition already"
    " has its own, add partitions or threads. Look for what changed: a slower dependency, a burst."
)


@dataclass(frozen=True, slots=True)
class _Pace:
    partition: PartitionFacts
    written_per_s: float
    read_per_s: float
    reading_per_s: float
    """While it read: without the silence since."""
    silent_ms: int
    """Since the last commit, if that is longer than it ever was between two; else 0."""


@dataclass(frozen=True, slots=True)
class Growth:
    """A topic of which a group reads clearly less than is written, over these partitions together.

    `silent_ms` is for how long none of them has been committed, None if no longer than usual; `reading_per_s`
    is the pace before.
    """

    partitions: tuple[PartitionFacts, ...]
    read_per_s: float
    written_per_s: float
    silent_ms: int | None = None
    reading_per_s: float = 0.0


def pace(
    facts: GroupFacts,
    standings: Standings,
    poisoned: Collection[TopicPartition] = (),
    *,
    given_more: str | None = None,
) -> Iterator[Finding]:
    """Lag that grows, per topic, or who has nearly all of it.

    What stands still is found already, and so are what a record stops, and what a member does not manage as
    it was `given_more` than others.
    """
    for uneven, growth in _behind(facts, standings, poisoned):
        yield from uneven
        if growth is None or uneven:
            continue
        if given_more is None or {one.row.member_id for one in growth.partitions} != {given_more}:
            yield _lag_growing(facts, growth)


def growths(facts: GroupFacts, standings: Standings) -> Iterator[Growth]:
    """The topics of which the lag grows, or their partitions that have nearly all of it."""
    yield from (growth for _, growth in _behind(facts, standings) if growth is not None)


def _behind(
    facts: GroupFacts, standings: Standings, poisoned: Collection[TopicPartition] = ()
) -> Iterator[tuple[Sequence[Finding], Growth | None]]:
    """For each topic, findings on who has nearly all of the lag, and the growth of that part, or of all."""
    if standings.group:
        return  # that explains all of its partitions
    explained = standings.explained(facts.partitions) | set(poisoned)
    for of_topic in _by_topic(facts):
        going = [partition for partition in of_topic if partition.topic_partition not in explained]
        uneven = list(unevenly_behind(facts, of_topic)) if len(going) == len(of_topic) else []
        if uneven:
            going = [one for one in going if any(_is_about(finding, one) for finding in uneven)]
        yield uneven, _growth(going, facts.usual_step)


def _is_about(finding: Finding, partition: PartitionFacts) -> bool:
    row = partition.row
    return finding.partition in (None, row.partition) and finding.member_id in (None, row.member_id)


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
    # Of a topic that is read too slowly those that keep up by themselves are no part of it.
    slow = [pace for pace in paces if pace.read_per_s < KEEPS_PACE * pace.written_per_s]
    if len(slow) < len(paces):
        return _growth([pace.partition for pace in slow], step)
    if read <= 0:
        return None  # nothing moves: that is a standstill, or too little is known for one
    return Growth(
        tuple(pace.partition for pace in paces),
        round(read, 3),
        round(written, 3),
        min((pace.silent_ms for pace in paces), default=0) or None,
        round(sum(pace.reading_per_s for pace in paces), 3),
    )


def _lag_growing(facts: GroupFacts, growth: Growth) -> Finding:
    rows = [partition.row for partition in growth.partitions]
    lag = sum(row.lag or 0 for row in rows)
    pause = f" (nothing for {lasting(growth.silent_ms)})" if growth.silent_ms is not None else ""
    return Finding(
        kind=FindingKind.LAG_GROWING,
        group=facts.group.group_id,
        topic=rows[0].topic,
        partition=rows[0].partition if len(rows) == 1 else None,
        since_ms=min(partition.first_ms for partition in growth.partitions),
        grade=Grade.INFERRED,
        evidence=f"reads {growth.read_per_s:.1f}/s{pause}, {growth.written_per_s:.1f}/s are written;"
        f" {unread_text(growth.partitions)} on {counted(len(rows), 'partition')}",
        numbers={
            "read_per_s": growth.read_per_s,
            "written_per_s": growth.written_per_s,
            "silent_ms": growth.silent_ms,
            "reading_per_s": growth.reading_per_s,
            "total_lag": lag,
            "partitions": len(rows),
        },
        try_this=_TRY_GROWING,
    )


def _pace(partition: PartitionFacts) -> _Pace | None:
    """Rates of a partition that is still committed; None where they cannot be known."""
    longest_ms, written = partition.longest_interval_ms, partition.written_per_s
    if longest_ms is None or written is None or not has_unread(partition):
        return None
    span_ms = partition.last_ms - partition.first_ms
    silent_ms = (partition.passed_until_ms or partition.last_ms) - partition.last_ms
    if span_ms < _WINDOW_MS or silent_ms >= broken_after_ms(longest_ms):
        return None
    advanced = max(partition.last_offset - partition.first_offset, 0)
    # A commit that is not late says nothing of what it will hold; beyond that the silence counts.
    late_ms = max(silent_ms - longest_ms, 0)
    return _Pace(
        partition,
        written,
        advanced * 1000 / (span_ms + late_ms),
        advanced * 1000 / span_ms,
        silent_ms if late_ms else 0,
    )
