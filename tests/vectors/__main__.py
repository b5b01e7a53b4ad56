"""`python -m tests.vectors KIND PATH…`: run kgroup on questions whose answers are known.

Prints each failing case and last `N passed, N failed`; exit 1 if any failed, 2 for a wrong call.
Each kind is a module here with `cases(path) -> Iterator[Case]`; the tests call the same code.
"""

import sys
from importlib import import_module
from pathlib import Path

from tests.vectors.case import VectorError

KINDS = {
    "group-hash": "tests.vectors.group_hash",
    "consumer-protocol": "tests.vectors.consumer_protocol",
    "assignors": "tests.vectors.assignors",
    "captures": "tests.vectors.captures",
    "stories": "tests.vectors.stories",
    "incidents": "tests.vectors.incidents",
    "lag-status": "tests.vectors.lag_status",
    "time-lag": "tests.vectors.time_lag",
    "what-if": "tests.vectors.what_if",
}


def main(arguments: list[str]) -> int:
    if len(arguments) < 2 or arguments[0] not in KINDS:
        print(f"usage: python -m tests.vectors {{{','.join(KINDS)}}} PATH...", file=sys.stderr)
        return 2
    kind, *paths = arguments
    cases = import_module(KINDS[kind]).cases
    passed = failed = 0
    for path in map(Path, paths):
        try:
            for case in cases(path):
                if case.failure is None:
                    passed += 1
                else:
                    failed += 1
                    print(f"FAIL {case.name}: {case.failure}")
        except (OSError, VectorError) as error:
            failed += 1
            print(f"FAIL {path}: {error}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
