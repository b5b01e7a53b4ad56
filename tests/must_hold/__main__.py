"""`python -m tests.must_hold`: break each rule of docs/must_hold.md, and see whether its tests notice.

A line for each: what was broken, and the test that noticed. Exit 1 if one went unnoticed; 2 for a wrong call,
or tests that fail though nothing is broken.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.must_hold.statements import Statement, broken
from tests.mutants.mutant import Mutant, MutantError
from tests.mutants.play import Fate, Played, PlayError, healthy_seconds, play

LONGEST_S: Final = 900


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.must_hold", description="Break each rule, and see whether its tests notice."
    )
    parser.add_argument("--statement", metavar="TEXT", default="", help="those that have TEXT in them only")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many at a time")
    parser.add_argument(
        "--trust", action="store_true", help="the tests are known to pass: do not run them unbroken first"
    )
    parser.add_argument("--list", action="store_true", help="print them, and play none")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = _arguments(arguments)
    try:
        chosen = [pair for pair in broken() if options.statement in pair[0].text]
        if options.list:
            for statement, mutant in chosen:
                print(f"{statement.text}: {mutant.wrong}")
            return 0
        if not chosen:
            raise MutantError(f"no statement has {options.statement!r} in it")
        if not options.trust:
            healthy_seconds(
                tuple(dict.fromkeys(test for each, _ in chosen for test in each.tests)), LONGEST_S
            )
        return _play(chosen, options.jobs)
    except (MutantError, PlayError) as error:
        print(f"must_hold: {error}", file=sys.stderr)
        return 2


def _play(chosen: list[tuple[Statement, Mutant]], jobs: int) -> int:
    def one(pair: tuple[Statement, Mutant]) -> Played:
        return play(pair[1], LONGEST_S)

    unnoticed = 0
    with ThreadPoolExecutor(jobs) as pool:
        for played in pool.map(one, chosen):
            mutant = played.mutant
            is_noticed = played.fate is not Fate.SURVIVED
            unnoticed += not is_noticed
            word = "noticed" if is_noticed else "UNNOTICED"
            print(f"{word:9} {mutant.name}: {mutant.wrong} ({played.seconds:.1f} s) {played.by}", flush=True)
    rows = len({statement.text for statement, _ in chosen})
    print(f"{len(chosen) - unnoticed} of {len(chosen)} broken rules of {rows} statements are noticed")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
