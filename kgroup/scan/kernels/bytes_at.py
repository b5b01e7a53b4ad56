"""Reads inside a byte buffer for the kernels: big-endian integers, varints, UTF-8; whole words also back.

Every caller has made sure that the bytes are there; only the varints check their end.
"""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from kgroup.scan.kernels.compile import helper, outlined

Bytes = NDArray[np.uint8]


def _load(bits: int, *, big_endian: bool = True, signed: bool = True) -> Any:
    """An intrinsic (buffer, position) -> int64 that loads an integer at any alignment."""

    def typed(_context: Any, buffer: Any, _position: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            integer = ir.IntType(bits)
            pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), integer.as_pointer())
            value = builder.load(pointer, align=1)
            if bits > 8 and big_endian == (sys.byteorder == "little"):
                value = builder.bswap(value)
            if bits == 64:
                return value
            return builder.sext(value, ir.IntType(64)) if signed else builder.zext(value, ir.IntType(64))

        return types.int64(buffer, types.int64), codegen

    return intrinsic(typed)


def _store_word() -> Any:
    """An intrinsic (buffer, position, int64) that stores as `word_at` loads."""

    def typed(_context: Any, buffer: Any, _position: Any, _word: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, arguments[0])
            pointer = builder.gep(array.data, [arguments[1]])
            builder.store(arguments[2], builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(buffer, types.int64, types.int64), codegen

    return intrinsic(typed)


if TYPE_CHECKING:

    def byte_at(buffer: Bytes, position: int) -> int:
        """The byte at `position`, 0 to 255."""

    def int16_at(buffer: Bytes, position: int) -> int:
        """The big-endian int16 at `position`."""

    def int32_at(buffer: Bytes, position: int) -> int:
        """The big-endian int32 at `position`."""

    def int64_at(buffer: Bytes, position: int) -> int:
        """The big-endian int64 at `position`."""

    def word_at(buffer: Bytes, position: int) -> int:
        """Eight bytes in the machine's own order: cheaper, and enough to compare or hash."""

    def put_word(buffer: Bytes, position: int, word: int) -> None:
        """Write what `word_at` has read."""
else:
    byte_at = _load(8, signed=False)
    int16_at = _load(16)
    int32_at = _load(32)
    int64_at = _load(64)
    word_at = _load(64, big_endian=sys.byteorder == "big")
    put_word = _store_word()


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
