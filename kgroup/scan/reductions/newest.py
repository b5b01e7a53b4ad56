"""The newest record per key, found while scanning: the log when only its end counts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.log.format.batch import Damage
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.scan.kernels.cells import FIRST_MARKER, FIRST_MARKER_OFFSET, ID, Reduction, new_reduction
from kgroup.scan.kernels.gather import no_rows, values_of
from kgroup.scan.kernels.keys import Keys, capacity, key_bytes
from kgroup.scan.kernels.newest_rows import first_markers, newest_cells, reduce, waiting_cells
from kgroup.scan.kernels.rows import (
    BATCH_LEADER_EPOCH,
    COMMITTED,
    KEY_ID,
    KIND,
    LOG_OFFSET,
    OTHER,
    PRODUCER_ID,
    RECORD_TIMESTAMP,
    TEXT_POSITION,
    TEXT_SIZE,
    TOMBSTONE,
)
from kgroup.scan.reading.arrow import COMMIT_SCHEMA, Dictionaries, commits_of
from kgroup.scan.reading.order import begins_of, ordered_by, ranks
from kgroup.scan.reading.reader import RowBlock, RowReader, Slice
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.by_partition import by_partition

Entry = OffsetsEntry | Undecodable | TransactionMarker


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstMarker:
    """A producer's first transaction marker in a part of the log: it ends what was open before that part."""

    committed: bool
    log_offset: int


FirstMarkers = Mapping[tuple[int, int], FirstMarker]
"""By offsets partition and producer id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """The records that count in a part of a log, in a form in which parts can be merged (`merge`).

    `commits` and `pending` have the columns of COMMIT_SCHEMA. `commits` is the newest row per offsets
    partition, group, topic and partition, tombstones included, among plain rows and those of transactions
    that were committed within the part, sorted by these four. `pending` are the rows of transactions whose
    marker is not in the part: the newest per producer and key, in log order. `first_markers` is by offsets
    partition and producer id. `others` are the newest entries of every other record type, tombstones
    included, and the newest undecodable record per key, in log order. `records` and `batches` are
    counts, `bytes` is the size of the slices.
    """

    commits: pa.Table
    pending: pa.Table
    first_markers: FirstMarkers
    others: tuple[LoggedEntry, ...]
    damage: tuple[Damage, ...]
    records: int
    batches: int
    bytes: int


def newest(slices: Iterable[Slice], *, verify_crc: bool = True) -> Newest:
    """Reduce slices to the newest record per key. Slices of one offsets partition must be in log order.

    Rule for transactions: Kafka 4.x, `OffsetMetadataManager`. Of plain commits, tombstones and commits of
    committed transactions the one with the highest offset of its own record counts. Memory is bounded by
    the number of distinct keys (and by what transactions leave open). Raises SourceError if a file cannot
    be read.
    """
    ordered = sorted(slices, key=lambda part: part.offsets_partition)
    return merge(
        [
            _newest_of_partition(partition, list(parts), verify_crc)
            for partition, parts in groupby(ordered, key=lambda part: part.offsets_partition)
        ]
    )


def merge(parts: Iterable[Newest]) -> Newest:
    """Put together the parts of a log. The parts of an offsets partition must come in log order."""
    parts = list(parts)
    settled, pending, first_markers = settle(
        (part.commits, part.pending, part.first_markers) for part in parts
    )
    return Newest(
        commits=pa.concat_tables(
            [no_rows(COMMIT_SCHEMA), *by_partition(settled, lambda some: newest_rows(pa.concat_tables(some)))]
        ),
        pending=_newest_pending(pending),
        first_markers=first_markers,
        others=_newest_others(chain.from_iterable(part.others for part in parts)),
        damage=tuple(chain.from_iterable(part.damage for part in parts)),
        records=sum(part.records for part in parts),
        batches=sum(part.batches for part in parts),
        bytes=sum(part.bytes for part in parts),
    )


def newest_time(reduced: Newest) -> int | None:
    """The time (epoch ms) of the newest commit or other record of a group; None if there is none.

    Tombstones of commits do not count: a broker writes them long after anybody was there.
    """
    commits = [
        int(values_of(rows["commit_timestamp"]).max(initial=-1))
        for rows in (reduced.commits, reduced.pending)
    ]
    newest_ms = max(*commits, *(logged.timestamp_ms for logged in reduced.others), -1)
    return newest_ms if newest_ms >= 0 else None


def newest_rows(rows: pa.Table, *, per_producer: bool = False) -> pa.Table:
    """The row with the highest log offset per offsets partition, group, topic and partition, sorted by these.

    With `per_producer`, per producer id as well. Of rows with the same log offset the first stays.
    """
    rows = rows.unify_dictionaries().combine_chunks()
    columns = [values_of(rows["producer_id"])] if per_producer else []
    columns += [
        values_of(rows["offsets_partition"]),
        ranks(rows["group"]),
        ranks(rows["topic"]),
        values_of(rows["partition"]),
    ]
    # The first of equal rows comes last here.
    order = ordered_by(*(column[::-1] for column in (*columns, values_of(rows["log_offset"]))))
    order = len(order) - 1 - order
    last = np.roll(begins_of([column[order] for column in columns]), -1)
    return taken(rows, order[last])


def _newest_of_partition(partition: int, slices: Sequence[Slice], verify_crc: bool) -> Newest:
    rows = RowReader(check_crc=verify_crc)
    reading = NewestReader(partition, rows)
    for item in chain.from_iterable(rows.read(part) for part in slices):
        if isinstance(item, Damage):
            reading.add_damage([item])
        else:
            reading.add(item)
    return reading.newest(slices, verify_crc=verify_crc)


class NewestReader:
    """Takes what a reader of rows reads of one offsets partition, in log order."""

    def __init__(self, partition: int, rows: RowReader) -> None:
        self._partition = partition
        self._rows = rows
        self._state = new_reduction()
        self._undecodable: dict[bytes | None, LoggedEntry] = {}
        self._damage: list[Damage] = []
        self._decoded: dict[object, LoggedEntry] = {}
        self._records = 0

    def add_damage(self, damage: Iterable[Damage]) -> None:
        """Note what lies in front of the next block, or at the end."""
        self._damage += damage

    def add_decoded(self, others: Iterable[LoggedEntry]) -> None:
        """Note the entries of the next block that were decoded for something else, not to do it again."""
        for logged in others:
            if isinstance(logged.entry, OffsetsEntry):
                self._decoded[logged.entry.key] = logged

    def add(self, block: RowBlock) -> None:
        """Keep what may count of a block."""
        self._records += block.count
        for row, entry in block.others:
            key = entry.key if isinstance(entry, Undecodable) else None
            self._undecodable[key] = logged_entry(block, row, self._partition, entry)
        self._state = reduce(self._state, block.rows, block.count, block.buffer, capacity(self._rows.keys))

    def newest(self, slices: Sequence[Slice], *, verify_crc: bool = True) -> Newest:
        """The records that count in all that was read, which is that of these slices."""
        state, keys, partition = self._state, self._rows.keys, self._partition
        others = _others(state, keys, partition, self._decoded.values())
        hidden = _hidden_by_undecodable(others)
        if hidden:
            others += _newest_decodable(slices, partition, hidden, verify_crc)
        return Newest(
            commits=_table(state, newest_cells(state), keys, partition),
            pending=_table(state, waiting_cells(state), keys, partition),
            first_markers=_first_markers(state, partition),
            others=tuple(others) + tuple(self._undecodable.values()),
            damage=tuple(self._damage),
            records=self._records,
            batches=self._rows.batches,
            bytes=self._rows.bytes,
        )


def logged_entry(block: RowBlock, row: int, partition: int, entry: Entry) -> LoggedEntry:
    """The entry with its place in the log."""
    rows = block.rows
    leader_epoch, producer_id = int(rows[BATCH_LEADER_EPOCH, row]), int(rows[PRODUCER_ID, row])
    return LoggedEntry(
        partition=partition,
        offset=int(rows[LOG_OFFSET, row]),
        timestamp_ms=int(rows[RECORD_TIMESTAMP, row]),
        leader_epoch=leader_epoch if leader_epoch >= 0 else None,
        producer_id=producer_id if producer_id >= 0 else None,
        entry=entry,
    )


def _table(state: Reduction, chosen: NDArray[np.int64], keys: Keys, partition: int) -> pa.Table:
    """The commits and tombstones among the chosen cells."""
    block = RowBlock(np.ascontiguousarray(state.cells[chosen].T), len(chosen), state.text)
    batch = commits_of(block, keys, partition, COMMIT_SCHEMA.names, Dictionaries())
    return pa.Table.from_batches([batch])


def _first_markers(state: Reduction, partition: int) -> dict[tuple[int, int], FirstMarker]:
    return {
        (partition, producer[ID]): FirstMarker(
            committed=producer[FIRST_MARKER] == COMMITTED, log_offset=producer[FIRST_MARKER_OFFSET]
        )
        for producer in first_markers(state).tolist()
    }


def _others(
    state: Reduction, keys: Keys, partition: int, decoded: Iterable[LoggedEntry]
) -> list[LoggedEntry]:
    """The newest record of each key that is no commit's, decoded."""
    cells = newest_cells(state)
    cells = cells[state.cells[cells, KIND] > TOMBSTONE]
    block = RowBlock(np.ascontiguousarray(state.cells[cells].T), len(cells), state.text)
    known = {logged.offset: logged for logged in decoded}
    return [
        known.get(offset)
        or logged_entry(block, row, partition, decode_entry(key_bytes(keys, key_id), value_bytes(block, row)))
        for row, (key_id, offset) in enumerate(zip(*block.rows[[KEY_ID, LOG_OFFSET]].tolist(), strict=True))
    ]


def _hidden_by_undecodable(others: Iterable[LoggedEntry]) -> set[bytes]:
    """Keys that can be decoded while their newest value cannot: an older one may be good."""
    return {
        logged.entry.key
        for logged in others
        if isinstance(logged.entry, Undecodable)
        and logged.entry.key is not None
        and isinstance(decode_entry(logged.entry.key, None), OffsetsEntry)
    }


def _newest_decodable(
    slices: Iterable[Slice], partition: int, keys: set[bytes], verify_crc: bool
) -> list[LoggedEntry]:
    """Read the slices again for the newest value of these keys that can be decoded."""
    reader = RowReader(check_crc=verify_crc)
    entries: dict[bytes, LoggedEntry] = {}
    for block in chain.from_iterable(reader.read(part) for part in slices):
        if isinstance(block, Damage):
            continue
        for row in np.flatnonzero(block.rows[KIND, : block.count] == OTHER).tolist():
            key = key_bytes(reader.keys, int(block.rows[KEY_ID, row]))
            if key in keys and (key not in entries or block.rows[LOG_OFFSET, row] > entries[key].offset):
                entry = decode_entry(key, value_bytes(block, row))
                if isinstance(entry, OffsetsEntry):
                    entries[key] = logged_entry(block, row, partition, entry)
    return list(entries.values())


def value_bytes(block: RowBlock, row: int) -> bytes | None:
    """The value of a row that is not a commit, None for a tombstone."""
    start, size = int(block.rows[TEXT_POSITION, row]), int(block.rows[TEXT_SIZE, row])
    return None if size < 0 else block.buffer[start : start + size].tobytes()


def settle(
    parts: Iterable[tuple[pa.Table, pa.Table, FirstMarkers]],
) -> tuple[list[pa.Table], list[pa.Table], dict[tuple[int, int], FirstMarker]]:
    """Put together the parts of a log: each one's rows that count, its rows that wait, and its first markers.

    They come in log order, so that a part's markers end what waits from the parts before it.
    """
    settled: list[pa.Table] = []
    waiting: list[pa.Table] = []
    first_markers: dict[tuple[int, int], FirstMarker] = {}
    for counting, open_here, markers in parts:
        if markers:
            committed, waiting = _ended(waiting, markers)
            settled += committed
        settled.append(counting)
        waiting.append(open_here)
        first_markers = {**markers, **first_markers}
    return settled, waiting, first_markers


def _ended(pending: Sequence[pa.Table], markers: FirstMarkers) -> tuple[list[pa.Table], list[pa.Table]]:
    """Part pending rows into those that the markers, which come later, commit, and those still pending."""
    committed, still_pending = [], []
    for rows in pending:
        partitions = values_of(rows["offsets_partition"]).tolist()
        producers = values_of(rows["producer_id"]).tolist()
        outcomes = [markers.get(producer) for producer in zip(partitions, producers, strict=True)]
        is_committed = [outcome is not None and outcome.committed for outcome in outcomes]
        committed.append(taken(rows, np.flatnonzero(is_committed)))
        still_pending.append(taken(rows, np.flatnonzero([outcome is None for outcome in outcomes])))
    return committed, still_pending


def _newest_pending(pending: Sequence[pa.Table]) -> pa.Table:
    if not pending:
        return no_rows(COMMIT_SCHEMA)
    rows = newest_rows(pa.concat_tables(pending), per_producer=True)
    return taken(rows, ordered_by(values_of(rows["offsets_partition"]), values_of(rows["log_offset"])))


def _newest_others(entries: Iterable[LoggedEntry]) -> tuple[LoggedEntry, ...]:
    kept: dict[tuple[int, object], LoggedEntry] = {}
    for logged in entries:
        key = (
            logged.partition,
            logged.entry.key if not isinstance(logged.entry, TransactionMarker) else None,
        )
        if key not in kept or logged.offset > kept[key].offset:
            kept[key] = logged
    return tuple(sorted(kept.values(), key=lambda logged: (logged.partition, logged.offset)))
