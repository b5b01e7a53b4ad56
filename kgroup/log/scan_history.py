"""What a log says of the time before its end, in memory that does not grow with the log.

Two things that no window of one group's commits has in it: how far *anybody* had got in each partition of a
topic, and when, which proves that the partition was at least that long; and the records of a group's last
rebalances where many came in a row.

A log may be read in parts, by several processes: `read_history` reads one, `merge_histories` puts parts
together.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.log.scan import ScanBlock, Slice, scan
from kgroup.log.scan_gather import numbers, values_of
from kgroup.protocol.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.keys import group_of

_REACH_FIELDS: list["pa.Field[Any]"] = [
    pa.field("topic", pa.string(), nullable=False),
    pa.field("partition", pa.int32(), nullable=False),
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("commit_timestamp", pa.int64(), nullable=False),
]
REACH_SCHEMA: Final = pa.schema(_REACH_FIELDS)
"""The furthest commit of each period, sorted by topic, partition and time (epoch ms)."""

PERIOD_MS: Final = 10_000
_PERIODS: Final = 64  # kept of each partition: those in which somebody committed it, the newest ones
_ROWS_AT_ONCE: Final = 200_000
_COLUMNS: Final = ("producer_id", "topic", "partition", "offset", "commit_timestamp", "value_version")

# A round this much later than the one before is no part of a storm (`patterns.py` asks for 30 s or less, and
# for more where generations were used up between).
_RUN_PAUSE_MAX_MS: Final = 60_000
_LONG_RUN: Final = 8
_RUN_MAX: Final = 256

GroupPlace = tuple[int, str]
"""Offsets partition and group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`reach` has REACH_SCHEMA; commits in transactions are left out of it.

    `rounds` are records of groups that follow each other closely: the first and the last such run of each
    group, and the last long one, in log order.
    """

    reach: pa.Table
    rounds: Mapping[GroupPlace, tuple[LoggedEntry, ...]]


def read_history(slices: Iterable[Slice], advance: Callable[[int], None] = lambda size: None) -> History:
    """Read slices, those of one offsets partition in log order.

    `advance` is told the size of each slice once it is read. Raises SourceError if a file cannot be read.
    """
    reach = _Reach()
    rounds: defaultdict[GroupPlace, list[LoggedEntry]] = defaultdict(list)
    ordered = sorted(slices, key=lambda part: part.offsets_partition)
    for partition, parts in groupby(ordered, key=lambda part: part.offsets_partition):
        for part in parts:
            for block in scan([part], columns=_COLUMNS):
                reach.add(block)
                _add_rounds(rounds, partition, block)
            advance(part.end - part.start)
    return History(reach=reach.table(), rounds={place: tuple(_bounded(run)) for place, run in rounds.items()})


def merge_histories(parts: Iterable[History]) -> History:
    """Put together the parts of a log. The parts of an offsets partition must come in log order."""
    parts = tuple(parts)
    rounds: defaultdict[GroupPlace, list[LoggedEntry]] = defaultdict(list)
    for part in parts:
        for place, entries in part.rounds.items():
            rounds[place] += entries
    return History(
        reach=_furthest([part.reach for part in parts]),
        rounds={place: tuple(_bounded(run)) for place, run in rounds.items()},
    )


def _add_rounds(rounds: defaultdict[GroupPlace, list[LoggedEntry]], partition: int, block: ScanBlock) -> None:
    for logged in block.others:
        if isinstance(logged.entry, OffsetsEntry):
            run = rounds[partition, group_of(logged.entry.key)]
            run.append(logged)
            if len(run) > 4 * _RUN_MAX:
                run[:] = _bounded(run)


def _bounded(entries: Sequence[LoggedEntry]) -> list[LoggedEntry]:
    """The first run, the last, and the newest long one; of each no more than its newest records."""
    runs: list[list[LoggedEntry]] = []
    for entry in entries:
        if runs and 0 <= entry.timestamp_ms - runs[-1][-1].timestamp_ms <= _RUN_PAUSE_MAX_MS:
            runs[-1].append(entry)
        else:
            runs.append([entry])
    long_runs = [number for number, run in enumerate(runs) if len(run) >= _LONG_RUN]
    kept = sorted({0, len(runs) - 1, *long_runs[-1:]}) if runs else []
    return [entry for number in kept for entry in runs[number][-_RUN_MAX:]]


class _Reach:
    """The furthest commit of each partition and period, of blocks."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._gathered = 0
        self._kept = 0

    def add(self, block: ScanBlock) -> None:
        table = pa.Table.from_batches([block.commits])
        counts = (values_of(table["value_version"]) >= 0) & (values_of(table["producer_id"]) < 0)
        counts &= values_of(table["commit_timestamp"]) >= 0
        if not counts.any():
            return
        found = _of_block(table, np.flatnonzero(counts))
        self._tables.append(found)
        self._gathered += found.num_rows
        if self._gathered > max(_ROWS_AT_ONCE, 2 * self._kept):
            self._tables = [self.table()]
            self._gathered = self._kept = self._tables[0].num_rows

    def table(self) -> pa.Table:
        """REACH_SCHEMA."""
        return _furthest(self._tables)


def _of_block(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    topics = table["topic"].chunk(0)
    assert isinstance(topics, pa.DictionaryArray)
    codes = values_of(table["topic"])[rows].astype(np.int64)
    partitions = values_of(table["partition"])[rows].astype(np.int64)
    times = values_of(table["commit_timestamp"])[rows]
    chosen = _furthest_rows([codes, partitions], values_of(table["offset"])[rows], times)
    return pa.Table.from_arrays(
        [
            topics.dictionary.take(numbers(codes[chosen])),
            numbers(partitions[chosen].astype(np.int32)),
            numbers(values_of(table["offset"])[rows][chosen]),
            numbers(times[chosen]),
        ],
        schema=REACH_SCHEMA,
    )


def _furthest(tables: Sequence[pa.Table]) -> pa.Table:
    """The furthest commit of each partition and period, the newest periods of each partition."""
    rows = pa.concat_tables([REACH_SCHEMA.empty_table(), *tables]).combine_chunks()
    if not rows.num_rows:
        return rows
    topics = [str(name) for name in rows["topic"].to_pylist()]
    ranks = {name: rank for rank, name in enumerate(sorted(set(topics)))}
    by_topic = np.fromiter((ranks[name] for name in topics), np.int64, len(topics))
    keys = [by_topic, values_of(rows["partition"]).astype(np.int64)]
    chosen = _furthest_rows(keys, values_of(rows["offset"]), values_of(rows["commit_timestamp"]))
    begins = _begins([key[chosen] for key in keys])
    starts = np.flatnonzero(begins)
    end = np.append(starts[1:], len(chosen))[np.cumsum(begins) - 1]
    newest = end - np.arange(len(chosen)) <= _PERIODS
    return rows.take(numbers(chosen[newest])).combine_chunks()


def _furthest_rows(
    keys: Sequence[NDArray[np.int64]], offsets: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Per key and period the row of the highest offset, the earliest of these; sorted by key and period."""
    periods = times // PERIOD_MS
    order: NDArray[np.int64] = np.lexsort((-times, offsets, periods, *reversed(keys)))
    last = np.append(_begins([key[order] for key in (*keys, periods)])[1:], True)
    return np.asarray(order[last], np.int64)


def _begins(keys: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """Where a row's keys differ from those of the row before it."""
    begins = np.ones(len(keys[0]), np.bool_)
    begins[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    return begins
