"""The last commits of each key that a scan of the log kept, one by one or in columns."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from kgroup.api.lag.arrow_commits import dictionary_of
from kgroup.api.lag.group_spans import group_spans
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.columns import UNKNOWN, CommitColumns, Int64s, WindowColumns
from kgroup.lag.status.numbers import Numbers
from kgroup.lag.status.window import NO_COMMITS, CommitWindow, WindowCommit
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reading.order import starts_of
from kgroup.scan.reading.taken import rows_at
from kgroup.scan.reductions.last_commits import LastCommits

_NOWHERE: Final = (0, 0)
_NO_KEY: Final = -1  # the number of a key without commits: what is appended to bounds for it is empty
_KEY: Final = ("offsets_partition", "group", "topic", "partition")


class Windows:
    """The windows of all keys of a log, made as they are asked for; without log ends of the past.

    Of a group's commits in two offsets partitions those with the newer last commit count, as in the report.
    """

    def __init__(self, last: LastCommits, slots: int) -> None:
        self.slots = slots
        self._membership_changes = last.membership_changes
        table = last.commits
        offsets = values_of(table["offset"])
        self.commits = CommitColumns(
            offsets=offsets,
            timestamps=values_of(table["commit_timestamp"]),
            lags=np.broadcast_to(UNKNOWN, len(offsets)),
        )
        """The commits of all keys, one after the other."""
        self._log_offsets = values_of(table["log_offset"])
        starts = starts_of(table, _KEY)
        self._starts, self._stops = starts, np.append(starts, table.num_rows)[1:]
        keys = rows_at(table.select(_KEY), starts).combine_chunks()
        self._offsets_partitions = values_of(keys["offsets_partition"])
        self._partitions = values_of(keys["partition"])
        self._topics, self._topic_of = dictionary_of(keys, "topic")
        self._groups = group_spans(keys)
        """Which of the keys are a group's."""
        self._numbered: tuple[str, dict[tuple[str, int], int]] | None = None
        """The group that was asked for last, and by topic and partition which of the keys it is."""

    def _number(self, group: str, topic: str, partition: int) -> int:
        # Of one group after the other, as they are asked for: those of 50,000 keys at once are 9 MB.
        if self._numbered is None or self._numbered[0] != group:
            self._numbered = (group, self._numbers(self._groups.get(group, ())))
        return self._numbered[1].get((topic, partition), _NO_KEY)

    def _numbers(self, of_group: Sequence[slice]) -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = {}
        for keys in of_group:
            topics = [self._topics[topic] for topic in self._topic_of[keys].tolist()]
            places = zip(topics, self._partitions[keys].tolist(), strict=True)
            for number, place in enumerate(places, keys.start):
                known = found.setdefault(place, number)
                if known != number and self._newest_ms(number) > self._newest_ms(known):
                    found[place] = number
        return found

    def _newest_ms(self, number: int) -> int:
        return int(self.commits.timestamps[self._stops[number] - 1])

    def _bounds(self, group: str, topic: str, partition: int) -> tuple[int, int]:
        number = self._number(group, topic, partition)
        return _NOWHERE if number == _NO_KEY else (int(self._starts[number]), int(self._stops[number]))

    def find(self, group: str, topic: str, partition: int) -> CommitWindow:
        """The window of a key, one without slots if it has no commits."""
        start, end = self._bounds(group, topic, partition)
        if start == end:
            return NO_COMMITS
        rows = slice(start, end)
        commits = tuple(
            WindowCommit(offset=offset, timestamp=timestamp, order=order)
            for offset, timestamp, order in zip(
                self.commits.offsets[rows].tolist(),
                self.commits.timestamps[rows].tolist(),
                self._log_offsets[rows].tolist(),
                strict=True,
            )
        )
        return CommitWindow(slots=self.slots, commits=commits, membership_changes=self._changes(group, start))

    def of_row(self, row: LagRow) -> CommitWindow:
        """The window of a row; one of the offset -1 has nothing committed, as Kafka sees it."""
        return NO_COMMITS if row.current_offset is None else self.find(row.group, row.topic, row.partition)

    def of_rows(self, rows: Sequence[LagRow]) -> WindowColumns:
        """The same of many rows, over `commits`."""
        found = np.array(
            [
                _NO_KEY if row.current_offset is None else self._number(row.group, row.topic, row.partition)
                for row in rows
            ],
            np.int64,
        )
        stops = np.append(self._stops, 0)[found]
        unknown = np.full(len(rows), UNKNOWN)
        return WindowColumns(
            commits=self.commits,
            slots=self.slots,
            stops=stops,
            counts=stops - np.append(self._starts, 0)[found],
            unread_since_ms=unknown,
            unread_by_ms=unknown,
            caught_up_ms=unknown,
        )

    def changed_between(
        self, rows: Sequence[LagRow], windows: Int64s, before: Int64s, after: Int64s
    ) -> Numbers:
        """Whether the membership changed between two commits, given by their places, of some of the rows."""
        changed = [
            any(
                self._log_offsets[first] < change < self._log_offsets[second]
                for change in self._changes(rows[window].group, first)
            )
            for window, first, second in zip(windows.tolist(), before.tolist(), after.tolist(), strict=True)
        ]
        return Numbers(np.array(changed, np.bool_))

    def _changes(self, group: str, row: int) -> tuple[int, ...]:
        """The log offsets in a commit's offsets partition at which its group's membership changed."""
        key = int(np.searchsorted(self._starts, row, side="right")) - 1
        return self._membership_changes.get((int(self._offsets_partitions[key]), group), ())
