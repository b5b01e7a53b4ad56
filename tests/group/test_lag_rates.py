"""Rates of writing and reading, and time to drain."""

import pytest

from kgroup.group.lag_rates import LagRates, lag_rates
from tests.group.windows import window

READ_10_PER_S = [(20, 100, None), (10, 200, None)]


@pytest.mark.parametrize(
    ("commits", "heads", "rates"),
    [
        (READ_10_PER_S, [(20, 400), (0, 480)], (4, 10, -6, 46_667)),  # 280 unread
        (READ_10_PER_S, [(20, 280), (0, 480)], (10, 10, 0, None)),  # keeps pace, and never gets there
        (READ_10_PER_S, [(20, 0), (0, 480)], (24, 10, 14, None)),
        (READ_10_PER_S, [(0, 480)], (None, 10, None, None)),
        (READ_10_PER_S, [(0, 200)], (None, 10, None, 0)),
        ([(20, 100, None)], [(20, 400), (0, 480)], (4, None, None, None)),
        ([(20, 100, None), (20, 200, None)], [(20, 400), (0, 480)], (4, None, None, None)),
        ([(20, 200, None), (10, 100, None)], [(20, 480), (0, 480)], (0, -10, 10, None)),  # rewound
        ([], [(20, 400), (0, 480)], (4, None, None, None)),
    ],
)
def test_rates(commits, heads, rates):
    written, read, growth, drain_ms = rates
    assert lag_rates(window(*commits, heads=heads), heads[-1][1]) == LagRates(
        written_per_s=written, read_per_s=read, growth_per_s=growth, drain_ms=drain_ms
    )
