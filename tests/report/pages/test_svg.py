"""The curve of lag in a still: what is known, what is a bound, and what is unknown."""

import re

from kgroup.report.pages.svg import Plot

PLOT = Plot(left=100, width=90, from_ms=0, to_ms=9)


def drawn(lags: list[int | None], at_least: str = "") -> tuple[list[str], list[str], list[str]]:
    """The paths of what is known, of bounds, and of areas, of lags from 1 ms on."""
    least = [mark == "1" for mark in at_least.ljust(len(lags), "0")]
    parts = [part for part in PLOT.curve(range(1, len(lags) + 1), lags, least, 0, 48) if "<path" in part]
    paths = [(part, re.findall(' d="([^"]*)"', part)[0]) for part in parts if "grid" not in part]
    known = [path for part, path in paths if "curve" in part and "dash" not in part]
    bounds = [path for part, path in paths if "dash" in part]
    return known, bounds, [path for part, path in paths if 'class="none"' in part]


def test_what_is_known_is_a_line():
    assert drawn([0, 4, 2]) == (["M109.0 48.0h2M110.0 48.0L120.0 8.0L130.0 28.0"], [], [])


def test_where_nothing_is_committed_there_is_a_gap():
    assert drawn([4, None, None, 4, 0]) == (["M109.0 8.0h2M139.0 8.0h2M140.0 8.0L150.0 48.0"], [], [])


def test_above_a_bound_is_what_it_may_have_been():
    known, bounds, areas = drawn([4, 2, 2], "011")
    assert known == ["M109.0 8.0h2"]
    assert bounds == ["M110.0 8.0L120.0 28.0L130.0 28.0"]
    assert areas == ["M110.0 8V28.0L120.0 28.0L130.0 28.0L130.0 8Z"]


def test_a_bound_of_0_is_no_line_but_all_that_it_may_have_been():
    _, bounds, areas = drawn([4, 0, 0], "011")
    assert bounds == ["M110.0 8.0L120.0 48.0"]
    assert areas == ["M110.0 8V48.0L120.0 48.0L130.0 48.0L130.0 8Z"]
    assert drawn([0, 0], "11")[:2] == ([], [])


def test_a_commit_in_a_log_of_unknown_length_is_all_that_it_may_have_been():
    known, bounds, areas = drawn([4, None, 4], "010")
    assert known == ["M109.0 8.0h2M129.0 8.0h2"]
    assert bounds == []
    assert areas == ["M110.0 8V48.0L120.0 48.0L120.0 8Z"]


def test_an_axis_of_numbers_has_round_ticks_with_units():
    texts = re.findall(">([^<]+)</text>", "".join(PLOT.curve([1, 2], [0, 3_400_000], [False] * 2, 0, 48)))
    assert texts == ["0", "1M", "2M", "3M"]
    texts = re.findall(">([^<]+)</text>", "".join(PLOT.curve([1, 2], [0, 7_000], [False] * 2, 0, 48)))
    assert texts == ["0", "2k", "4k", "6k"]
