"""Measure functions in turn, each once per round, so that a noisy minute of the machine hits all."""

import resource
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """The least CPU seconds of all rounds, and what the function returned."""

    seconds: float
    result: int


def alternate(functions: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, Measured]:
    """Call each function once per round, after a first call that does not count."""
    best: dict[str, Measured] = {}
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
