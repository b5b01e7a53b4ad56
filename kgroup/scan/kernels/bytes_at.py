"""Reads inside a byte buffer for the kernels: big-endian integers, varints, UTF-8; whole words also back.

Every caller has made sure that the bytes are there; only the varints check their end. What `machine_code` has
for an `@instruction` means the same.
"""

import sys

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.compile import helper, instruction, outlined

Bytes = NDArray[np.uint8]


@instruction
def byte_at(buffer: Bytes, position: int) -> int:
    """The byte at `position`, 0 to 255."""
    return int(buffer[position])


@instruction
def int16_at(buffer: Bytes, position: int) -> int:
    """The big-endian int16 at `position`."""
    return int.from_bytes(buffer[position : position + 2], "big", signed=True)


@instruction
def int32_at(buffer: Bytes, position: int) -> int:
    """The big-endian int32 at `position`."""
    return int.from_bytes(buffer[position : position + 4], "big", signed=True)


@instruction
def int64_at(buffer: Bytes, position: int) -> int:
    """The big-endian int64 at `position`."""
    return int.from_bytes(buffer[position : position + 8], "big", signed=True)


@instruction
def word_at(buffer: Bytes, position: int) -> int:
    """Eight bytes in the machine's own order: cheaper, and enough to compare or hash."""
    return int.from_bytes(buffer[position : position + 8], sys.byteorder, signed=True)


@instruction
def put_word(buffer: Bytes, position: int, word: int) -> None:
    """Write what `word_at` has read."""
    buffer[position : position + 8] = word.to_bytes(8, sys.byteorder, signed=True)


@instruction
def wrapped(number: int) -> int:
    """The number modulo 2**64 as an int64: machine code wraps by itself, Python's integers grow."""
    return (number + (1 << 63) & (1 << 64) - 1) - (1 << 63)


# Most varints of a log are one byte long. Longer ones are read out of line, which keeps the kernels small.


@helper
def varint_at(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """A zigzag varint of at most five bytes and the position after it; position -1 if there is none."""
    value, position = unsigned_varint_at(buffer, position, end)
    return (value >> 1) ^ -(value & 1), position


@helper
def unsigned_varint_at(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes and the position after it; position -1 if there is none."""
    if position < end and byte_at(buffer, position) < 0x80:
        return byte_at(buffer, position), position + 1
    return _long_varint(buffer, position, end, 5, 0xFFFFFFFF)


@helper
def varlong_at(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """A zigzag varint of at most nine bytes and the position after it; position -1 if there is none.

    Nine bytes reach 2^62 milliseconds either way. Ten are left to the plain path.
    """
    if position < end and byte_at(buffer, position) < 0x80:
        value = byte_at(buffer, position)
        position += 1
    else:
        value, position = _long_varint(buffer, position, end, 9, 0x7FFFFFFFFFFFFFFF)
    return (value >> 1) ^ -(value & 1), position


@outlined
def _long_varint(buffer: Bytes, position: int, end: int, longest: int, largest: int) -> tuple[int, int]:
    value = 0
    shift = 0
    while position < end and shift < 7 * longest:
        byte = byte_at(buffer, position)
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value, position) if value <= largest else (0, -1)
        shift += 7
    return 0, -1


@outlined
def is_utf8(buffer: Bytes, position: int, end: int) -> bool:
    """Whether the bytes are well-formed UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong forms)."""
    while position < end:
        lead = byte_at(buffer, position)
        position += 1
        if lead < 0x80:
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= lead <= 0xDF:
            more = 1
        elif 0xE0 <= lead <= 0xEF:
            more = 2
            if lead == 0xE0:
                low = 0xA0
            elif lead == 0xED:
                high = 0x9F
        elif 0xF0 <= lead <= 0xF4:
            more = 3
            if lead == 0xF0:
                low = 0x90
            elif lead == 0xF4:
                high = 0x8F
        else:
            return False
        if position + more > end:
            return False
        for _ in range(more):
            byte = byte_at(buffer, position)
            if byte < low or byte > high:
                return False
            position += 1
            low, high = 0x80, 0xBF
    return True
