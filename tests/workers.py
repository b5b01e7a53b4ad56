"""How pytest-xdist spreads the tests over its workers.

A worker gets the tests of a file together, in their order: what is made once for a file, a cluster or a
parsed capture, is made once. xdist's own groups are not asked for: xdist 3.8 marks them where pytest 9.2
does not look, so they keep nothing together. Nor is a test a unit of its own, as it is for xdist otherwise:
at each of some 20,000 ends it counts all units of the worker.
"""

import re
from typing import TYPE_CHECKING

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.remote import Producer

_SPARK = "tests/spark/"
_README = "tests/test_readme.py"


def unit_of_work(test: str) -> str:
    """What a test, given by its id, goes to one worker with.

    All of Spark are a unit, as they share a session: a second Java process costs more than it saves. The
    examples of a page are one, as they find what those before them wrote.
    """
    file = test.partition("::")[0]
    if file.startswith(_SPARK):
        return _SPARK
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


_LONGEST = (_SPARK, "tests/net/test_conformance.py", _README, "tests/cli/", "tests/net/")
"""What takes minutes, in the order in which it is begun; then what waits for processes and timers."""


def order_of_work(test: str) -> int:
    """Where a test, given by its id, belongs in what workers do: what takes long is begun first."""
    return next((rank for rank, start in enumerate(_LONGEST) if test.startswith(start)), len(_LONGEST))
