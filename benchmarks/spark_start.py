"""A small report on Spark beside a Spark that does next to nothing: `python -m benchmarks.spark_start`.

Whole processes, in turn, on one small capture: CPU of all of them, Java's and the Python workers' included.
What they are held against is a session with the same Java options that runs one task in Python. The first
Spark on a machine leaves an archive of Java's classes behind; what is run once before measuring is there for
that, and until it is made, half a minute later, all of them take about twice as long.
"""

import argparse
import statistics
from enum import StrEnum
from pathlib import Path
from typing import Final

from tabulate import tabulate

from benchmarks.process_tree import run_kgroup, run_python
from kgroup.spark.session import open_session

_LIVES: Final = str(Path(__file__).parents[1] / "fixtures" / "4.3.1" / "lives")
_MASTER: Final = "local[2]"


class Call(StrEnum):
    """What is run."""

    BARE = "a session, one task in Python"
    NOW = "lag-report --spark"
    STATUS = "lag-report --spark --status"


Costs = dict[Call, float]
"""CPU seconds of all processes, medians."""


def measure(rounds: int) -> Costs:
    """Run each of them once a round, after a first time that does not count."""
    taken: dict[Call, list[float]] = {call: [] for call in Call}
    for number in range(rounds + 1):
        for call in Call:
            cpu = _cpu(call)
            if number:
                taken[call].append(cpu)
    return {call: statistics.median(seconds) for call, seconds in taken.items()}


def _cpu(call: Call) -> float:
    if call is Call.BARE:
        return run_python("-m", "benchmarks.spark_start", "--bare").cpu
    return run_kgroup(*call.split(), "--master", _MASTER, "-q", "-o", "csv", _LIVES).cpu


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bare:
        with open_session(_MASTER) as session:
            session.sparkContext.parallelize([1], 1).map(lambda number: number + 1).collect()
        return
    costs = measure(given.rounds)
    rows = [(call, seconds, seconds / costs[Call.BARE]) for call, seconds in costs.items()]
    print(tabulate(rows, headers=("", "CPU s", "times the first"), floatfmt=".2f"))


if __name__ == "__main__":
    main()
