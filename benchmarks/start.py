"""Time kgroup takes to start: `python -m benchmarks.start [--rounds N]`.

`--help`, answers without a log and answers about a small one, beside a Python that does nothing, in turn:
medians of elapsed time. Modules are there as bytecode, as an install leaves them, in a folder of its own.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

from benchmarks.process import cost

_LIVES: Final = str(Path(__file__).parents[1] / "fixtures" / "4.3.1" / "lives")


class Start(StrEnum):
    """The command line to start, without `kgroup`."""

    NOTHING = "python -c pass"
    HELP = "--help"
    FIND_COORDINATOR = "find-coordinator"
    LAG_REPORT = "lag-report"
    REPLAY = "replay"
    DECODE = "decode"


_CALLS: Final = {
    Start.NOTHING: ("-c", "pass"),
    Start.HELP: ("-m", "kgroup", "--help"),
    Start.FIND_COORDINATOR: ("-m", "kgroup", "find-coordinator", "test-group"),
    Start.LAG_REPORT: ("-m", "kgroup", "lag-report", "-q", _LIVES),
    Start.REPLAY: ("-m", "kgroup", "replay", "-q", "--group", "orders-app", _LIVES),
    Start.DECODE: ("-m", "kgroup", "decode", "-q", _LIVES),
}

Starts = dict[Start, float]
"""Medians, in milliseconds."""


def measure(rounds: int) -> Starts:
    """Start each of them once a round, after a first time that does not count."""
    taken_ms: dict[Start, list[float]] = {start: [] for start in Start}
    with _bytecode():
        for number in range(rounds + 1):
            for start, arguments in _CALLS.items():
                elapsed = cost([sys.executable, *arguments]).elapsed_seconds
                if number:
                    taken_ms[start].append(elapsed * 1000)
    return {start: statistics.median(times) for start, times in taken_ms.items()}


@contextmanager
def _bytecode() -> Iterator[None]:
    """Have started Pythons keep bytecode, whatever the surroundings say, and not in the source tree."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def times(starts: Starts, start: Start) -> float:
    """The ratio of its time to that of a Python that does nothing."""
    return starts[start] / starts[Start.NOTHING]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    starts = measure(parser.parse_args().rounds)
    for start, milliseconds in starts.items():
        name = start if start is Start.NOTHING else f"kgroup {start}"
        print(f"{name}: {milliseconds:.0f} ms, {times(starts, start):.1f} times")


if __name__ == "__main__":
    main()
