"""What the live screen shows. Nothing is wider or higher than the terminal, and no name obeys it."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.report.table import display_width
from kgroup.report.top import screen as screen_module
from kgroup.report.top.group_line import GroupLine
from kgroup.report.top.layout import TopColumn, cut, cut_name, laid_out
from kgroup.report.top.model import (
    Key,
    Lost,
    PageKind,
    PageRead,
    PageRequest,
    Pressed,
    Refreshed,
    Resized,
    TopModel,
)
from kgroup.report.top.screen import Style, render
from kgroup.report.top.trend import sparkline
from tests.report.top.groups import BILLING, FLEET, HEALTHY, NOW_MS, SEARCH, UNKNOWN, screen

SCREENS = Path(__file__).parent / "screens"


def texts(model: TopModel) -> list[str]:
    return [line.text.rstrip() for line in render(model)]


def refreshed(model: TopModel, *lags: int) -> TopModel:
    for lag in lags:
        lines = tuple(replace(line, lag=lag) if line is SEARCH else line for line in FLEET)
        model = model.after(Refreshed(lines=lines, as_of_ms=NOW_MS))
    return model


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50)])
def test_the_whole_screen_is_as_it_was_read(width: int, height: int) -> None:
    """The files were read line by line against the values in `groups.py`; nothing rewrites them."""
    model = refreshed(screen(Key.DOWN, width=width, height=height), 500, 0, 250, 1018)
    expected = (SCREENS / f"{width}x{height}.txt").read_text(encoding="utf-8").splitlines()
    assert texts(model) == expected


def test_each_number_of_a_group_stands_under_its_heading() -> None:
    lines = texts(screen(width=200, height=50))
    headings = lines[3].split()
    assert headings[:6] == ["GROUP", "STATE", "GEN", "N", "LAG", "TREND"]
    assert lines[4].split()[:5] == [BILLING.group, "Stable", "49", "3", "836"]
    assert lines[5].split()[:5] == ["search", "Reconciling", "7", "2", "1018+"]
    assert "  grows  " in lines[4] and "  12m 34s  " in lines[5]


def test_the_summary_adds_up_all_groups_also_those_that_the_filter_hides() -> None:
    summary = "4 groups  1 stuck  2 in trouble  lag 1854 and 1 partition unknown  by pain"
    assert texts(screen(width=120))[1] == summary
    assert texts(screen("/", *"search", width=120))[1] == f"{summary}  1 match search"


@given(
    width=st.integers(1, 120),
    height=st.integers(1, 40),
    keys=st.lists(st.sampled_from([*Key, *"jkGgsep/rcx?"]), max_size=6),
    lines=st.lists(
        st.builds(
            GroupLine,
            group=st.text(max_size=40),
            lag=st.none() | st.integers(-5, 1 << 63),
            blocked_by=st.none() | st.text(max_size=30),
            finding=st.none() | st.just("stopped-group"),
            evidence=st.none() | st.text(max_size=200),
            drain_ms=st.none() | st.integers(0, 1 << 40),
        ),
        max_size=30,
        unique_by=lambda line: line.group,
    ),
    why=st.none() | st.text(max_size=50),
)
def test_no_screen_is_wider_or_higher_than_the_terminal_and_nothing_obeys_it(
    width: int, height: int, keys: list[str], lines: list[GroupLine], why: str | None
) -> None:
    model = screen(*keys, width=width, height=height, lines=tuple(lines))
    shown = render(model if why is None else model.after(Lost(why)))
    assert len(shown) == height
    assert all(display_width(line.text) <= width for line in shown)
    assert all(line.text.isprintable() for line in shown)


def test_only_groups_on_the_screen_are_put_into_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fleet of 10,000 costs what a screen does."""
    fleet = tuple(replace(SEARCH, group=f"g{number:05}") for number in range(10_000))
    model = screen("G", lines=fleet)
    worded: list[str] = []
    original = screen_module._cells

    def counting(line: GroupLine, model: TopModel) -> dict[str, str]:
        worded.append(line.group)
        return original(line, model)

    monkeypatch.setattr(screen_module, "_cells", counting)
    assert any("g09999" in text for text in texts(model))
    assert 0 < len(worded) <= model.rows


def test_the_chosen_group_is_marked_and_told_about() -> None:
    shown = render(screen(Key.DOWN, width=200, height=50))
    marked = [line for line in shown if line.style.startswith("reverse")]
    assert [line.text.split()[0] for line in marked] == ["search"]
    assert [line.style for line in shown[4:8]] == [Style.BAD, Style.CHOSEN_WARN, Style.PLAIN, Style.PLAIN]
    assert shown[-4].text.startswith("search; consumer, Reconciling, epoch 7; 2 members; 4 partitions, 1 of")
    assert shown[-3].text.startswith(
        "lag-growing for 1m 0s; mostly orders-3 slow-1 on 10.0.0.7: commits go on"
    )


def test_a_lost_cluster_is_said_with_the_time_of_what_is_shown() -> None:
    lines = texts(screen(width=200).after(Lost("no broker\x1b answers")))
    assert lines[2] == ("LOST; shown is 2025-11-20T12:48:44.000Z; trying every 5s: no broker\\x1b answers")
    assert any("search" in line for line in lines[4:])


def test_before_the_first_report_it_reads() -> None:
    lines = texts(TopModel(source="logs", every_s=0.5).after(Resized(80, 24)))
    assert lines[:2] == ["kgroup top logs  every 0.5s", "reading ..."]
    assert lines[-1].endswith("q quit")


def test_the_log_s_end_and_a_pause_are_said() -> None:
    model = screen("p", width=200).after(
        Refreshed(lines=FLEET, as_of_ms=NOW_MS, ended_ago_ms=90_500, problems=("a.log: damaged",))
    )
    lines = texts(model)
    assert lines[0].endswith("2025-11-20T12:48:44.000Z, the log's end, 1m 30s ago  every 5s  PAUSED")
    assert lines[2] == "a.log: damaged"


def test_a_page_shows_how_much_there_is_below() -> None:
    request = PageRequest(PageKind.EXPLAIN, BILLING.group)
    model = screen("e", height=20).after(PageRead(request, tuple(f"line {at}" for at in range(30))))
    lines = texts(model)
    assert lines[1] == f"explain: what is known of {BILLING.group}"
    assert [line for line in lines if line.startswith("line ")] == [f"line {at}" for at in range(12)]
    assert "18 more lines: Down, PgDn" in lines
    assert "line 29" in texts(model.after(Pressed("G")))
    assert "reading ..." in texts(screen("r"))


def test_the_help_names_every_key() -> None:
    text = "\n".join(texts(screen("?")))
    for key in ("PgUp", "Home", "Enter, e", "r ", "c ", "/ ", "Esc", "s ", "p, Space", "q, Ctrl-C"):
        assert key in text


def test_times_have_a_column_where_they_are_known() -> None:
    assert "TIME-LAG" not in texts(screen(width=200))[3]
    late = replace(HEALTHY, time_lag_ms=61_000)
    lines = texts(screen(width=200, lines=(late, UNKNOWN)))
    assert "TIME-LAG" in lines[3] and "1m 1s" in "".join(lines[4:6])


@pytest.mark.parametrize(
    ("lags", "bars"),
    [
        ([], ""),
        ([0], "▁"),
        ([5], "█"),
        ([0, 7], "▁█"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
        ([None, 3, None], "·█·"),
        ([-4, 8], "▁█"),
        ([1 << 62, 1 << 63], "▅█"),
    ],
)
def test_bars_go_from_0_to_the_largest(lags: list[int | None], bars: str) -> None:
    assert sparkline(lags) == bars


def test_a_name_keeps_both_ends_and_a_sentence_its_beginning() -> None:
    assert cut_name("orders-processor-eu-1", 12) == "orders…-eu-1"
    assert cut("orders-processor-eu-1", 12) == "orders-proc…"
    assert cut("日本語の名前", 5) == "日本…"
    assert [cut("abc", width) for width in (3, 2, 1, 0)] == ["abc", "a…", "…", ""]


def test_where_there_is_little_room_texts_are_cut_before_columns_go() -> None:
    columns = (
        TopColumn("NAME", least=4, cuts=1, is_name=True),
        TopColumn("N", right=True, drops=1),
        TopColumn("WHY", least=3, cuts=2),
    )
    rows = [["abcdefgh", "123", "because"]]
    assert laid_out(columns, rows, 40) == ["NAME        N  WHY", "abcdefgh  123  because"]
    assert laid_out(columns, rows, 18) == ["NAME        N  WHY", "abcdefgh  123  be…"]
    assert laid_out(columns, rows, 14) == ["NAME    N  WHY", "ab…h  123  be…"]
    assert laid_out(columns, rows, 13) == ["NAME      WHY", "abcdefgh  be…"]
