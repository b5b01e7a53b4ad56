"""Cost of having topics' own logs next to the offsets topic: `python -m benchmarks.own_logs [--size 20MB]`.

`lag-report --stuck` of a fleet all of whose partitions lag, whole processes in turn, with the logs of the
data topics there and without: CPU, and how many times the one is of the other.
"""

import argparse
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.make_log import OFFSETS_TOPIC, Options, make_log, parse_size
from benchmarks.process import Cost, cost_of_kgroup

_CALL: Final = ("lag-report", "-q", "-o", "csv", "--stuck")


def measure(size: int, groups: int, rounds: int) -> tuple[Cost, Cost]:
    """The cheapest of the rounds with the logs and without, after a first one that does not count."""
    with TemporaryDirectory() as folder:
        beside, alone = Path(folder) / "beside", Path(folder) / "alone"
        make_log(Options(out=beside, size=size, groups=groups, data_logs=True))
        alone.mkdir()
        for path in beside.iterdir():
            if path.is_file() or path.name.startswith(OFFSETS_TOPIC):
                (shutil.copy if path.is_file() else shutil.copytree)(path, alone / path.name)
        costs = [
            tuple(cost_of_kgroup(*_CALL, str(path)) for path in (beside, alone)) for _ in range(rounds + 1)
        ]
    with_logs, without = zip(*costs[1:], strict=True)
    return min(with_logs, key=_cpu), min(without, key=_cpu)


def _cpu(cost: Cost) -> float:
    return cost.cpu_seconds


def main() -> None:
    """Make the logs, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own_logs", description=__doc__)
    parser.add_argument("--size", type=parse_size, default=parse_size("20MB"))
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    beside, alone = measure(given.size, given.groups, given.rounds)
    for name, cost in (("with the topics' logs", beside), ("without", alone)):
        print(f"lag-report --stuck {name}: {cost.cpu_seconds:.2f} s CPU, {cost.peak_mb} MB")
    print(f"{beside.cpu_seconds / alone.cpu_seconds:.2f} times")


if __name__ == "__main__":
    main()
