"""Extrapolates a number observed at some times: a straight line, and a spread that grows with time.

The spread is that of a random walk with drift: of its steps, and of the drift, which was itself only
estimated, from a past of some length. Steps are looked at in blocks, as bursts and pauses last for several.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Final, NamedTuple

_BLOCKS: Final = 4  # a variance takes this many


class At(NamedTuple):
    """A value at a time, in ms."""

    at_ms: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """`level` at `at_ms`, growing by `rate` a ms. `jitter` is the deviation of single values from the line.

    `variance` is of the steps, a ms; `span_ms` is how long the past is that the rate is from.
    """

    at_ms: int
    level: float
    rate: float
    jitter: float
    variance: float
    span_ms: int

    @classmethod
    def of(cls, points: Sequence[At]) -> "Drift":
        """The drift of three or more values with ascending times."""
        first, last = points[0], points[-1]
        span_ms = max(last.at_ms - first.at_ms, 1)
        rate = (last.value - first.value) / span_ms
        rest = [point.value - first.value - rate * (point.at_ms - first.at_ms) for point in points]
        jitter = sqrt(sum(each * each for each in rest) / len(rest))
        steps = [(b.at_ms - a.at_ms, b.value - a.value) for a, b in pairwise(points)]
        return cls(
            at_ms=last.at_ms,
            level=last.value,
            rate=rate,
            jitter=jitter,
            variance=max(_variance(steps, rate, size) for size in _sizes(len(steps))),
            span_ms=span_ms,
        )

    @classmethod
    def still(cls, at: At) -> "Drift":
        """A value that does not change any more."""
        return cls(at_ms=at.at_ms, level=at.value, rate=0.0, jitter=0.0, variance=0.0, span_ms=1)

    def mean(self, at_ms: int) -> float:
        """The value on the line."""
        return self.level + self.rate * (at_ms - self.at_ms)

    def spread(self, at_ms: int) -> float:
        """The deviation from the line at a later time."""
        ahead_ms = max(at_ms - self.at_ms, 0)
        return sqrt(self.jitter**2 + self.variance * ahead_ms * (1 + ahead_ms / self.span_ms))


def _sizes(steps: int) -> list[int]:
    sizes, size = [1], 2
    while steps // size >= _BLOCKS:
        sizes.append(size)
        size *= 2
    return sizes


def _variance(steps: Sequence[tuple[int, float]], rate: float, size: int) -> float:
    """The variance of blocks of `size` steps, per ms."""
    blocks = [steps[start : start + size] for start in range(0, len(steps) - size + 1, size)]
    lengths_ms = [sum(ms for ms, _ in block) for block in blocks]
    rest = [sum(step for _, step in block) - rate * ms for block, ms in zip(blocks, lengths_ms, strict=True)]
    free = max(len(blocks) - 1, 1)
    return sum(each * each for each in rest) / free / max(sum(lengths_ms) / len(blocks), 1.0)
