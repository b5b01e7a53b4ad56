"""What a whole `kgroup lag-report` costs: `python -m benchmarks.lag_report [DIR]`.

CPU, time and peak memory of the process, Python's own start included, with the rows thrown away. Without DIR
a log is made first, and deleted afterwards.
"""

import argparse

from benchmarks.log_argument import add_log_arguments, log_of
from benchmarks.process import Cost, cost_of_kgroup


def measure(paths: list[str], rounds: int, output_format: str = "csv") -> Cost:
    """The cheapest of the rounds, by CPU."""
    cost_of_kgroup("lag-report", "-q", "-o", output_format, *paths)  # brings the files into memory
    costs = [cost_of_kgroup("lag-report", "-q", "-o", output_format, *paths) for _ in range(rounds)]
    return min(costs, key=lambda cost: cost.cpu_seconds)


def main() -> None:
    """Read the command line and print a line for each format."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lag_report", description=__doc__)
    add_log_arguments(parser, size="1GB", rounds=3)
    given = parser.parse_args()
    with log_of(given) as paths:
        for output_format in ("csv", "table"):
            cost = measure(paths, given.rounds, output_format)
            print(
                f"-o {output_format}: {cost.cpu_seconds:.2f} s CPU, {cost.elapsed_seconds:.2f} s,"
                f" peak RSS {cost.peak_mb} MB"
            )


if __name__ == "__main__":
    main()
