"""CRC-32C inside the kernels: the CPU's instruction where there is one, eight tables elsewhere.

Which of the two is compiled follows from the target numba compiles for, not from the CPU that runs Python,
and the target is part of the cache folder's name, so cached code never meets a CPU without the instruction.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes, byte_at, word_at
from kgroup.scan.kernels.compile import kernel, target

_POLYNOMIAL = 0x82F63B78  # Castagnoli, reflected


def _has_instruction() -> bool:
    triple, _, features = target()
    return triple.startswith("x86_64") and "+sse4.2" in features.split(",")


def _slice_by_8_tables() -> NDArray[np.int64]:
    """Row k is the CRC of a byte that k zero bytes follow."""
    tables = np.zeros((8, 256), np.uint32)
    crc = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crc = np.where(crc & 1, (crc >> 1) ^ np.uint32(_POLYNOMIAL), crc >> 1)
    tables[0] = crc
    for k in range(1, 8):
        tables[k] = (tables[k - 1] >> 8) ^ tables[0][tables[k - 1] & 0xFF]
    return tables.astype(np.int64)


_TABLES = _slice_by_8_tables()


def _crc32_instruction(bits: int) -> Any:
    """An intrinsic for SSE4.2's crc32 over one integer of `bits`: (crc, integer) -> crc, as int64."""
    name = "llvm.x86.sse42.crc32.64.64" if bits == 64 else f"llvm.x86.sse42.crc32.32.{bits}"
    crc_type = ir.IntType(64 if bits == 64 else 32)

    def typed(_context: Any, _crc: Any, _value: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            function_type = ir.FunctionType(crc_type, [crc_type, ir.IntType(bits)])
            function = cgutils.get_or_insert_function(builder.module, function_type, name)
            if bits == 64:
                return builder.call(function, arguments)
            crc = builder.trunc(arguments[0], crc_type)
            value = builder.trunc(arguments[1], ir.IntType(bits))
            return builder.zext(builder.call(function, [crc, value]), ir.IntType(64))

        return types.int64(types.int64, types.int64), codegen

    return intrinsic(typed)


if TYPE_CHECKING:

    def _crc_of_word(crc: int, value: int) -> int: ...
    def _crc_of_byte(crc: int, value: int) -> int: ...
else:
    _crc_of_word = _crc32_instruction(64)
    _crc_of_byte = _crc32_instruction(8)


def _by_instruction(buffer: Bytes, position: int, end: int) -> int:
    crc = 0xFFFFFFFF
    while position + 8 <= end:
        crc = _crc_of_word(crc, word_at(buffer, position))
        position += 8
    while position < end:
        crc = _crc_of_byte(crc, byte_at(buffer, position))
        position += 1
    return crc ^ 0xFFFFFFFF


def _by_tables(buffer: Bytes, position: int, end: int) -> int:
    crc: int = 0xFFFFFFFF
    while position + 8 <= end:
        # Byte by byte, so that it holds on a big-endian machine too.
        crc = (
            _TABLES[7, (crc ^ byte_at(buffer, position)) & 0xFF]
            ^ _TABLES[6, ((crc >> 8) ^ byte_at(buffer, position + 1)) & 0xFF]
            ^ _TABLES[5, ((crc >> 16) ^ byte_at(buffer, position + 2)) & 0xFF]
            ^ _TABLES[4, ((crc >> 24) ^ byte_at(buffer, position + 3)) & 0xFF]
            ^ _TABLES[3, buffer[position + 4]]
            ^ _TABLES[2, buffer[position + 5]]
            ^ _TABLES[1, buffer[position + 6]]
            ^ _TABLES[0, buffer[position + 7]]
        )
        position += 8
    while position < end:
        crc = (crc >> 8) ^ _TABLES[0, (crc ^ byte_at(buffer, position)) & 0xFF]
        position += 1
    return crc ^ 0xFFFFFFFF


crc32c_by_tables = kernel(_by_tables)
crc32c = kernel(_by_instruction) if _has_instruction() else crc32c_by_tables
"""CRC-32C of buffer[position:end], as Kafka stores it (unsigned)."""
