"""Run the scan's kernels as Python: `pytest -p tests.scan.uncompiled tests/scan/kernels/test_keys.py`.

A debugger or a measurement of coverage sees nothing of what numba compiles. Slow: only for tests with little
data. The intrinsics that kernels read bytes with exist as machine code alone; here are their meanings.
"""

import os
import sys

import pytest

# Before numba is imported. A CPU without the CRC-32C instruction, since that is machine code too.
os.environ.update(NUMBA_DISABLE_JIT="1", NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")

from kgroup.scan.kernels import bytes_at as scan_bytes
from kgroup.scan.kernels.bytes_at import Bytes


def pytest_configure(config: pytest.Config) -> None:
    """Hashes overflow on purpose. Compiled, they do so without a word."""
    config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")


def _byte_at(buffer: Bytes, position: int) -> int:
    return int(buffer[position])


def _int16_at(buffer: Bytes, position: int) -> int:
    return int.from_bytes(buffer[position : position + 2].tobytes(), "big", signed=True)


def _int32_at(buffer: Bytes, position: int) -> int:
    return int.from_bytes(buffer[position : position + 4].tobytes(), "big", signed=True)


def _int64_at(buffer: Bytes, position: int) -> int:
    return int.from_bytes(buffer[position : position + 8].tobytes(), "big", signed=True)


def _word_at(buffer: Bytes, position: int) -> int:
    return int.from_bytes(buffer[position : position + 8].tobytes(), sys.byteorder, signed=True)


def _put_word(buffer: Bytes, position: int, word: int) -> None:
    buffer[position : position + 8] = list((word & 2**64 - 1).to_bytes(8, sys.byteorder))


scan_bytes.byte_at = _byte_at
scan_bytes.int16_at = _int16_at
scan_bytes.int32_at = _int32_at
scan_bytes.int64_at = _int64_at
scan_bytes.word_at = _word_at
scan_bytes.put_word = _put_word
