"""The longest steps of partitions whose logs now begin inside the step; there are few."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.errors import SourceError
from kgroup.lag.findings.leap import Leap
from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reading.order import begins_of
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.last_commits import LastCommits
from kgroup.scan.reductions.leaps import UNKNOWN, of_offsets_partitions

_NO_START = -1


class Leaps:
    """Picks them out of the `longest_steps` of all keys, and puts them to the facts on a partition."""

    def __init__(self, last: LastCommits, ends: LogEnds, data_logs: DataLogs) -> None:
        self._data_logs = data_logs
        self._changes = last.membership_changes
        self._of_groups: dict[str, dict[tuple[str, int], list[dict[str, int]]]] = {}
        for of_partition in of_offsets_partitions(last.longest):
            self._add(of_partition, ends)

    def _add(self, longest: pa.Table, ends: LogEnds) -> None:
        """The same of some groups' steps."""
        starts = _starts(longest, ends)
        known = values_of(longest["from_log_offset"]) != UNKNOWN
        from_offsets, offsets = values_of(longest["from_offset"]), values_of(longest["offset"])
        crossing = known & (from_offsets < starts) & (starts <= offsets)
        if not crossing.any():
            return
        groups = values_of(longest["group"])
        places = {
            (row["group"], row["topic"], row["partition"], row["offsets_partition"])
            for row in taken(longest, np.flatnonzero(crossing)).to_pylist()
        }
        rows = np.flatnonzero(np.isin(groups, groups[crossing]) & known)
        for row in taken(longest, rows).to_pylist():
            if (row["group"], row["topic"], row["partition"], row["offsets_partition"]) not in places:
                continue
            of_group = self._of_groups.setdefault(row["group"], {})
            of_group.setdefault((row["topic"], row["partition"]), []).append(row)

    def put_to(self, facts: GroupFacts) -> GroupFacts:
        """The facts on a group with the steps of its partitions."""
        of_group = self._of_groups.get(facts.group.group_id)
        if of_group is None:
            return facts
        partitions = tuple(
            self._with_leap(partition, of_group[partition.topic_partition])
            if partition.topic_partition in of_group
            else partition
            for partition in facts.partitions
        )
        return replace(facts, partitions=partitions)

    def _with_leap(self, partition: PartitionFacts, steps: list[dict[str, int]]) -> PartitionFacts:
        longest, *others = sorted(steps, key=lambda row: row["from_offset"] - row["offset"])
        changes = self._changes.get((longest["offsets_partition"], partition.row.group), ())
        leap = Leap(
            from_offset=longest["from_offset"],
            from_ms=longest["from_timestamp"],
            to_offset=longest["offset"],
            to_ms=longest["commit_timestamp"],
            next_longest=max((row["offset"] - row["from_offset"] for row in others), default=None),
            membership_changes=sum(
                longest["from_log_offset"] < change < longest["log_offset"] for change in changes
            ),
            was_cut_by_request=self._was_cut_by_request(partition),
        )
        return replace(partition, leap=leap)

    def _was_cut_by_request(self, partition: PartitionFacts) -> bool:
        start = partition.row.log_start_offset
        try:
            base = self._data_logs.first_base_offset(*partition.topic_partition)
        except SourceError:
            return False  # reading the log itself reports it
        return start is not None and base is not None and base < start


def _starts(table: pa.Table, ends: LogEnds) -> NDArray[np.int64]:
    """The log start of each step's partition, `_NO_START` if unknown."""
    # The rows are sorted by key, so those of each lie together.
    partitions = values_of(table["partition"])
    begins = begins_of([values_of(table["topic"]), partitions])
    named = taken(table.select(["topic"]), np.flatnonzero(begins))["topic"].to_pylist()
    places = zip(named, partitions[begins].tolist(), strict=True)
    starts = np.array([_start(ends, str(topic), partition) for topic, partition in places], np.int64)
    of_row: NDArray[np.int64] = starts[np.cumsum(begins) - 1]
    return of_row


def _start(ends: LogEnds, topic: str, partition: int) -> int:
    log = ends.find(topic, partition)
    return _NO_START if log is None or log.log_start_offset is None else log.log_start_offset
