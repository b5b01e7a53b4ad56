"""Work in slices: its order, its end, and what becomes of the others when a piece of it fails."""

import pytest

from kgroup.broker.work import Slices, WorkInSlices, finished


def counting(done: list[str], name: str, slices: int, *, fails: bool = False) -> Slices[None]:
    for number in range(slices):
        done.append(f"{name}{number}")
        yield
    if fails:
        raise KeyError(name)


def test_the_first_slice_is_done_at_once_and_the_next_work_waits_for_the_end_of_the_last() -> None:
    work, done = WorkInSlices(), list[str]()
    work.take(counting(done, "a", 2))
    work.take(counting(done, "b", 1))
    assert done == ["a0"]
    for _ in range(4):
        assert work.is_left
        work.go_on()
    assert done == ["a0", "a1", "b0"]
    assert not work.is_left
    work.go_on()


def test_a_failure_is_the_end_of_its_work_and_not_of_the_others() -> None:
    work, done = WorkInSlices(), list[str]()
    work.take(counting(done, "a", 1, fails=True))
    work.take(counting(done, "b", 1))
    with pytest.raises(KeyError, match="a"):
        work.go_on()
    work.go_on()
    work.go_on()
    assert done == ["a0", "b0"]
    assert not work.is_left


def test_work_in_one_go_comes_to_what_it_returns() -> None:
    def sum_of(numbers: list[int]) -> Slices[int]:
        total = 0
        for number in numbers:
            total += number
            yield
        return total

    assert finished(sum_of([1, 2, 3])) == 6
