"""`python -m tests.fuzz TARGET --inputs N --seed S`: play inputs that nobody would write, and count."""

import argparse

from tests.fuzz.targets import TARGETS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    totals = TARGETS[chosen.target](chosen.inputs, chosen.seed)
    print(", ".join(f"{name} {number}" for name, number in totals.items()))


if __name__ == "__main__":
    main()
