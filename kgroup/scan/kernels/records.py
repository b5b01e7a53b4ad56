"""Kernels that describe all records of batches in full, for display: `list_records`.

`read_batches` has made rows of these batches; what a record's row leaves out is read here: its batch, its
sizes, and whether it is exactly as Kafka writes it, so that its text can be made without the codec.
"""

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.batches import HEADER_SIZE, OVERHEAD
from kgroup.scan.kernels.bytes_at import Bytes, byte_at, int16_at, int32_at, int64_at, varint_at, varlong_at
from kgroup.scan.kernels.compile import helper, kernel
from kgroup.scan.kernels.keys import NO_ROOM, Keys, add, find, string_hash
from kgroup.scan.kernels.rows import (
    ABORTED,
    COMMIT,
    COMMIT_TIMESTAMP,
    COMMITTED,
    EXPIRE_TIMESTAMP,
    KEY_ID,
    KIND,
    LEADER_EPOCH,
    LOG_OFFSET,
    OFFSET,
    RECORD_TIMESTAMP,
    TEXT_POSITION,
    TEXT_SIZE,
    TOMBSTONE,
    TOPIC_ID_POSITION,
    VALUE_VERSION,
    Rows,
)

Table = NDArray[np.int64]
"""table[COLUMN, number]"""


class Form(IntEnum):
    """The form of an item. Commits and tombstones are to the byte as Kafka writes them, of key type 1.

    Those of commits are the versions of their values.
    """

    COMMIT_0 = 0
    COMMIT_1 = 1
    COMMIT_2 = 2
    COMMIT_3 = 3
    COMMIT_4 = 4
    TOMBSTONE = 5  # of a commit
    COMMITTED = 6
    ABORTED = 7
    OTHER = 8  # for the plain path to decode
    EMPTY_BATCH = 9  # a batch without records


class Cell(IntEnum):
    """The columns of items. The last ones are for numbers of texts, which the caller puts there."""

    FORM = 0
    BATCH = 1  # which of the block's
    INDEX = 2  # which of the batch's records; -1 of an empty batch
    KEY_ID = 3
    LOG_OFFSET = 4
    TIMESTAMP = 5
    KEY_SIZE = 6
    VALUE_SIZE = 7
    OFFSET = 8  # of a marker: the coordinator epoch
    LEADER_EPOCH = 9
    COMMIT_TIMESTAMP = 10
    EXPIRE_TIMESTAMP = 11
    TEXT_POSITION = 12
    TEXT_SIZE = 13
    TOPIC_ID = 14  # its number, from 1; 0 without one
    PARTITION = 15  # of the key; the caller puts it there, too
    GROUP_TEXT = 16
    GROUP_FIELD_TEXT = 17
    TOPIC_TEXT = 18
    TOPIC_ID_TEXT = 19
    PLACE_TEXT = 20
    TRANSACTION_TEXT = 21
    WHOLE_TEXT = 22


class Head(IntEnum):
    """The columns of batches: their headers, and where they lie in the buffer of their headers."""

    AT = 0
    SIZE = 1
    BASE_OFFSET = 2
    LAST_OFFSET = 3
    COUNT = 4
    CODEC = 5
    LOG_APPEND_TIME = 6
    MAX_TIMESTAMP = 7
    CRC = 8
    TRANSACTIONAL = 9
    CONTROL = 10
    PRODUCER_ID = 11
    PRODUCER_EPOCH = 12
    BASE_SEQUENCE = 13
    LEADER_EPOCH = 14
    DELETE_HORIZON = 15
    HAS_HORIZON = 16
    FIRST_ITEM = 17
    POSITION = 18  # in the file; the caller puts it there


CELLS: Final = len(Cell)
HEADS: Final = len(Head)
TOPIC_ID_BYTES: Final = 16

_TOPIC_ID_TAG: Final = -3
_PLAIN_KEY: Final = 1
_METADATA_AT: Final = 14  # in a value of version 4: behind version, offset and leader epoch
_NO_TAGS: Final = 1  # bytes behind the commit time
_TAGS_WITH_TOPIC_ID: Final = 3 + TOPIC_ID_BYTES

_FORM, _BATCH, _INDEX, _KEY_ID = int(Cell.FORM), int(Cell.BATCH), int(Cell.INDEX), int(Cell.KEY_ID)
_LOG_OFFSET, _TIMESTAMP = int(Cell.LOG_OFFSET), int(Cell.TIMESTAMP)
_KEY_SIZE, _VALUE_SIZE, _OFFSET = int(Cell.KEY_SIZE), int(Cell.VALUE_SIZE), int(Cell.OFFSET)
_LEADER_EPOCH = int(Cell.LEADER_EPOCH)
_COMMIT_TIMESTAMP, _EXPIRE_TIMESTAMP = int(Cell.COMMIT_TIMESTAMP), int(Cell.EXPIRE_TIMESTAMP)
_TEXT_POSITION, _TEXT_SIZE, _TOPIC_ID = int(Cell.TEXT_POSITION), int(Cell.TEXT_SIZE), int(Cell.TOPIC_ID)
_TOMBSTONE, _COMMITTED, _ABORTED = int(Form.TOMBSTONE), int(Form.COMMITTED), int(Form.ABORTED)
_OTHER, _EMPTY_BATCH = int(Form.OTHER), int(Form.EMPTY_BATCH)
_AT, _SIZE, _CODEC, _COUNT = int(Head.AT), int(Head.SIZE), int(Head.CODEC), int(Head.COUNT)
_BASE_OFFSET, _LAST_OFFSET = int(Head.BASE_OFFSET), int(Head.LAST_OFFSET)
_LOG_APPEND_TIME, _MAX_TIMESTAMP = int(Head.LOG_APPEND_TIME), int(Head.MAX_TIMESTAMP)
_CRC, _TRANSACTIONAL, _CONTROL = int(Head.CRC), int(Head.TRANSACTIONAL), int(Head.CONTROL)
_PRODUCER_ID, _PRODUCER_EPOCH = int(Head.PRODUCER_ID), int(Head.PRODUCER_EPOCH)
_BASE_SEQUENCE, _BATCH_LEADER_EPOCH = int(Head.BASE_SEQUENCE), int(Head.LEADER_EPOCH)
_DELETE_HORIZON, _HAS_HORIZON = int(Head.DELETE_HORIZON), int(Head.HAS_HORIZON)
_FIRST_ITEM = int(Head.FIRST_ITEM)


@kernel
def list_records(
    buffer: Bytes,
    position: int,
    end: int,
    headers: Bytes,
    sources: NDArray[np.int64],
    rows: Rows,
    cells: Table,
    heads: Table,
) -> tuple[int, int]:
    """Fill `cells` for each record and empty batch of buffer[position:end], and `heads` for each batch.

    These are whole batches of which `read_batches` has made `rows`. What their headers said before they were
    unpacked lies in `headers`, at `sources`; without sources they are as they came. Returns how many items
    and batches there are.
    """
    item = row = batch = 0
    while position < end:
        _read_header(headers, sources[batch] if len(sources) else position, heads, batch)
        heads[_FIRST_ITEM, batch] = item
        count = heads[_COUNT, batch]
        if count == 0:
            for column in range(CELLS):
                cells[column, item] = 0
            cells[_FORM, item] = _EMPTY_BATCH
            cells[_BATCH, item] = batch
            cells[_INDEX, item] = -1
            cells[_LOG_OFFSET, item] = heads[_BASE_OFFSET, batch]
            cells[_TIMESTAMP, item] = heads[_MAX_TIMESTAMP, batch]
            cells[_KEY_ID, item] = -1
            item += 1
        at = position + HEADER_SIZE
        for index in range(count):
            size, at = varint_at(buffer, at, end)
            record_end = at + size
            _, at = varlong_at(buffer, at + 1, end)
            _, at = varint_at(buffer, at, end)
            key_size, key = varint_at(buffer, at, end)
            value_size, value = varint_at(buffer, key + max(key_size, 0), end)
            cells[_FORM, item] = _form(buffer, key, value, value_size, rows, row)
            cells[_BATCH, item] = batch
            cells[_INDEX, item] = index
            cells[_KEY_ID, item] = rows[KEY_ID, row]
            cells[_LOG_OFFSET, item] = rows[LOG_OFFSET, row]
            cells[_TIMESTAMP, item] = rows[RECORD_TIMESTAMP, row]
            cells[_KEY_SIZE, item] = key_size
            cells[_VALUE_SIZE, item] = value_size
            cells[_OFFSET, item] = rows[OFFSET, row]
            cells[_LEADER_EPOCH, item] = rows[LEADER_EPOCH, row]
            cells[_COMMIT_TIMESTAMP, item] = rows[COMMIT_TIMESTAMP, row]
            cells[_EXPIRE_TIMESTAMP, item] = rows[EXPIRE_TIMESTAMP, row]
            cells[_TEXT_POSITION, item] = rows[TEXT_POSITION, row]
            cells[_TEXT_SIZE, item] = rows[TEXT_SIZE, row]
            # A position until `number_topic_ids` has been here.
            cells[_TOPIC_ID, item] = rows[TOPIC_ID_POSITION, row] if cells[_FORM, item] < _TOMBSTONE else -1
            at = record_end
            item += 1
            row += 1
        position += OVERHEAD + int32_at(buffer, position + 8)
        batch += 1
    return item, batch


@kernel
def number_topic_ids(ids: Keys, buffer: Bytes, cells: Table, item: int, count: int) -> int:
    """Put in place of where topic ids lie their numbers in `ids`, counted from 1, and 0 for none.

    Returns `count`, or the item it stopped at because `ids` must grow first.
    """
    while item < count:
        position = cells[_TOPIC_ID, item]
        number = -1
        if position >= 0:
            hashed = string_hash(buffer, position, TOPIC_ID_BYTES, _TOPIC_ID_TAG)
            number = find(ids, buffer, position, TOPIC_ID_BYTES, _TOPIC_ID_TAG, hashed)
            if number < 0:
                number = add(ids, buffer, position, TOPIC_ID_BYTES, _TOPIC_ID_TAG, hashed)
                if number == NO_ROOM:
                    break
        cells[_TOPIC_ID, item] = number + 1
        item += 1
    return item


@helper
def _form(buffer: Bytes, key: int, value: int, value_size: int, rows: Rows, row: int) -> int:
    kind: int = rows[KIND, row]
    if kind == COMMITTED:
        return _COMMITTED
    if kind == ABORTED:
        return _ABORTED
    if kind > TOMBSTONE or int16_at(buffer, key) != _PLAIN_KEY:
        return _OTHER
    if kind != COMMIT:
        return _TOMBSTONE
    text = rows[TEXT_POSITION, row]
    size = rows[TEXT_SIZE, row]
    for at in range(text, text + size):
        if byte_at(buffer, at) < 0x20 or byte_at(buffer, at) > 0x7E:
            return _OTHER
    version: int = rows[VALUE_VERSION, row]
    left = value + value_size - (text + size + 8)
    if version == 1:
        return version if left == 8 else _OTHER
    if version < 4:
        return version if left == 0 else _OTHER
    # A varint may be longer than it has to be, which Kafka accepts and does not write.
    length_bytes = 1 if size + 1 < 1 << 7 else 2 if size + 1 < 1 << 14 else 3
    if text - (value + _METADATA_AT) != length_bytes:
        return _OTHER
    tags = text + size + 8
    if rows[TOPIC_ID_POSITION, row] < 0:
        is_plain = left == _NO_TAGS and byte_at(buffer, tags) == 0
    else:
        is_plain = left == _TAGS_WITH_TOPIC_ID and int16_at(buffer, tags) == 1 << 8
    return version if is_plain else _OTHER


@helper
def _read_header(buffer: Bytes, at: int, heads: Table, batch: int) -> None:
    attributes = int16_at(buffer, at + 21)
    base_offset = int64_at(buffer, at)
    heads[_AT, batch] = at
    heads[_SIZE, batch] = OVERHEAD + int32_at(buffer, at + 8)
    heads[_BASE_OFFSET, batch] = base_offset
    heads[_LAST_OFFSET, batch] = base_offset + int32_at(buffer, at + 23)
    heads[_COUNT, batch] = int32_at(buffer, at + 57)
    heads[_CODEC, batch] = attributes & 0x07
    heads[_LOG_APPEND_TIME, batch] = attributes >> 3 & 1
    heads[_MAX_TIMESTAMP, batch] = int64_at(buffer, at + 35)
    heads[_CRC, batch] = int32_at(buffer, at + 17) & 0xFFFFFFFF
    heads[_TRANSACTIONAL, batch] = attributes >> 4 & 1
    heads[_CONTROL, batch] = attributes >> 5 & 1
    heads[_PRODUCER_ID, batch] = int64_at(buffer, at + 43)
    heads[_PRODUCER_EPOCH, batch] = int16_at(buffer, at + 51)
    heads[_BASE_SEQUENCE, batch] = int32_at(buffer, at + 53)
    heads[_BATCH_LEADER_EPOCH, batch] = int32_at(buffer, at + 12)
    heads[_DELETE_HORIZON, batch] = int64_at(buffer, at + 27)
    heads[_HAS_HORIZON, batch] = attributes >> 6 & 1
