"""The last commits of each key and its steps between commits, kept while a scan runs, as a kernel.

A key's commits that count form a ring, by log offset, so that rows need no sorting: a commit is the newest of
its key unless it waited for the end of its transaction. Where keys are told apart by period as well, a ring
is put out when its key goes on to another period.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import wrapped
from kgroup.scan.kernels.compile import helper, kernel
from kgroup.scan.kernels.rows import (
    COMMIT,
    COMMIT_TIMESTAMP,
    KEY_ID,
    KIND,
    LOG_OFFSET,
    OFFSET,
    PRODUCER_ID,
    RECORD_TIMESTAMP,
    TOMBSTONE,
    VALUE_VERSION,
    Rows,
)

Table = NDArray[np.int64]

LONGEST: Final = 4
"""Steps of each key: the longest, and those that it is longer than, which show how fast its reader is."""

# Columns of a kept row: of a ring, of a tombstone, and put out.
KEPT_COLUMNS: Final = (
    LOG_OFFSET,
    RECORD_TIMESTAMP,
    PRODUCER_ID,
    OFFSET,
    COMMIT_TIMESTAMP,
    VALUE_VERSION,
    KEY_ID,
)
_AT: Final = 0  # that of LOG_OFFSET
_KEPT: Final = len(KEPT_COLUMNS)

# Columns of `LastRows.heads`.
COUNT: Final = 0  # of the ring's rows
FIRST: Final = 1  # the slot of its oldest row
HAS_TOMBSTONE: Final = 2
_PERIOD: Final = 3
# Of the commits and tombstones outside transactions: what the newest one is, and the numbers of a commit.
_NEWEST: Final = 4
_NEWEST_AT: Final = 5
HAS_EDGE: Final = 8  # whether the first of all is a commit, and its numbers
EDGE: Final = 9
HAS_MOVE: Final = 12
LONG_STEPS: Final = 13  # how many
_HEAD_COLUMNS: Final = 14

# Columns of a step: log offset, offset and time (epoch ms) of the commit that it is from, and of its own.
FROM: Final = 0
TO: Final = 3
STEP_COLUMNS: Final = 6

_NOTHING: Final = 0
_IS_COMMIT: Final = 1
_IS_TOMBSTONE: Final = 2


class LastRows(NamedTuple):
    """The state between blocks.

    `rings` are [slot, key id, column], `longest` [rank, key id, column]: what nobody has used yet takes no
    memory.
    """

    heads: Table
    rings: NDArray[np.int64]
    tombstones: Table
    moves: Table
    longest: NDArray[np.int64]


def new_last_rows(slots: int, keys: int = 0, *, longest: int = LONGEST) -> LastRows:
    """An empty state that keeps so many commits of each key, and so many of its longest steps."""
    return LastRows(
        heads=np.zeros((keys, _HEAD_COLUMNS), np.int64),
        rings=np.empty((slots, keys, _KEPT), np.int64),
        tombstones=np.empty((keys, _KEPT), np.int64),
        moves=np.empty((keys, STEP_COLUMNS), np.int64),
        longest=np.empty((longest, keys, STEP_COLUMNS), np.int64),
    )


def with_key_capacity(state: LastRows, capacity: int) -> LastRows:
    """Room for at least this many keys."""
    count = len(state.heads)
    if count >= capacity:
        return state
    larger = new_last_rows(len(state.rings), capacity, longest=len(state.longest))
    larger.heads[:count] = state.heads
    larger.tombstones[:count] = state.tombstones
    larger.moves[:count] = state.moves
    # A ring begins to turn when it is full: what no ring has reached is left alone.
    for one, other, used in (
        (larger.rings, state.rings, COUNT),
        (larger.longest, state.longest, LONG_STEPS),
    ):
        most = int(state.heads[:, used].max(initial=0))
        one[:most, :count] = other[:most]
    return larger


@kernel
def add_last(
    state: LastRows, rows: Rows, row: int, count: int, period_ms: int, out: Table
) -> tuple[int, int]:
    """Take in the rows from `row` on: commits and tombstones.

    With `period_ms` above 0 rings that end are put out, and steps are not looked at. Returns the row whose
    ring found no room in `out`, `count` if all did, and how many rows are there.
    """
    slots = len(state.rings)
    written = 0
    while row < count:
        kind = rows[KIND, row]
        if kind <= TOMBSTONE:
            key = rows[KEY_ID, row]
            if period_ms > 0:
                time = rows[COMMIT_TIMESTAMP, row] if kind == COMMIT else rows[RECORD_TIMESTAMP, row]
                period = time // period_ms
                if state.heads[key, _PERIOD] != period:
                    if written + slots + 1 > len(out):
                        return row, written
                    written = _put_out(state, key, out, written)
                    state.heads[key, _PERIOD] = period
            elif rows[PRODUCER_ID, row] < 0:
                _step(state, key, rows, row)
            if kind == COMMIT:
                _add_commit(state, key, rows, row)
            else:
                _add_tombstone(state, key, rows, row)
        row += 1
    return row, written


@kernel
def put_out(state: LastRows, keys: NDArray[np.int64], out: Table) -> int:
    """Put out the rows of these keys, which has room for all; the number of rows."""
    written = 0
    for number in range(len(keys)):
        written = _put_out(state, keys[number], out, written)
    return written


@helper
def _put_out(state: LastRows, key: int, out: Table, written: int) -> int:
    heads = state.heads
    if heads[key, HAS_TOMBSTONE] != 0:
        for column in range(_KEPT):
            out[written, column] = state.tombstones[key, column]
        written += 1
    for index in range(heads[key, COUNT]):
        slot = _slot(heads[key, FIRST], index, len(state.rings))
        for column in range(_KEPT):
            out[written, column] = state.rings[slot, key, column]
        written += 1
    heads[key, COUNT] = 0
    heads[key, FIRST] = 0
    heads[key, HAS_TOMBSTONE] = 0
    return written


@helper
def _add_commit(state: LastRows, key: int, rows: Rows, row: int) -> None:
    heads, rings = state.heads, state.rings
    slots = len(rings)
    at = rows[LOG_OFFSET, row]
    if heads[key, HAS_TOMBSTONE] != 0 and at < state.tombstones[key, _AT]:
        return
    first, count = heads[key, FIRST], heads[key, COUNT]
    index = count
    while index > 0 and rings[_slot(first, index - 1, slots), key, _AT] > at:
        index -= 1
    if count == slots:
        if index == 0:
            return
        first = _slot(first, 1, slots)
        heads[key, FIRST] = first
        count -= 1
        index -= 1
    for moved in range(count, index, -1):
        for column in range(_KEPT):
            rings[_slot(first, moved, slots), key, column] = rings[
                _slot(first, moved - 1, slots), key, column
            ]
    slot = _slot(first, index, slots)
    rings[slot, key, 0] = at
    rings[slot, key, 1] = rows[RECORD_TIMESTAMP, row]
    rings[slot, key, 2] = rows[PRODUCER_ID, row]
    rings[slot, key, 3] = rows[OFFSET, row]
    rings[slot, key, 4] = rows[COMMIT_TIMESTAMP, row]
    rings[slot, key, 5] = rows[VALUE_VERSION, row]
    rings[slot, key, 6] = key
    heads[key, COUNT] = count + 1


@helper
def _add_tombstone(state: LastRows, key: int, rows: Rows, row: int) -> None:
    heads, rings, tombstones = state.heads, state.rings, state.tombstones
    at = rows[LOG_OFFSET, row]
    if heads[key, HAS_TOMBSTONE] != 0 and at < tombstones[key, _AT]:
        return
    while heads[key, COUNT] > 0 and rings[heads[key, FIRST], key, _AT] <= at:
        heads[key, FIRST] = _slot(heads[key, FIRST], 1, len(rings))
        heads[key, COUNT] -= 1
    heads[key, HAS_TOMBSTONE] = 1
    tombstones[key, 0] = at
    tombstones[key, 1] = rows[RECORD_TIMESTAMP, row]
    tombstones[key, 2] = rows[PRODUCER_ID, row]
    tombstones[key, 3] = rows[OFFSET, row]
    tombstones[key, 4] = rows[COMMIT_TIMESTAMP, row]
    tombstones[key, 5] = rows[VALUE_VERSION, row]
    tombstones[key, 6] = key


@helper
def _step(state: LastRows, key: int, rows: Rows, row: int) -> None:
    heads = state.heads
    newest = heads[key, _NEWEST]
    at = rows[LOG_OFFSET, row]
    if newest != _NOTHING and at <= heads[key, _NEWEST_AT]:
        return  # offsets went back: a record is met again, or out of its order
    if rows[KIND, row] != COMMIT:
        heads[key, _NEWEST] = _IS_TOMBSTONE
        heads[key, _NEWEST_AT] = at
        return
    offset, time = rows[OFFSET, row], rows[COMMIT_TIMESTAMP, row]
    if newest == _NOTHING:
        heads[key, HAS_EDGE] = 1
        heads[key, EDGE] = at
        heads[key, EDGE + 1] = offset
        heads[key, EDGE + 2] = time
    elif newest == _IS_COMMIT and offset != heads[key, _NEWEST_AT + 1]:
        heads[key, HAS_MOVE] = 1
        for column in range(3):
            state.moves[key, FROM + column] = heads[key, _NEWEST_AT + column]
        state.moves[key, TO] = at
        state.moves[key, TO + 1] = offset
        state.moves[key, TO + 2] = time
        _add_long_step(state, key)
    heads[key, _NEWEST] = _IS_COMMIT
    heads[key, _NEWEST_AT] = at
    heads[key, _NEWEST_AT + 1] = offset
    heads[key, _NEWEST_AT + 2] = time


@helper
def _add_long_step(state: LastRows, key: int) -> None:
    """Put the last move among the longest steps, if it is one; of equal ones the first stays in front."""
    longest, moves = state.longest, state.moves
    ranks = len(longest)
    size = wrapped(moves[key, TO + 1] - moves[key, FROM + 1])
    if size <= 0:
        return
    rank = known = state.heads[key, LONG_STEPS]
    while rank > 0 and wrapped(longest[rank - 1, key, TO + 1] - longest[rank - 1, key, FROM + 1]) < size:
        rank -= 1
    if rank == ranks:
        return
    last = min(known, ranks - 1)
    for moved in range(last, rank, -1):
        for column in range(STEP_COLUMNS):
            longest[moved, key, column] = longest[moved - 1, key, column]
    for column in range(STEP_COLUMNS):
        longest[rank, key, column] = moves[key, column]
    state.heads[key, LONG_STEPS] = last + 1


@helper
def _slot(first: int, index: int, slots: int) -> int:
    slot = first + index
    return slot - slots if slot >= slots else slot
