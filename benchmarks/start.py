"""How long kgroup takes to start: `python -m benchmarks.start [--rounds N]`.

`--help` and an offline answer beside a Python that does nothing, in turn, in medians of elapsed time.
"""

import argparse
import statistics
import sys
from dataclasses import dataclass

from benchmarks.process import cost

_CALLS = {
    "nothing_ms": ("-c", "pass"),
    "help_ms": ("-m", "kgroup", "--help"),
    "find_coordinator_ms": ("-m", "kgroup", "find-coordinator", "test-group"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Starts:
    """Medians, in milliseconds."""

    nothing_ms: float
    help_ms: float
    find_coordinator_ms: float


def measure(rounds: int) -> Starts:
    """Start each of them once a round, after a first time that does not count."""
    taken_ms: dict[str, list[float]] = {name: [] for name in _CALLS}
    for number in range(rounds + 1):
        for name, arguments in _CALLS.items():
            elapsed = cost([sys.executable, *arguments]).elapsed_seconds
            if number:
                taken_ms[name].append(elapsed * 1000)
    return Starts(**{name: statistics.median(times) for name, times in taken_ms.items()})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    starts = measure(parser.parse_args().rounds)
    print(f"python -c pass: {starts.nothing_ms:.0f} ms")
    print(f"kgroup --help: {starts.help_ms:.0f} ms")
    print(f"kgroup find-coordinator test-group: {starts.find_coordinator_ms:.0f} ms")


if __name__ == "__main__":
    main()
