"""`python -m tests.mutants`: plant bugs one by one, and see whether the tests notice.

Prints each survivor with its wrong behaviour, and for each package how many were killed. Exit 1 if fewer of
the written ones than `--at-least` were; 2 for a wrong call, or tests that fail without a bug.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import Final

from tests.mutants.mutant import PACKAGES, Mutant, MutantError
from tests.mutants.operators import sample
from tests.mutants.play import Fate, Played, PlayError, healthy_seconds, play
from tests.mutants.written import written

LONGEST_HEALTHY_S: Final = 900
TRUSTED_S: Final = 300
"""The time that tests may take with a mutant where their time without one is not measured."""
DRAWN: Final = 20
"""Operator mutants of a package where no number is given."""


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description="Plant bugs, and see whether the tests notice."
    )
    parser.add_argument("--package", action="append", choices=list(PACKAGES), help="these only, not all")
    parser.add_argument("--kind", choices=["written", "operators"], default="written")
    parser.add_argument("--name", metavar="GLOB", default="*", help="written mutants of these names only")
    parser.add_argument("--sample", type=int, metavar="N", help="N of each package, drawn by the seed")
    parser.add_argument("--seed", default="0", help="any text")
    parser.add_argument("--seconds", type=float, metavar="S", help="begin none after S seconds")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many at a time")
    parser.add_argument(
        "--at-least", type=float, default=0.9, metavar="PART", help="of all written ones, killed"
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="the tests are known to pass: do not run them without a mutant first",
    )
    parser.add_argument("--list", action="store_true", help="print them, and play none")
    return parser.parse_args(arguments)


def _chosen(options: argparse.Namespace) -> list[Mutant]:
    mutants: list[Mutant] = []
    for package in options.package or PACKAGES:
        if options.kind == "operators":
            mutants += sample(package, options.sample or DRAWN, options.seed)
            continue
        of_package = [
            each for each in written(package) if fnmatchcase(each.name, options.name) and not each.equivalent
        ]
        if options.sample is not None and options.sample < len(of_package):
            of_package = random.Random(f"{options.seed} {package}").sample(of_package, options.sample)
        mutants += of_package
    if options.seconds is not None:
        # Time may not be enough for all: those that get their turn change with the seed.
        random.Random(options.seed).shuffle(mutants)
    return mutants


def _limits(mutants: Iterable[Mutant], *, trust: bool) -> dict[tuple[str, ...], float]:
    """How long the tests may take before they count as hung, generously."""
    choices = dict.fromkeys(each.tests for each in mutants)
    if trust:
        return dict.fromkeys(choices, TRUSTED_S)
    return {tests: 60 + 5 * healthy_seconds(tests, LONGEST_HEALTHY_S) for tests in choices}


def _play_all(mutants: list[Mutant], options: argparse.Namespace) -> Iterator[Played]:
    begun = time.monotonic()
    limits = _limits(mutants, trust=options.trust)

    def play_in_time(mutant: Mutant) -> Played | None:
        if options.seconds is not None and time.monotonic() - begun > options.seconds:
            return None
        return play(mutant, limits[mutant.tests])

    with ThreadPoolExecutor(options.jobs) as pool:
        yield from (played for played in pool.map(play_in_time, mutants) if played is not None)


def main(arguments: list[str]) -> int:
    options = _arguments(arguments)
    killed, played = Counter[str](), Counter[str]()
    try:
        mutants = _chosen(options)
        if options.list:
            for each in mutants:
                print(f"{each.package}/{each.name}: {each.wrong}")
            return 0
        for one in _play_all(mutants, options):
            played[one.mutant.package] += 1
            killed[one.mutant.package] += one.fate is not Fate.SURVIVED
            by = f" by {one.by}" if one.by else f": {one.mutant.wrong}"
            print(
                f"{one.fate:8} {one.mutant.package}/{one.mutant.name} ({one.seconds:.1f} s){by}", flush=True
            )
    except (MutantError, PlayError) as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 2
    for package in played:
        print(f"{package}: {killed[package]} of {played[package]} killed")
    print(f"{killed.total()} of {played.total()} killed, of {len(mutants)}")
    enough = killed.total() >= options.at_least * played.total()
    return 0 if enough or options.kind == "operators" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
