"""How many incidents with drawn settings are named.

    python -m tests.incidents.drawn [--seeds N] [--first SEED] [--family NAME ...] [--said]

`named` at first place, `in part` or `silent`, as `docs/incidents.md` has it; `wrong` are graded causes of
departures that are not what happened. `--said` prints each case that is not named, or accused.
"""

import argparse
from collections import Counter, defaultdict

from tabulate import tabulate

from tests.incidents.drawn.families import FAMILIES
from tests.incidents.drawn.play import judged
from tests.incidents.drawn.well import WELL
from tests.incidents.verdicts import Outcome


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--family", nargs="*", default=[*FAMILIES, *WELL], metavar="NAME")
    parser.add_argument("--said", action="store_true")
    given = parser.parse_args()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for family in given.family:
        for seed in range(given.first, given.first + given.seeds):
            for outcome, said in judged(family, seed):
                counts[family][outcome] += 1
                if given.said and outcome not in (Outcome.FIRST, "in peace", "right cause", "no effect"):
                    print(f"{outcome:12} {family} {seed}: {said}")
    heads = (
        Outcome.FIRST,
        Outcome.PART,
        Outcome.SILENT,
        "in peace",
        "accused",
        "right cause",
        "wrong cause",
        "no effect",
    )
    rows = [(family, *(counts[family][head] or "" for head in heads)) for family in given.family]
    total = ("all", *(sum(counts[family][head] for family in given.family) for head in heads))
    print(tabulate([*rows, total], headers=("family", *heads)))


if __name__ == "__main__":
    main()
