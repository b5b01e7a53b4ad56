"""The newest row per key, kept while a scan runs: the reduction behind `newest`, as kernels.

What a coordinator does when it loads a partition (Kafka 4.x, OffsetMetadataManager.replay): a plain commit
or a tombstone counts at once; a transactional commit waits for its producer's marker, and then counts if no
commit or tombstone with a higher *record* offset does. Records of other types have no part in
transactions.

Rows live in *cells*. A key has at most one cell that counts; a producer has a linked list of cells that
wait. A marker moves cells from one to the other without copying them.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.log.scan_bytes import Bytes, word_at
from kgroup.log.scan_compile import helper, kernel
from kgroup.log.scan_rows import Kind, Rows


class Cell(IntEnum):
    """Columns of `Reduction.cells`. One row is two cache lines."""

    KEY = 0  # -1: the cell is free
    KIND = 1
    LOG_OFFSET = 2
    RECORD_TIMESTAMP = 3
    PRODUCER_ID = 4
    BATCH_LEADER_EPOCH = 5
    OFFSET = 6
    LEADER_EPOCH = 7
    COMMIT_TIMESTAMP = 8
    EXPIRE_TIMESTAMP = 9
    VALUE_VERSION = 10
    TEXT_START = 11
    TEXT_SIZE = 12
    TEXT_ROOM = 13  # bytes reserved at TEXT_START, kept when the cell is free
    TOPIC_ID = 14  # the first half's bytes; the second half is in the next column
    NEXT = 16


_COLUMNS = 17
_TOPIC_ID_COLUMN = int(Cell.TOPIC_ID)
_KEY = int(Cell.KEY)
_KIND = int(Cell.KIND)
_LOG_OFFSET = int(Cell.LOG_OFFSET)
_RECORD_TIMESTAMP = int(Cell.RECORD_TIMESTAMP)
_PRODUCER_ID = int(Cell.PRODUCER_ID)
_BATCH_LEADER_EPOCH = int(Cell.BATCH_LEADER_EPOCH)
_OFFSET = int(Cell.OFFSET)
_LEADER_EPOCH = int(Cell.LEADER_EPOCH)
_COMMIT_TIMESTAMP = int(Cell.COMMIT_TIMESTAMP)
_EXPIRE_TIMESTAMP = int(Cell.EXPIRE_TIMESTAMP)
_VALUE_VERSION = int(Cell.VALUE_VERSION)
_TEXT_START = int(Cell.TEXT_START)
_TEXT_SIZE = int(Cell.TEXT_SIZE)
_TEXT_ROOM = int(Cell.TEXT_ROOM)
_NEXT = int(Cell.NEXT)

_COMMIT = int(Kind.COMMIT)
_COMMITTED = int(Kind.COMMITTED)
_ABORTED = int(Kind.ABORTED)
_ODD = int(Kind.ODD)
_DROPPED = int(Kind.DROPPED)


class Need(IntEnum):
    """What the kernel ran out of."""

    NOTHING = 0
    CELLS = 1
    TEXT = 2
    PRODUCERS = 3


_NOTHING = int(Need.NOTHING)
_CELLS = int(Need.CELLS)
_TEXT = int(Need.TEXT)
_PRODUCERS = int(Need.PRODUCERS)


class Reduction(NamedTuple):
    """The state between blocks. `counts` is [cells used, first free cell or -1, text used, producers, walks].

    Per key id, `newest` is the cell that counts, -1 without one, and `seen` the number of the last walk
    through a producer's list that came upon the key. Per producer: its id, the head of its list of waiting cells
    (newest first), the kind of the first marker seen of it (-1: none) and that marker's log offset.
    """

    cells: NDArray[np.int64]
    text: Bytes
    newest: NDArray[np.int32]
    seen: NDArray[np.int64]
    producer_slots: NDArray[np.int32]
    producers: NDArray[np.int64]
    waiting: NDArray[np.int32]
    first_marker: NDArray[np.int8]
    first_marker_offset: NDArray[np.int64]
    counts: NDArray[np.int64]


def new_reduction(cells: int = 1024, producers: int = 256) -> Reduction:
    """An empty state; its sizes must be powers of two."""
    return Reduction(
        cells=np.zeros((cells, _COLUMNS), np.int64),
        text=np.empty(16 * cells, np.uint8),
        newest=np.full(cells, -1, np.int32),
        seen=np.zeros(cells, np.int64),
        producer_slots=np.full(2 * producers, -1, np.int32),
        producers=np.empty(producers, np.int64),
        waiting=np.empty(producers, np.int32),
        first_marker=np.empty(producers, np.int8),
        first_marker_offset=np.empty(producers, np.int64),
        counts=np.array([0, -1, 0, 0, 0], np.int64),
    )


def reduce(state: Reduction, rows: Rows, count: int, buffer: Bytes, key_capacity: int) -> Reduction:
    """Take in `count` rows, none of them odd, and return the state, with larger arrays where it took them."""
    if len(state.newest) < key_capacity:
        newest = np.full(key_capacity, -1, np.int32)
        newest[: len(state.newest)] = state.newest
        seen = np.zeros(key_capacity, np.int64)
        seen[: len(state.seen)] = state.seen
        state = state._replace(newest=newest, seen=seen)
    row = 0
    while True:
        need, row = _reduce(state, rows, row, count, buffer)
        if need == Need.NOTHING:
            return state
        if need == Need.CELLS:
            state = _with_free_cells(state)
        elif need == Need.TEXT:
            state = _with_free_text(state, int(rows.text_size[row]))
        else:
            state = _with_free_producers(state)


def newest_cells(state: Reduction) -> NDArray[np.int32]:
    """The cells that count, in the order of their keys' ids."""
    return state.newest[state.newest >= 0]


def waiting_cells(state: Reduction) -> NDArray[np.int32]:
    """The cells whose transaction is open, newest per producer and key only."""
    _drop_superseded(state)
    waiting = np.empty(int(state.counts[0]), np.int32)
    return waiting[: _list_waiting(state, waiting)]


def _with_free_cells(state: Reduction) -> Reduction:
    # A producer that commits the same keys again and again and never ends its transaction must not fill memory.
    capacity = len(state.cells)
    if _drop_superseded(state) > capacity // 4:
        return state
    cells = np.zeros((2 * capacity, _COLUMNS), np.int64)
    cells[:capacity] = state.cells
    return state._replace(cells=cells)


def _with_free_text(state: Reduction, wanted: int) -> Reduction:
    used = int(state.counts[0])
    live = int(state.cells[:used, _TEXT_SIZE][state.cells[:used, _KEY] >= 0].sum())
    size = max(len(state.text), 1024)
    while size < 2 * live + _room(wanted):
        size *= 2
    text = np.empty(size, np.uint8)
    _repack_text(state, text)
    return state._replace(text=text)


def _with_free_producers(state: Reduction) -> Reduction:
    capacity = len(state.producers)
    larger = state._replace(
        producer_slots=np.full(4 * capacity, -1, np.int32),
        producers=np.resize(state.producers, 2 * capacity),
        waiting=np.resize(state.waiting, 2 * capacity),
        first_marker=np.resize(state.first_marker, 2 * capacity),
        first_marker_offset=np.resize(state.first_marker_offset, 2 * capacity),
    )
    _fill_producer_slots(larger)
    return larger


@helper
def _room(size: int) -> int:
    """How much text space to reserve for `size` bytes: a little more, since the next text often grows."""
    return size + (size >> 2) + 8


@kernel
def _reduce(state: Reduction, rows: Rows, row: int, count: int, buffer: Bytes) -> tuple[int, int]:
    while row < count:
        kind = rows.kind[row]
        if kind == _ODD or kind == _DROPPED:
            row += 1
            continue
        need = _NOTHING
        if kind == _COMMITTED or kind == _ABORTED:
            need = _end_transaction(state, rows, row)
        elif kind == _COMMIT and rows.producer_id[row] >= 0:
            need = _wait(state, rows, row, buffer)
        else:
            need = _put(state, rows, row, buffer)
        if need != _NOTHING:
            return need, row
        row += 1
    return _NOTHING, row


@helper
def _put(state: Reduction, rows: Rows, row: int, buffer: Bytes) -> int:
    key = rows.key_id[row]
    cell = state.newest[key]
    if cell < 0:
        cell = _free_cell(state)
        if cell < 0:
            return _CELLS
        if not _fill(state, cell, rows, row, buffer):
            _free(state, cell)
            return _TEXT
        state.newest[key] = cell
        return _NOTHING
    if state.cells[cell, _LOG_OFFSET] >= rows.log_offset[row]:
        return _NOTHING
    return _NOTHING if _fill(state, cell, rows, row, buffer) else _TEXT


@helper
def _wait(state: Reduction, rows: Rows, row: int, buffer: Bytes) -> int:
    producer = _producer(state, rows.producer_id[row])
    if producer < 0:
        return _PRODUCERS
    cell = _free_cell(state)
    if cell < 0:
        return _CELLS
    if not _fill(state, cell, rows, row, buffer):
        _free(state, cell)
        return _TEXT
    state.cells[cell, _NEXT] = state.waiting[producer]
    state.waiting[producer] = cell
    return _NOTHING


@helper
def _end_transaction(state: Reduction, rows: Rows, row: int) -> int:
    producer = _producer(state, rows.producer_id[row])
    if producer < 0:
        return _PRODUCERS
    if state.first_marker[producer] < 0:
        state.first_marker[producer] = rows.kind[row]
        state.first_marker_offset[producer] = rows.log_offset[row]
    committed = rows.kind[row] == _COMMITTED
    cell = state.waiting[producer]
    state.waiting[producer] = -1
    walk = _next_walk(state)
    while cell >= 0:
        following = state.cells[cell, _NEXT]
        key = state.cells[cell, _KEY]
        counting = state.newest[key]
        # Of several commits of a key in one transaction only the last one is there for Kafka.
        if (
            committed
            and state.seen[key] != walk
            and (counting < 0 or state.cells[counting, _LOG_OFFSET] < state.cells[cell, _LOG_OFFSET])
        ):
            state.newest[key] = cell
            cell = counting
        state.seen[key] = walk
        if cell >= 0:
            _free(state, cell)
        cell = following
    return _NOTHING


@helper
def _next_walk(state: Reduction) -> int:
    state.counts[4] += 1
    return state.counts[4]


@helper
def _free_cell(state: Reduction) -> int:
    cell = state.counts[1]
    if cell >= 0:
        state.counts[1] = state.cells[cell, _NEXT]
        return cell
    cell = state.counts[0]
    if cell == len(state.cells):
        return -1
    state.counts[0] = cell + 1
    return cell


@helper
def _free(state: Reduction, cell: int) -> None:
    state.cells[cell, _KEY] = -1
    state.cells[cell, _NEXT] = state.counts[1]
    state.counts[1] = cell


@helper
def _fill(state: Reduction, cell: int, rows: Rows, row: int, buffer: Bytes) -> bool:
    """Copy the row into the cell; False, with the cell as it was, if there is no room for its text."""
    cells = state.cells
    size = rows.text_size[row]
    if size > cells[cell, _TEXT_ROOM]:
        room = _room(size)
        used = state.counts[2]
        if used + room > len(state.text):
            return False
        cells[cell, _TEXT_START] = used
        cells[cell, _TEXT_ROOM] = room
        state.counts[2] = used + room
    start = cells[cell, _TEXT_START]
    position = rows.text_position[row]
    for i in range(size):
        state.text[start + i] = buffer[position + i]
    cells[cell, _TEXT_SIZE] = max(size, 0)
    cells[cell, _KEY] = rows.key_id[row]
    cells[cell, _KIND] = rows.kind[row]
    cells[cell, _LOG_OFFSET] = rows.log_offset[row]
    cells[cell, _RECORD_TIMESTAMP] = rows.record_timestamp[row]
    cells[cell, _PRODUCER_ID] = rows.producer_id[row]
    cells[cell, _BATCH_LEADER_EPOCH] = rows.batch_leader_epoch[row]
    cells[cell, _OFFSET] = rows.offset[row]
    cells[cell, _LEADER_EPOCH] = rows.leader_epoch[row]
    cells[cell, _COMMIT_TIMESTAMP] = rows.commit_timestamp[row]
    cells[cell, _EXPIRE_TIMESTAMP] = rows.expire_timestamp[row]
    cells[cell, _VALUE_VERSION] = rows.value_version[row]
    topic_id = rows.topic_id_position[row]
    cells[cell, _TOPIC_ID_COLUMN] = word_at(buffer, topic_id) if topic_id >= 0 else 0
    cells[cell, _TOPIC_ID_COLUMN + 1] = word_at(buffer, topic_id + 8) if topic_id >= 0 else 0
    return True


@helper
def _producer_slot(state: Reduction, producer_id: int) -> int:
    mask = len(state.producer_slots) - 1
    mixed = producer_id * np.int64(-7046029254386353131)
    slot = (mixed >> 32) & mask
    while True:
        producer = state.producer_slots[slot]
        if producer < 0 or state.producers[producer] == producer_id:
            return slot
        slot = (slot + 1) & mask


@helper
def _producer(state: Reduction, producer_id: int) -> int:
    """The index of a producer, added if it is new; -1 if there is no room for it."""
    slot = _producer_slot(state, producer_id)
    producer = state.producer_slots[slot]
    if producer >= 0:
        return producer
    producer = state.counts[3]
    if producer == len(state.producers):
        return -1
    state.counts[3] = producer + 1
    state.producer_slots[slot] = producer
    state.producers[producer] = producer_id
    state.waiting[producer] = -1
    state.first_marker[producer] = -1
    state.first_marker_offset[producer] = -1
    return producer


@kernel
def _fill_producer_slots(state: Reduction) -> None:
    for producer in range(state.counts[3]):
        state.producer_slots[_producer_slot(state, state.producers[producer])] = producer


@kernel
def _drop_superseded(state: Reduction) -> int:
    """Free every waiting cell that the same producer wrote again later; return how many were freed."""
    dropped = 0
    for producer in range(state.counts[3]):
        walk = _next_walk(state)
        before = -1
        cell = state.waiting[producer]
        while cell >= 0:
            following = state.cells[cell, _NEXT]
            key = state.cells[cell, _KEY]
            if state.seen[key] == walk:
                state.cells[before, _NEXT] = following
                _free(state, cell)
                dropped += 1
            else:
                state.seen[key] = walk
                before = cell
            cell = following
    return dropped


@kernel
def _list_waiting(state: Reduction, waiting: NDArray[np.int32]) -> int:
    count = 0
    for producer in range(state.counts[3]):
        cell = state.waiting[producer]
        while cell >= 0:
            waiting[count] = cell
            count += 1
            cell = state.cells[cell, _NEXT]
    return count


@kernel
def _repack_text(state: Reduction, text: Bytes) -> None:
    """Copy the text of the cells in use, close together, into `text`."""
    used = 0
    for cell in range(state.counts[0]):
        size = state.cells[cell, _TEXT_SIZE] if state.cells[cell, _KEY] >= 0 else 0
        start = state.cells[cell, _TEXT_START]
        for i in range(size):
            text[used + i] = state.text[start + i]
        state.cells[cell, _TEXT_START] = used
        state.cells[cell, _TEXT_ROOM] = size
        used += size
    state.counts[2] = used
