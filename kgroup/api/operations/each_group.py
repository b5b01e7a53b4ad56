"""Runs the same work for many groups of a cluster, several at a time."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from kgroup.report.progress import NO_PROGRESS, Progress

AT_ONCE: Final = 4
"""Groups at a time. Each asks a broker one thing at a time; kafka-python sends one no more than five."""

Made = TypeVar("Made")


def each_group(
    task: str, groups: Sequence[str], work: Callable[[str], Made], progress: Progress = NO_PROGRESS
) -> list[Made]:
    """The results of `work` for each group, in order. It runs in several threads, begun in that order.

    Where it fails for one no other is begun, those under way are finished, and the error is raised: of
    several that of the first group. So it is the one that going one by one would have met.
    """
    failed = threading.Event()
    lock = threading.Lock()
    with progress.counted(task, len(groups)) as advance:

        def one(group: str) -> Made | None:
            if failed.is_set():
                return None  # an error before this one is raised below
            try:
                made = work(group)
            except BaseException:
                failed.set()
                raise
            with lock:
                advance(1)
            return made

        if len(groups) <= 1:
            return [work(group) for group in groups]
        made: list[Made] = []
        with ThreadPoolExecutor(min(AT_ONCE, len(groups)), thread_name_prefix="kgroup") as pool:
            begun = [pool.submit(one, group) for group in groups]
            try:
                for future in begun:
                    result = future.result()
                    made.append(result)  # type: ignore[arg-type]  # None only behind an error
            except BaseException:  # also when somebody interrupts it
                failed.set()
                raise
        return made
