"""Cost of a whole `kgroup lag-report`: `python -m benchmarks.lag_report [DIR]`.

CPU, time and peak memory of the process, Python's own start included, with the rows thrown away: of now, with
a status of each partition, what is wrong, and the history of the log. Without DIR a log of a day is made
first, and deleted afterwards.
"""

import argparse
import os
from enum import StrEnum

from tabulate import tabulate

from benchmarks.log_argument import add_log_arguments, log_of
from benchmarks.process import Cost, cost_of_kgroup


class Call(StrEnum):
    """The options of `kgroup lag-report`."""

    NOW = "-o csv"
    TABLE = "-o table"
    STATUS = "-o csv --status"
    STUCK = "-o csv --stuck"
    HISTORY = f"-o parquet --output {os.devnull} --windows 1h"


def measure(paths: list[str], rounds: int, calls: tuple[Call, ...] = tuple(Call)) -> dict[Call, Cost]:
    """The cheapest of the rounds, by CPU, after a first one that brings the files into memory."""
    costs: dict[Call, list[Cost]] = {call: [] for call in calls}
    for number in range(rounds + 1):
        for call in calls:
            cost = cost_of_kgroup("lag-report", "-q", *call.split(), *paths)
            if number:
                costs[call].append(cost)
    return {call: min(of_call, key=lambda cost: cost.cpu_seconds) for call, of_call in costs.items()}


def main() -> None:
    """Read the command line and print a line for each call."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lag_report", description=__doc__)
    add_log_arguments(parser, size="1GB", rounds=3)
    given = parser.parse_args()
    with log_of(given) as paths:
        costs = measure(paths, given.rounds)
    plain = costs[Call.NOW].cpu_seconds
    rows = [
        (f"lag-report {call}", cost.cpu_seconds, cost.cpu_seconds / plain, cost.elapsed_seconds, cost.peak_mb)
        for call, cost in costs.items()
    ]
    headers = ("", "CPU s", "times the first", "s", "peak MB")
    print(tabulate(rows, headers=headers, floatfmt=("", ".2f", ".1f", ".2f", ".0f")))


if __name__ == "__main__":
    main()
