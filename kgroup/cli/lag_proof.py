"""What other groups' commits and the topics' own logs prove of each partition, for findings and statuses."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final

from kgroup.cli.lag_inputs import LagInputs
from kgroup.cli.lag_windows import Windows
from kgroup.errors import SourceError
from kgroup.group.commit_window import CommitWindow, LogEnd
from kgroup.group.finding_model import GroupFacts, PartitionFacts
from kgroup.group.lag import LagRow
from kgroup.group.lag_rules import KgroupRules
from kgroup.group.log_ends import TopicState
from kgroup.group.membership import simple_group
from kgroup.group.reach import seen_ends, unread_by
from kgroup.log.data_logs import DataLogs
from kgroup.log.scan_gather import values_of
from kgroup.log.scan_history import History

_POINTS: Final = 60  # log ends of the past, evenly over a partition's log
_PLACES_KEPT: Final = 4096
_NO_COMMITS: Final = CommitWindow(slots=0)
_Place = tuple[str, int]


class Reaches:
    """How far anybody had got in each partition, by topic and partition."""

    def __init__(self, history: History) -> None:
        table = history.reach
        self._offsets = values_of(table["offset"])
        self._timestamps = values_of(table["commit_timestamp"])
        places = list(zip(table["topic"].to_pylist(), values_of(table["partition"]).tolist(), strict=True))
        begins = [row for row, place in enumerate(places) if not row or place != places[row - 1]]
        self._rows: dict[_Place, slice] = {
            (str(places[begin][0]), places[begin][1]): slice(begin, end)
            for begin, end in pairwise([*begins, len(places)])
        }
        self.seen = lru_cache(_PLACES_KEPT)(self._find)
        """Proven log ends of the past, by time, of a topic, partition, and its log end offset."""

    def _find(self, topic: str, partition: int, log_end_offset: int | None) -> tuple[LogEnd, ...]:
        rows = self._rows.get((topic, partition), slice(0))
        pairs = zip(self._offsets[rows].tolist(), self._timestamps[rows].tolist(), strict=True)
        return seen_ends(
            (LogEnd(offset=offset, timestamp=timestamp) for offset, timestamp in pairs), log_end_offset
        )


class ProofReader:
    """Puts together what is known of the partitions of each group at `now_ms` (epoch ms).

    Without a `history` nothing is proven: Burrow's rules ask for no proof. The verdicts here are by kgroup's
    own, whatever --rules says of statuses: findings stand on what is certain.
    """

    def __init__(self, windows: Windows, history: History | None, data_logs: DataLogs, now_ms: int) -> None:
        self._windows = windows
        self._reaches = Reaches(history) if history is not None else None
        self._data_logs = data_logs
        self._now_ms = now_ms
        self.problems: list[str] = []
        """What of the data topics' logs could not be read, once it has been met."""

    def facts(self, inputs: LagInputs) -> Iterator[GroupFacts]:
        """All groups that have rows or records of their own, by group id, with their partitions."""
        for group_id, rows in _by_group(inputs):
            yield GroupFacts(
                group=inputs.groups.get(group_id) or simple_group(group_id),
                partitions=tuple(map(self._partition, rows)),
                now_ms=self._now_ms,
            )

    def _partition(self, row: LagRow) -> PartitionFacts:
        window = _NO_COMMITS
        if row.current_offset is not None:
            window = self._windows.find(row.group, row.topic, row.partition)
        is_there = row.topic_state in (TopicState.EXISTS, TopicState.UNKNOWN)
        if self._reaches is None or row.log_end_offset is None or not is_there or not window.commits:
            return PartitionFacts(row=row, window=window)
        seen = self._seen(row, self._reaches) if (row.lag or 0) > 0 else ()
        if seen:
            window = replace(window, unread_by_ms=unread_by(seen, window.commits[-1].offset))
        verdict = KgroupRules().judge(window, row.log_end_offset, self._now_ms)
        return PartitionFacts(row=row, window=window, verdict=verdict, seen_ends=seen)

    def _seen(self, row: LagRow, reaches: Reaches) -> tuple[LogEnd, ...]:
        """By other groups' commits; where these prove nothing, by the partition's own log, if it is here."""
        seen = reaches.seen(row.topic, row.partition, row.log_end_offset)
        if row.current_offset is None or unread_by(seen, row.current_offset) is not None:
            return seen
        try:
            ends = self._data_logs.history(row.topic, row.partition, _POINTS)
        except SourceError as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))
            return seen
        past = (LogEnd(offset=end.offset, timestamp=end.timestamp_ms) for end in ends)
        return seen_ends(past, row.log_end_offset) or seen


def _by_group(inputs: LagInputs) -> Iterator[tuple[str, Iterable[LagRow]]]:
    """Every group with its rows, which some do not have, by group id."""
    unvisited = sorted(inputs.groups, reverse=True)
    for group_id, rows in groupby(inputs.rows(), lambda row: row.group):
        while unvisited and unvisited[-1] < group_id:
            yield unvisited.pop(), ()
        if unvisited and unvisited[-1] == group_id:
            unvisited.pop()
        yield group_id, rows
    yield from ((group_id, ()) for group_id in reversed(unvisited))
