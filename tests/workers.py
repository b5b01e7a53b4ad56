"""How pytest-xdist spreads the tests over its workers.

A worker gets the tests of a file together, in their order: what is made once for a file, a cluster or a
parsed capture, is made once. xdist's own groups are not asked for: xdist 3.8 marks them where pytest 9.2
does not look, so they keep nothing together. Nor is a test a unit of its own, as it is for xdist otherwise:
at each of some 20,000 ends it counts all units of the worker.

There is one worker more than processors: a third of the time of Spark, of clients and of brokers is waiting.
"""

import os
import re
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer

_SPARK = "tests/spark/"
SPARKS_OF_THEIR_OWN = (
    "tests/spark/test_storage.py",
    "tests/spark/test_cluster.py",
    "tests/spark/test_connect.py",
    "tests/spark/test_job.py",
    "tests/spark/test_session.py",
)
"""Units of their own: they start most of what they need, so they gain little where the others' session is."""
_STREAMS = "tests/spark/ streams"
_README = "tests/test_readme.py"


def unit_of_work(test: str) -> str:
    """What a test, given by its id, goes to one worker with.

    Those of Spark that share a session are two units, those of streams and all others: each is as long as
    all else that a worker has to do, and more Java processes would cost more than they save. The examples of
    a page are one, as they find what those before them wrote.
    """
    file = test.partition("::")[0]
    if file.startswith(_SPARK) and file not in SPARKS_OF_THEIR_OWN:
        return _STREAMS if "stream" in file.rpartition("/")[2] else _SPARK
    if file == _README and (page := re.search(r"\[([\w.]+) line \d+\]$", test)):
        return page[1]
    return file


class ByFile(LoadScopeScheduling):
    """Units are files, but for what `unit_of_work` says otherwise, and begun in the order of the tests."""

    def __init__(self, config: pytest.Config, log: "Producer | None" = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return unit_of_work(nodeid)


_LONGEST = (
    _SPARK,
    *SPARKS_OF_THEIR_OWN,
    "tests/net/test_conformance.py",
    _README,
    "tests/cli/",
    "tests/net/",
)
"""What takes minutes, in the order in which it is begun; then what waits for processes and timers."""


def order_of_work(test: str) -> int:
    """Where a test, given by its id, belongs in what workers do: what takes long is begun first."""
    starts = [start for start in _LONGEST if test.startswith(start)]
    return _LONGEST.index(max(starts, key=len)) if starts else len(_LONGEST)


_WORKER_BYTES = 3 << 30
"""What a worker and the Java processes of its tests may take."""


def workers_for(processors: int, memory_bytes: int) -> int:
    """How many workers: one more than processors if memory lasts, but at least two."""
    return max(2, min(processors + 1, memory_bytes // _WORKER_BYTES))


def workers_here() -> int:
    """How many workers there are on this machine."""
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return workers_for(os.cpu_count() or 1, memory_bytes)
