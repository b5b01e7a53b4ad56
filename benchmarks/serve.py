"""Load that `kgroup serve` takes: `python -m benchmarks.serve [--members N,...] [--beside HOST:PORT]`.

One node in memory, in a process of its own, under the load of `fixtures/conformance/rebalance_bench.py`,
whose figures for Kafka 4.3.1 on a quiet machine of two cores (`anchors.json`) stand beside it. The client is
one Python thread and wants a core, so figures of a machine with others on it say little. With `--beside`,
another broker takes the same load in the same minutes, round by round. Groups of the consumer protocol are
measured by `benchmarks.serve_consumer`; for these there are no recorded figures of Kafka.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from benchmarks.serve_consumer import figures as consumer_figures

CONFORMANCE = Path(__file__).parents[1] / "fixtures" / "conformance"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A median: `unit` is seconds or requests per second; `kafka` is None where it was not measured."""

    name: str
    unit: str
    value: float
    kafka: float | None


def measure(
    members: Sequence[int], repeat: int, seconds: float, *, beside: str | None = None
) -> dict[str, Load]:
    """The figures by name: for groups of each number of members, and for commits and fetches.

    Kafka's are those of a broker at the address `beside`, which takes the same load in turn; without one
    those that were recorded.
    """
    if beside is not None:
        loads = (
            Load(name=name, unit=unit, value=ours, kafka=theirs)
            for name, ours, theirs, unit in measure_beside(beside, members, repeat, seconds)
        )
        return {load.name: load for load in loads}
    anchors = json.loads((CONFORMANCE / "anchors.json").read_text(encoding="utf-8"))["quiet"]["4.3.1"]
    with serving() as bootstrap:
        figures = _figures(bootstrap, members, repeat, seconds)
    return {
        name: Load(
            name=name,
            unit=figure["unit"],
            value=figure["median"],
            kafka=anchors[name]["median"] if name in anchors else None,
        )
        for name, figure in figures.items()
    }


def measure_beside(
    beside: str, members: Sequence[int], repeat: int, seconds: float
) -> Iterator[tuple[str, float, float, str]]:
    """Each figure's name, ours, that of the broker at the address `beside`, the unit: medians of rounds."""
    rounds: list[list[dict[str, Any]]] = []
    with serving() as bootstrap:
        for _ in range(repeat):
            rounds.append([_figures(address, members, 1, seconds) for address in (bootstrap, beside)])
    for name, figure in rounds[0][0].items():
        ours, theirs = (
            statistics.median(of_round[side][name]["median"] for of_round in rounds) for side in (0, 1)
        )
        yield name, ours, theirs, figure["unit"]


def _figures(bootstrap: str, members: Sequence[int], repeat: int, seconds: float) -> dict[str, Any]:
    with tempfile.NamedTemporaryFile(suffix=".json") as answer:
        command = [sys.executable, str(CONFORMANCE / "rebalance_bench.py"), "--bootstrap", bootstrap]
        command += ["--members", ",".join(map(str, members)), "--repeat", str(repeat)]
        command += ["--seconds", str(seconds), "--quiet", "--json", answer.name]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        figures: dict[str, Any] = json.loads(Path(answer.name).read_text(encoding="utf-8"))
    rounds = [asyncio.run(consumer_figures(bootstrap, members, seconds)) for _ in range(repeat)]
    for name, (_, unit) in rounds[0].items():
        figures[name] = {"unit": unit, "median": statistics.median(each[name][0] for each in rounds)}
    return figures


@contextmanager
def serving() -> Iterator[str]:
    """The address of a node that lives as long as the block."""
    command = [sys.executable, "-m", "kgroup", "serve", "--listen", "127.0.0.1:0"]
    command += ["--property", "group.initial.rebalance.delay.ms=0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            ready, _, bootstrap = process.stdout.readline().strip().partition(" ")
            assert ready == "ready", f"kgroup serve said {ready!r}"
            yield bootstrap
        finally:
            process.terminate()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve", description=__doc__)
    parser.add_argument("--members", default="10,100,500,1000", metavar="N,...")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--beside", metavar="HOST:PORT", help="another broker, measured in the same minutes")
    given = parser.parse_args()
    members = [int(count) for count in given.members.split(",")]
    if given.beside is not None:
        beside = [
            (name, ours, theirs, (theirs / ours if unit == "s" else ours / theirs), unit)
            for name, ours, theirs, unit in measure_beside(given.beside, members, given.repeat, given.seconds)
        ]
        print(tabulate(beside, headers=("", "kgroup", given.beside, "times as fast", "unit"), floatfmt=".4g"))
        return
    loads = measure(members, given.repeat, given.seconds)
    rows = [(load.name, load.value, load.kafka, load.unit) for load in loads.values()]
    print(tabulate(rows, headers=("", "kgroup", "Kafka 4.3.1", "unit"), floatfmt=".4g", missingval="-"))


if __name__ == "__main__":
    main()
