"""How a number goes on: the line through what was seen, and a spread that grows."""

from math import sqrt

import pytest

from kgroup.lag.deadlines.drift import At, Drift


def steps(*values: float, each_ms: int = 1000) -> list[At]:
    return [At(number * each_ms, value) for number, value in enumerate(values)]


def test_a_straight_line_goes_on_without_any_spread() -> None:
    drift = Drift.of(steps(0, 10, 20, 30))
    assert drift.mean(13_000) == pytest.approx(130)
    assert drift.spread(13_000) == pytest.approx(0)


def test_the_spread_is_of_steps_and_of_the_drift_that_they_are_from() -> None:
    """Steps of 20 and 0 in turn: as far from 10 by 10 each, over a past of 4 s."""
    drift = Drift.of(steps(0, 20, 20, 40, 40))
    assert drift.mean(6_000) == pytest.approx(60)
    variance = 4 * 10**2 / 3 / 1000  # four steps, of which the mean is known
    jitter = sqrt((0 + 10**2 + 0 + 10**2 + 0) / 5)
    assert drift.jitter == pytest.approx(jitter)
    assert drift.spread(4_000) == pytest.approx(jitter)
    assert drift.spread(6_000) == pytest.approx(sqrt(jitter**2 + variance * 2_000 * (1 + 2_000 / 4_000)))


def test_bursts_that_last_spread_further_than_single_steps() -> None:
    bursts = Drift.of(steps(0, 20, 40, 60, 80, 80, 80, 80, 80, 100, 120, 140, 160, 160, 160, 160, 160))
    single = Drift.of(steps(0, 20, 20, 40, 40, 60, 60, 80, 80, 100, 100, 120, 120, 140, 140, 160, 160))
    assert bursts.rate == single.rate
    assert bursts.variance > 2 * single.variance


def test_what_stands_still_stays() -> None:
    drift = Drift.still(At(5_000, 70))
    assert (drift.mean(90_000), drift.spread(90_000)) == (70, 0)
