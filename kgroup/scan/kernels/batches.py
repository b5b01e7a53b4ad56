"""The kernel of the columnar scan: uncompressed v2 batches in a buffer -> rows.

It takes a batch whole or not at all, and only when everything about it is as it should be. Anything else
makes it stop in front of the batch and say why, for the caller to go another way. Format: Kafka
documentation, "Record Batch".
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import (
    Bytes,
    int16_at,
    int32_at,
    int64_at,
    is_utf8,
    unsigned_varint_at,
    varint_at,
    varlong_at,
    wrapped,
)
from kgroup.scan.kernels.compile import helper, kernel, outlined
from kgroup.scan.kernels.crc import crc32c
from kgroup.scan.kernels.keys import GROUP, NO_ROOM, Keys, key_id
from kgroup.scan.kernels.rows import (
    ABORTED,
    BATCH_LEADER_EPOCH,
    COMMIT,
    COMMIT_TIMESTAMP,
    COMMITTED,
    EXPIRE_TIMESTAMP,
    KEY_ID,
    KIND,
    LEADER_EPOCH,
    LOG_OFFSET,
    ODD,
    ODD_KEY_POSITION,
    ODD_KEY_SIZE,
    OFFSET,
    OTHER,
    OTHER_TOMBSTONE,
    PRODUCER_ID,
    RECORD_TIMESTAMP,
    TEXT_POSITION,
    TEXT_SIZE,
    TOPIC_ID_POSITION,
    VALUE_VERSION,
    Rows,
    write_tombstone,
)

HEADER_SIZE = 61
"""Bytes in front of a v2 batch's records."""
OVERHEAD = 12
"""Base offset and length, in front of a batch of any format; the length does not count them."""
BUFFER_SLACK = 16
"""Bytes a buffer must have behind its end: the kernels load whole words."""


class Stop(IntEnum):
    """The reason why the kernel returned."""

    INCOMPLETE = 0  # the batch at `position` goes past the end of the buffer, or the buffer is used up
    ROWS_FULL = 1  # the batch at `position` has more records than there is room for rows
    KEYS_FULL = 2  # a table must grow first
    COMPRESSED = 3  # a v2 batch, CRC checked, that must be decompressed first
    OFFSETS_BACK = 4  # the batch at `position` is good, but its offsets were there already
    ODD = 5  # the plain path must judge


_INCOMPLETE = int(Stop.INCOMPLETE)
_ROWS_FULL = int(Stop.ROWS_FULL)
_KEYS_FULL = int(Stop.KEYS_FULL)
_COMPRESSED = int(Stop.COMPRESSED)
_ODD = int(Stop.ODD)
_OFFSETS_BACK = int(Stop.OFFSETS_BACK)
_TAKEN = 6

_CODEC = 0x07
_LOG_APPEND_TIME = 0x08
_TRANSACTIONAL = 0x10
_CONTROL = 0x20
_KNOWN_ATTRIBUTES = 0x7F
_SMALLEST_RECORD = 7
_SMALLEST_LENGTH = 14  # of a message of format 0
_STRING_MAX_BYTES = 32767
_LARGEST_OFFSET = 2**63 - 1


@kernel
def read_batches(
    buffer: Bytes,
    position: int,
    end: int,
    check_crc: bool,
    newest_offset: int,
    rows: Rows,
    row: int,
    keys: Keys,
) -> tuple[int, int, int, int, int]:
    """Turn the batches of buffer[position:end] into rows from `row` on.

    `newest_offset` is the last offset of the batch before. Returns why it stopped (`Stop`), the position of
    the first batch not taken, how many rows there are now, the batches taken, and the newest offset.
    """
    batches = 0
    while position + HEADER_SIZE <= end:
        stop = batch_at(buffer, position, end, check_crc)
        if stop == _COMPRESSED:
            return stop, position, row, batches, newest_offset
        if stop == _TAKEN and int64_at(buffer, position) <= newest_offset:
            stop = _OFFSETS_BACK
        if stop != _TAKEN:
            return stop, position, row, batches, newest_offset
        size = OVERHEAD + int32_at(buffer, position + 8)
        count = int32_at(buffer, position + 57)
        if row + count > rows.shape[1]:
            return _ROWS_FULL, position, row, batches, newest_offset
        if int16_at(buffer, position + 21) & _CONTROL:
            stop = _read_marker(buffer, position, position + size, rows, row)
        else:
            stop = _read_records(buffer, position, position + size, rows, row, keys)
        if stop != _TAKEN:
            return stop, position, row, batches, newest_offset
        newest_offset = int64_at(buffer, position) + int32_at(buffer, position + 23)
        row += count
        batches += 1
        position += size
    return _INCOMPLETE, position, row, batches, newest_offset


@kernel
def list_batches(
    buffer: Bytes, position: int, end: int, check_crc: bool, newest_offset: int, positions: NDArray[np.int64]
) -> int:
    """Note where the whole v2 batches of buffer[position:end] begin, compressed or not; return how many.

    Stops in front of the first that the plain path must see, or when `positions` is full.
    """
    count = 0
    while position + HEADER_SIZE <= end and count < len(positions):
        stop = batch_at(buffer, position, end, check_crc)
        if stop not in (_TAKEN, _COMPRESSED) or int64_at(buffer, position) <= newest_offset:
            break
        newest_offset = int64_at(buffer, position) + int32_at(buffer, position + 23)
        positions[count] = position
        count += 1
        position += OVERHEAD + int32_at(buffer, position + 8)
    return count


@kernel
def skip_batches(buffer: Bytes, position: int, end: int, goal: int) -> tuple[int, bool]:
    """Go from batch to batch, of any format, by their lengths, up to `goal` or a header that is cut off.

    Returns the position (of a batch, maybe behind `end`), and False if the header there cannot be right.
    """
    while position < goal and position + OVERHEAD + 5 <= end:
        length = int32_at(buffer, position + 8)
        if length < _SMALLEST_LENGTH or buffer[position + 16] > 2:
            return position, False
        position += OVERHEAD + length
    return position, True


@kernel
def read_listed(
    buffer: Bytes,
    listed: NDArray[np.int64],
    index: int,
    rows: Rows,
    row: int,
    keys: Keys,
) -> tuple[int, int]:
    """Turn records that the plain path has taken out of their batches into rows; columns: see `Listed`.

    Begins at record `index`. Returns the record it stopped at because a table must grow first (or their
    number), and how many rows there are now.
    """
    while index < len(listed):
        rows[LOG_OFFSET, row] = listed[index, 0]
        rows[RECORD_TIMESTAMP, row] = listed[index, 1]
        rows[PRODUCER_ID, row] = listed[index, 2]
        rows[BATCH_LEADER_EPOCH, row] = listed[index, 3]
        if not read_record(
            buffer, listed[index, 4], listed[index, 5], listed[index, 6], listed[index, 7], rows, row, keys
        ):
            break
        row += 1
        index += 1
    return index, row


@helper
def batch_at(buffer: Bytes, position: int, end: int, check_crc: bool) -> int:
    """Whether the batch whose header is at `position` can be read: a `Stop`, or 6 if it can."""
    if buffer[position + 16] != 2:
        return _ODD
    size = OVERHEAD + int32_at(buffer, position + 8)
    if size < HEADER_SIZE:
        return _ODD
    if position + size > end:
        return _INCOMPLETE
    attributes = int16_at(buffer, position + 21)
    count = int32_at(buffer, position + 57)
    base_offset = int64_at(buffer, position)
    last_offset_delta = int32_at(buffer, position + 23)
    if (
        attributes & ~_KNOWN_ATTRIBUTES
        or attributes & _CODEC > 4
        or base_offset < 0
        or last_offset_delta < 0
        or base_offset > _LARGEST_OFFSET - last_offset_delta
        or count < 0
    ):
        return _ODD
    if check_crc:
        crc = int32_at(buffer, position + 17) & 0xFFFFFFFF
        if crc32c(buffer, position + 21, position + size) != crc:
            return _ODD
    if attributes & _CODEC:
        return _COMPRESSED
    if count * _SMALLEST_RECORD > size - HEADER_SIZE:
        return _ODD
    return _TAKEN


@helper
def _read_records(buffer: Bytes, batch: int, end: int, rows: Rows, row: int, keys: Keys) -> int:
    base_offset = int64_at(buffer, batch)
    leader_epoch = int32_at(buffer, batch + 12)
    attributes = int16_at(buffer, batch + 21)
    last_offset_delta = int32_at(buffer, batch + 23)
    base_timestamp = int64_at(buffer, batch + 27)
    max_timestamp = int64_at(buffer, batch + 35)
    producer_id = max(int64_at(buffer, batch + 43), -1) if attributes & _TRANSACTIONAL else -1
    position = batch + HEADER_SIZE
    for _ in range(int32_at(buffer, batch + 57)):
        size, start = varint_at(buffer, position, end)
        if start < 0 or size < 0 or start + size > end or size < 1:
            return _ODD
        record_end = start + size
        timestamp_delta, position = varlong_at(buffer, start + 1, record_end)
        if position < 0:
            return _ODD
        offset_delta, position = varint_at(buffer, position, record_end)
        if position < 0 or offset_delta < 0 or offset_delta > last_offset_delta:
            return _ODD
        key_size, key = varint_at(buffer, position, record_end)
        if key < 0 or key_size < -1 or key + key_size > record_end:
            return _ODD
        value_size, value = varint_at(buffer, key + max(key_size, 0), record_end)
        if value < 0 or value_size < -1 or value + value_size > record_end:
            return _ODD
        headers, position = varint_at(buffer, value + max(value_size, 0), record_end)
        # Nobody puts headers into the offsets topic; the plain path knows how to skip them.
        if headers != 0 or position != record_end:
            return _ODD
        rows[LOG_OFFSET, row] = base_offset + offset_delta
        rows[RECORD_TIMESTAMP, row] = (
            max_timestamp if attributes & _LOG_APPEND_TIME else wrapped(base_timestamp + timestamp_delta)
        )
        rows[PRODUCER_ID, row] = producer_id
        rows[BATCH_LEADER_EPOCH, row] = leader_epoch
        if not read_record(buffer, key, key_size, value, value_size, rows, row, keys):
            return _KEYS_FULL
        row += 1
    return _TAKEN if position == end else _ODD


_write_tombstone = helper(write_tombstone)


@helper
def read_record(
    buffer: Bytes, key: int, key_size: int, value: int, value_size: int, rows: Rows, row: int, keys: Keys
) -> bool:
    """Fill the columns that come from key and value (size -1: null). False: no room for the key."""
    string_id = key_id(keys, buffer, key, key_size)
    if string_id == NO_ROOM:
        return False
    rows[KEY_ID, row] = string_id
    rows[TEXT_POSITION, row] = value
    rows[TEXT_SIZE, row] = value_size
    rows[TOPIC_ID_POSITION, row] = -1
    if string_id >= 0 and keys.strings[string_id, GROUP] < 0:
        rows[KIND, row] = OTHER if value_size >= 0 else OTHER_TOMBSTONE
    elif string_id >= 0 and value_size < 0:
        _write_tombstone(rows, row)
    elif string_id >= 0 and _read_commit(buffer, int16_at(buffer, key), value, value + value_size, rows, row):
        rows[KIND, row] = COMMIT
    else:
        rows[KIND, row] = ODD
        rows[ODD_KEY_POSITION, row] = key
        rows[ODD_KEY_SIZE, row] = key_size
        rows[TEXT_POSITION, row] = value
        rows[TEXT_SIZE, row] = value_size
        rows[TOPIC_ID_POSITION, row] = -1
    return True


@helper
def _read_commit(buffer: Bytes, key_version: int, position: int, end: int, rows: Rows, row: int) -> bool:
    """Read an OffsetCommitValue, whatever follows it; False leaves the row to the plain path."""
    if position + 12 > end:
        return False
    version = int16_at(buffer, position)
    if version < 0 or version > 4 or (key_version == 0 and version > 0):
        return False
    rows[VALUE_VERSION, row] = version
    rows[OFFSET, row] = int64_at(buffer, position + 2)
    position += 10
    leader_epoch = -1
    if version >= 3:
        if position + 4 > end:
            return False
        leader_epoch = int32_at(buffer, position)
        position += 4
    rows[LEADER_EPOCH, row] = leader_epoch
    if version == 4:
        size, position = unsigned_varint_at(buffer, position, end)
        size -= 1
        if position < 0:
            return False
    else:
        if position + 2 > end:
            return False
        size = int16_at(buffer, position)
        position += 2
    if (
        size < 0
        or size > _STRING_MAX_BYTES
        or position + size + 8 > end
        or not is_utf8(buffer, position, position + size)
    ):
        return False
    rows[TEXT_POSITION, row] = position
    rows[TEXT_SIZE, row] = size
    position += size
    rows[COMMIT_TIMESTAMP, row] = int64_at(buffer, position)
    position += 8
    expire_timestamp = -1
    if version == 1:
        if position + 8 > end:
            return False
        expire_timestamp = int64_at(buffer, position)
    rows[EXPIRE_TIMESTAMP, row] = expire_timestamp
    return version < 4 or _read_topic_id(buffer, position, end, rows, row)


@helper
def _read_topic_id(buffer: Bytes, position: int, end: int, rows: Rows, row: int) -> bool:
    """Read the tagged fields of value version 4: none, or the topic id alone (tag 0)."""
    fields, position = unsigned_varint_at(buffer, position, end)
    if position < 0 or fields > 1:
        return False
    if fields == 0:
        return True
    tag, position = unsigned_varint_at(buffer, position, end)
    if position < 0 or tag != 0:
        return False
    size, position = unsigned_varint_at(buffer, position, end)
    if position < 0 or size != 16 or position + 16 > end:
        return False
    # The zero id means no id.
    if int64_at(buffer, position) or int64_at(buffer, position + 8):
        rows[TOPIC_ID_POSITION, row] = position
    return True


@outlined
def _read_marker(buffer: Bytes, batch: int, end: int, rows: Rows, row: int) -> int:
    """Read a control batch: one record, key version 0 with type 0 (abort) or 1 (commit), value version 0."""
    position = batch + HEADER_SIZE
    if int32_at(buffer, batch + 57) != 1 or not int16_at(buffer, batch + 21) & _TRANSACTIONAL:
        return _ODD
    size, start = varint_at(buffer, position, end)
    if start < 0 or size < 1 or start + size != end:
        return _ODD
    timestamp_delta, position = varlong_at(buffer, start + 1, end)
    if position < 0:
        return _ODD
    offset_delta, position = varint_at(buffer, position, end)
    if position < 0 or offset_delta != 0:
        return _ODD
    key_size, key = varint_at(buffer, position, end)
    if key < 0 or key_size != 4 or key + 4 > end or int16_at(buffer, key) != 0:
        return _ODD
    value_size, value = varint_at(buffer, key + 4, end)
    if value < 0 or value_size != 6 or value + 6 > end or int16_at(buffer, value) != 0:
        return _ODD
    headers, position = varint_at(buffer, value + 6, end)
    outcome = int16_at(buffer, key + 2)
    if headers != 0 or position != end or outcome < 0 or outcome > 1:
        return _ODD
    rows[KIND, row] = COMMITTED if outcome == 1 else ABORTED
    rows[KEY_ID, row] = -1
    rows[LOG_OFFSET, row] = int64_at(buffer, batch)
    append_time = int16_at(buffer, batch + 21) & _LOG_APPEND_TIME
    rows[RECORD_TIMESTAMP, row] = (
        int64_at(buffer, batch + 35)
        if append_time
        else wrapped(int64_at(buffer, batch + 27) + timestamp_delta)
    )
    rows[PRODUCER_ID, row] = int64_at(buffer, batch + 43)
    rows[BATCH_LEADER_EPOCH, row] = int32_at(buffer, batch + 12)
    rows[OFFSET, row] = int32_at(buffer, value + 2)
    rows[LEADER_EPOCH, row] = int16_at(buffer, batch + 51)
    rows[COMMIT_TIMESTAMP, row] = -1
    rows[EXPIRE_TIMESTAMP, row] = -1
    rows[VALUE_VERSION, row] = -1
    rows[TEXT_POSITION, row] = value
    rows[TEXT_SIZE, row] = 0
    rows[TOPIC_ID_POSITION, row] = -1
    return _TAKEN
