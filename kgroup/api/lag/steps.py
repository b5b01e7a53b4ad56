"""The longest steps of groups in which one step stands out, with the backlog before and after each.

Few groups have one, so they are picked out at once, and the logs of their topics alone are looked into.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kgroup.api.lag.group_spans import group_spans, rows_within
from kgroup.api.lag.past_ends import PastEnds
from kgroup.errors import SourceError
from kgroup.history.timeline.model import CauseKind, Timeline
from kgroup.lag.findings.leap import STEPS_BACK, Step
from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.findings.too_far import LEAST, LONGER, OTHERS
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reading.order import begins_of
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.last_commits import LastCommits
from kgroup.scan.reductions.leaps import UNKNOWN, of_offsets_partitions

_Row = dict[str, Any]

_FASTEST_MS: Final = 1
"""Steps that took no time count as this long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A partition that a group was given as its topic grew: `at_ms` (epoch ms), by a record at `offset`."""

    partition: TopicPartition
    at_ms: int
    offset: int
    offsets_partition: int


def growths(timeline: Timeline) -> tuple[Growth, ...]:
    """The partitions that were new to a group, by generations right after the one before.

    Where one between them is missing, the group may have had the partition for longer.
    """
    if not any(_grew(generation.causes) for generation in timeline.generations):
        return ()
    grown: list[Growth] = []
    before: set[TopicPartition] = set()
    number: int | None = None
    for generation in timeline.generations:
        roster = generation.roster
        now = {(one.topic, one.partition) for member in roster.members for one in member.owned}
        is_next = number is not None and roster.generation == number + 1 and not generation.cut
        number = roster.generation
        if is_next and roster.at_ms is not None and _grew(generation.causes):
            topics = {topic for topic, _ in before}
            grown += [
                Growth(
                    partition=new,
                    at_ms=roster.at_ms,
                    offset=roster.offset,
                    offsets_partition=roster.offsets_partition,
                )
                for new in sorted(now - before)
                if new[0] in topics
            ]
        before |= now
    return tuple(grown)


def _grew(causes: Sequence[Any]) -> bool:
    return any(cause.kind is CauseKind.TOPIC_GREW for cause in causes)


class Steps:
    """Puts them to the facts on a group, if one of its steps stands out or a topic of it grew.

    They are the longest of each key.
    """

    def __init__(self, last: LastCommits, past_ends: PastEnds) -> None:
        self._past_ends = past_ends
        self._changes = last.membership_changes
        self._table = last.longest
        self._spans = group_spans(self._table)
        self._standing_out: set[str] = set()
        for of_partition in of_offsets_partitions(self._table):
            self._standing_out.update(_with_one(of_partition))

    def put_to(self, facts: GroupFacts, grown: Sequence[Growth] = ()) -> GroupFacts:
        """The facts with the steps of the group's partitions; as they are if none can have gone too far."""
        group_id = facts.group.group_id
        if group_id not in self._standing_out and not grown:
            return facts
        of_partitions: dict[TopicPartition, list[_Row]] = {}
        for row in self._rows(group_id):
            of_partitions.setdefault((row["topic"], row["partition"]), []).append(row)
        firsts = {
            each.partition: first for each in grown if (first := self._first(each, of_partitions, facts))
        }
        known = {
            place: sorted(
                (row for row in rows if row["from_log_offset"] != UNKNOWN),
                key=lambda row: row["from_offset"] - row["offset"],
            )
            for place, rows in of_partitions.items()
        }
        if not firsts and not any(
            self._may_go_too_far(place, rows, group_id) for place, rows in known.items()
        ):
            return facts
        partitions = tuple(
            self._with_steps(partition, known.get(partition.topic_partition, ()), firsts, group_id)
            for partition in facts.partitions
        )
        return replace(facts, partitions=partitions)

    def _rows(self, group_id: str) -> list[_Row]:
        spans = self._spans.get(group_id, ())
        return [row for span in spans for row in rows_within(self._table, span).to_pylist()]

    def _may_go_too_far(self, place: TopicPartition, rows: Sequence[_Row], group_id: str) -> bool:
        """Whether its longest step stands out and went to the end of a log that is here."""
        if len(rows) <= OTHERS:
            return False
        longest, second = rows[0], rows[1]
        length = longest["offset"] - longest["from_offset"]
        if length < LEAST or length <= LONGER * (second["offset"] - second["from_offset"]):
            return False
        (end,) = self._ends(place, [longest["from_timestamp"]])
        return end is not None and longest["from_offset"] < end <= longest["offset"]

    def _first(
        self, grown: Growth, of_partitions: dict[TopicPartition, list[_Row]], facts: GroupFacts
    ) -> Step | None:
        """The first commit of a new partition as a step from where its log begins."""
        row = next(
            (one for one in of_partitions.get(grown.partition, ()) if one["from_log_offset"] == UNKNOWN), None
        )
        start = next(
            (one.row.log_start_offset for one in facts.partitions if one.topic_partition == grown.partition),
            None,
        )
        if row is None or start is None or row["offset"] - start < LEAST:
            return None
        if row["offsets_partition"] != grown.offsets_partition or row["log_offset"] < grown.offset:
            return None
        return Step(
            from_offset=start,
            from_ms=grown.at_ms,
            to_offset=row["offset"],
            to_ms=row["commit_timestamp"],
            is_first=True,
        )

    def _with_steps(
        self,
        partition: PartitionFacts,
        rows: Sequence[_Row],
        firsts: dict[TopicPartition, Step],
        group_id: str,
    ) -> PartitionFacts:
        place = partition.topic_partition
        steps = [self._step(place, row, group_id) for row in rows]
        first = firsts.get(place)
        if first is not None and all(first.length >= step.length for step in steps):
            steps.insert(0, first)
        return replace(partition, steps=tuple(steps))

    def _step(self, place: TopicPartition, row: _Row, group_id: str) -> Step:
        from_ms, to_ms = row["from_timestamp"], row["commit_timestamp"]
        long_ms = from_ms - STEPS_BACK * max(to_ms - from_ms, _FASTEST_MS)
        long_end, before_end, after_end = self._ends(place, [long_ms, from_ms, max(from_ms, to_ms)])
        changes = self._changes.get((row["offsets_partition"], group_id), ())
        return Step(
            from_offset=row["from_offset"],
            from_ms=from_ms,
            to_offset=row["offset"],
            to_ms=to_ms,
            waiting_before=_beyond(before_end, row["from_offset"]),
            waiting_after=_beyond(after_end, row["offset"]),
            waiting_long=_beyond(long_end, row["from_offset"]),
            membership_changes=sum(row["from_log_offset"] < change < row["log_offset"] for change in changes),
        )

    def _ends(self, place: TopicPartition, times_ms: Sequence[int]) -> list[int | None]:
        try:
            return self._past_ends.ends_at(*place, times_ms)
        except SourceError:
            return [None] * len(times_ms)  # reading the log itself reports it


def _with_one(table: pa.Table) -> set[str]:
    """The groups with a step that is longer than others of its partition by far.

    The steps are of one offsets partition.
    """
    known = np.flatnonzero(values_of(table["from_log_offset"]) != UNKNOWN)
    if not len(known):
        return set()
    # The rows are sorted by key, so those of each lie together.
    keys = [values_of(table[name])[known] for name in ("group", "topic", "partition")]
    starts = np.flatnonzero(begins_of(keys))
    length = (values_of(table["offset"]) - values_of(table["from_offset"]))[known]
    longest = np.maximum.reduceat(length, starts)
    of_key = np.cumsum(begins_of(keys)) - 1
    others = np.where(length == longest[of_key], 0, length)
    second = np.maximum.reduceat(others, starts)
    ties = np.add.reduceat((length == longest[of_key]).astype(np.int64), starts)
    counts = np.diff(np.append(starts, len(known)))
    far = (longest >= LEAST) & (longest > LONGER * second) & (ties == 1) & (counts > OTHERS)
    return set(map(str, taken(table.select(["group"]), known[starts[far]])["group"].to_pylist()))


def _beyond(end: int | None, offset: int) -> int | None:
    return None if end is None else end - offset
