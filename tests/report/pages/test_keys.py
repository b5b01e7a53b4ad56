"""The page by hand: keys alone reach all of it, and its tables say what its pictures show."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgroup.report.pages.page import GroupPage, write_group_pages
from tests.history.group_log import GROUP, GroupLog, member
from tests.report.pages.browser import needs_browser
from tests.report.pages.chromium import Chromium, Tab, chromium
from tests.report.pages.test_lag import NOW, axis, two_groups, write_lags

pytestmark = needs_browser

# What a key says of itself where it is no letter.
CODES = {
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Enter": 13,
    "Escape": 27,
    "Tab": 9,
    "Home": 36,
    "End": 35,
}
SHIFT = 8
# Until what follows a change has been drawn.
FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
ENTERED = {"button", "textbox", "combobox", "checkbox"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def tab(browser: Chromium, tmp_path: Path) -> Tab:
    """A minute of two members, of which one comes late and goes again, and an offset reset in between."""
    log = GroupLog()
    log.generation(0, 1, member("one", 0, 1, 2))
    log.commit(1, 0, 500)
    log.generation(10, 2, member("one", 0), member("two", 1, 2))
    log.generation(40, 3, member("one", 0, 1, 2))
    log.generation(50, 4)
    log.commit(55, 0, 10)
    log.commit(60, 0, 20)
    timeline = log.timeline()
    page = tmp_path / "page.html"
    write_group_pages([GroupPage(group=GROUP, timeline=timeline)], page)
    return browser.open(page, width=1280, height=900, scheme="light")


def press(tab: Tab, *keys: str, shift: bool = False) -> None:
    for key in keys:
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"windowsVirtualKeyCode": CODES[key]} if key in CODES else {}
        of_both = {"key": key, "modifiers": SHIFT if shift else 0, **code}
        tab.call("Input.dispatchKeyEvent", type="keyDown", **of_both, **text)
        tab.call("Input.dispatchKeyEvent", type="keyUp", **of_both)


def focused(tab: Tab) -> str:
    return str(tab.value("document.activeElement.id"))


def to_timeline(tab: Tab) -> None:
    """As a reader without a mouse gets there."""
    for _ in range(12):
        press(tab, "Tab")
        if focused(tab) == "view":
            return
    pytest.fail("Tab does not reach the timeline")


def detail(tab: Tab) -> str:
    return str(tab.value("document.getElementById('detail').innerText"))


def shown(tab: Tab) -> str:
    return str(tab.value("document.getElementById('said').textContent"))


def test_arrows_go_from_event_to_event(tab: Tab) -> None:
    to_timeline(tab)
    press(tab, "ArrowRight")
    assert detail(tab).startswith("1970-01-01 00:00:00 UTC\nGeneration 1 from")
    press(tab, "ArrowRight")
    assert detail(tab).startswith("1970-01-01 00:00:10 UTC\nGeneration 2 from 1970-01-01 00:00:10, for 30s")
    assert "two joined" in detail(tab)
    press(tab, "End")
    assert "offset-reset" in detail(tab)
    press(tab, "ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert "Generation 3" in detail(tab)
    press(tab, "Home")
    assert "Generation 1" in detail(tab)
    press(tab, "Escape")
    assert detail(tab).startswith("Point at the timeline")
    assert tab.troubles() == []


def test_arrows_choose_a_member_and_name_what_it_owned(tab: Tab) -> None:
    to_timeline(tab)
    press(tab, "ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown")
    assert "two on 10.0.0.1: 2 partitions: t:1-2" in detail(tab)
    press(tab, "ArrowUp")
    assert "one on 10.0.0.1: 1 partition: t:0; leads" in detail(tab)
    press(tab, "ArrowDown", "ArrowLeft")
    assert "two on 10.0.0.1: not in the group" in detail(tab)


def test_keys_zoom_about_the_cursor_and_move_the_view(tab: Tab) -> None:
    to_timeline(tab)
    everything = shown(tab)
    assert everything == "1970-01-01 00:00:00 to 1970-01-01 00:01:03 UTC"
    press(tab, "+")
    assert shown(tab) == "1970-01-01 00:00:15.750 to 1970-01-01 00:00:47.250 UTC"
    press(tab, "ArrowRight", shift=True)
    assert shown(tab) == "1970-01-01 00:00:23.625 to 1970-01-01 00:00:55.125 UTC"
    press(tab, "ArrowRight")
    assert "Generation 3" in detail(tab)
    press(tab, "0")
    assert shown(tab) == everything
    for _ in range(40):
        press(tab, "+")
    assert shown(tab) == "1970-01-01 00:00:39.987 to 1970-01-01 00:00:40.007 UTC"
    press(tab, "-", "0")
    assert shown(tab) == everything


def test_g_goes_to_a_time(tab: Tab) -> None:
    to_timeline(tab)
    press(tab, "g")
    assert focused(tab) == "time"
    press(tab, *"00:00:45", "Enter")
    assert focused(tab) == "view"
    assert detail(tab).startswith("1970-01-01 00:00:45 UTC\nGeneration 3")
    assert shown(tab) == "1970-01-01 00:00:41.063 to 1970-01-01 00:00:48.938 UTC"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("noon", "noon: no time; 12:43, 12:43:10 or 2026-11-20T12:43Z"),
        (
            "12:43",
            "1970-01-01 12:43:00 is not on this page: it shows 1970-01-01 00:00:00 to 1970-01-01 00:01:03",
        ),
    ],
)
def test_what_is_no_time_of_the_page_is_said(tab: Tab, typed: str, said: str) -> None:
    to_timeline(tab)
    press(tab, "g", *typed, "Enter")
    assert shown(tab) == said
    assert detail(tab).startswith("Point at the timeline")


def rows_of(tab: Tab, name: str) -> list[list[str]]:
    """The table of that name, opened by a key."""
    summary = f"[...document.querySelectorAll('summary')].find(one => one.textContent.startsWith('{name} ('))"
    tab.value(f"{summary}.focus()")
    if not tab.value(f"{summary}.parentElement.open"):
        press(tab, "Enter")
    tab.value(FRAMES)
    cells = "row => [...row.cells].map(cell => cell.innerText)"
    rows: Any = tab.value(f"[...{summary}.parentElement.querySelectorAll('tr')].map({cells})")
    return list(rows)


def test_tables_have_all_that_is_drawn(tab: Tab) -> None:
    _, *generations = rows_of(tab, "Rebalances")
    assert [row[:5] for row in generations] == [
        ["1", "1970-01-01 00:00:00", "1", "0", "1"],
        ["2", "1970-01-01 00:00:10", "2", "2", "0"],
        ["3", "1970-01-01 00:00:40", "1", "2", "0"],
        ["4", "1970-01-01 00:00:50", "0", "0", "2"],
    ]
    assert generations[1][6] == "two"
    assert "two joined" in generations[1][7]
    _, *stays = rows_of(tab, "Members and what they owned")
    at = "1970-01-01 00:00:"
    assert stays == [
        ["one", "10.0.0.1", f"{at}00", f"{at}10", "1", "3", "t:0-2", "one-id"],
        ["one", "10.0.0.1", f"{at}10", f"{at}40", "2", "1", "t:0", "one-id"],
        ["two", "10.0.0.1", f"{at}10", f"{at}40", "2", "2", "t:1-2", "two-id"],
        ["one", "10.0.0.1", f"{at}40", f"{at}50", "3", "3", "t:0-2", "one-id"],
    ]
    _, *events = rows_of(tab, "Events")
    assert [(row[0], row[3].split()[0], row[4]) for row in events] == [
        (f"{at}55", "offset-reset", "t:0"),
        ("1970-01-01 00:01:00", "offset-reset", "t:0"),
    ]


def test_tables_are_of_the_time_in_view_and_a_time_in_them_goes_there(tab: Tab) -> None:
    assert len(rows_of(tab, "Rebalances")) == 1 + 4
    tab.value("document.querySelector('[data-at=\"40000\"]').click()")
    assert focused(tab) == "view"
    assert "Generation 3" in detail(tab)
    _, *generations = rows_of(tab, "Rebalances")
    assert [row[0] for row in generations] == ["2", "3"]


def test_lags_in_the_table_are_those_of_the_curve(browser: Chromium, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_lags(two_groups(), NOW, axis(3), page)
    tab = browser.open(page, width=1280, height=900, scheme="light")
    _, *lags = rows_of(tab, "Lag over time")
    assert lags == [
        ["2023-11-14 22:14:20", "30", "30"],
        ["2023-11-14 22:15:20", "at least 80", "at least 80"],
        ["2023-11-14 22:16:20", "130", "130"],
    ]
    _, *partitions = rows_of(tab, "Lag by partition")
    assert partitions == [["orders", "0", "130", "130", "130"]]


def test_paper_is_white_and_has_every_table(tab: Tab) -> None:
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    tab.call("Emulation.setEmulatedMedia", features=[dark])
    tab.value(FRAMES)
    assert tab.value("colours.bg") == "#0f1419"
    tab.call("Emulation.setEmulatedMedia", media="print", features=[dark])
    tab.value("dispatchEvent(new Event('beforeprint'))")
    tab.value(FRAMES)
    assert tab.value("colours.bg") == "#ffffff"
    assert tab.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.value("[...document.querySelectorAll('details')].every(one => one.open)")
    assert tab.value("getComputedStyle(document.querySelector('.bar')).display") == "none"


def test_landmarks_and_names_say_what_is_what(tab: Tab) -> None:
    tab.call("Accessibility.enable")
    nodes = tab.call("Accessibility.getFullAXTree")["nodes"]
    seen = [one for one in nodes if not one["ignored"]]
    named = {(one["role"]["value"], one.get("name", {}).get("value", "")) for one in seen}
    assert ("main", "") in named
    assert ("heading", GROUP) in named
    assert ("group", "Lag, rebalances, events and members over time") in named
    assert ("textbox", "Go to a time, in UTC") in named
    assert {"Zoom in", "Zoom out"} <= {name for role, name in named if role == "button"}
    assert [role for role, name in named if role in ENTERED and not name] == []
