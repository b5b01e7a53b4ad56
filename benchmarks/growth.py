"""Growth of the cost of answers with their subject: `python -m benchmarks.growth [--full]`.

Whole processes of kgroup at three sizes each, with logs in which only one thing grows (growth_logs.py): bytes
of the same groups, groups, partitions of a group, members, generations. CPU beyond that of an answer about
next to nothing, the cheapest of the rounds, and how many times the work of the size before the last is done
at the last, divided by how many times as large that is: 1.0 is linear, less is cheaper.
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tabulate import tabulate

from benchmarks.growth_logs import Shape, group_name, write_log
from benchmarks.make_log import Options, make_log
from benchmarks.process import Cost, cost_of_kgroup

_LAG: Final = ("lag-report", "-o", "csv")
_STUCK: Final = ("lag-report", "-o", "csv", "--stuck")
_GROUPS: Final = ("groups", "-o", "csv")
_REPLAY: Final = ("replay", "-o", "jsonl", "--group", group_name(0))
BYTES: Final = "megabytes"
_LEAST_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The dimension that grows, its sizes in a short and in a full run, and the measured commands."""

    name: str
    short: tuple[int, int, int]
    full: tuple[int, int, int]
    commands: tuple[tuple[str, ...], ...]


AXES: Final = (
    Axis(name=BYTES, short=(2, 6, 20), full=(50, 200, 1000), commands=(_LAG, _STUCK)),
    Axis(name="groups", short=(100, 300, 1000), full=(100, 3000, 100_000), commands=(_LAG, _STUCK, _GROUPS)),
    Axis(name="partitions", short=(100, 300, 1000), full=(100, 3000, 100_000), commands=(_LAG, _STUCK)),
    Axis(name="members", short=(10, 50, 250), full=(10, 500, 5000), commands=(_GROUPS, _REPLAY)),
    Axis(name="generations", short=(100, 300, 1000), full=(100, 3000, 100_000), commands=(_REPLAY,)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """A command at the three sizes of an axis. `start_seconds` is what it takes for next to nothing."""

    axis: str
    command: str
    sizes: tuple[int, ...]
    costs: tuple[Cost, ...]
    start_seconds: float

    @property
    def seconds(self) -> tuple[float, ...]:
        """CPU at each size beyond the start; what is less than can be measured counts as that."""
        return tuple(max(cost.cpu_seconds - self.start_seconds, _LEAST_SECONDS) for cost in self.costs)

    @property
    def times_linear(self) -> float:
        """The growth of the work at the last step, divided by that of the size."""
        *_, before, last = self.seconds
        return last / before / (self.sizes[-1] / self.sizes[-2])


def measure(*, full: bool, rounds: int, axes: tuple[Axis, ...] = AXES) -> Iterator[Growth]:
    """Each command of each axis."""
    for axis in axes:
        sizes = axis.full if full else axis.short
        with tempfile.TemporaryDirectory(prefix="kgroup-") as folder:
            logs = [Path(folder) / str(size) for size in (0, *sizes)]
            for log, size in zip(logs, (0, *sizes), strict=True):
                _write(log, axis.name, size)
            for command in axis.commands:
                start, *costs = (_cheapest(command, log, rounds) for log in logs)
                yield Growth(
                    axis=axis.name,
                    command=" ".join(command).removesuffix(f" --group {group_name(0)}"),
                    sizes=sizes,
                    costs=tuple(costs),
                    start_seconds=start.cpu_seconds,
                )


def _write(log: Path, axis: str, size: int) -> None:
    if axis == BYTES and size:
        make_log(Options(out=log, size=size * 10**6, groups=500))
        return
    count = max(size, 1)
    shapes = {
        BYTES: Shape(),
        "groups": Shape(groups=count),
        "partitions": Shape(partitions=count),
        "members": Shape(members=count, partitions=count, generations=20),
        "generations": Shape(members=3, partitions=3, generations=count),
    }
    write_log(log, shapes[axis])


def _cheapest(command: tuple[str, ...], log: Path, rounds: int) -> Cost:
    costs = [cost_of_kgroup(*command, "-q", str(log)) for _ in range(rounds)]
    return min(costs, key=lambda cost: cost.cpu_seconds)


def table(grown: list[Growth]) -> str:
    """A line for each command and axis."""
    rows = [
        (
            growth.axis,
            growth.command,
            " / ".join(f"{size:,}" for size in growth.sizes),
            " / ".join(f"{seconds:.2f}" for seconds in growth.seconds),
            " / ".join(str(cost.peak_mb) for cost in growth.costs),
            growth.times_linear,
        )
        for growth in grown
    ]
    headers = ("what grows", "command", "sizes", "CPU s beyond its start", "peak MB", "times linear")
    return tabulate(rows, headers=headers, floatfmt=".2f", disable_numparse=[0, 1, 2, 3, 4])


def main() -> None:
    """Read the command line, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to 1 GB, 100,000 groups and so on")
    parser.add_argument("--rounds", type=int, default=2)
    names = [axis.name.split()[0].lower() for axis in AXES]
    parser.add_argument("--only", choices=names, help="one of them")
    given = parser.parse_args()
    axes = tuple(axis for axis in AXES if given.only in (None, axis.name.split()[0].lower()))
    print(table(list(measure(full=given.full, rounds=given.rounds, axes=axes))))


if __name__ == "__main__":
    main()
