"""What keys, refreshes and sizes make of the live screen."""

from dataclasses import replace

import pytest

from kgroup.report.top.group_line import GroupLine
from kgroup.report.top.model import (
    TREND_LENGTH,
    Key,
    Lost,
    PageKind,
    PageRead,
    PageRequest,
    Pressed,
    Refreshed,
    Resized,
    Sort,
)
from tests.report.top.groups import BILLING, FLEET, HEALTHY, NOW_MS, SEARCH, UNKNOWN, names, screen

EXPLAIN_BILLING = PageRequest(PageKind.EXPLAIN, BILLING.group)


def test_pain_is_stuck_before_trouble_before_health_and_lag_decides_last() -> None:
    small = replace(BILLING, group="a", lag=1, grows=False)
    slow = replace(small, group="b", drain_ms=10)
    slower = replace(small, group="c", drain_ms=20)
    larger = replace(small, group="d", lag=2)
    fleet = (*FLEET, small, slow, slower, larger)
    in_order = [BILLING.group, "c", "b", "d", "a", SEARCH.group, HEALTHY.group, UNKNOWN.group]
    # Without lag and drain the names of the healthy decide: ESC comes before letters.
    in_order[-2:] = sorted(in_order[-2:])
    assert names(screen(lines=fleet)) == in_order


@pytest.mark.parametrize(
    ("presses", "sort", "first"),
    [
        (0, Sort.PAIN, BILLING),
        (1, Sort.LAG, SEARCH),
        (2, Sort.DRAIN, BILLING),
        (3, Sort.EVENT, HEALTHY),
        (4, Sort.NAME, UNKNOWN),
        (5, Sort.PAIN, BILLING),
    ],
)
def test_s_goes_through_the_orders(presses: int, sort: Sort, first: GroupLine) -> None:
    model = screen(*["s"] * presses)
    assert (model.sort, model.shown[0]) == (sort, first)


def test_the_cursor_moves_and_stops_at_the_ends() -> None:
    order = names(screen())
    moves = {
        (): 0,
        (Key.DOWN,): 1,
        ("j", "j", "k"): 1,
        (Key.UP,): 0,
        ("G",): 3,
        (Key.END, Key.DOWN): 3,
        ("G", Key.HOME): 0,
        (Key.PAGE_DOWN,): 3,
    }
    for keys, place in moves.items():
        assert screen(*keys).chosen == order[place], keys


def test_the_cursor_stays_on_its_group_when_a_refresh_moves_that() -> None:
    model = screen(Key.DOWN)
    assert model.chosen == SEARCH.group
    healed = replace(BILLING, finding=None, stuck=False, lag=0, grows=False)
    model = model.after(Refreshed(lines=(HEALTHY, SEARCH, UNKNOWN, healed), as_of_ms=NOW_MS + 5000))
    assert (model.chosen, model.cursor) == (SEARCH.group, 0)


def test_a_cursor_whose_group_is_gone_is_on_one_that_is_there() -> None:
    model = screen("G").after(Refreshed(lines=(SEARCH,), as_of_ms=NOW_MS))
    assert (model.chosen, model.cursor) == (SEARCH.group, 0)
    model = model.after(Refreshed(lines=(), as_of_ms=NOW_MS))
    assert (model.chosen, model.shown) == (None, [])
    assert model.after(Pressed(Key.DOWN)).after(Pressed("e")).page is None


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("ORD", [BILLING.group, SEARCH.group, HEALTHY.group]),  # SEARCH: what blocks it
        ("reconciling", [SEARCH.group]),
        ("stopped eu-", [BILLING.group]),
        ("10.0.0.7", [SEARCH.group]),
        ("nowhere", []),
    ],
)
def test_a_filter_finds_words_in_names_states_findings_and_what_blocks(typed: str, found: list[str]) -> None:
    model = screen("/", *typed)
    assert (model.typing, names(model)) == (True, found)
    kept = model.after(Pressed(Key.ENTER))
    assert (kept.typing, names(kept)) == (False, found)
    for dropped in (model.after(Pressed(Key.ESCAPE)), kept.after(Pressed(Key.ESCAPE))):
        assert (dropped.filter, len(dropped.shown)) == ("", len(FLEET))


def test_keys_are_letters_while_a_filter_is_typed() -> None:
    model = screen("/", *"qsp?", Key.BACKSPACE)
    assert (model.filter, model.quit, model.paused, model.help) == ("qsp", False, False, False)
    assert screen("/", "o", Key.DOWN).chosen == SEARCH.group


@pytest.mark.parametrize(
    ("key", "kind"), [("e", "explain"), (Key.ENTER, "explain"), ("r", "replay"), ("c", "commits")]
)
def test_a_key_asks_for_a_page_of_the_chosen_group(key: str, kind: str) -> None:
    assert screen(Key.DOWN, key).page == PageRequest(PageKind(kind), SEARCH.group)


def test_a_page_is_read_scrolled_and_left() -> None:
    model = screen("e", height=18)
    assert (model.page, model.page_lines) == (EXPLAIN_BILLING, None)
    model = model.after(PageRead(EXPLAIN_BILLING, tuple(map(str, range(25)))))
    assert model.page_lines is not None
    assert (model.rows, model.after(Pressed(Key.PAGE_DOWN)).page_top) == (10, 10)
    assert model.after(Pressed("G")).page_top == 15
    assert model.after(Pressed("G")).after(Pressed(Key.PAGE_DOWN)).page_top == 15
    assert model.after(Pressed("G")).after(Resized(80, 40)).page_top == 0
    assert model.after(Pressed("c")).page == PageRequest(PageKind.COMMITS, BILLING.group)
    for key in ("q", Key.ESCAPE):
        left = model.after(Pressed(key))
        assert (left.page, left.quit) == (None, False)


def test_a_page_that_came_too_late_is_not_shown() -> None:
    model = screen("e").after(Pressed("r")).after(PageRead(EXPLAIN_BILLING, ("late",)))
    assert model.page_lines is None
    assert screen().after(PageRead(EXPLAIN_BILLING, ("late",))).page_lines is None


def test_a_page_keeps_its_place_when_it_is_made_anew() -> None:
    lines = tuple(map(str, range(60)))
    model = screen("e").after(PageRead(EXPLAIN_BILLING, lines)).after(Pressed(Key.DOWN))
    assert model.after(PageRead(EXPLAIN_BILLING, lines)).page_top == 1


def test_pause_help_and_quit() -> None:
    assert screen("p").paused and not screen("p", " ").paused
    assert screen("?").help and not screen("?", "q").help and not screen("?", "q").quit
    assert screen("q").quit


def test_a_lost_cluster_keeps_the_last_numbers_until_it_is_back() -> None:
    model = screen().after(Lost("no broker answers"))
    assert (model.lost, model.lines, model.as_of_ms) == ("no broker answers", FLEET, NOW_MS)
    assert model.after(Refreshed(lines=FLEET, as_of_ms=NOW_MS + 1)).lost is None


def test_trends_are_the_last_lags_of_groups_that_are_there() -> None:
    model = screen(lines=(SEARCH, HEALTHY))
    for lag in range(TREND_LENGTH + 3):
        model = model.after(Refreshed(lines=(replace(SEARCH, lag=lag),), as_of_ms=NOW_MS))
    assert model.trends == {SEARCH.group: tuple(range(3, TREND_LENGTH + 3))}
