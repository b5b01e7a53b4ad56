"""The last commits of every key, found while scanning: what a window of commits is made of."""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    return LastCommits(commits=_chosen(commits, alive), membership_changes=changes)


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
    """The last rows of one offsets partition, and what its open transactions hold."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._tables: list[pa.Table] = []
        self._gathered = 0
        self._kept = 0
        self._open: list[pa.Table] = []

    def add(self, block: ScanBlock) -> None:
        table = pa.Table.from_batches([block.commits])
        # A tombstone acts at once, even inside a transaction.
        waits = (values_of(table["producer_id"]) >= 0) & (values_of(table["value_version"]) >= 0)
        if waits.any():
            self._open.append(_chosen(table, waits))
            table = _chosen(table, ~waits)
        self._keep(table)
        markers = [
            (logged.entry.producer_id, logged.offset, logged.entry.committed)
            for logged in block.others
            if isinstance(logged.entry, TransactionMarker)
        ]
        if markers and self._open:
            waiting = pa.concat_tables(self._open)
            ended, committed = _outcomes(waiting, markers)
            self._keep(_chosen(waiting, committed))
            self._open = [_chosen(waiting, ~ended)]
        if sum(part.num_rows for part in self._open) > _ROWS_AT_ONCE:
            self._open = [_reduced(self._open, self._slots, per_producer=True)]

    def rows(self) -> pa.Table:
        """What is kept, tombstones included."""
        return _reduced(self._tables, self._slots)

    def _keep(self, table: pa.Table) -> None:
        self._tables.append(table)
        self._gathered += table.num_rows
        if self._gathered > max(_ROWS_AT_ONCE, 2 * self._kept):
            self._tables = [self.rows()]
            self._gathered = self._kept = self._tables[0].num_rows


def _outcomes(
    waiting: pa.Table, markers: Sequence[tuple[int, int, bool]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which rows a (producer id, log offset, committed) marker ends, and which of them it commits.

    It is the producer's first marker after the row.
    """
    ordered = np.array(sorted(markers), np.int64)
    # One number for producer and offset together, in the same order.
    producers = np.unique(ordered[:, 0])
    row_producers, row_offsets = values_of(waiting["producer_id"]), values_of(waiting["log_offset"])
    first = min(int(ordered[:, 1].min()), int(row_offsets.min(initial=ordered[0, 1])))
    span = max(int(ordered[:, 1].max()), int(row_offsets.max(initial=ordered[0, 1]))) - first + 1
    marker_keys = np.searchsorted(producers, ordered[:, 0]) * span + (ordered[:, 1] - first)
    numbered = np.searchsorted(producers, row_producers)
    known = producers[np.minimum(numbered, len(producers) - 1)] == row_producers
    found = np.searchsorted(marker_keys, numbered * span + (row_offsets - first), side="right")
    found = np.minimum(found, len(ordered) - 1)
    ended = known & (ordered[found, 0] == row_producers) & (ordered[found, 1] > row_offsets)
    return ended, ended & (ordered[found, 2] == 1)


def _chosen(table: pa.Table, rows: NDArray[np.bool_]) -> pa.Table:
    return table.take(numbers(np.flatnonzero(rows)))


def _reduced(tables: Iterable[pa.Table], slots: int, *, per_producer: bool = False) -> pa.Table:
    """Per key the newest tombstone and the last rows after it, sorted by key and log offset.

    With `per_producer` the producer id is a part of the key.
    """
    rows = (
        pa.concat_tables([schema_of(_COLUMNS).empty_table(), *tables]).unify_dictionaries().combine_chunks()
    )
    if not rows.num_rows:
        return rows
    keys = [values_of(rows["producer_id"])] if per_producer else []
    keys += [values_of(rows["offsets_partition"]), values_of(rows["partition"])]
    keys += [_ranks(rows, "topic"), _ranks(rows, "group")]
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
