"""The pure layout: one table of truths for what draws stills and for the script that zooms in a page."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pytest

from kgroup.report.pages.density import binned, columns_of
from kgroup.report.pages.labels import short_labels
from kgroup.report.pages.ticks import TIME_STEPS_MS, number_ticks, time_ticks
from tests.report.pages.browser import needs_browser
from tests.report.pages.chromium import Chromium, chromium

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
NOON = 1_790_596_800_000  # 2026-09-28T12:00:00Z

DATE = "2026-09-28"
TIME_TICKS: Final = [
    # From, to, at most this many; what is there, from NOON on.
    (NOON, NOON + 3, 4, [(0, "12:00:00.000", DATE), *((ms, f"12:00:00.00{ms}", None) for ms in (1, 2, 3))]),
    (
        NOON + 1,
        NOON + 9 * SECOND,
        5,
        [(n * SECOND, f"12:00:0{n}", DATE if n == 2 else None) for n in (2, 4, 6, 8)],
    ),
    (
        NOON,
        NOON + 65 * SECOND,
        3,
        [(0, "12:00:00", DATE), (30 * SECOND, "12:00:30", None), (MINUTE, "12:01:00", None)],
    ),
    (
        NOON,
        NOON + 5 * MINUTE,
        4,
        [(0, "12:00", DATE), (2 * MINUTE, "12:02", None), (4 * MINUTE, "12:04", None)],
    ),
    (
        NOON + 5 * HOUR,
        NOON + 18 * HOUR,
        4,
        [(6 * HOUR, "18:00", DATE), (12 * HOUR, "00:00", "2026-09-29"), (18 * HOUR, "06:00", None)],
    ),
    (NOON, NOON + 2 * DAY, 3, [(12 * HOUR, "", "2026-09-29"), (36 * HOUR, "", "2026-09-30")]),
    (
        -1500,
        1500,
        4,
        [
            (-1000 - NOON, "23:59:59", "1969-12-31"),
            (-NOON, "00:00:00", "1970-01-01"),
            (1000 - NOON, "00:00:01", None),
        ],
    ),
]
NUMBER_TICKS: Final = [
    (0, 4, [0]),
    (1, 4, [0, 1]),
    (4, 4, [0, 1, 2, 3, 4]),
    (5, 4, [0, 2, 4]),
    (836, 4, [0, 200, 400, 600, 800]),
    (1_000_000, 3, [0, 500_000, 1_000_000]),
]
COLUMNS: Final = [
    # Stays (from, to, owned) seen from 0 to 100 in 10 columns.
    ([(0, 100, 3)], [(0, 9, 3, 1)]),
    ([], []),
    ([(20, 50, 2), (50, 60, 4)], [(2, 4, 2, 1), (5, 5, 4, 1)]),
    ([(10, 15, 2), (15, 20, 4)], [(1, 1, 3, 1)]),  # half of the column each
    ([(10, 15, 6)], [(1, 1, 6, 0.5)]),
    ([(32, 32, 6)], [(3, 3, 6, 0.25)]),  # an instant is seen
    ([(41, 42, 1), (43, 44, 1), (45, 46, 1), (47, 48, 1)], [(4, 4, 1, 0.4)]),  # a storm: paler, and one
    ([(-50, 15, 1), (95, 300, 2)], [(0, 0, 1, 1), (1, 1, 1, 0.5), (9, 9, 2, 0.5)]),
    ([(-50, -20, 1), (101, 300, 2)], []),
    ([(100, 100, 1)], [(9, 9, 1, 0.25)]),
]
BINNED: Final = [
    ([0, 1, 10, 99, 100], "jljjl", 0, 100, 10, [{"j": 1, "l": 1}, {"j": 1}, *[{}] * 7, {"j": 1, "l": 1}]),
    ([-1, 101], "jj", 0, 100, 2, [{}, {}]),
]
TYPED_TIMES: Final = [
    ("12:43", NOON, NOON + HOUR, NOON + 43 * MINUTE),
    ("12:43:10", NOON, NOON + HOUR, NOON + 43 * MINUTE + 10 * SECOND),
    (" 9:05Z ", NOON, NOON + DAY, NOON + 21 * HOUR + 5 * MINUTE),  # on the next day
    ("12:43:10.25", NOON, NOON + HOUR, NOON + 43 * MINUTE + 10_250),
    ("2026-09-28 12:43", NOON, NOON, NOON + 43 * MINUTE),
    ("2026-09-28T12:43:00Z", NOON, NOON, NOON + 43 * MINUTE),
    ("2026-09-28T14:43:00+02:00", NOON, NOON, NOON + 43 * MINUTE),
    ("2026-09-28", NOON, NOON, NOON - 12 * HOUR),
    (str(NOON), 0, 1, NOON),
    *(
        (text, NOON, NOON + DAY, None)
        for text in ("", "24:00", "12:60", "noon", "2026-13-01", "12:43:99", "7")
    ),
]
PLACES: Final = [(9, -1), (10, 0), (20, 2), (25, 2), (31, 3)]
SPANS: Final = [(7, "7ms"), (1500, "1.5s"), (90_000, "1m 30s"), (DAY + HOUR, "1d 1h")]
CLOCKS: Final = [(0, "2026-09-28 12:00:00"), (5, "2026-09-28 12:00:00.005")]
FITTED: Final = [("abcdef", 6, "abcdef"), ("abcdef", 4, "…def"), ("abcdef", 0, "…")]


@pytest.mark.parametrize(("begin", "end", "most", "ticks"), TIME_TICKS)
def test_ticks_of_time_are_round_and_say_where_the_date_changes(begin, end, most, ticks):
    assert time_ticks(begin, end, most) == [(NOON + at, label, date) for at, label, date in ticks]


@pytest.mark.parametrize(("largest", "most", "ticks"), NUMBER_TICKS)
def test_ticks_of_numbers_are_round(largest, most, ticks):
    assert number_ticks(largest, most) == ticks


@pytest.mark.parametrize("span_ms", [1, 999, 7 * SECOND, 61 * MINUTE, 25 * HOUR, 400 * DAY, 10**15, 10**19])
@pytest.mark.parametrize("most", [2, 8, 20])
def test_there_are_never_more_ticks_than_have_room(span_ms, most):
    assert len(time_ticks(NOON, NOON + span_ms, most)) <= most


def test_steps_rise_and_those_below_a_day_meet_at_midnight():
    assert list(TIME_STEPS_MS) == sorted(set(TIME_STEPS_MS))
    assert [step for step in TIME_STEPS_MS if step < DAY and DAY % step] == []


@pytest.mark.parametrize(("stays", "columns"), COLUMNS)
def test_columns_are_what_was_there_on_average(stays, columns):
    assert columns_of(stays, 0, 100, 10) == columns


@pytest.mark.parametrize(("times", "kinds", "begin", "end", "bins", "counts"), BINNED)
def test_bins_count_by_kind(times, kinds, begin, end, bins, counts):
    assert binned(times, kinds, begin, end, bins) == counts


CLIENTS = [f"consumer-orders-processor-eu-west-1-{number}" for number in range(120)]


@pytest.mark.parametrize(
    ("names", "letters", "shown", "begin", "end"),
    [
        (["c1", "c2"], 24, ("c1", "c2"), "", ""),  # there is room
        (CLIENTS, 24, tuple(f"…{n}" for n in range(120)), "consumer-orders-processor-eu-west-1-", ""),
        (["somebodys-host-10", "somebodys-host-11"], 12, ("…10", "…11"), "somebodys-host-", ""),
        (["a.group.example.com", "b.group.example.com"], 16, ("a…", "b…"), "", ".group.example.com"),
        (["one-very-long-name-of-a-member"], 12, ("…of-a-member",), "", ""),
        (["x-0123456789abcdef", "y-0123456789abcdef"], 10, ("x…", "y…"), "", "-0123456789abcdef"),
        # Where there is no separator, and where nothing short differs.
        (["x0123456789abcdef", "y0123456789abcdef"], 10, ("x012…bcdef", "y012…bcdef"), "", ""),
        (["0" * 20 + "x" + "1" * 20, "0" * 20 + "y" + "1" * 20], 10, ("…1111111 1", "…1111111 2"), "", ""),
        (["same", "same"], 24, ("same", "same"), "", ""),
        ([], 24, (), "", ""),
    ],
)
def test_labels_drop_what_all_have_in_common_and_keep_the_end(names, letters, shown, begin, end):
    labels = short_labels(names, letters)
    assert labels == (shown, begin, end)
    assert all(len(label) <= letters for label in labels.names)
    assert len(set(labels.names)) == len(set(names))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@needs_browser
def test_the_script_of_the_page_lays_out_alike(browser: Chromium, tmp_path: Path) -> None:
    calls: list[tuple[str, list[Any], Any]] = [
        ("timeTicks", [TIME_STEPS_MS, begin, end, most], [[NOON + at, *rest] for at, *rest in ticks])
        for begin, end, most, ticks in TIME_TICKS
    ]
    calls += [("numberTicks", [largest, most], ticks) for largest, most, ticks in NUMBER_TICKS]
    calls += [("columnsOf", [stays, 0, 100, 10], [list(one) for one in seen]) for stays, seen in COLUMNS]
    calls += [
        ("binned", [times, list(kinds), begin, end, bins], counts)
        for times, kinds, begin, end, bins, counts in BINNED
    ]
    calls += [("typedTime", [text, begin, end], said) for text, begin, end, said in TYPED_TIMES]
    calls += [("placeAt", [[10, 20, 20, 30], at], place) for at, place in PLACES]
    calls += [("span", [ms], said) for ms, said in SPANS]
    calls += [("clock", [NOON + ms], said) for ms, said in CLOCKS]
    script = files("kgroup.report.pages").joinpath("layout.js").read_text()
    page = tmp_path / "page.html"
    page.write_text(f"<script>{script}</script>")
    tab = browser.open(page, width=800, height=600, scheme="light")
    for function, arguments, answer in calls:
        said = tab.value(f"{function}(...{json.dumps(arguments)})")
        assert said == answer, (function, arguments)
    for text, width, fitted in FITTED:
        assert tab.value(f"fitted({json.dumps(text)}, {width}, text => text.length)") == fitted
    assert tab.troubles() == []
