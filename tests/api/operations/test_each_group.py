"""Work for many groups: some at a time, in order, and ended by the first failure."""

import threading
from contextlib import contextmanager

import pytest

from kgroup.api.operations.each_group import AT_ONCE, each_group
from kgroup.errors import SourceError
from kgroup.report.progress import NO_PROGRESS


def test_answers_come_in_the_order_of_the_groups() -> None:
    """The first one ends last: it waits for the others of its round."""
    others = threading.Barrier(AT_ONCE, timeout=60)

    def work(group: str) -> str:
        if int(group) < AT_ONCE:
            others.wait()
        return group * 2

    groups = [str(number) for number in range(50)]
    assert each_group("work", groups, work) == [group * 2 for group in groups]


@pytest.mark.parametrize("groups", [[], ["a"]])
def test_one_group_needs_no_thread(groups: list[str]) -> None:
    assert each_group("work", groups, lambda _: threading.current_thread()) == [
        threading.main_thread()
    ] * len(groups)


def test_of_several_failures_the_first_group_is_told_whichever_came_first() -> None:
    second_failed = threading.Event()

    def work(group: str) -> None:
        if group == "0":
            second_failed.wait(60)
        if group == "1":
            second_failed.set()
        if group in ("0", "1"):
            raise SourceError(group)

    with pytest.raises(SourceError, match="0"):
        each_group("work", [str(number) for number in range(50)], work)


def test_progress_hears_of_each() -> None:
    heard: list[int] = []

    class Heard(type(NO_PROGRESS)):  # type: ignore[misc]
        @contextmanager
        def counted(self, task: str, total: int):  # type: ignore[no-untyped-def]
            heard.append(total)
            yield lambda done: heard.append(-done)

    each_group("work", ["a", "b", "c"], lambda group: group, Heard())
    assert heard == [3, -1, -1, -1]
