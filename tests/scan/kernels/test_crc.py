"""CRC-32C in the kernels: the instruction and the tables agree with a library of its own."""

import os
import subprocess
import sys

import google_crc32c
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.scan.kernels.crc import crc32c, crc32c_by_tables

pytestmark = pytest.mark.usefixtures("each_tier")


def of(kernel, raw: bytes, position: int = 0) -> int:
    return kernel(np.frombuffer(raw + bytes(8), np.uint8).copy(), position, len(raw))


def test_the_check_value_of_the_algorithm():
    # RFC 3720, B.4, and the usual check string.
    assert of(crc32c, b"123456789") == of(crc32c_by_tables, b"123456789") == 0xE3069283
    assert of(crc32c, bytes(32)) == 0x8A9136AA


@given(st.binary(max_size=200), st.integers(0, 20))
def test_both_ways_agree_with_the_library(raw, skipped):
    position = min(skipped, len(raw))
    expected = google_crc32c.value(raw[position:])
    assert of(crc32c, raw, position) == expected
    assert of(crc32c_by_tables, raw, position) == expected


def test_a_target_without_the_instruction_gets_the_tables():
    program = (
        "from kgroup.scan.kernels.compile import machine_code\n"
        "from kgroup.scan.kernels.crc import to_compile\n"
        "from tests.scan.kernels.test_crc import *\n"
        "assert to_compile() is crc32c_by_tables\n"
        "assert of(machine_code(crc32c), b'123456789') == 0xE3069283\n"
    )
    generic = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], env=generic, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
