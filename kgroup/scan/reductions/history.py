"""The history before a log's end, in memory that does not grow with the log.

Two things that no window of one group's commits has in it: how far *anybody* had got in each partition of a
topic, and when, which proves that the partition was at least that long; and the records of a group's last
rebalances where many came in a row.

A log may be read in parts, by several processes: `read_history` reads one, `merge_histories` puts parts
together.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import group_of
from kgroup.scan.kernels.gather import no_rows, numbers, values_of
from kgroup.scan.reading.order import begins_of, ordered_by, ranks
from kgroup.scan.reductions.last_commits import blocks_of
from kgroup.scan.reductions.scan import ScanBlock, Slice

_REACH_FIELDS: list["pa.Field[Any]"] = [
    pa.field("topic", pa.string(), nullable=False),
    pa.field("partition", pa.int32(), nullable=False),
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("commit_timestamp", pa.int64(), nullable=False),
]
REACH_SCHEMA: Final = pa.schema(_REACH_FIELDS)
"""The furthest commit of each period, sorted by topic, partition and time (epoch ms)."""

# The same as it is gathered: names are few, and to compare them row by row is slow.
_FURTHEST: Final = REACH_SCHEMA.set(
    0, pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False)
)
PERIOD_MS: Final = 10_000
_PARTITIONS_MAX: Final = 1 << 16  # of a topic; those beyond are gathered without looking at their age
_PERIODS: Final = 64  # kept of each partition: those in which somebody committed it, the newest ones
_ROWS_AT_ONCE: Final = 200_000
_COLUMNS: Final = ("producer_id", "topic", "partition", "offset", "commit_timestamp", "value_version")

# A round this much later than the one before is no part of a storm (`history.timeline.patterns` asks for 30 s
# or less, and for more where generations were used up between).
_RUN_PAUSE_MAX_MS: Final = 60_000
_LONG_RUN: Final = 8
_RUN_MAX: Final = 256
_NEWEST: Final = 32

GroupPlace = tuple[int, str]
"""Offsets partition and group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`reach` has REACH_SCHEMA; commits in transactions are left out of it.

    `rounds` are records of groups that follow each other closely: the first and the last such run of each
    group, and the last long one; and the newest records of each. In log order.
    """

    reach: pa.Table
    rounds: Mapping[GroupPlace, tuple[LoggedEntry, ...]]


def read_history(slices: Iterable[Slice], advance: Callable[[int], None] = lambda size: None) -> History:
    """Read slices, those of one offsets partition in log order.

    `advance` is called with the size of each slice once it is read. Raises SourceError if a file cannot be
    read.
    """
    reader = HistoryReader()
    for partition, block in blocks_of(slices, _COLUMNS, advance):
        reader.add(partition, block)
    return reader.history()


class HistoryReader:
    """Takes the blocks of slices, those of an offsets partition in log order."""

    def __init__(self) -> None:
        self._reach = _Reach()
        self._rounds: defaultdict[GroupPlace, list[LoggedEntry]] = defaultdict(list)

    def add(self, partition: int, block: ScanBlock) -> None:
        """Keep what may count of a block of this offsets partition; it needs no more than `_COLUMNS`."""
        self._reach.add(block)
        _add_rounds(self._rounds, partition, block)

    def history(self) -> History:
        """The history in all blocks so far."""
        return History(
            reach=_with_names(self._reach.table()),
            rounds={group: tuple(_bounded(run)) for group, run in self._rounds.items()},
        )


def merge_histories(parts: Iterable[History]) -> History:
    """Put together the parts of a log. The parts of an offsets partition must come in log order."""
    parts = tuple(parts)
    rounds: defaultdict[GroupPlace, list[LoggedEntry]] = defaultdict(list)
    for part in parts:
        for group, entries in part.rounds.items():
            rounds[group] += entries
    return History(
        reach=_with_names(_furthest([_encoded(part.reach) for part in parts])),
        rounds={group: tuple(_bounded(run)) for group, run in rounds.items()},
    )


def _add_rounds(rounds: defaultdict[GroupPlace, list[LoggedEntry]], partition: int, block: ScanBlock) -> None:
    for logged in block.others:
        if isinstance(logged.entry, OffsetsEntry):
            run = rounds[partition, group_of(logged.entry.key)]
            run.append(logged)
            if len(run) > 4 * _RUN_MAX:
                run[:] = _bounded(run)


def _bounded(entries: Sequence[LoggedEntry]) -> list[LoggedEntry]:
    """The first run, the last, and the newest long one; of each no more than its newest records.

    And the newest records however far apart: a crash loop may take minutes for a round.
    """
    runs: list[list[LoggedEntry]] = []
    for entry in entries:
        if runs and 0 <= entry.timestamp_ms - runs[-1][-1].timestamp_ms <= _RUN_PAUSE_MAX_MS:
            runs[-1].append(entry)
        else:
            runs.append([entry])
    long_runs = [number for number, run in enumerate(runs) if len(run) >= _LONG_RUN]
    kept = {0, len(runs) - 1, *long_runs[-1:]}
    bounded: list[LoggedEntry] = []
    behind = len(entries)
    for number, run in enumerate(runs):
        behind -= len(run)
        most = _RUN_MAX if number in kept else max(_NEWEST - behind, 0)
        bounded += run[max(len(run) - most, 0) :]
    return bounded


class _Reach:
    """The furthest commit of each partition and period, of blocks."""

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._gathered = 0
        self._kept = 0
        self._floors = _Floors.of(no_rows(_FURTHEST))

    def add(self, block: ScanBlock) -> None:
        table = pa.Table.from_batches([block.commits])
        counts = (values_of(table["value_version"]) >= 0) & (values_of(table["producer_id"]) < 0)
        counts &= values_of(table["commit_timestamp"]) >= 0
        counts &= self._floors.may_count(table)
        if not counts.any():
            return
        furthest = _of_block(table, np.flatnonzero(counts))
        self._tables.append(furthest)
        self._gathered += furthest.num_rows
        if self._gathered > self._kept + max(_ROWS_AT_ONCE, self._kept // 4):
            self._tables = [self.table()]
            self._gathered = self._kept = self._tables[0].num_rows
            self._floors = _Floors.of(self._tables[0])

    def table(self) -> pa.Table:
        """As `_FURTHEST`."""
        return _furthest(self._tables)


@dataclass(frozen=True, slots=True)
class _Floors:
    """The time (epoch ms) from which commits may count in partitions whose newest periods are all taken.

    A log comes offsets partition by offsets partition, each of the whole time: but for the first ones nearly
    all that is in them is too old. `floors` has those of a topic's partitions from 0 on, one topic after the
    other.
    """

    topics: Mapping[str, int]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    floors: NDArray[np.int64]

    @classmethod
    def of(cls, furthest: pa.Table) -> "_Floors":
        """The floors by the commits so far, in one chunk and as `_furthest` sorts them."""
        if not furthest.num_rows:
            return cls({}, *(np.zeros(1, np.int64) for _ in range(3)))
        topics = furthest["topic"].chunk(0)
        assert isinstance(topics, pa.DictionaryArray)
        codes, partitions = values_of(furthest["topic"]), values_of(furthest["partition"])
        first = np.flatnonzero(begins_of([codes, partitions]))
        is_full = np.diff(first, append=len(codes)) >= _PERIODS
        first = first[is_full & (partitions[first] >= 0) & (partitions[first] < _PARTITIONS_MAX)]
        codes, partitions = codes[first], partitions[first]
        sizes = np.zeros(len(topics.dictionary), np.int64)
        np.maximum.at(sizes, codes, partitions + 1)
        starts = np.cumsum(sizes) - sizes
        floors = np.full(int(sizes.sum()) + 1, np.iinfo(np.int64).min)
        floors[starts[codes] + partitions] = (
            values_of(furthest["commit_timestamp"])[first] // PERIOD_MS * PERIOD_MS
        )
        names = topics.dictionary.to_pylist()
        return cls({name: code for code, name in enumerate(names)}, starts, sizes, floors)

    def may_count(self, block: pa.Table) -> NDArray[np.bool_]:
        """True for each commit of a block that is not known to be too old."""
        topics = block["topic"].chunk(0)
        assert isinstance(topics, pa.DictionaryArray)
        numbered = np.array([self.topics.get(name, -1) for name in topics.dictionary.to_pylist()], np.int64)
        codes, partitions = numbered[values_of(block["topic"])], values_of(block["partition"])
        is_known = (codes >= 0) & (partitions >= 0) & (partitions < self.sizes[codes])
        index = np.where(is_known, self.starts[codes] + partitions, -1)
        newer: NDArray[np.bool_] = values_of(block["commit_timestamp"]) >= self.floors[index]
        return newer | ~is_known


def _of_block(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    topics = table["topic"].chunk(0)
    assert isinstance(topics, pa.DictionaryArray)
    codes, partitions, offsets, times = (
        values_of(table[name])[rows] for name in ("topic", "partition", "offset", "commit_timestamp")
    )
    chosen = _furthest_rows([codes, partitions], offsets, times)
    return pa.Table.from_arrays(
        [
            pa.DictionaryArray.from_arrays(numbers(codes[chosen]), topics.dictionary, safe=False),
            *(numbers(values[chosen]) for values in (partitions, offsets, times)),
        ],
        schema=_FURTHEST,
    )


def _encoded(reach: pa.Table) -> pa.Table:
    """REACH_SCHEMA converted to `_FURTHEST`."""
    return reach.set_column(0, _FURTHEST.field(0), reach["topic"].dictionary_encode())


def _with_names(furthest: pa.Table) -> pa.Table:
    """`_FURTHEST`, in one chunk, converted to REACH_SCHEMA."""
    if not furthest.num_rows:
        return no_rows(REACH_SCHEMA)
    topics = furthest["topic"].chunk(0)
    assert isinstance(topics, pa.DictionaryArray)
    return furthest.set_column(0, REACH_SCHEMA.field(0), topics.dictionary.take(topics.indices))


def _furthest(tables: Sequence[pa.Table]) -> pa.Table:
    """The furthest commit of each partition and period, the newest periods of each partition."""
    rows = pa.concat_tables([no_rows(_FURTHEST), *tables]).unify_dictionaries().combine_chunks()
    if not rows.num_rows:
        return rows
    keys = [ranks(rows["topic"]), values_of(rows["partition"])]
    chosen = _furthest_rows(keys, values_of(rows["offset"]), values_of(rows["commit_timestamp"]))
    begins = begins_of([key[chosen] for key in keys])
    starts = np.flatnonzero(begins)
    end = np.append(starts[1:], len(chosen))[np.cumsum(begins) - 1]
    newest = end - np.arange(len(chosen)) <= _PERIODS
    return rows.take(numbers(chosen[newest])).combine_chunks()


def _furthest_rows(
    keys: Sequence[NDArray[np.int64]], offsets: NDArray[np.int64], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Per key and period the row of the highest offset, the earliest of these; sorted by key and period."""
    by_period = [*keys, times // PERIOD_MS]
    order = ordered_by(*by_period)
    starts = np.flatnonzero(begins_of([key[order] for key in by_period]))
    sizes = np.diff(starts, append=len(order))
    furthest = offsets[order] == np.repeat(np.maximum.reduceat(offsets[order], starts), sizes)
    waited = np.where(furthest, times[order], np.iinfo(np.int64).max)
    is_first = furthest & (waited == np.repeat(np.minimum.reduceat(waited, starts), sizes))
    # Of equal ones the last is as good as any.
    chosen = np.maximum.reduceat(np.where(is_first, np.arange(len(order)), -1), starts)
    return order[chosen]
