"""The last commits of every key, found while scanning: what a window of commits is made of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.log.scan import ScanBlock, Slice, scan
from kgroup.log.scan_arrow import schema_of
from kgroup.log.scan_gather import numbers, values_of
from kgroup.protocol.consumer_values import ConsumerGroupMetadataValue
from kgroup.protocol.entries import OffsetsEntry, TransactionMarker
from kgroup.protocol.keys import ConsumerGroupMetadataKey, GroupMetadataKey
from kgroup.protocol.values import GroupMetadataValue

_COLUMNS: Final = (
    "offsets_partition",
    "log_offset",
    "producer_id",
    "group",
    "topic",
    "partition",
    "offset",
    "commit_timestamp",
    "value_version",  # -1 is a tombstone
)
_ROWS_AT_ONCE: Final = 500_000  # gathered before they are reduced


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCommits:
    """The last commits that count of each group, topic and partition, no more than were asked for.

    `commits` has columns of COMMIT_SCHEMA, sorted by group, topic, partition, offsets partition and log
    offset. Commits before a tombstone are left out, and so are those of aborted and of open transactions.
    `membership_changes`: by (offsets partition, group), the log offsets of records with another generation or
    group epoch than the record before them.
    """

    commits: pa.Table
    membership_changes: Mapping[tuple[int, str], tuple[int, ...]]


def last_commits(
    slices: Iterable[Slice], slots: int, advance: Callable[[int], None] = lambda size: None
) -> LastCommits:
    """Read slices, those of one offsets partition in log order, for the last `slots` commits of each key.

    `advance` is told the size of each slice once it is read. Memory is bounded by the number of keys times
    `slots`, what transactions leave open, and a number per generation. Raises SourceError if a file cannot
    be read.
    """
    ordered = sorted(slices, key=lambda part: part.offsets_partition)
    tables: list[pa.Table] = []
    changes: dict[tuple[int, str], tuple[int, ...]] = {}
    for partition, parts in groupby(ordered, key=lambda part: part.offsets_partition):
        last, membership = _LastRows(slots), _Membership()
        for part in parts:
            for block in scan([part], columns=_COLUMNS):
                last.add(block)
                membership.add(block)
            advance(part.end - part.start)
        tables.append(last.rows())
        changes |= {(partition, group): tuple(offsets) for group, offsets in membership.changes.items()}
    commits = _reduced(tables, slots)
    alive = values_of(commits["value_version"]) >= 0
    return LastCommits(commits=commits.take(numbers(np.flatnonzero(alive))), membership_changes=changes)


class _Membership:
    """Where generations and epochs change. A group's first record counts: what was before is unknown."""

    def __init__(self) -> None:
        self.changes: dict[str, list[int]] = {}
        self._newest: dict[str, int | None] = {}

    def add(self, block: ScanBlock) -> None:
        for logged in block.others:
            match logged.entry:
                case OffsetsEntry(key=GroupMetadataKey(group=group), value=GroupMetadataValue() as value):
                    self._note(group, value.generation, logged.offset)
                case OffsetsEntry(
                    key=ConsumerGroupMetadataKey(group_id=group), value=ConsumerGroupMetadataValue() as value
                ):
                    self._note(group, value.epoch, logged.offset)
                case OffsetsEntry(
                    key=GroupMetadataKey(group=group) | ConsumerGroupMetadataKey(group_id=group), value=None
                ):
                    self._note(group, None, logged.offset)
                case _:
                    pass

    def _note(self, group: str, generation: int | None, log_offset: int) -> None:
        if group not in self._newest or self._newest[group] != generation:
            self.changes.setdefault(group, []).append(log_offset)
        self._newest[group] = generation


class _LastRows:
    """The last rows of one offsets partition, and its open transactions."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._tables: list[pa.Table] = []
        self._gathered = 0
        self._kept = 0
        self._open: dict[int, list[pa.Table]] = {}

    def add(self, block: ScanBlock) -> None:
        table = pa.Table.from_batches([block.commits])
        producers = values_of(table["producer_id"])
        # A tombstone acts at once, even inside a transaction.
        waits = (producers >= 0) & (values_of(table["value_version"]) >= 0)
        markers = [
            (logged.offset, logged.entry.producer_id, logged.entry.committed)
            for logged in block.others
            if isinstance(logged.entry, TransactionMarker)
        ]
        if not waits.any() and not (markers and self._open):
            self._keep(table)
            return
        self._keep(table.take(numbers(np.flatnonzero(~waits))))
        rows = {int(p): np.flatnonzero(waits & (producers == p)) for p in np.unique(producers[waits])}
        log_offsets = values_of(table["log_offset"])
        for marker_offset, producer_id, committed in markers:
            waiting = rows.get(producer_id, np.empty(0, np.int64))
            ended = waiting[log_offsets[waiting] < marker_offset]
            rows[producer_id] = waiting[len(ended) :]
            for part in (*self._open.pop(producer_id, []), table.take(numbers(ended))):
                if committed:
                    self._keep(part)
        for producer_id, waiting in rows.items():
            if len(waiting):
                self._wait(producer_id, table.take(numbers(waiting)))

    def rows(self) -> pa.Table:
        """What is kept, tombstones included."""
        return _reduced(self._tables, self._slots)

    def _keep(self, table: pa.Table) -> None:
        self._tables.append(table)
        self._gathered += table.num_rows
        if self._gathered > max(_ROWS_AT_ONCE, 2 * self._kept):
            self._tables = [self.rows()]
            self._gathered = self._kept = self._tables[0].num_rows

    def _wait(self, producer_id: int, table: pa.Table) -> None:
        waiting = self._open.setdefault(producer_id, [])
        waiting.append(table)
        if len(waiting) > 1 and sum(part.num_rows for part in waiting) > _ROWS_AT_ONCE:
            self._open[producer_id] = [_reduced(waiting, self._slots)]


def _reduced(tables: Iterable[pa.Table], slots: int) -> pa.Table:
    """Per key the newest tombstone and the last rows after it, sorted by key and log offset."""
    rows = (
        pa.concat_tables([schema_of(_COLUMNS).empty_table(), *tables]).unify_dictionaries().combine_chunks()
    )
    if not rows.num_rows:
        return rows
    keys = [values_of(rows["offsets_partition"]), values_of(rows["partition"]), _ranks(rows, "topic")]
    keys.append(_ranks(rows, "group"))
    order = np.lexsort((values_of(rows["log_offset"]), *keys))
    place = np.arange(len(order))
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.logical_or.reduce([key[order[1:]] != key[order[:-1]] for key in keys])
    starts = np.flatnonzero(begins)
    number = np.cumsum(begins) - 1
    end = np.append(starts[1:], len(order))[number]
    is_tombstone = values_of(rows["value_version"])[order] < 0
    tombstone = np.maximum.reduceat(np.where(is_tombstone, place, -1), starts)[number]
    kept = (place == tombstone) | ((place > tombstone) & (end - place <= slots))
    return rows.take(numbers(order[kept])).combine_chunks()


def _ranks(rows: pa.Table, column: str) -> NDArray[np.int64]:
    """Each row's place in the order of all names: by code point, as Python sorts."""
    array = rows[column].chunk(0)
    assert isinstance(array, pa.DictionaryArray)
    names = array.dictionary.to_pylist()
    ranks = np.empty(len(names), np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks[values_of(rows[column])]
