"""What could be the header of a batch: the cheap tests on damaged bytes, before a CRC is computed."""

import struct
from collections.abc import Iterator
from typing import Final

# A batch header of format 2: as many bytes as `looks_like_batch` wants to see.
LOOKED_AT: Final = 61
# A message of format 0 without key and value.
SMALLEST_BATCH: Final = 26

_V2_SIZE_MIN: Final = 61
_LENGTH_FROM: Final = 12
_CODEC_BITS: Final = 0x07
_CODEC_MAX: Final = 4

_V2_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_V2_RECORD_MIN: Final = 7
_UNUSED_ATTRIBUTES: Final = 0xFF00
# The first byte of a length that is at most 128 MiB.
_LENGTH_TOP_MAX: Final = 0x08
_MESSAGE_FRONT: Final = struct.Struct(">qiIbb")
_MESSAGE_OVERHEAD: Final = {0: 26, 1: 34}
_INT32: Final = struct.Struct(">i")


def possible_starts(chunk: bytes, limit: int) -> Iterator[int]:
    """The positions below `limit` of `chunk` where the header of a batch could begin, in order.

    Linear in `limit` whatever the bytes: neither pages of zeros nor noise give many candidates.
    """
    import numpy as np

    limit = min(limit, len(chunk) - SMALLEST_BATCH + 1)
    if limit <= 0:
        return
    octets = np.frombuffer(chunk, np.uint8)
    offset_top, length_top = octets[:limit], octets[8 : 8 + limit]
    magic, attributes = octets[16 : 16 + limit], octets[17 : 17 + limit]
    could = (offset_top < 0x80) & (length_top <= _LENGTH_TOP_MAX)
    length_low = octets[9 : 9 + limit] | octets[10 : 10 + limit] | octets[11 : 11 + limit]
    could &= (magic == 2) | ((magic < 2) & (attributes < 16) & (length_low != 0))
    for at in np.flatnonzero(could):
        if looks_like_batch(chunk, int(at)):
            yield int(at)


def looks_like_batch(buffer: bytes, at: int = 0) -> bool:
    """Whether the fields at byte `at` can be those of a batch of any format."""
    left = len(buffer) - at
    if left < SMALLEST_BATCH:
        return False
    magic = buffer[at + 16]
    if magic == 2:
        return left >= _V2_HEADER.size and _looks_like_v2(buffer, at)
    return magic in _MESSAGE_OVERHEAD and _looks_like_message(buffer, at)


def batch_size(buffer: bytes, at: int = 0) -> int:
    """The size in bytes that the header at byte `at` gives, the 12 bytes before its length included."""
    length: int = _INT32.unpack_from(buffer, at + 8)[0]
    return _LENGTH_FROM + length


def _looks_like_v2(buffer: bytes, at: int) -> bool:
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
    ) = _V2_HEADER.unpack_from(buffer, at)
    room = length + _LENGTH_FROM - _V2_SIZE_MIN
    compressed = attributes & _CODEC_BITS
    return (
        base_offset >= 0
        and room >= 0
        and compressed <= _CODEC_MAX
        and not attributes & _UNUSED_ATTRIBUTES
        and 0 <= count <= last_offset_delta + 1
        and (compressed != 0 or count * _V2_RECORD_MIN <= room)
        and min(leader_epoch, producer_id, producer_epoch, base_sequence) >= -1
    )


def _looks_like_message(buffer: bytes, at: int) -> bool:
    offset, length, _crc, magic, attributes = _MESSAGE_FRONT.unpack_from(buffer, at)
    room = length + _LENGTH_FROM - _MESSAGE_OVERHEAD[magic]
    if offset < 0 or room < 0 or attributes & _CODEC_BITS > _CODEC_MAX:
        return False
    key_at = at + _MESSAGE_FRONT.size + 8 * magic
    if key_at + 4 > len(buffer):
        return True
    key_size = _INT32.unpack_from(buffer, key_at)[0]
    if not -1 <= key_size <= room:
        return False
    value_at = key_at + 4 + max(key_size, 0)
    if value_at + 4 > len(buffer):
        return True
    value_size = _INT32.unpack_from(buffer, value_at)[0]
    fits: bool = value_size >= -1 and max(key_size, 0) + max(value_size, 0) == room
    return fits
