"""The memory behind a reduction's rows: cells with their text, lists of cells by producer, keys.

Rows live in *cells*. A key has at most one cell that counts; a producer has a linked list of cells that
wait. `newest_rows` says which row goes where; here is the room for them. Kernels add no room: they say that
they ran out of it, and are called again when there is more.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes, wrapped
from kgroup.scan.kernels.compile import helper, kernel
from kgroup.scan.kernels.rows import KEY_ID, TEXT_POSITION, TEXT_SIZE, TOPIC_ID_POSITION, Rows

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
CELLS_USED: Final = 0
_FREE_CELL: Final = 1  # the first of the list of free cells, or -1
_TEXT_USED: Final = 2
PRODUCERS_USED: Final = 3
_WALKS: Final = 4
_COUNTS: Final = 5

_TOPIC_ID_BYTES: Final = 16
_LEAST_ROOM: Final = 8
_MULTIPLIER: Final = -7046029254386353131  # 2^64 / golden ratio


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


def _no_keys(capacity: int) -> NDArray[np.int64]:
    keys = np.zeros((capacity, _KEY_COLUMNS), np.int64)
    keys[:, NEWEST] = -1
    return keys


def with_key_capacity(state: Reduction, capacity: int) -> Reduction:
    """Room for at least this many keys."""
    if len(state.keys) >= capacity:
        return state
    keys = _no_keys(capacity)
    keys[: len(state.keys)] = state.keys
    return state._replace(keys=keys)


def with_free_cells(state: Reduction) -> Reduction:
    """Room for twice as many cells."""
    capacity = len(state.cells)
    cells = np.empty((2 * capacity, _COLUMNS), np.int64)
    cells[:capacity] = state.cells
    return state._replace(cells=cells)


def with_free_text(state: Reduction, text_size: int) -> Reduction:
    """Room for one more row's text of this many bytes; text that no cell uses is given up."""
    needed = text_size + _TOPIC_ID_BYTES
    cells = state.cells[: state.counts[CELLS_USED]]
    used = cells[cells[:, KEY_ID] >= 0]
    live = int(used[:, TEXT_SIZE].clip(0).sum()) + _TOPIC_ID_BYTES * len(used)
    size = len(state.text)
    while size < 2 * (live + needed) + _LEAST_ROOM:
        size *= 2
    text = np.empty(size, np.uint8)
    _repack_text(state, text)
    return state._replace(text=text)


def with_free_producers(state: Reduction) -> Reduction:
    """Room for twice as many producers."""
    capacity = len(state.producers)
    producers = np.empty((2 * capacity, _PRODUCER_COLUMNS), np.int64)
    producers[:capacity] = state.producers
    larger = state._replace(producers=producers, producer_slots=np.full(4 * capacity, -1, np.int64))
    _fill_producer_slots(larger)
    return larger


@helper
def _room(size: int) -> int:
    """The text space to reserve for `size` bytes: a little more, since the next text often grows."""
    return size + (size >> 2) + _LEAST_ROOM if size else 0


@helper
def free_cell(state: Reduction) -> int:
    """A cell for the caller to fill; -1 if there is none left."""
    cell: int = state.counts[_FREE_CELL]
    if cell >= 0:
        state.counts[_FREE_CELL] = state.cells[cell, NEXT]
        return cell
    cell = state.counts[CELLS_USED]
    if cell == len(state.cells):
        return -1
    state.counts[CELLS_USED] = cell + 1
    state.cells[cell, TEXT_POSITION] = 0
    state.cells[cell, TEXT_ROOM] = 0
    return cell


@helper
def free(state: Reduction, cell: int) -> None:
    """Give a cell back; it keeps the room that its text had."""
    state.cells[cell, KEY_ID] = -1
    state.cells[cell, NEXT] = state.counts[_FREE_CELL]
    state.counts[_FREE_CELL] = cell


@helper
def fill(state: Reduction, cell: int, rows: Rows, row: int, buffer: Bytes) -> bool:
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
    slot = (wrapped(producer_id * _MULTIPLIER) >> 32) & mask
    while True:
        producer: int = state.producer_slots[slot]
        if producer < 0 or state.producers[producer, ID] == producer_id:
            return slot
        slot = (slot + 1) & mask


@helper
def producer_of(state: Reduction, producer_id: int) -> int:
    """The index of a producer, added if it is new; -1 if there is no room for it."""
    slot = _producer_slot(state, producer_id)
    producer: int = state.producer_slots[slot]
    if producer >= 0:
        return producer
    producer = state.counts[PRODUCERS_USED]
    if producer == len(state.producers):
        return -1
    state.counts[PRODUCERS_USED] = producer + 1
    state.producer_slots[slot] = producer
    state.producers[producer, ID] = producer_id
    state.producers[producer, WAITING] = -1
    state.producers[producer, FIRST_MARKER] = -1
    state.producers[producer, FIRST_MARKER_OFFSET] = -1
    return producer


@kernel
def _fill_producer_slots(state: Reduction) -> None:
    for producer in range(state.counts[PRODUCERS_USED]):
        state.producer_slots[_producer_slot(state, state.producers[producer, ID])] = producer


@helper
def next_walk(state: Reduction) -> int:
    """The number of a walk through a producer's list, to mark the keys SEEN in it."""
    walk: int = state.counts[_WALKS] + 1
    state.counts[_WALKS] = walk
    return walk


@kernel
def _repack_text(state: Reduction, text: Bytes) -> None:
    """Copy the text of the cells in use, close together, into `text`."""
    used = 0
    for cell in range(state.counts[CELLS_USED]):
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
