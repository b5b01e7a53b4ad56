"""Cost of a whole `kgroup lag-report`: `python -m benchmarks.lag_report [DIR]`.

CPU, time and peak memory of the process, Python's own start included, with the rows thrown away: of now, with
a status of each partition, what is wrong, and the history of the log. All are held against a process that
only scans (`benchmarks.newest`). Without DIR a log of a day is made first, and deleted afterwards.
"""

import argparse
import os
import sys
from enum import StrEnum

from tabulate import tabulate

from benchmarks.log_argument import add_log_arguments, log_of
from benchmarks.process import Cost, cost, cost_of_kgroup


class Call(StrEnum):
    """The options of `kgroup lag-report`, and the scan without a report."""

    SCAN = "newest()"
    NOW = "-o csv"
    JSONL = "-o jsonl"
    PARQUET = f"-o parquet --output {os.devnull}"
    TABLE = "-o table"
    STATUS = "-o csv --status"
    STUCK = "-o csv --stuck"
    HISTORY = f"-o parquet --output {os.devnull} --windows 1h"


def measure(paths: list[str], rounds: int, calls: tuple[Call, ...] = tuple(Call)) -> dict[Call, Cost]:
    """The cheapest of the rounds, by CPU, after a first one that brings the files into memory."""
    costs: dict[Call, list[Cost]] = {call: [] for call in calls}
    for number in range(rounds + 1):
        for call in calls:
            spent = _cost(call, paths)
            if number:
                costs[call].append(spent)
    return {call: min(of_call, key=lambda spent: spent.cpu_seconds) for call, of_call in costs.items()}


def _cost(call: Call, paths: list[str]) -> Cost:
    if call is Call.SCAN:
        return cost([sys.executable, "-m", "benchmarks.newest", *paths])
    return cost_of_kgroup("lag-report", "-q", *call.split(), *paths)


def main() -> None:
    """Read the command line and print a line for each call."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lag_report", description=__doc__)
    add_log_arguments(parser, size="1GB", rounds=3)
    given = parser.parse_args()
    with log_of(given) as paths:
        costs = measure(paths, given.rounds)
    scan = costs[Call.SCAN].cpu_seconds
    rows = [
        (
            call if call is Call.SCAN else f"lag-report {call}",
            spent.cpu_seconds,
            spent.cpu_seconds / scan,
            spent.elapsed_seconds,
            spent.peak_mb,
        )
        for call, spent in costs.items()
    ]
    headers = ("", "CPU s", "times the first", "s", "peak MB")
    print(tabulate(rows, headers=headers, floatfmt=("", ".2f", ".1f", ".2f", ".0f")))


if __name__ == "__main__":
    main()
