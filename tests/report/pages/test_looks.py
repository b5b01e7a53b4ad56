"""How pages look on a desk and on a telephone, light and dark: nothing sticks out, all text can be read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kgroup.lag.measures.over_time import PastOffset, lag_over_time
from kgroup.report.pages.lag import LagNow, TimeAxis
from tests.history.group_log import GroupLog, member
from tests.report.pages.browser import needs_browser
from tests.report.pages.chromium import Chromium, chromium
from tests.report.pages.test_history import crowd, storm, write_timelines
from tests.report.pages.test_lag import NOW, axis, two_groups, write_lags

SIZES = ((1280, 900), (390, 844))
SCHEMES = ("light", "dark")
LONG = "payments_reconciliation_nightly" * 8
HOSTILE = "\u202egnp.exe \x1b[31m \x9b2J <b>bold</b> 日本 😀"
READABLE = 4.5  # WCAG 2.2, 1.4.3, for text of any size
# What they hold is made when they are opened, after this script.
OPEN_ALL = """
document.querySelectorAll("details").forEach(each => each.open = true);
new Promise(done => setTimeout(done))
"""
STICKS_OUT = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

# Of each element with text of its own: the contrast of its colour to the first solid background behind it.
CONTRASTS = """
(() => {
  const parts = text => (text.match(/[0-9.]+/g) || []).map(Number);
  const light = rgb => {
    const [r, g, b] = rgb.map(each => each / 255).map(
      each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, alpha] = parts(getComputedStyle(at).backgroundColor);
      if (alpha === undefined || alpha === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].filter(each => each.nodeType === 3);
    const text = own.map(each => each.data.trim()).join("");
    const box = element.getBoundingClientRect();
    if (!text || !box.width || !box.height || element.closest("svg, script, style, option")) continue;
    const [one, other] = [light(parts(getComputedStyle(element).color).slice(0, 3)), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    found.push([text.slice(0, 40), Math.round(contrast * 100) / 100]);
  }
  return found;
})()
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def long_names() -> GroupLog:
    log = GroupLog()
    log.generation(0, 1, member(LONG, 0, 1))
    log.generation(60, 2, member(LONG, 0), member(HOSTILE, 1))
    return log


def timeline_of_a_storm(page: Path) -> None:
    write_timelines([storm()], page)


def timeline_of_a_crowd(page: Path) -> None:
    write_timelines([crowd(40, 200)], page)


def timeline_of_long_names(page: Path) -> None:
    write_timelines([long_names().timeline(), storm()], page)


def timeline_of_nothing(page: Path) -> None:
    log = GroupLog()
    log.commits(0, 10, 2, 0)
    write_timelines([log.timeline()], page)


def lag_of_two_groups(page: Path) -> None:
    write_lags(two_groups(), NOW, axis(3), page)


def lag_of_long_names(page: Path) -> None:
    offsets = [
        PastOffset(group, topic, partition, window, 10, 20 * window)
        for group in (LONG, HOSTILE)
        for topic in ("orders", LONG)
        for partition in range(9)
        for window in range(3)
    ]
    now = LagNow(kind="classic", state="Stable", lag=1_234_567_890, unknown=1)
    write_lags(lag_over_time(offsets, 3, {}), {LONG: now, HOSTILE: now}, axis(3), page)


def lag_of_nothing(page: Path) -> None:
    write_lags([], {}, TimeAxis(start_ms=0, step_ms=1000, count=1, end_ms=1000), page)


PAGES = (
    timeline_of_a_storm,
    timeline_of_a_crowd,
    timeline_of_long_names,
    timeline_of_nothing,
    lag_of_two_groups,
    lag_of_long_names,
    lag_of_nothing,
)


@needs_browser
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES, ids=["desk", "telephone"])
@pytest.mark.parametrize("write", PAGES, ids=lambda write: write.__name__)
def test_nothing_sticks_out_and_all_text_can_be_read(
    write: Any, size: tuple[int, int], scheme: str, browser: Chromium, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    write(page)
    tab = browser.open(page, width=size[0], height=size[1], scheme=scheme)
    tab.value(OPEN_ALL)
    assert tab.value(STICKS_OUT) == 0
    contrasts = tab.value(CONTRASTS)
    assert contrasts
    assert [each for each in contrasts if each[1] < READABLE] == []
    assert tab.troubles() == []


@needs_browser
@pytest.mark.parametrize("write", [timeline_of_a_storm, lag_of_two_groups], ids=lambda write: write.__name__)
def test_a_page_is_as_light_or_dark_as_its_reader_likes(
    write: Any, browser: Chromium, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    write(page)
    background = "getComputedStyle(document.body).backgroundColor"
    shown = {}
    for scheme in SCHEMES:
        red = browser.open(page, width=1280, height=900, scheme=scheme).value(
            f"{background}.match(/\\d+/)[0]"
        )
        shown[scheme] = int(red)
    assert shown["light"] > 200 and shown["dark"] < 60


@needs_browser
@pytest.mark.parametrize(
    "write", [timeline_of_long_names, lag_of_long_names], ids=lambda write: write.__name__
)
def test_what_a_name_would_have_a_browser_obey_is_escaped(
    write: Any, browser: Chromium, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    write(page)
    tab = browser.open(page, width=1280, height=900, scheme="light")
    tab.value(OPEN_ALL)
    text = tab.value("document.documentElement.innerHTML")
    assert "\\u202egnp.exe" in text
    assert not {"\u202e", "\x1b", "\x9b"} & set(text)
    assert "<b>bold" not in text


@needs_browser
@pytest.mark.parametrize(
    ("write", "said"),
    [
        (timeline_of_a_storm, "checked for rebalance patterns only"),
        (lag_of_two_groups, "not checked for findings"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_a_page_without_findings_says_what_was_checked(
    write: Any, said: str, browser: Chromium, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    write(page)
    tab = browser.open(page, width=1280, height=900, scheme="light")
    about = tab.value("document.getElementById('about').textContent")
    assert said in about.split("; ")
    shown = tab.value("document.getElementById('findings').textContent")
    assert ("rebalance-storm" in shown) == (write is timeline_of_a_storm)
