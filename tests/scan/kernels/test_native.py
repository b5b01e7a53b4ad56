"""Machine code of kernels without numba: what goes in and comes out, and code on disk that is damaged."""

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from kgroup.scan.kernels.code_cache import read_code, write_code
from kgroup.scan.kernels.compile import MachineCode, kernel, machine_code
from kgroup.scan.kernels.crc import crc32c
from kgroup.scan.kernels.native import Code, taken_apart

Ints = NDArray[np.int64]


class Pair(NamedTuple):
    left: Ints
    right: tuple[Ints, int]


@kernel
def total(table: Ints) -> int:
    """Of a table with two columns or more; of what is beyond, if its strides are taken for another's."""
    of_all = 0
    for row in range(table.shape[0]):
        for column in range(table.shape[1]):
            of_all += table[row, column]
    return of_all


@kernel
def first_and_last(line: Ints) -> tuple[int, int, bool]:
    return line[0], line[len(line) - 1], line[0] < line[len(line) - 1]


@kernel
def is_more(left: int, more: bool, right: int) -> bool:
    return (left > right) == more


@kernel
def add_to_left(pair: Pair, times: int) -> None:
    line, each = pair.right
    for at in range(len(pair.left)):
        pair.left[at] += line[at] * each * times


@kernel
def length(line: Ints) -> int:
    return len(line)


@kernel
def many_truths(a: bool, b: bool, c: bool, d: bool, e: bool, f: bool, g: bool, h: bool, last: int) -> int:
    """More than registers take, so that some lie on the stack."""
    return 128 * a + 64 * b + 32 * c + 16 * d + 8 * e + 4 * f + 2 * g + 1 * h + 256 * last


@kernel
def error_of(number: int) -> int:
    return int(math.erf(number))


@kernel
def half_of(number: int) -> float:
    return number / 2


@kernel
def one_over(number: int) -> int:
    if number == 0:
        raise ValueError
    return 1 // number


TABLE = np.arange(12, dtype=np.int64).reshape(3, 4)


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.T,
        TABLE[1:, 1:3],
        TABLE[::2, ::-1],
        np.asfortranarray(TABLE),
        np.broadcast_to(TABLE[0], (2, 4)),
        TABLE.astype(np.int32),
        TABLE.astype(np.uint8),
        TABLE[:0],
        -TABLE,
    ],
    ids=["C", "Fortran", "part", "backwards", "copied", "repeated", "int32", "uint8", "empty", "negative"],
)
def test_an_array_of_any_layout_is_read_as_it_lies(table: Ints) -> None:
    assert machine_code(total)(table) == table.sum()


def test_each_layout_has_code_of_its_own_whatever_came_before() -> None:
    code = machine_code(total)
    for _ in range(2):
        for table in (TABLE, TABLE.T, TABLE.astype(np.int16)):
            assert code(table) == 66


def test_an_array_that_may_not_be_written_is_read() -> None:
    line = np.frombuffer(np.array([3, 4, 7], np.int64).tobytes(), np.int64)
    assert machine_code(first_and_last)(line) == (3, 7, True)


def test_numbers_and_truth_values_come_back_in_their_order() -> None:
    first_last = machine_code(first_and_last)
    assert first_last(np.array([-(2**63), 2**63 - 1])) == (-(2**63), 2**63 - 1, True)
    assert first_last(np.array([5, 1])) == (5, 1, False)
    more = machine_code(is_more)
    assert [more(2, True, 1), more(1, True, 2), more(1, False, 2)] == [True, False, True]
    assert more(np.int64(2), np.bool_(True), np.int32(-1)) is True


def test_truth_values_on_the_stack_are_told_apart() -> None:
    code = machine_code(many_truths)
    for number in (0, 1, 2, 4, 170, 85, 255):
        truths = [bool(number >> bit & 1) for bit in range(7, -1, -1)]
        assert code(*truths, 3) == number + 768


def test_tuples_in_tuples_are_taken_apart_and_their_arrays_are_written() -> None:
    left, line = np.array([1, 2]), np.array([10, 20])
    assert machine_code(add_to_left)(Pair(left, (line, 2)), 3) is None  # type: ignore[func-returns-value]
    assert left.tolist() == [61, 122]


def test_an_empty_array_has_no_items() -> None:
    assert machine_code(length)(np.empty(0, np.int64)) == 0
    assert machine_code(length)(np.empty(7, np.int64)[::2]) == 4


@pytest.mark.parametrize("what", [1.5, "a", None, [1]])
def test_what_no_kernel_takes_is_refused(what: object) -> None:
    with pytest.raises(TypeError, match=f"a kernel takes no {type(what).__name__}"):
        machine_code(length)(what)


def test_code_that_would_call_what_is_elsewhere_is_not_made() -> None:
    with pytest.raises(TypeError, match=r"the kernel error_of calls what is not in its code: .*erf"):
        machine_code(error_of)(1)


def test_a_kernel_returns_no_fractions() -> None:
    with pytest.raises(TypeError, match="a kernel returns float64, neither int64 nor a truth value"):
        machine_code(half_of)(1)


def test_threads_that_call_for_the_first_time_at_once_get_the_same_code() -> None:
    code = machine_code(one_over)
    answers: list[Any] = []
    threads = [Thread(target=lambda: answers.append(code(1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [1] * 8


def test_arguments_are_of_the_same_kinds_when_the_code_for_them_is() -> None:
    def kinds(*arguments: object) -> object:
        return taken_apart(arguments)[1]

    line = np.zeros(4, np.int64)
    assert kinds(line, 1) == kinds(np.ones(9, np.int64), -5)
    others: list[tuple[object, ...]] = [
        (line, True),
        ((line, 1),),
        ((line,), 1),
        (line.reshape(2, 2), 1),
        (line[::2], 1),
        (line.view(np.uint64), 1),
        (np.frombuffer(bytes(32), np.int64), 1),
    ]
    assert len({kinds(line, 1), *(kinds(*each) for each in others)}) == 1 + len(others)


READ = (
    "import sys, numpy as np\n"
    "from kgroup.scan.kernels.compile import machine_code\n"
    "from kgroup.scan.kernels.crc import crc32c\n"
    "print(machine_code(crc32c)(np.zeros(40, np.uint8), 0, 32), 'numba' in sys.modules)\n"
)


def crc_in_another_process(cache: Path) -> str:
    variables = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", READ], env=variables, capture_output=True, text=True, check=True
    )
    return done.stdout


def cut_off(kept: bytes) -> bytes:
    return kept[: len(kept) // 2]


def empty(_kept: bytes) -> bytes:
    return b""


def rotten(kept: bytes) -> bytes:
    middle = len(kept) // 2
    return kept[:middle] + bytes([kept[middle] ^ 1]) + kept[middle + 1 :]


@pytest.mark.parametrize("damaged", [cut_off, empty, rotten])
def test_code_that_is_damaged_on_disk_is_made_again(
    damaged: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    assert crc_in_another_process(tmp_path) == f"{0x8A9136AA} True\n"
    assert crc_in_another_process(tmp_path) == f"{0x8A9136AA} False\n"
    (file,) = tmp_path.glob("kgroup/*/crc.crc32c-*")
    kept = file.read_bytes()
    file.write_bytes(damaged(kept))
    assert crc_in_another_process(tmp_path) == f"{0x8A9136AA} True\n"
    assert crc_in_another_process(tmp_path) == f"{0x8A9136AA} False\n"
    assert file.read_bytes() == kept


def test_code_that_does_not_end_as_it_should_says_so() -> None:
    assert machine_code(one_over)(1) == 1
    with pytest.raises(RuntimeError, match=r"the kernel .*one_over.* ended with status 1"):
        machine_code(one_over)(0)


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr("kgroup.scan.kernels.code_cache._folder", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize("damaged", [cut_off, empty, rotten])
def test_code_is_read_as_it_was_written_or_not_at_all(
    damaged: Callable[[bytes], bytes], own_folder: Path
) -> None:
    code = Code("f", "x86_64-unknown-linux-gnu", "q?", is_tuple=True, image=b"\x00\n\xff" * 9)
    assert read_code("f-1") is None
    write_code("f-1", code)
    assert read_code("f-1") == code
    assert [path.name for path in own_folder.iterdir()] == ["f-1"]
    kept = (own_folder / "f-1").read_bytes()
    (own_folder / "f-1").write_bytes(damaged(kept))
    assert read_code("f-1") is None


def test_code_that_is_kept_is_not_made_again(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MachineCode(length)(np.zeros(3, np.int64)) == 3
    assert len(list(own_folder.iterdir())) == 1
    monkeypatch.delattr("kgroup.scan.kernels.machine_code.code_for")
    assert MachineCode(length)(np.zeros(5, np.int64)) == 5


def test_a_kernel_of_the_package_answers_as_its_python_does() -> None:
    raw = np.frombuffer(b"123456789" + bytes(8), np.uint8).copy()
    assert machine_code(crc32c)(raw, 0, 9) == crc32c(raw, 0, 9) == 0xE3069283
