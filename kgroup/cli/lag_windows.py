"""The last commits of each key, as a scan of the log left them, one window after the other."""

from typing import Final

import numpy as np

from kgroup.group.commit_window import CommitWindow, WindowCommit
from kgroup.log.scan_gather import numbers, values_of
from kgroup.log.scan_last import LastCommits

_NO_COMMITS: Final = CommitWindow(slots=0)


class Windows:
    """The windows of all keys of a log, made as they are asked for; without log ends of the past.

    Of a group's commits in two offsets partitions those with the newer last commit count, as in the report.
    """

    def __init__(self, last: LastCommits, slots: int) -> None:
        self._slots = slots
        self._membership_changes = last.membership_changes
        table = last.commits
        self._offsets = values_of(table["offset"])
        self._timestamps = values_of(table["commit_timestamp"])
        self._log_offsets = values_of(table["log_offset"])
        self._offsets_partitions = values_of(table["offsets_partition"])
        partitions = values_of(table["partition"])
        groups, topics = values_of(table["group"]), values_of(table["topic"])
        begins = np.ones(table.num_rows, np.bool_)
        keys = (groups, topics, partitions, self._offsets_partitions)
        begins[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        starts = np.flatnonzero(begins)
        firsts = table.select(["group", "topic"]).take(numbers(starts))
        ends = np.append(starts, table.num_rows)[1:]
        self._rows: dict[tuple[str, str, int], slice] = {}
        for group, topic, partition, start, end in zip(
            firsts["group"].to_pylist(),
            firsts["topic"].to_pylist(),
            partitions[starts].tolist(),
            starts.tolist(),
            ends.tolist(),
            strict=True,
        ):
            place = str(group), str(topic), partition
            known = self._rows.get(place)
            if known is None or self._timestamps[end - 1] > self._timestamps[known.stop - 1]:
                self._rows[place] = slice(start, end)

    def find(self, group: str, topic: str, partition: int) -> CommitWindow:
        """The window of a key, one without slots if it has no commits."""
        rows = self._rows.get((group, topic, partition))
        if rows is None:
            return _NO_COMMITS
        commits = tuple(
            WindowCommit(offset=offset, timestamp=timestamp, order=order)
            for offset, timestamp, order in zip(
                self._offsets[rows].tolist(),
                self._timestamps[rows].tolist(),
                self._log_offsets[rows].tolist(),
                strict=True,
            )
        )
        coordinator = int(self._offsets_partitions[rows.start]), group
        return CommitWindow(
            slots=self._slots,
            commits=commits,
            membership_changes=self._membership_changes.get(coordinator, ()),
        )
