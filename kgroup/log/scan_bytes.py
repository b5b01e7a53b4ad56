"""Reads inside a byte buffer for the kernels: big-endian integers, varints, UTF-8.

Every caller has made sure that the bytes are there; only the varints check their end.
"""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from kgroup.log.scan_compile import helper

Bytes = NDArray[np.uint8]


def _load(bits: int, *, big_endian: bool) -> Any:
    """An intrinsic (buffer, position) -> int64 that loads a signed integer at any alignment."""

    def typed(_context: Any, buffer: Any, _position: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            integer = ir.IntType(bits)
            pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), integer.as_pointer())
            value = builder.load(pointer, align=1)
            if big_endian == (sys.byteorder == "little"):
                value = builder.bswap(value)
            return builder.sext(value, ir.IntType(64)) if bits < 64 else value

        return types.int64(buffer, types.int64), codegen

    return intrinsic(typed)


if TYPE_CHECKING:

    def int16_at(buffer: Bytes, position: int) -> int: ...
    def int32_at(buffer: Bytes, position: int) -> int: ...
    def int64_at(buffer: Bytes, position: int) -> int: ...
    def word_at(buffer: Bytes, position: int) -> int: ...
else:
    int16_at = _load(16, big_endian=True)
    int32_at = _load(32, big_endian=True)
    int64_at = _load(64, big_endian=True)
    # Eight bytes in the machine's own order: cheaper, and enough to compare or hash.
    word_at = _load(64, big_endian=sys.byteorder == "big")


@helper
def varint_at(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """A zigzag varint of at most five bytes and the position after it; position -1 if there is none."""
    if position < end:
        byte = np.int64(buffer[position])
        if byte < 0x80:
            return (byte >> 1) ^ -(byte & 1), position + 1
    value = np.int64(0)
    shift = 0
    while position < end and shift < 35:
        byte = np.int64(buffer[position])
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                return 0, -1
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    return 0, -1


@helper
def varlong_at(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """A zigzag varint of at most nine bytes and the position after it; position -1 if there is none.

    Nine bytes reach 2^62 milliseconds either way. Ten are left to the plain path.
    """
    value = np.int64(0)
    shift = 0
    while position < end and shift < 63:
        byte = np.int64(buffer[position])
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    return 0, -1


@helper
def unsigned_varint_at(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """An unsigned varint of at most five bytes and the position after it; position -1 if there is none."""
    value = np.int64(0)
    shift = 0
    while position < end and shift < 35:
        byte = np.int64(buffer[position])
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0x7FFFFFFF:
                return 0, -1
            return value, position
        shift += 7
    return 0, -1


@helper
def is_utf8(buffer: Bytes, position: int, end: int) -> bool:
    """Whether the bytes are well-formed UTF-8 (Unicode 15, table 3-7: no surrogates, no overlong forms)."""
    while position < end:
        lead = np.int64(buffer[position])
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
            byte = np.int64(buffer[position])
            if byte < low or byte > high:
                return False
            position += 1
            low, high = 0x80, 0xBF
    return True
