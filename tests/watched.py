"""Which tests `scripts/coverage.sh` runs, watching what they reach; `python -m tests.watched` prints them.

They are those of the pure packages. The other packages' tests start processes and Sparks; what these reach
here is not counted. `pytest --without-watched` runs all that `scripts/coverage.sh` does not: `.ci/run` calls
both, so that no test has to run twice there, and none is forgotten.
"""

from typing import Final

WATCHED: Final = (
    "tests/protocol",
    "tests/log",
    "tests/scan",
    "tests/assignors",
    "tests/group",
    "tests/history",
    "tests/lag",
    "tests/wire",
    "tests/broker",
    "tests/sim",
    "tests/operations",
    "tests/fsck",
    "tests/api/decode",
    "tests/api/test_reenact.py",
)
UNWATCHED: Final = "gzip-bomb"
"""In the name of a test that goes through the same lines for many seconds, longer still when watched."""
_SWARM: Final = "tests/sim/test_swarm.py"
"""Watched with few seeds, so all of it stays for the run that has time for many."""


def is_watched_in_full(test: str) -> bool:
    """Whether a test, given by its id, need not run again once `scripts/coverage.sh` has run."""
    file = test.partition("::")[0]
    is_of_watched = any(file == place or file.startswith(f"{place}/") for place in WATCHED)
    return is_of_watched and file != _SWARM and UNWATCHED not in test


if __name__ == "__main__":
    print(*WATCHED)
