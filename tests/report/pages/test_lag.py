"""Lag on the page in a real browser, and what is in it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kgroup.lag.measures.over_time import GroupLags, PastOffset, lag_over_time
from kgroup.report.pages.lag import LagNow, TimeAxis
from kgroup.report.pages.page import GroupPage, write_group_pages
from tests.report.pages.browser import data_of, in_browser, needs_browser

BEGIN_MS = 1_700_000_000_000  # 2023-11-14 22:13:20
NOW = {
    "slow": LagNow(kind="classic", state="Stable", lag=130, unknown=0, lags={("orders", 0): 130}),
    "fast": LagNow(kind="consumer", state="Empty", lag=1, unknown=2, lags={("orders", 0): 1}),
}


def two_groups() -> list[GroupLags]:
    """slow stays at 10 of a log whose length is known in window 0 and 2; fast reads on."""
    offsets = [PastOffset("slow", "orders", 0, window, 10, lag) for window, lag in enumerate((30, None, 130))]
    offsets += [
        PastOffset("fast", "orders", 0, window, offset, None) for window, offset in ((0, 39), (1, 90))
    ]
    return lag_over_time(offsets, 3, {("orders", 0): 140})


def axis(count: int, step_ms: int = 60_000) -> TimeAxis:
    return TimeAxis(start_ms=BEGIN_MS, step_ms=step_ms, count=count, end_ms=BEGIN_MS + count * step_ms)


def write_lags(groups: Sequence[GroupLags], now: Mapping[str, LagNow], of: TimeAxis, page: Path) -> None:
    pages = [GroupPage(group=one.group, now=now.get(one.group), lags=one) for one in groups]
    write_group_pages(pages, page, axis=of)


def test_the_data_are_the_lines_and_where_they_are_only_a_bound(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_lags(two_groups(), NOW, axis(3), page)
    fast, slow = data_of(page)["groups"]
    assert {name: slow[name] for name in ("group", "kind", "state", "now", "unknown")} == {
        "group": "slow",
        "kind": "classic",
        "state": "Stable",
        "now": 130,
        "unknown": 0,
    }
    assert slow["lag"] == {
        "total": {"lags": [30, 80, 130], "least": "010"},
        "highest": 130,
        "lines": [{"name": "orders 0", "lags": [30, 80, 130], "least": "010"}],
        "partitions": [["orders", 0, 130, 130, 130, False]],
    }
    assert fast["lag"]["total"] == {"lags": [0, 0, None], "least": "110"}


def test_no_lag_of_now_is_higher_than_the_highest_seen(tmp_path: Path) -> None:
    """Of now the log's end is known, of the past only how far others had read."""
    page = tmp_path / "page.html"
    now = {"slow": LagNow(kind="classic", state="Stable", lag=191, unknown=0, lags={("orders", 0): 191})}
    write_lags(two_groups(), now, axis(3), page)
    slow = data_of(page)["groups"][1]
    assert (slow["now"], slow["lag"]["highest"]) == (191, 191)
    assert slow["lag"]["partitions"] == [["orders", 0, 191, 130, 191, False]]


def test_a_lag_that_nobody_knows_is_none_and_never_0(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    offsets = [PastOffset("g", "t", 0, window, 10, None) for window in range(2)]
    now = {"g": LagNow(kind="classic", state="Stable", lag=None, unknown=1, lags={("t", 0): None})}
    write_lags(lag_over_time(offsets, 2, {}), now, axis(2), page)
    (group,) = data_of(page)["groups"]
    assert group["lag"]["total"] == {"lags": [None, None], "least": "11"}
    assert group["lag"]["highest"] is None
    assert group["lag"]["partitions"] == [["t", 0, None, None, None, True]]


def test_of_many_partitions_the_worst_have_lines_and_all_have_numbers(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    offsets = [PastOffset("g", "t", partition, 0, 0, partition) for partition in range(20)]
    write_lags(lag_over_time(offsets, 1, {}), {}, axis(1), page)
    (group,) = data_of(page)["groups"]
    names = [line["name"] for line in group["lag"]["lines"]]
    assert names == [f"t {partition}" for partition in range(19, 13, -1)]
    assert len(group["lag"]["partitions"]) == 20


def test_a_page_of_thousands_of_groups_stays_small(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    offsets = (
        PastOffset(f"group-{group}", "t", partition, window, 0, 1_000_000)
        for group in range(2000)
        for partition in range(4)
        for window in range(24)
    )
    write_lags(lag_over_time(offsets, 24, {}), {}, axis(24), page)
    assert page.stat().st_size < 6e6


def test_names_cannot_end_the_script(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    name = "</script><script>alert(1)//"
    write_lags(lag_over_time([PastOffset(name, name, 0, 0, 0, 1)], 1, {}), {}, axis(1), page)
    assert len(re.findall("<script", page.read_text())) == 1
    assert data_of(page)["groups"][0]["group"] == name


@needs_browser
def test_the_page_lists_the_groups_and_shows_the_one_that_lags_most(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_lags(two_groups(), NOW, axis(3), page)
    document = in_browser(page)
    assert 'data-ready="yes"' in document
    assert "2 groups, 2023-11-14 22:13:20 to 2023-11-14 22:16:20 UTC, lag every 1m 0s" in document
    assert re.findall(r'data-group="(\w+)"', document) == ["slow", "fast"]
    assert '<h2 id="group">slow</h2>' in document
    assert "classic, Stable; lag now 130, highest seen 130" in document


@needs_browser
def test_a_time_says_whether_its_number_is_all_or_a_bound(tmp_path: Path) -> None:
    """At 22:15:10 the lag is that at the end of the second minute."""
    page = tmp_path / "page.html"
    write_lags(two_groups(), NOW, axis(3), page)
    document = in_browser(page, "#group=slow&at=22:15:10&theme=dark", width=390)
    assert "2023-11-14 22:15:10 UTC<span>: lag at least 80" in document
    document = in_browser(page, "#group=fast&at=22:14")
    assert "UTC<span>: lag unknown" in document  # that it was 0 or more goes without saying
    document = in_browser(page, "#group=fast&at=22:16")
    assert "lag now 1 (2 partitions unknown)" in document
    assert "lag no commit" in document


@needs_browser
def test_of_a_time_in_the_past_it_says_the_lag_at_the_end_and_how_sure_that_is(tmp_path: Path) -> None:
    """No state and no lag of now: the log goes on behind the page."""
    page = tmp_path / "page.html"
    offsets = [PastOffset("slow", "orders", 0, 0, 10, 30), PastOffset("slow", "orders", 0, 1, 10, None)]
    offsets += [PastOffset("fast", "orders", 0, 1, 90, None)]
    write_lags(lag_over_time(offsets, 2, {("orders", 0): 140}), {}, axis(2), page)
    document = in_browser(page, "#group=slow")
    assert '<p class="soft" id="about">lag at the end at least 80, highest seen 80' in document
    assert "The dot at the end" not in document.partition("</section>")[0]


@needs_browser
def test_a_log_without_groups_has_a_page_too(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_lags([], {}, axis(1), page)
    assert "No group has committed anything." in in_browser(page)
