"""A kernel that adds up each key's records and bytes, and finds its newest record.

`read_batches` has made rows of the batches; here each record gets its share of its batch's bytes on disk.
The 61 bytes of a header are divided evenly among the records, the first ones taking what is left over. The
rest is divided by the records' own sizes: exactly those where the batch is not compressed.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.batches import HEADER_SIZE, OVERHEAD
from kgroup.scan.kernels.bytes_at import Bytes, int16_at, int32_at, int64_at, varint_at, varlong_at, wrapped
from kgroup.scan.kernels.compile import helper, kernel
from kgroup.scan.kernels.rows import ABORTED, COMMITTED, KEY_ID, KIND, LOG_OFFSET, RECORD_TIMESTAMP, Rows

Table = NDArray[np.int64]

# Columns of tallies[key id, COLUMN]. The first four are of one segment, as their reader clears them.
RECORDS: Final = 0
BYTES: Final = 1
TOMBSTONES: Final = 2  # of the records
TOMBSTONE_BYTES: Final = 3
RUN: Final = 4  # the stretch without gaps that the next four are of
RUN_RECORDS: Final = 5
RUN_BYTES: Final = 6
RUN_TOMBSTONES: Final = 7  # of the run's records
RUN_TOMBSTONE_BYTES: Final = 8
# The newest record: of all, and of those that the log cleaner may look at.
NEWEST: Final = 9
CLEANABLE: Final = 14
TALLY_COLUMNS: Final = 19
# Behind NEWEST and CLEANABLE:
AT: Final = 0  # offset + 1; 0 if there is none
SHARE: Final = 1  # its bytes without those of the header
BATCH: Final = 2  # base offset of its batch; -1 of an old format, without a header
HAS_VALUE: Final = 3
HORIZON: Final = 4  # when it may be deleted, epoch ms; -1 if that is not written yet
PLACE_COLUMNS: Final = 5

# Rows of others[WHAT, COLUMN]: what has no key.
MARKERS: Final = 0
DUE_MARKERS: Final = 1  # of these, those that the cleaner may delete
KEYLESS: Final = 2  # also keys that make no sense
EMPTY_BATCHES: Final = 3
OTHERS: Final = 4

# Columns of events: records of transactions and markers in log order, to be paired.
EVENT_PRODUCER: Final = 0
EVENT_KEY: Final = 1  # -1: a marker that commits, -2: one that aborts
EVENT_PLACE: Final = 2  # the PLACE_COLUMNS from here
EVENT_COLUMNS: Final = 7
COMMITS: Final = -1
ABORTS: Final = -2

# Places in `state`.
RUN_NUMBER: Final = 0
NEXT_OFFSET: Final = 1
RUN_FIRST_MS: Final = 2
RUN_LAST_MS: Final = 3
NOW_MS: Final = 4
CLEANABLE_TO: Final = 5  # base offset of the first segment that the cleaner leaves alone
EVENTS: Final = 6  # how many there are
FIRST_MS: Final = 7  # of the segment
LAST_MS: Final = 8
STATE: Final = 9

_TRANSACTIONAL: Final = 0x10
_CODEC: Final = 0x07
_HAS_HORIZON: Final = 0x40


@kernel
def tally_batches(
    buffer: Bytes,
    position: int,
    end: int,
    headers: Bytes,
    sources: Table,
    rows: Rows,
    tallies: Table,
    others: Table,
    events: Table,
    state: Table,
) -> int:
    """Add the batches of buffer[position:end], of which `read_batches` has made `rows`; returns their number.

    Compressed batches lie unpacked in `buffer`, and as they are in `headers`, at `sources`. `events` has room
    for as many as there are rows.
    """
    row = batch = 0
    while position < end:
        size = OVERHEAD + int32_at(buffer, position + 8)
        stored, attributes = size, int16_at(buffer, position + 21)
        if len(sources):
            stored = OVERHEAD + int32_at(headers, sources[batch] + 8)
            attributes = int16_at(headers, sources[batch] + 21)
        count = int32_at(buffer, position + 57)
        base_offset = int64_at(buffer, position)
        if base_offset != state[NEXT_OFFSET] or count != int32_at(buffer, position + 23) + 1:
            # The cleaner has been here, or something is missing: what came before says nothing of a rate.
            state[RUN_NUMBER] += 1
            state[RUN_FIRST_MS] = -1
        state[NEXT_OFFSET] = wrapped(base_offset + int32_at(buffer, position + 23) + 1)
        if count == 0:
            others[EMPTY_BATCHES, RECORDS] += 1
            others[EMPTY_BATCHES, BYTES] += stored
        producer_id = int64_at(buffer, position + 43) if attributes & _TRANSACTIONAL else -1
        horizon = int64_at(buffer, position + 27) if attributes & _HAS_HORIZON else -1
        at, left, payload = position + HEADER_SIZE, size - HEADER_SIZE, stored - HEADER_SIZE
        taken = 0
        for index in range(count):
            record = at
            length, at = varint_at(buffer, at, end)
            value_size = _value_size(buffer, at, end)
            at += length
            own = at - record
            taken += own
            share = own
            if attributes & _CODEC and left > 0:
                share = _part(payload, taken, left) - _part(payload, taken - own, left)
            add_record(
                rows[KEY_ID, row],
                rows[KIND, row],
                rows[LOG_OFFSET, row],
                rows[RECORD_TIMESTAMP, row],
                value_size >= 0,
                share,
                even_part(HEADER_SIZE, index, count),
                base_offset,
                producer_id,
                horizon,
                tallies,
                others,
                events,
                state,
            )
            row += 1
        position += size
        batch += 1
    return batch


@helper
def _part(payload: int, taken: int, whole: int) -> int:
    # Neither is above 2^31, so this stays below 2^63.
    return payload * taken // whole


@helper
def even_part(whole: int, index: int, count: int) -> int:
    """The share of the record with this index in something divided evenly."""
    return whole // count + (1 if index < whole % count else 0)


@helper
def _value_size(buffer: Bytes, at: int, end: int) -> int:
    """The size of the value of a record that begins behind its length; -1 for null."""
    _, at = varlong_at(buffer, at + 1, end)
    _, at = varint_at(buffer, at, end)
    key_size, at = varint_at(buffer, at, end)
    value_size, _ = varint_at(buffer, at + max(key_size, 0), end)
    return value_size


@helper
def add_record(
    key_id: int,
    kind: int,
    offset: int,
    timestamp_ms: int,
    has_value: bool,
    share: int,
    overhead: int,
    base_offset: int,
    producer_id: int,
    horizon: int,
    tallies: Table,
    others: Table,
    events: Table,
    state: Table,
) -> None:
    """Add one record, whatever it is."""
    size = share + overhead
    if state[RUN_FIRST_MS] < 0:
        state[RUN_FIRST_MS] = timestamp_ms
    state[RUN_LAST_MS] = timestamp_ms
    if state[FIRST_MS] < 0 or timestamp_ms < state[FIRST_MS]:
        state[FIRST_MS] = timestamp_ms
    state[LAST_MS] = max(state[LAST_MS], timestamp_ms)
    is_marker = kind in (COMMITTED, ABORTED)
    if is_marker or key_id < 0:
        what = MARKERS if is_marker else KEYLESS
        others[what, RECORDS] += 1
        others[what, BYTES] += size
        if others[what, RUN] != state[RUN_NUMBER]:
            others[what, RUN] = state[RUN_NUMBER]
            others[what, RUN_RECORDS] = 0
            others[what, RUN_BYTES] = 0
        others[what, RUN_RECORDS] += 1
        others[what, RUN_BYTES] += size
        if is_marker:
            if 0 <= horizon <= state[NOW_MS] and offset < state[CLEANABLE_TO]:
                others[DUE_MARKERS, RECORDS] += 1
                others[DUE_MARKERS, BYTES] += size
            number = state[EVENTS]
            events[number, EVENT_PRODUCER] = producer_id
            events[number, EVENT_KEY] = COMMITS if kind == COMMITTED else ABORTS
            events[number, EVENT_PLACE + AT] = wrapped(offset + 1)
            state[EVENTS] = number + 1
        return
    tallies[key_id, RECORDS] += 1
    tallies[key_id, BYTES] += size
    if not has_value:
        tallies[key_id, TOMBSTONES] += 1
        tallies[key_id, TOMBSTONE_BYTES] += size
    if tallies[key_id, RUN] != state[RUN_NUMBER]:
        tallies[key_id, RUN] = state[RUN_NUMBER]
        tallies[key_id, RUN_RECORDS] = 0
        tallies[key_id, RUN_BYTES] = 0
        tallies[key_id, RUN_TOMBSTONES] = 0
        tallies[key_id, RUN_TOMBSTONE_BYTES] = 0
    tallies[key_id, RUN_RECORDS] += 1
    tallies[key_id, RUN_BYTES] += size
    if not has_value:
        tallies[key_id, RUN_TOMBSTONES] += 1
        tallies[key_id, RUN_TOMBSTONE_BYTES] += size
    if producer_id >= 0:
        number = state[EVENTS]
        events[number, EVENT_PRODUCER] = producer_id
        events[number, EVENT_KEY] = key_id
        events[number, EVENT_PLACE + AT] = 0
        _put(events, number, EVENT_PLACE, offset, share, base_offset, has_value, horizon)
        state[EVENTS] = number + 1
        return
    _put(tallies, key_id, NEWEST, offset, share, base_offset, has_value, horizon)
    if offset < state[CLEANABLE_TO]:
        _put(tallies, key_id, CLEANABLE, offset, share, base_offset, has_value, horizon)


@helper
def _put(
    table: Table,
    row: int,
    column: int,
    offset: int,
    share: int,
    base_offset: int,
    has_value: bool,
    horizon: int,
) -> None:
    # A record of a transaction that was committed in the meantime may be the newer one already.
    if table[row, column + AT] > wrapped(offset + 1):
        return
    table[row, column + AT] = wrapped(offset + 1)
    table[row, column + SHARE] = share
    table[row, column + BATCH] = base_offset
    table[row, column + HAS_VALUE] = 1 if has_value else 0
    table[row, column + HORIZON] = horizon


@kernel
def add_listed(listed: Table, tallies: Table, others: Table, events: Table, state: Table) -> int:
    """Add records that the plain path took out of their batches; columns: see `Listed` in the reader."""
    for row in range(len(listed)):
        add_record(
            listed[row, 0],
            listed[row, 1],
            listed[row, 2],
            listed[row, 3],
            listed[row, 4] != 0,
            listed[row, 5],
            listed[row, 6],
            listed[row, 7],
            listed[row, 8],
            listed[row, 9],
            tallies,
            others,
            events,
            state,
        )
    return len(listed)
