"""Kernels as Python and as machine code: when which, and that no reader can tell."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.scan.kernels import bytes_at
from kgroup.scan.kernels.bytes_at import (
    Bytes,
    byte_at,
    int16_at,
    int32_at,
    int64_at,
    put_word,
    word_at,
    wrapped,
)
from kgroup.scan.kernels.compile import Tier, kernel
from kgroup.scan.kernels.machine_code import INSTRUCTIONS
from kgroup.scan.reading.reader import RowReader
from kgroup.scan.reductions.newest import NewestReader
from kgroup.scan.reductions.scan import Newest, Slice, merge, newest, split
from tests.log.offsets_log import batch, commit, marker
from tests.scan.tiers import kernels

SEVERAL_KEYS = Path("fixtures/4.3.1/lives/__consumer_offsets-20/00000000000000000000.log")


@kernel
def everything_at(buffer: Bytes, position: int) -> tuple[int, int, int, int, int]:
    """What each instruction reads at a position; eight bytes before it, the word that is there."""
    put_word(buffer, position - 8, word_at(buffer, position))
    return (
        byte_at(buffer, position),
        int16_at(buffer, position),
        int32_at(buffer, position),
        int64_at(buffer, position),
        word_at(buffer, position),
    )


@kernel
def product(left: int, right: int) -> int:
    return wrapped(left * right)


def test_each_instruction_has_its_machine_code() -> None:
    assert set(INSTRUCTIONS) <= set(vars(bytes_at))


@given(st.binary(min_size=16, max_size=16))
def test_instructions_read_and_write_the_same(raw: bytes) -> None:
    answers = []
    for compiled in (True, False):
        with kernels(compiled=compiled):
            buffer = np.frombuffer(bytes(8) + raw, np.uint8).copy()
            answers.append((everything_at(buffer, 8), buffer.tobytes()))
    signed = [int.from_bytes(raw[:size], "big", signed=True) for size in (2, 4, 8)]
    word = int.from_bytes(raw[:8], sys.byteorder, signed=True)
    assert answers == [((raw[0], *signed, word), raw[:8] + raw)] * 2


@pytest.mark.parametrize("compiled", [True, False])
@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_products_wrap_around(compiled: bool, left: int, right: int) -> None:
    with kernels(compiled=compiled):
        assert product(left, right) == int.from_bytes(
            (left * right % 2**64).to_bytes(8, "big"), "big", signed=True
        )


def test_what_was_found_and_what_was_read_count_each_for_itself() -> None:
    assert not Tier(as_python_bytes=100).is_compiled
    assert not Tier(as_python_bytes=100, found_bytes=20, read_bytes=20).is_compiled
    assert Tier(as_python_bytes=100, found_bytes=101).is_compiled
    assert Tier(as_python_bytes=100, read_bytes=101).is_compiled


def reads(path: Path, limit: int, cache: Path) -> tuple[bool, bool]:
    """Whether a process that reads the segment has machine code at its end, and whether it has numba."""
    program = (
        "import sys\n"
        "from kgroup.scan.kernels.compile import TIER\n"
        "from kgroup.scan.reductions.scan import newest, split\n"
        "TIER.as_python_bytes = int(sys.argv[2])\n"
        "assert newest(split(sys.argv[1], 20, 1 << 30)).records\n"
        "print(TIER.is_compiled, 'numba' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), str(limit)],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    has_code, has_numba = done.stdout.split()
    return has_code == "True", has_numba == "True"


def test_numba_makes_code_for_a_log_that_is_worth_it_and_is_not_asked_again(tmp_path: Path) -> None:
    size = SEVERAL_KEYS.stat().st_size
    assert reads(SEVERAL_KEYS, size, tmp_path) == (False, False)
    assert reads(SEVERAL_KEYS, size - 1, tmp_path) == (True, True)
    assert reads(SEVERAL_KEYS, size - 1, tmp_path) == (True, False)


def test_code_that_is_there_serves_a_fifth_of_what_is_worth_making_it(tmp_path: Path) -> None:
    size = SEVERAL_KEYS.stat().st_size
    assert reads(SEVERAL_KEYS, 5 * size - 1, tmp_path) == (False, False)
    assert reads(SEVERAL_KEYS, size - 1, tmp_path) == (True, True)
    assert reads(SEVERAL_KEYS, 5 * size - 1, tmp_path) == (True, False)
    assert reads(SEVERAL_KEYS, 5 * size, tmp_path) == (False, False)


def test_a_reader_may_begin_as_python_and_go_on_compiled(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.log"
    # New keys, keys of before, transactions that begin here and end there: all of it in tables of both.
    first = [batch(n, [commit(f"g{n % 7}", "t", n % 5, n)]) for n in range(60)]
    first.append(batch(60, [commit("g0", "t", 0, 1000)], producer_id=9))
    second = [marker(61, 9, committed=True)]
    second += [batch(n, [commit(f"g{n % 11}", "t", n % 5, n)]) for n in range(62, 130)]
    path.write_bytes(b"".join(first + second))
    middle = sum(map(len, first))

    def read(*compiled: bool) -> Newest:
        slices = [
            Slice(path=path, offsets_partition=0, start=0, end=middle),
            Slice(path=path, offsets_partition=0, start=middle, end=path.stat().st_size),
        ]
        rows = RowReader()
        reading = NewestReader(0, rows)
        for part, is_compiled in zip(slices, compiled, strict=True):
            with kernels(compiled=is_compiled):
                for item in rows.read(part):
                    reading.add(item)
        return merge([reading.newest(slices)])

    with kernels(compiled=True):
        whole = newest(split(path, 0, 1 << 30))
    for compiled in ((False, True), (True, False), (False, False)):
        assert read(*compiled).commits.to_pylist() == whole.commits.to_pylist(), compiled
