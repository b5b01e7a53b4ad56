"""Finds likely batch headers in damaged bytes: cheap tests before a CRC is computed."""

import struct
from typing import TYPE_CHECKING, Final

from kgroup.log.format.batch import HEADER, HEADER_SIZE
from kgroup.log.format.read_window import SegmentWindow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Octets = NDArray[np.uint8]
    _Places = NDArray[np.int64]

# A message of format 0 without key and value.
SMALLEST_BATCH: Final = 26
# Those of format 2; the headers of messages are shorter.
HEADER_BYTES: Final = HEADER_SIZE

_LENGTH_FROM: Final = 12
_CODEC_BITS: Final = 0x07
_CODEC_MAX: Final = 4

_V2_RECORD_MIN: Final = 7
_V2_UNUSED_ATTRIBUTES: Final = 0xFF00

_MESSAGE_FRONT: Final = struct.Struct(">qiIbb")
_MESSAGE_KEY_AT: Final = 18
_MESSAGE_UNUSED_ATTRIBUTES: Final = 0xF0
_TIMESTAMP_SIZE: Final = 8
_INT32: Final = struct.Struct(">i")

# The first byte of a length of at most 128 MiB.
_LENGTH_TOP_MAX: Final = 0x08


def possible_starts(chunk: bytes, limit: int) -> list[int]:
    """The positions below `limit` of `chunk` where the header of a batch could begin, in order.

    Linear in `limit` whatever the bytes: neither pages of zeros nor noise give many candidates. Some of
    them may still be no batch by their header alone: ask `looks_like_batch`.
    """
    import numpy as np

    limit = min(limit, len(chunk) - SMALLEST_BATCH + 1)
    if limit <= 0:
        return []
    octets = np.frombuffer(chunk, np.uint8)
    magic = octets[16 : 16 + limit]
    could = (octets[:limit] < 0x80) & (octets[8 : 8 + limit] <= _LENGTH_TOP_MAX)
    v2 = np.flatnonzero(could & (magic == 2))
    length_low = octets[9 : 9 + limit] | octets[10 : 10 + limit] | octets[11 : 11 + limit]
    could &= (magic < 2) & (length_low != 0) & (octets[17 : 17 + limit] < _MESSAGE_UNUSED_ATTRIBUTES)
    messages = _possible_messages(octets, np.flatnonzero(could))
    starts: list[int] = np.sort(np.concatenate((v2, messages))).tolist()
    return starts


def looks_like_batch(window: SegmentWindow, position: int) -> bool:
    """Whether the fields of the header at `position` can be those of a batch of any format."""
    header = window.take(position, HEADER_BYTES)
    if len(header) < SMALLEST_BATCH:
        return False
    magic = header[16]
    if magic == 2:
        return len(header) == HEADER_BYTES and _looks_like_v2(header)
    return magic < 2 and _looks_like_message(window, position, header)


def batch_size(header: bytes, at: int = 0) -> int:
    """The size in bytes that the header at byte `at` gives, the 12 bytes before its length included."""
    length: int = _INT32.unpack_from(header, at + 8)[0]
    return _LENGTH_FROM + length


def _looks_like_v2(header: bytes) -> bool:
    (
        base_offset,
        length,
        leader_epoch,
        _,
        _,
        attributes,
        last_offset_delta,
        _,
        _,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = HEADER.unpack(header)
    room = length + _LENGTH_FROM - HEADER_BYTES
    codec = attributes & _CODEC_BITS
    return (
        base_offset >= 0
        and room >= 0
        and codec <= _CODEC_MAX
        and not attributes & _V2_UNUSED_ATTRIBUTES
        and 0 <= count <= last_offset_delta + 1
        and (codec != 0 or count * _V2_RECORD_MIN <= room)
        and min(leader_epoch, producer_id, producer_epoch, base_sequence) >= -1
    )


def _looks_like_message(window: SegmentWindow, position: int, header: bytes) -> bool:
    offset, length, _, magic, attributes = _MESSAGE_FRONT.unpack_from(header)
    overhead = SMALLEST_BATCH + _TIMESTAMP_SIZE * magic
    room = length + _LENGTH_FROM - overhead
    if len(header) < overhead or offset < 0 or room < 0:
        return False
    if attributes & _MESSAGE_UNUSED_ATTRIBUTES or attributes & _CODEC_BITS > _CODEC_MAX:
        return False
    key_at = _MESSAGE_KEY_AT + _TIMESTAMP_SIZE * magic
    key_size: int = _INT32.unpack_from(header, key_at)[0]
    if not -1 <= key_size <= room:
        return False
    value_room = room - max(key_size, 0)
    stored_size = window.take(position + key_at + 4 + max(key_size, 0), 4)
    value_size = int.from_bytes(stored_size, "big", signed=True)
    return value_size == value_room or (value_size == -1 and value_room == 0)


def _possible_messages(octets: "_Octets", places: "_Places") -> "_Places":
    """Those of `places` in `octets` where the sizes of key and value add up to that of the message.

    Where the value's size is past the end of `octets`, the place stays.
    """
    import numpy as np

    magic = octets[places + 16].astype(np.int64)
    key_at = places + _MESSAGE_KEY_AT + _TIMESTAMP_SIZE * magic
    room = _int32_at(octets, places + 8) + _LENGTH_FROM - SMALLEST_BATCH - _TIMESTAMP_SIZE * magic
    key_size = _int32_at(octets, key_at)
    value_at = key_at + 4 + np.maximum(key_size, 0)
    value_size = np.maximum(_int32_at(octets, value_at), 0)
    adds_up = (value_at + 4 > len(octets)) | (np.maximum(key_size, 0) + value_size == room)
    possible: _Places = places[(room >= 0) & (key_size >= -1) & (key_size <= room) & adds_up]
    return possible


def _int32_at(octets: "_Octets", places: "_Places") -> "_Places":
    """The big-endian int32 at each place; what is past the end counts as the last byte."""
    import numpy as np

    last = len(octets) - 1
    number = octets[np.minimum(places, last)].astype(np.int32) << 24
    for at, shift in ((1, 16), (2, 8), (3, 0)):
        number |= octets[np.minimum(places + at, last)].astype(np.int32) << shift
    return number.astype(np.int64)
