"""The newest row per key, kept while a scan runs: the reduction behind `newest`, as kernels.

What a coordinator does when it loads a partition (Kafka 4.x, OffsetMetadataManager.replay): a plain commit
or a tombstone counts at once; a transactional commit waits for its producer's marker, and then counts if no
commit or tombstone with a higher *record* offset does. Records of other types have no part in
transactions.

Rows live in *cells*. A key has at most one cell that counts; a producer has a linked list of cells that
wait. A marker moves cells from one to the other without copying them.
"""

from enum import IntEnum
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.log.scan_bytes import Bytes
from kgroup.log.scan_compile import helper, kernel
from kgroup.log.scan_rows import (
    ABORTED,
    COMMIT,
    COMMITTED,
    KEY_ID,
    KIND,
    LOG_OFFSET,
    PRODUCER_ID,
    TEXT_POSITION,
    TEXT_SIZE,
    TOPIC_ID_POSITION,
    Rows,
)

# Columns of `Reduction.cells`: those of a block of rows, then these two. A cell is two cache lines.
TEXT_ROOM: Final = 14  # bytes reserved at TEXT_POSITION, also while the cell is free (its KEY_ID is -1 then)
NEXT: Final = 15  # cell in the same list, -1 at the end
_COLUMNS: Final = 16
_ROW_COLUMNS: Final = 14

# Columns of `Reduction.keys`.
NEWEST: Final = 0  # the cell that counts, -1 without one
SEEN: Final = 1  # the last walk through a producer's list that came upon the key
LAST_ROW: Final = 2  # in the block, of the rows that count at once
_KEY_COLUMNS: Final = 3

# Columns of `Reduction.producers`.
ID: Final = 0
WAITING: Final = 1  # the first cell of the list, the newest
FIRST_MARKER: Final = 2  # the kind of the first marker seen, -1 without one
FIRST_MARKER_OFFSET: Final = 3
_PRODUCER_COLUMNS: Final = 4

# Places in `Reduction.counts`.
_CELLS_USED: Final = 0
_FREE_CELL: Final = 1  # the first of the list of free cells, or -1
_TEXT_USED: Final = 2
_PRODUCERS_USED: Final = 3
_WALKS: Final = 4
_COUNTS: Final = 5

_TOPIC_ID_BYTES: Final = 16
_LEAST_ROOM: Final = 8
_MULTIPLIER: Final = -7046029254386353131  # 2^64 / golden ratio


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
    """The state between blocks.

    `keys` has a row per key id; `text` is where metadata and values of cells lie.

    A topic id lies behind the metadata of its commit, within its room.
    """

    cells: NDArray[np.int64]
    text: Bytes
    keys: NDArray[np.int64]
    producer_slots: NDArray[np.int64]
    producers: NDArray[np.int64]
    counts: NDArray[np.int64]


def new_reduction(cells: int = 1024, producers: int = 256) -> Reduction:
    """An empty state; `producers` must be a power of two."""
    counts = np.zeros(_COUNTS, np.int64)
    counts[_FREE_CELL] = -1
    return Reduction(
        cells=np.empty((cells, _COLUMNS), np.int64),
        text=np.empty(32 * cells, np.uint8),
        keys=_no_keys(cells),
        producer_slots=np.full(2 * producers, -1, np.int64),
        producers=np.empty((producers, _PRODUCER_COLUMNS), np.int64),
        counts=counts,
    )


def reduce(state: Reduction, rows: Rows, count: int, buffer: Bytes, key_capacity: int) -> Reduction:
    """Take in `count` rows, none of them odd, and return the state, with larger arrays where it took them."""
    if len(state.keys) < key_capacity:
        keys = _no_keys(key_capacity)
        keys[: len(state.keys)] = state.keys
        state = state._replace(keys=keys)
    row = 0
    skip_to_last = _note_last_rows(state, rows, count)
    while True:
        need, row = _reduce(state, rows, row, count, buffer, skip_to_last)
        if need == Need.NOTHING:
            return state
        if need == Need.CELLS:
            state = _with_free_cells(state)
        elif need == Need.TEXT:
            state = _with_free_text(state, int(rows[TEXT_SIZE, row]) + _TOPIC_ID_BYTES)
        else:
            state = _with_free_producers(state)


def newest_cells(state: Reduction) -> NDArray[np.int64]:
    """The cells that count, in the order of their keys' ids."""
    cells = state.keys[:, NEWEST]
    return cells[cells >= 0]


def waiting_cells(state: Reduction) -> NDArray[np.int64]:
    """The cells whose transaction is open, the newest per producer and key."""
    _drop_superseded(state)
    waiting = np.empty(int(state.counts[_CELLS_USED]), np.int64)
    return waiting[: _list_waiting(state, waiting)]


def first_markers(state: Reduction) -> NDArray[np.int64]:
    """The producers with a marker, in the columns of `Reduction.producers`."""
    producers = state.producers[: state.counts[_PRODUCERS_USED]]
    return producers[producers[:, FIRST_MARKER] >= 0]


def _no_keys(capacity: int) -> NDArray[np.int64]:
    keys = np.zeros((capacity, _KEY_COLUMNS), np.int64)
    keys[:, NEWEST] = -1
    return keys


def _with_free_cells(state: Reduction) -> Reduction:
    # A producer that commits the same keys over and over and never ends its transaction must not fill memory.
    capacity = len(state.cells)
    if _drop_superseded(state) > capacity // 4:
        return state
    cells = np.empty((2 * capacity, _COLUMNS), np.int64)
    cells[:capacity] = state.cells
    return state._replace(cells=cells)


def _with_free_text(state: Reduction, wanted: int) -> Reduction:
    cells = state.cells[: state.counts[_CELLS_USED]]
    used = cells[cells[:, KEY_ID] >= 0]
    live = int(used[:, TEXT_SIZE].clip(0).sum()) + _TOPIC_ID_BYTES * len(used)
    size = len(state.text)
    while size < 2 * (live + wanted) + _LEAST_ROOM:
        size *= 2
    text = np.empty(size, np.uint8)
    _repack_text(state, text)
    return state._replace(text=text)


def _with_free_producers(state: Reduction) -> Reduction:
    capacity = len(state.producers)
    producers = np.empty((2 * capacity, _PRODUCER_COLUMNS), np.int64)
    producers[:capacity] = state.producers
    larger = state._replace(producers=producers, producer_slots=np.full(4 * capacity, -1, np.int64))
    _fill_producer_slots(larger)
    return larger


@helper
def _room(size: int) -> int:
    """How much text space to reserve for `size` bytes: a little more, since the next text often grows."""
    return size + (size >> 2) + _LEAST_ROOM if size else 0


@kernel
def _note_last_rows(state: Reduction, rows: Rows, count: int) -> bool:
    """Note the last row per key among those that count at once; False if offsets go back within the block."""
    newest_offset = -1
    rising = True
    for row in range(count):
        rising &= rows[LOG_OFFSET, row] > newest_offset
        newest_offset = rows[LOG_OFFSET, row]
        kind = rows[KIND, row]
        if kind < COMMITTED and (kind != COMMIT or rows[PRODUCER_ID, row] < 0):
            state.keys[rows[KEY_ID, row], LAST_ROW] = row
    return rising


@kernel
def _reduce(
    state: Reduction, rows: Rows, row: int, count: int, buffer: Bytes, skip_to_last: bool
) -> tuple[int, int]:
    """Take in the rows from `row` on; return what it ran out of (`Need`), and at which row."""
    while row < count:
        kind = rows[KIND, row]
        need = _NOTHING
        if COMMITTED <= kind <= ABORTED:
            need = _end_transaction(state, rows, row)
        elif kind == COMMIT and rows[PRODUCER_ID, row] >= 0:
            need = _wait(state, rows, row, buffer)
        elif kind < COMMITTED and not (skip_to_last and state.keys[rows[KEY_ID, row], LAST_ROW] != row):
            need = _put(state, rows, row, buffer)
        if need != _NOTHING:
            return need, row
        row += 1
    return _NOTHING, row


@helper
def _put(state: Reduction, rows: Rows, row: int, buffer: Bytes) -> int:
    key = rows[KEY_ID, row]
    cell = state.keys[key, NEWEST]
    if cell < 0:
        cell = _free_cell(state)
        if cell < 0:
            return _CELLS
        if not _fill(state, cell, rows, row, buffer):
            _free(state, cell)
            return _TEXT
        state.keys[key, NEWEST] = cell
        return _NOTHING
    if state.cells[cell, LOG_OFFSET] >= rows[LOG_OFFSET, row]:
        return _NOTHING
    return _NOTHING if _fill(state, cell, rows, row, buffer) else _TEXT


@helper
def _wait(state: Reduction, rows: Rows, row: int, buffer: Bytes) -> int:
    producer = _producer(state, rows[PRODUCER_ID, row])
    if producer < 0:
        return _PRODUCERS
    cell = _free_cell(state)
    if cell < 0:
        return _CELLS
    if not _fill(state, cell, rows, row, buffer):
        _free(state, cell)
        return _TEXT
    state.cells[cell, NEXT] = state.producers[producer, WAITING]
    state.producers[producer, WAITING] = cell
    return _NOTHING


@helper
def _end_transaction(state: Reduction, rows: Rows, row: int) -> int:
    producer = _producer(state, rows[PRODUCER_ID, row])
    if producer < 0:
        return _PRODUCERS
    if state.producers[producer, FIRST_MARKER] < 0:
        state.producers[producer, FIRST_MARKER] = rows[KIND, row]
        state.producers[producer, FIRST_MARKER_OFFSET] = rows[LOG_OFFSET, row]
    committed = rows[KIND, row] == COMMITTED
    cell = state.producers[producer, WAITING]
    state.producers[producer, WAITING] = -1
    walk = _next_walk(state)
    while cell >= 0:
        following = state.cells[cell, NEXT]
        key = state.cells[cell, KEY_ID]
        counting = state.keys[key, NEWEST]
        # Of several commits of a key in one transaction only the last one is there for Kafka.
        if (
            committed
            and state.keys[key, SEEN] != walk
            and (counting < 0 or state.cells[counting, LOG_OFFSET] < state.cells[cell, LOG_OFFSET])
        ):
            state.keys[key, NEWEST] = cell
            cell = counting
        state.keys[key, SEEN] = walk
        if cell >= 0:
            _free(state, cell)
        cell = following
    return _NOTHING


@helper
def _next_walk(state: Reduction) -> int:
    walk: int = state.counts[_WALKS] + 1
    state.counts[_WALKS] = walk
    return walk


@helper
def _free_cell(state: Reduction) -> int:
    cell: int = state.counts[_FREE_CELL]
    if cell >= 0:
        state.counts[_FREE_CELL] = state.cells[cell, NEXT]
        return cell
    cell = state.counts[_CELLS_USED]
    if cell == len(state.cells):
        return -1
    state.counts[_CELLS_USED] = cell + 1
    state.cells[cell, TEXT_POSITION] = 0
    state.cells[cell, TEXT_ROOM] = 0
    return cell


@helper
def _free(state: Reduction, cell: int) -> None:
    state.cells[cell, KEY_ID] = -1
    state.cells[cell, NEXT] = state.counts[_FREE_CELL]
    state.counts[_FREE_CELL] = cell


@helper
def _fill(state: Reduction, cell: int, rows: Rows, row: int, buffer: Bytes) -> bool:
    """Copy the row into the cell; False, with the cell as it was, if there is no room for its text."""
    cells = state.cells
    text_size = max(rows[TEXT_SIZE, row], 0)
    topic_id = rows[TOPIC_ID_POSITION, row]
    size = text_size + (_TOPIC_ID_BYTES if topic_id >= 0 else 0)
    start = cells[cell, TEXT_POSITION]
    if size > cells[cell, TEXT_ROOM]:
        room = _room(size)
        start = state.counts[_TEXT_USED]
        if start + room > len(state.text):
            return False
        cells[cell, TEXT_ROOM] = room
        state.counts[_TEXT_USED] = start + room
    for column in range(_ROW_COLUMNS):
        cells[cell, column] = rows[column, row]
    cells[cell, TEXT_POSITION] = start
    position = rows[TEXT_POSITION, row]
    for i in range(text_size):
        state.text[start + i] = buffer[position + i]
    if topic_id >= 0:
        cells[cell, TOPIC_ID_POSITION] = start + text_size
        for i in range(_TOPIC_ID_BYTES):
            state.text[start + text_size + i] = buffer[topic_id + i]
    return True


@helper
def _producer_slot(state: Reduction, producer_id: int) -> int:
    mask = len(state.producer_slots) - 1
    slot = (producer_id * _MULTIPLIER >> 32) & mask
    while True:
        producer: int = state.producer_slots[slot]
        if producer < 0 or state.producers[producer, ID] == producer_id:
            return slot
        slot = (slot + 1) & mask


@helper
def _producer(state: Reduction, producer_id: int) -> int:
    """The index of a producer, added if it is new; -1 if there is no room for it."""
    slot = _producer_slot(state, producer_id)
    producer: int = state.producer_slots[slot]
    if producer >= 0:
        return producer
    producer = state.counts[_PRODUCERS_USED]
    if producer == len(state.producers):
        return -1
    state.counts[_PRODUCERS_USED] = producer + 1
    state.producer_slots[slot] = producer
    state.producers[producer, ID] = producer_id
    state.producers[producer, WAITING] = -1
    state.producers[producer, FIRST_MARKER] = -1
    state.producers[producer, FIRST_MARKER_OFFSET] = -1
    return producer


@kernel
def _fill_producer_slots(state: Reduction) -> None:
    for producer in range(state.counts[_PRODUCERS_USED]):
        state.producer_slots[_producer_slot(state, state.producers[producer, ID])] = producer


@kernel
def _drop_superseded(state: Reduction) -> int:
    """Free every waiting cell that the same producer wrote again later; return how many were freed."""
    dropped = 0
    for producer in range(state.counts[_PRODUCERS_USED]):
        walk = _next_walk(state)
        before = -1
        cell = state.producers[producer, WAITING]
        while cell >= 0:
            following = state.cells[cell, NEXT]
            key = state.cells[cell, KEY_ID]
            if state.keys[key, SEEN] == walk:
                state.cells[before, NEXT] = following
                _free(state, cell)
                dropped += 1
            else:
                state.keys[key, SEEN] = walk
                before = cell
            cell = following
    return dropped


@kernel
def _list_waiting(state: Reduction, waiting: NDArray[np.int64]) -> int:
    count = 0
    for producer in range(state.counts[_PRODUCERS_USED]):
        cell = state.producers[producer, WAITING]
        while cell >= 0:
            waiting[count] = cell
            count += 1
            cell = state.cells[cell, NEXT]
    return count


@kernel
def _repack_text(state: Reduction, text: Bytes) -> None:
    """Copy the text of the cells in use, close together, into `text`."""
    used = 0
    for cell in range(state.counts[_CELLS_USED]):
        size = 0
        start = state.cells[cell, TEXT_POSITION]
        if state.cells[cell, KEY_ID] >= 0:
            size = max(state.cells[cell, TEXT_SIZE], 0)
            if state.cells[cell, TOPIC_ID_POSITION] >= 0:
                state.cells[cell, TOPIC_ID_POSITION] = used + size
                size += _TOPIC_ID_BYTES
        for i in range(size):
            text[used + i] = state.text[start + i]
        state.cells[cell, TEXT_POSITION] = used
        state.cells[cell, TEXT_ROOM] = size
        used += size
    state.counts[_TEXT_USED] = used
