"""Hypothesis profiles: `quick` gives the same examples in every run, `exhaustive` many new ones.

Choose with `HYPOTHESIS_PROFILE=exhaustive pytest …`.
"""

import gc
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadScopeScheduling

# Making an archive of Spark's classes goes on behind a session's end, and would do so behind each test's.
os.environ["KGROUP_JAVA_ARCHIVE"] = "off"

# Some 20,000 tests are many objects that stay. To go through them as often as Python does of itself took a
# tenth of the run.
gc.set_threshold(20_000, 20, 20)

settings.register_profile("quick", derandomize=True, deadline=None)
settings.register_profile("exhaustive", max_examples=5000, deadline=None)
# For python -m tests.mutants: an example that fails is enough, it need not be the smallest.
settings.register_profile(
    "mutants", settings.get_profile("quick"), phases=(Phase.explicit, Phase.generate), print_blob=False
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest --rewrite-scripts` writes the answers of tests/group/scripts; review the diff."""
    parser.addoption(
        "--rewrite-scripts", action="store_true", help="write the answers of tests/group/scripts"
    )
    parser.addoption(
        "--swarm-seeds",
        type=int,
        default=100,
        metavar="N",
        help="how many seeds tests/sim/test_swarm.py plays",
    )
    parser.addoption(
        "--without-watched", action="store_true", help="leave out the tests that scripts/coverage.sh runs"
    )


def pytest_configure() -> None:
    """No test, and no command that one starts, takes the size of a terminal that nobody looks at.

    pytest imports readline, which sets it for the processes to be started, such as xdist's workers: there
    tables would wrap that are meant to be compared as they are, which takes ten times as long.
    """
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
        os.unsetenv(name)  # what C code has set is not in os.environ


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many workers `-n auto` gives."""
    from tests.workers import workers_here

    return workers_here()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "Producer") -> "LoadScopeScheduling":
    """The tests of a file are for one worker."""
    from tests.workers import ByFile

    return ByFile(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what runs elsewhere; on a worker, what takes long comes first.

    So no worker is still at it when the others are done.
    """
    if config.getoption("--without-watched"):
        from tests.watched import is_watched_in_full

        left_out: list[pytest.Item] = []
        kept: list[pytest.Item] = []
        for item in items:
            (left_out if is_watched_in_full(item.nodeid) else kept).append(item)
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept
    if hasattr(config, "workerinput"):
        from tests.workers import order_of_work

        items.sort(key=lambda item: order_of_work(item.nodeid))
