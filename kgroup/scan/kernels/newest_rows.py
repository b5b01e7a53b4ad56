"""The newest row per key, kept while a scan runs: the reduction behind `newest`, as kernels.

What a coordinator does when it loads a partition (Kafka 4.x, OffsetMetadataManager.replay): a plain commit
or a tombstone counts at once; a transactional commit waits for its producer's marker, and then counts if no
commit or tombstone with a higher *record* offset does. Records of other types have no part in
transactions.

Rows live in *cells* (`cells.py`). A marker moves cells from those that wait to those that count without
copying them.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.cells import (
    CELLS_USED,
    FIRST_MARKER,
    FIRST_MARKER_OFFSET,
    LAST_ROW,
    NEWEST,
    NEXT,
    PRODUCERS_USED,
    SEEN,
    WAITING,
    Reduction,
    fill,
    free,
    free_cell,
    next_walk,
    producer_of,
    with_free_cells,
    with_free_producers,
    with_free_text,
    with_key_capacity,
)
from kgroup.scan.kernels.compile import helper, kernel
from kgroup.scan.kernels.rows import (
    ABORTED,
    COMMIT,
    COMMITTED,
    KEY_ID,
    KIND,
    LOG_OFFSET,
    PRODUCER_ID,
    TEXT_SIZE,
    Rows,
)


class Need(IntEnum):
    """The room that the kernel ran out of."""

    NOTHING = 0
    CELLS = 1
    TEXT = 2
    PRODUCERS = 3


_NOTHING = int(Need.NOTHING)
_CELLS = int(Need.CELLS)
_TEXT = int(Need.TEXT)
_PRODUCERS = int(Need.PRODUCERS)


def reduce(state: Reduction, rows: Rows, count: int, buffer: Bytes, key_capacity: int) -> Reduction:
    """Take in `count` rows, none of them odd, and return the state, with larger arrays where it took them."""
    state = with_key_capacity(state, key_capacity)
    row = 0
    skip_to_last = _note_last_rows(state, rows, count)
    while True:
        need, row = _reduce(state, rows, row, count, buffer, skip_to_last)
        if need == Need.NOTHING:
            return state
        if need == Need.CELLS:
            # A producer that commits the same keys over and over and never ends its transaction must not
            # fill memory.
            if _drop_superseded(state) <= len(state.cells) // 4:
                state = with_free_cells(state)
        elif need == Need.TEXT:
            state = with_free_text(state, int(rows[TEXT_SIZE, row]))
        else:
            state = with_free_producers(state)


def newest_cells(state: Reduction) -> NDArray[np.int64]:
    """The cells that count, in the order of their keys' ids."""
    cells = state.keys[:, NEWEST]
    return cells[cells >= 0]


def waiting_cells(state: Reduction) -> NDArray[np.int64]:
    """The cells whose transaction is open, the newest per producer and key."""
    _drop_superseded(state)
    waiting = np.empty(int(state.counts[CELLS_USED]), np.int64)
    return waiting[: _list_waiting(state, waiting)]


def first_markers(state: Reduction) -> NDArray[np.int64]:
    """The producers with a marker, in the columns of `Reduction.producers`."""
    producers = state.producers[: state.counts[PRODUCERS_USED]]
    return producers[producers[:, FIRST_MARKER] >= 0]


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
        cell = free_cell(state)
        if cell < 0:
            return _CELLS
        if not fill(state, cell, rows, row, buffer):
            free(state, cell)
            return _TEXT
        state.keys[key, NEWEST] = cell
        return _NOTHING
    if state.cells[cell, LOG_OFFSET] >= rows[LOG_OFFSET, row]:
        return _NOTHING
    return _NOTHING if fill(state, cell, rows, row, buffer) else _TEXT


@helper
def _wait(state: Reduction, rows: Rows, row: int, buffer: Bytes) -> int:
    producer = producer_of(state, rows[PRODUCER_ID, row])
    if producer < 0:
        return _PRODUCERS
    cell = free_cell(state)
    if cell < 0:
        return _CELLS
    if not fill(state, cell, rows, row, buffer):
        free(state, cell)
        return _TEXT
    state.cells[cell, NEXT] = state.producers[producer, WAITING]
    state.producers[producer, WAITING] = cell
    return _NOTHING


@helper
def _end_transaction(state: Reduction, rows: Rows, row: int) -> int:
    producer = producer_of(state, rows[PRODUCER_ID, row])
    if producer < 0:
        return _PRODUCERS
    if state.producers[producer, FIRST_MARKER] < 0:
        state.producers[producer, FIRST_MARKER] = rows[KIND, row]
        state.producers[producer, FIRST_MARKER_OFFSET] = rows[LOG_OFFSET, row]
    committed = rows[KIND, row] == COMMITTED
    cell = state.producers[producer, WAITING]
    state.producers[producer, WAITING] = -1
    walk = next_walk(state)
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
            free(state, cell)
        cell = following
    return _NOTHING


@kernel
def _drop_superseded(state: Reduction) -> int:
    """Free every waiting cell that the same producer wrote again later; return how many were freed."""
    dropped = 0
    for producer in range(state.counts[PRODUCERS_USED]):
        walk = next_walk(state)
        before = -1
        cell = state.producers[producer, WAITING]
        while cell >= 0:
            following = state.cells[cell, NEXT]
            key = state.cells[cell, KEY_ID]
            if state.keys[key, SEEN] == walk:
                state.cells[before, NEXT] = following
                free(state, cell)
                dropped += 1
            else:
                state.keys[key, SEEN] = walk
                before = cell
            cell = following
    return dropped


@kernel
def _list_waiting(state: Reduction, waiting: NDArray[np.int64]) -> int:
    count = 0
    for producer in range(state.counts[PRODUCERS_USED]):
        cell = state.producers[producer, WAITING]
        while cell >= 0:
            waiting[count] = cell
            count += 1
            cell = state.cells[cell, NEXT]
    return count
