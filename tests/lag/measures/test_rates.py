"""Rates of writing and reading, and time to drain."""

import pytest

from kgroup.lag.measures.rates import LagRates, lag_rates
from tests.lag.windows import window

READ_100 = [(20, 100, None), (10, 200, None)]


@pytest.mark.parametrize(
    ("commits", "heads", "rates"),
    [
        # Over the 20 s that both are known: 100 read.
        (READ_100, [(20, 400), (0, 480)], (4, 5, -1, 280_000)),  # 280 unread
        (READ_100, [(20, 380), (0, 480)], (5, 5, 0, None)),  # keeps pace, and never gets there
        (READ_100, [(20, 0), (0, 480)], (24, 5, 19, None)),
        # The 10 s before the first log end do not count.
        ([(20, 100, None), (10, 200, None), (5, 250, None)], [(10, 300), (0, 400)], (10, 5, 5, None)),
        # It stopped in the middle: what it read before is spread over all the time.
        ([(100, 0, None), (50, 500, None)], [(100, 0), (0, 500)], (5, 5, 0, 0)),
        (READ_100, [(0, 480)], (None, 10, None, None)),
        (READ_100, [(0, 200)], (None, 10, None, 0)),
        ([(20, 100, None)], [(20, 400), (0, 480)], (4, None, None, None)),
        ([(20, 100, None), (20, 200, None)], [(20, 400), (0, 480)], (4, 0, 4, None)),
        ([(20, 200, None), (10, 100, None)], [(20, 480), (0, 480)], (0, -5, 5, None)),  # rewound
        ([], [(20, 400), (0, 480)], (4, None, None, None)),
    ],
)
def test_rates(commits, heads, rates):
    written, read, growth, drain_ms = rates
    assert lag_rates(window(*commits, heads=heads), heads[-1][1]) == LagRates(
        written_per_s=written, read_per_s=read, growth_per_s=growth, drain_ms=drain_ms
    )
