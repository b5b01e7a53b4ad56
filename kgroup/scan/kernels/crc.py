"""CRC-32C inside the kernels: the CPU's instruction where there is one, eight tables elsewhere.

Which of the two is compiled follows from the target numba compiles for, not from the CPU that runs Python,
and the target is part of the cache folder's name, so cached code never meets a CPU without the instruction.
"""

from collections.abc import Callable
from typing import Final

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.bytes_at import Bytes, byte_at
from kgroup.scan.kernels.compile import kernel, kernel_of

_POLYNOMIAL: Final = 0x82F63B78  # Castagnoli, reflected


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


_TABLES: Final = _slice_by_8_tables()


@kernel
def crc32c_by_tables(buffer: Bytes, position: int, end: int) -> int:
    """CRC-32C of buffer[position:end] without the instruction."""
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


def to_compile() -> Callable[[Bytes, int, int], int]:
    """The function that is the machine code of `crc32c` here."""
    from kgroup.scan.kernels.machine_code import crc32c_by_instruction, has_crc_instruction

    return crc32c_by_instruction if has_crc_instruction() else crc32c_by_tables


@kernel_of(to_compile)
def crc32c(buffer: Bytes, position: int, end: int) -> int:
    """CRC-32C of buffer[position:end], as Kafka stores it (unsigned)."""
    return int(google_crc32c.value(bytes(buffer[position:end])))
