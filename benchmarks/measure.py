"""Measure functions in turn, each once per round, so that a noisy minute of the machine hits all."""

import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Name = TypeVar("Name", bound=str)


@dataclass(frozen=True, slots=True)
class Measured:
    """The least CPU seconds of all rounds, and what the function returned."""

    seconds: float
    result: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """The CPU seconds of one core that it took to go through this many bytes and records."""

    seconds: float
    size: int
    records: int

    @property
    def megabytes_per_second(self) -> float:
        """In MB, 10**6 bytes."""
        return self.size / self.seconds / 1e6

    @property
    def records_per_second(self) -> float:
        """The records per second of one core."""
        return self.records / self.seconds

    def times(self, other: "Speed") -> float:
        """The ratio of its speed to the other's, in bytes per second."""
        return self.megabytes_per_second / other.megabytes_per_second


def alternate(functions: Mapping[Name, Callable[[], int]], rounds: int) -> dict[Name, Measured]:
    """Call each function once per round, after a first call that does not count."""
    best: dict[Name, Measured] = {}
    for number in range(rounds + 1):
        for name, function in functions.items():
            start = time.process_time()
            result = function()
            seconds = time.process_time() - start
            if number and (name not in best or seconds < best[name].seconds):
                best[name] = Measured(seconds, result)
    return best


def peak_rss_mb() -> int:
    """The largest resident set of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 10**6 if sys.platform == "darwin" else peak * 1024 // 10**6
