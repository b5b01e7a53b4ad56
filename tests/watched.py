"""Which tests `scripts/coverage.sh` runs, watching what they reach; `python -m tests.watched` prints them.

They are those of the pure packages. The other packages' tests start processes and Sparks; what these reach
here is not counted. `pytest --without-watched` runs all that `scripts/coverage.sh` does not: `.ci/run` calls
both, so that no test has to run twice there, and none is forgotten. `python -m tests.watched --but` prints
what `pytest -k` leaves out of these places.
"""

import sys
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
UNWATCHED: Final = (
    "gzip-bomb",
    "test_a_broker_that_gives_out_what_is_not_everywhere_is_noticed",
    "test_a_member_that_claims_less_than_it_may_take_is_found",
    "test_a_request_that_arrives_after_its_repetition_breaks_kip_848",
    "test_almost_all_generations_of_recorded_groups_come_out_the_same",
)
"""In the names of tests that go for many seconds through lines of others: thrice as long when watched."""
_SWARM: Final = "tests/sim/test_swarm.py"
"""Watched with few seeds, so all of it stays for the run that has time for many."""


def is_watched_in_full(test: str) -> bool:
    """Whether a test, given by its id, need not run again once `scripts/coverage.sh` has run."""
    file = test.partition("::")[0]
    is_of_watched = any(file == place or file.startswith(f"{place}/") for place in WATCHED)
    return is_of_watched and file != _SWARM and not any(name in test for name in UNWATCHED)


if __name__ == "__main__":
    print(f"not ({' or '.join(UNWATCHED)})" if sys.argv[1:] == ["--but"] else " ".join(WATCHED))
