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

from kgroup.scan.kernels.furthest import (
    AT_MS,
    AT_OFFSET,
    BEGIN,
    COUNT,
    FIRST,
    PERIOD_MS,
    ROOM,
    Need,
    add_commits,
    clear,
    keys_of_places,
    names_of_places,
    new_furthest,
    take_over,
    topics_of_places,
    with_more,
)
from kgroup.scan.kernels.gather import no_rows, numbers, values_of
from kgroup.scan.kernels.keys import Keys, capacity, key_count
from kgroup.scan.kernels.rows import (
    COMMIT,
    COMMIT_TIMESTAMP,
    KEY_ID,
    KIND,
    OFFSET,
    PRODUCER_ID,
    Rows,
    new_rows,
)
from kgroup.scan.reading.order import begins_of
from kgroup.scan.reading.reader import Slice
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.packed import PackedRecord
from kgroup.scan.reductions.rows_read import RowsRead, rows_in_order

__all__ = [
    "PERIOD_MS",
    "REACH_SCHEMA",
    "GroupPlace",
    "History",
    "HistoryReader",
    "merge_histories",
    "read_history",
]

_REACH_FIELDS: list["pa.Field[Any]"] = [
    pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
    pa.field("partition", pa.int32(), nullable=False),
    pa.field("offset", pa.int64(), nullable=False),
    pa.field("commit_timestamp", pa.int64(), nullable=False),
]
REACH_SCHEMA: Final = pa.schema(_REACH_FIELDS)
"""The furthest commit of each period, sorted by topic, partition and time (epoch ms)."""

_PERIODS: Final = 64  # kept of each partition: those in which somebody committed it, the newest ones
_ROWS_AT_ONCE: Final = 16_384
_PLACES_AT_ONCE: Final = 1024

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
    rounds: Mapping[GroupPlace, tuple[PackedRecord, ...]]


def read_history(
    slices: Iterable[Slice], advance: Callable[[int], None] = lambda size: None, *, rounds: bool = True
) -> History:
    """Read slices, those of one offsets partition in log order. Without `rounds` none are kept.

    `advance` is called with the size of each slice once it is read. Raises SourceError if a file cannot be
    read.
    """
    reader = HistoryReader(rounds=rounds)
    for read in rows_in_order(slices, advance, others=rounds):
        reader.add(read)
    return reader.history()


class HistoryReader:
    """Takes what is read of slices, those of an offsets partition in log order."""

    def __init__(self, *, rounds: bool = True) -> None:
        self._reach = _Reach()
        self._keeps_rounds = rounds
        self._rounds: defaultdict[GroupPlace, list[PackedRecord]] = defaultdict(list)

    def add(self, read: RowsRead) -> None:
        """Keep what may count of it."""
        self._reach.add(read.reader, read.keys, read.block.rows, read.block.count)
        if self._keeps_rounds:
            _add_rounds(self._rounds, read)

    def history(self) -> History:
        """The history in all blocks so far."""
        return History(
            reach=self._reach.table(),
            rounds={group: tuple(_bounded(run)) for group, run in self._rounds.items()},
        )


def merge_histories(parts: Iterable[History]) -> History:
    """Put together the parts of a log. The parts of an offsets partition must come in log order."""
    reach = _Reach()
    rounds: defaultdict[GroupPlace, list[PackedRecord]] = defaultdict(list)
    for part in parts:
        reach.add_table(part.reach)
        for group, entries in part.rounds.items():
            rounds[group] += entries
    return History(
        reach=reach.table(),
        rounds={group: tuple(_bounded(run)) for group, run in rounds.items()},
    )


def _add_rounds(rounds: defaultdict[GroupPlace, list[PackedRecord]], read: RowsRead) -> None:
    for group, record in read.packed():
        run = rounds[read.partition, group]
        run.append(record)
        if len(run) > 4 * _RUN_MAX:
            run[:] = _bounded(run)


def _bounded(entries: Sequence[PackedRecord]) -> list[PackedRecord]:
    """The first run, the last, and the newest long one; of each no more than its newest records.

    And the newest records however far apart: a crash loop may take minutes for a round.
    """
    runs: list[list[PackedRecord]] = []
    for entry in entries:
        if runs and 0 <= entry.timestamp_ms - runs[-1][-1].timestamp_ms <= _RUN_PAUSE_MAX_MS:
            runs[-1].append(entry)
        else:
            runs.append([entry])
    long_runs = [number for number, run in enumerate(runs) if len(run) >= _LONG_RUN]
    kept = {0, len(runs) - 1, *long_runs[-1:]}
    bounded: list[PackedRecord] = []
    behind = len(entries)
    for number, run in enumerate(runs):
        behind -= len(run)
        most = _RUN_MAX if number in kept else max(_NEWEST - behind, 0)
        bounded += run[max(len(run) - most, 0) :]
    return bounded


class _Reach:
    """The furthest commit of each partition and period."""

    def __init__(self) -> None:
        self._state = new_furthest()
        self._newer = new_furthest()  # of this reader alone
        self._reader: object = None
        self._place_of = np.empty(0, np.int64)

    def add(self, reader: object, keys: Keys, rows: Rows, count: int) -> None:
        """Take in rows; the ids of their keys are those of `reader`."""
        if self._reader is not reader:
            self._settle()
            self._reader, self._place_of = reader, np.empty(0, np.int64)
        if (missing := capacity(keys) - len(self._place_of)) > 0:
            self._place_of = np.concatenate([self._place_of, np.full(missing, -1, np.int64)])
        row = 0
        while True:
            need, row = add_commits(
                self._newer, self._state, self._place_of, keys, rows, row, count, _PERIODS
            )
            if need == Need.NOTHING:
                return
            self._newer = with_more(self._newer, Need(need))

    def _settle(self) -> None:
        """Merge what the reader left into what was before."""
        self._reader = None
        newer = self._newer
        if not key_count(self._state.places):
            self._state, self._newer = newer, new_furthest()
            return
        merged = np.empty((_PERIODS, newer.kept.shape[1]), np.int64)
        count, place = key_count(newer.places), 0
        while True:
            need, place = take_over(self._state, newer, place, count, _PERIODS, merged)
            if need == Need.NOTHING:
                break
            self._state = with_more(self._state, Need(need))
        clear(newer)

    def add_table(self, reach: pa.Table) -> None:
        """Take in what another part of the log left, with REACH_SCHEMA."""
        if not reach.num_rows:
            return
        reach = reach.unify_dictionaries().combine_chunks()
        topics, partitions = reach["topic"], values_of(reach["partition"])
        codes = values_of(topics)
        begins = begins_of([codes, partitions])
        firsts = np.flatnonzero(begins)
        names = taken(reach.select(["topic"]), firsts)["topic"].to_pylist()
        keys = keys_of_places(zip(map(str, names), partitions[firsts].tolist(), strict=True))
        key_ids = np.cumsum(begins) - 1
        offsets, times = values_of(reach["offset"]), values_of(reach["commit_timestamp"])
        rows = new_rows(_ROWS_AT_ONCE)
        rows[KIND], rows[PRODUCER_ID] = COMMIT, -1
        for start in range(0, len(key_ids), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            count = len(key_ids[some])
            for column, values in ((KEY_ID, key_ids), (OFFSET, offsets), (COMMIT_TIMESTAMP, times)):
                rows[column, :count] = values[some]
            self.add(keys, keys, rows, count)

    def table(self) -> pa.Table:
        """With REACH_SCHEMA, in one chunk."""
        self._settle()
        names = names_of_places(self._state.places)
        order = np.array(sorted(range(len(names)), key=names.__getitem__), np.int64)
        topics = [names[place][0] for place in order.tolist()]
        begins = np.array([index == 0 or topics[index - 1] != topics[index] for index in range(len(topics))])
        number = int(self._state.rings[:, COUNT].sum())
        if not number:
            return no_rows(REACH_SCHEMA)
        codes = np.repeat(np.cumsum(begins, dtype=np.int32) - 1, self._state.rings[order, COUNT])
        partitions = np.array([partition for _, partition in names], np.int32)[order]
        offsets, times = np.empty(number, np.int64), np.empty(number, np.int64)
        filled = 0
        for start in range(0, len(order), _PLACES_AT_ONCE):
            rows = self._rows(order[start : start + _PLACES_AT_ONCE])
            offsets[filled : filled + len(rows)] = self._state.kept[rows, AT_OFFSET]
            times[filled : filled + len(rows)] = self._state.kept[rows, AT_MS]
            filled += len(rows)
        dictionary = topics_of_places(self._state.places, order[begins])
        return pa.Table.from_arrays(
            [
                pa.DictionaryArray.from_arrays(numbers(codes), dictionary, safe=False),
                numbers(np.repeat(partitions, self._state.rings[order, COUNT])),
                numbers(offsets),
                numbers(times),
            ],
            schema=REACH_SCHEMA,
        )

    def _rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The kept rows of these places, of each by time."""
        rings = self._state.rings[places]
        counts = rings[:, COUNT]
        number = np.repeat(np.arange(len(places)), counts)
        index = np.arange(len(number)) - (np.cumsum(counts) - counts)[number]
        rows: NDArray[np.int64] = rings[number, BEGIN] + (rings[number, FIRST] + index) % rings[number, ROOM]
        return rows
