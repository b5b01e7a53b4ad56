"""Proof about each partition, from other groups' commits and the topics' own logs."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, islice
from typing import Final

import numpy as np

from kgroup.api.lag.inputs import LagInputs
from kgroup.api.lag.leaps import Leaps
from kgroup.api.lag.own_logs import OwnLogs
from kgroup.api.lag.stands import Stands
from kgroup.api.lag.transactions import TransactionsInLogs, TransactionSource, with_records, with_transactions
from kgroup.api.lag.windows import Windows
from kgroup.history.groups.model import Group, simple_group
from kgroup.lag.findings.fact_columns import PartitionColumns
from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.findings.own_log import NO_LOG, is_worth_reading
from kgroup.lag.findings.partition_facts import is_judged, partition_facts, usual_step
from kgroup.lag.findings.proven_status import judged_one_by_one
from kgroup.lag.findings.seen_ends import seen_ends
from kgroup.lag.findings.seen_ends_columns import SeenColumns, SeenNumbers
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.model import Judged
from kgroup.lag.status.rule_sets import LagRules
from kgroup.lag.status.window import CommitWindow, LogEnd
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reading.order import starts_of
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.history import History

ROWS_AT_ONCE: Final = 4096
_NOWHERE: Final = (0, 0)

JudgedGroup = tuple[GroupFacts, Sequence[Judged | None]]
"""A group, and the status of each of its partitions; None where there is no log end to judge by."""
GroupRows = tuple[Group, Sequence[LagRow]]
"""A group with all of its rows, of which there may be none."""


class Reaches:
    """The furthest position of anyone in each partition."""

    def __init__(self, history: History) -> None:
        table = history.reach.unify_dictionaries()
        self._offsets = values_of(table["offset"])
        self._timestamps = values_of(table["commit_timestamp"])
        self._topics: dict[str, list[tuple[int, tuple[int, int]]]] | None = None
        starts = starts_of(table, ("topic", "partition"))
        firsts = taken(table.select(["topic", "partition"]), starts)
        places = zip(firsts["topic"].to_pylist(), values_of(firsts["partition"]).tolist(), strict=True)
        bounds = zip(starts.tolist(), np.append(starts, table.num_rows)[1:].tolist(), strict=True)
        self._bounds = dict(
            zip(((str(topic), partition) for topic, partition in places), bounds, strict=True)
        )

    def of_rows(self, rows: Sequence[LagRow]) -> SeenColumns:
        """The log ends that other groups' commits, and a group's own, prove of each row's partition."""
        bounds = [self._bounds.get((row.topic, row.partition), _NOWHERE) for row in rows]
        return SeenColumns(
            offsets=self._offsets,
            timestamps=self._timestamps,
            starts=np.array([start for start, _ in bounds], np.int64),
            stops=np.array([stop for _, stop in bounds], np.int64),
        )

    def times(self, topic: str) -> dict[int, tuple[int, int]]:
        """The first and last time (epoch ms) each partition of a topic was seen, by partition."""
        if self._topics is None:
            self._topics = {}
            for (name, partition), bounds in self._bounds.items():
                self._topics.setdefault(name, []).append((partition, bounds))
        return {
            partition: (int(self._timestamps[start]), int(self._timestamps[stop - 1]))
            for partition, (start, stop) in self._topics.get(topic, ())
        }

    def of_row(self, row: LagRow) -> tuple[LogEnd, ...]:
        """The same of one row, by time, without what lies beyond the log's end."""
        rows = slice(*self._bounds.get((row.topic, row.partition), _NOWHERE))
        pairs = zip(self._offsets[rows].tolist(), self._timestamps[rows].tolist(), strict=True)
        return seen_ends(
            (LogEnd(offset=offset, timestamp=timestamp) for offset, timestamp in pairs), row.log_end_offset
        )


class ProofReader:
    """Puts together what is known of the partitions of each group at `now_ms` (epoch ms).

    Without a `history` nothing is proven: Burrow's rules ask for no proof. The facts are judged by kgroup's
    own rules, whatever --rules says of statuses: findings stand on what is certain.
    """

    def __init__(
        self,
        windows: Windows,
        history: History | None,
        data_logs: DataLogs,
        now_ms: int,
        transactions: TransactionSource | None = None,
        leaps: Leaps | None = None,
        stands: Stands | None = None,
    ) -> None:
        self._windows = windows
        self._leaps = leaps
        self._stands = stands
        self._transactions = transactions or TransactionsInLogs(data_logs)
        self.reaches = Reaches(history) if history is not None else None
        self._now_ms = now_ms
        self._data_logs = data_logs
        self._unreadable: list[str] = []
        self._own_logs = OwnLogs(logs=data_logs, now_ms=now_ms, problems=self._unreadable)

    @property
    def problems(self) -> tuple[str, ...]:
        """Read errors of the data topics' logs, as far as they have been read."""
        return (*self._unreadable, *self._transactions.problems)

    def window(self, row: LagRow) -> CommitWindow:
        """The last commits of a row."""
        return self._windows.of_row(row)

    def facts(self, groups: Sequence[GroupRows]) -> list[GroupFacts]:
        """Some thousand rows' groups at once, with what is known of their partitions."""
        columns = self._columns(groups)
        if columns.is_strange():
            return self._looked_into(list(map(self._one_by_one, groups)))
        steps = columns.usual_steps(len(groups))
        return self._looked_into(self._facts(groups, columns, self._seen(columns, steps), steps))

    def judged(self, groups: Sequence[GroupRows], rules: LagRules) -> list[JudgedGroup]:
        """The same groups with the status of each partition."""
        columns = self._columns(groups)
        if columns.is_strange():
            plain = self._looked_into(list(map(self._one_by_one, groups)))
            return [(facts, judged_one_by_one(facts, rules)) for facts in plain]
        steps = columns.usual_steps(len(groups))
        seen = self._seen(columns, steps)
        of_groups = self._looked_into(self._facts(groups, columns, seen, steps))
        judged = iter(columns.judged(of_groups, seen, rules))
        return [(facts, list(islice(judged, len(facts.partitions)))) for facts in of_groups]

    def _looked_into(self, groups: list[GroupFacts]) -> list[GroupFacts]:
        if self.reaches is None:
            return groups
        counted = with_records(groups, self._data_logs, self._unreadable)
        return with_transactions(counted, self._transactions)

    def _columns(self, groups: Sequence[GroupRows]) -> PartitionColumns:
        rows = [row for _, of_group in groups for row in of_group]
        return PartitionColumns.of(
            rows,
            np.repeat(np.arange(len(groups)), [len(of_group) for _, of_group in groups]),
            self._windows.of_rows(rows),
            self._now_ms,
            self._windows.of_row,
            partial(self._windows.changed_between, rows),
        )

    def _facts(
        self,
        groups: Sequence[GroupRows],
        columns: PartitionColumns,
        seen: SeenNumbers | None,
        steps: Sequence[int],
    ) -> list[GroupFacts]:
        partitions = iter(columns.facts(seen))
        of_groups = [
            GroupFacts(
                group=group,
                partitions=tuple(islice(partitions, len(rows))),
                now_ms=self._now_ms,
                usual_step=step,
            )
            for (group, rows), step in zip(groups, steps, strict=True)
        ]
        return list(map(self._with_steps, of_groups))

    def _with_steps(self, facts: GroupFacts) -> GroupFacts:
        """The facts with steps of commits that lie further back than the last ones."""
        if self._stands is not None:
            facts = self._stands.put_to(facts)
        return facts if self._leaps is None else self._leaps.put_to(facts)

    def _seen(self, columns: PartitionColumns, steps: Sequence[int]) -> SeenNumbers | None:
        """The numbers seen in other groups' commits, and in the partition's own log if it is here."""
        if self.reaches is None:
            return None
        seen = columns.seen(self.reaches.of_rows(columns.rows))
        rows = [(row, columns.rows[row]) for row in columns.worth_reading(steps).tolist()]
        return seen.with_logs(
            {row: self._own_logs.proof(of_row, self._windows.of_row) for row, of_row in rows}
        )

    def _one_by_one(self, of_group: GroupRows) -> GroupFacts:
        """The same of a group with numbers that columns have no room to reckon with."""
        group, rows = of_group
        windows = [self._windows.of_row(row) for row in rows]
        step = usual_step(windows)
        facts = GroupFacts(
            group=group,
            partitions=tuple(
                self._partition(row, window, step) for row, window in zip(rows, windows, strict=True)
            ),
            now_ms=self._now_ms,
            usual_step=step,
        )
        return self._with_steps(facts)

    def _partition(self, row: LagRow, window: CommitWindow, step: int) -> PartitionFacts:
        seen: tuple[LogEnd, ...] = ()
        in_log, lag = NO_LOG, row.lag or 0
        if self.reaches is not None and window.commits and is_judged(row) and lag > 0:
            seen = self.reaches.of_row(row)
            if is_worth_reading(window, lag, step, self._now_ms):
                in_log = self._own_logs.proof(row, lambda _: window)
        return partition_facts(row, window, seen, self._now_ms, in_log)


def some_groups(inputs: LagInputs) -> Iterator[list[GroupRows]]:
    """Every group with its rows, which some do not have, by group id; no more at once than is worth it."""
    some: list[GroupRows] = []
    size = 0
    for group_id, of_group in _by_group(inputs):
        rows = tuple(of_group)
        some.append((inputs.groups.get(group_id) or simple_group(group_id), rows))
        size += 1 + len(rows)
        if size >= ROWS_AT_ONCE:
            yield some
            some, size = [], 0
    if some:
        yield some


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
