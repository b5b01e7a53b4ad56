"""`kgroup top` in a terminal: its numbers are those of lag-report, and it leaves the terminal as it was."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kgroup.report.emit import Kind, cell
from tests.cli.conftest import Kgroup
from tests.cli.top.pty_run import Terminal, in_terminal
from tests.log.truth import FIXTURES

LIVES = str(FIXTURES / "4.3.1/lives")
AT = ["--now", "2026-11-20T12:48:44Z"]
ONE_LOOK = ["top", LIVES, "--interval", "1h"]
_GAP = re.compile(r" {2,}")


@contextmanager
def top(*more: str, width: int = 200, height: int = 60) -> Iterator[Terminal]:
    """A `top` of the capture that refreshes once, when it has."""
    with in_terminal(*ONE_LOOK, *AT, *more, width=width, height=height) as terminal:
        terminal.until(lambda lines: bool(table_of(lines)))
        yield terminal


def table_of(lines: list[str]) -> list[dict[str, str]]:
    """The rows of the screen by their headings."""
    at = next((number for number, line in enumerate(lines) if line.startswith("GROUP ")), None)
    if at is None or not lines[-1].endswith("q quit"):
        return []
    heading = lines[at]
    rows = []
    for line in lines[at + 1 : -4]:
        if not line:
            break
        rows.append(dict(zip(_headings(heading), _fields(line, heading), strict=True)))
    return rows


def _headings(heading: str) -> list[str]:
    return _GAP.split(heading)


def _fields(line: str, heading: str) -> list[str]:
    """The cells of a line, by the places that no column of the heading covers."""
    ends = [match.span() for match in re.finditer(r"\S+(?: \S+)*", heading)]
    right = {"GEN", "N", "LAG", "DRAIN", "TIME-LAG"}
    names = _headings(heading)
    cells, begin = [], 0
    for number, (name, (_, end)) in enumerate(zip(names, ends, strict=True)):
        following = ends[number + 1] if number + 1 < len(ends) else None
        if name in right:
            stop = end
        elif following is None:
            stop = len(line)
        else:  # a left column ends where the gap before the next one's text begins
            gap = line.rfind("  ", begin, following[0] if names[number + 1] not in right else following[1])
            stop = following[0] - 2 if names[number + 1] not in right else gap
        cells.append(line[begin:stop].strip())
        begin = stop
    return cells


def answer(kgroup: Kgroup, *arguments: str) -> list[dict[str, Any]]:
    answered = kgroup("lag-report", LIVES, *arguments, *AT, "-q", "-o", "json")
    rows: list[dict[str, Any]] = json.loads(answered.out)
    assert rows
    return rows


def test_every_number_is_that_of_lag_report_at_the_same_moment(kgroup: Kgroup) -> None:
    with top("--time-lag", "exact") as terminal:
        shown = {row["GROUP"]: row for row in table_of(terminal.lines)}
        summary = terminal.lines[1]
    partitions = answer(kgroup, "--status", "--time-lag", "exact")
    sums = answer(kgroup, "--by", "group", "--status", "--time-lag", "exact")
    assert len(sums) > 30
    for group in sums:
        row, of_group = (
            shown[group["group"]],
            [each for each in partitions if each["group"] == group["group"]],
        )
        some_unknown = "+" if group["lag"] is not None and group["lag_unknown"] else ""
        assert row["STATE"] == group["group_state"]
        assert row["LAG"] == cell(group["lag"], Kind.INTEGER) + some_unknown, group
        assert row["TIME-LAG"] == cell(group["time_lag_ms"], Kind.DURATION_MS), group
        assert row["DRAIN"] == drain_of(of_group), group
    assert re.search(r"(\d+) groups", summary).group(1) == str(len(shown))  # type: ignore[union-attr]
    assert f"lag {sum(group['lag'] or 0 for group in sums)} and" in summary
    assert f"and {sum(group['lag_unknown'] for group in sums)} partitions unknown" in summary


def drain_of(partitions: list[dict[str, Any]]) -> str:
    """By the rule that docs/top.md states, from the rows of a report."""
    lagging = [row for row in partitions if (row["lag"] or 0) > 0]
    growths = [row["growth_per_s"] for row in lagging if row["growth_per_s"] is not None]
    if any(growth > 0 for growth in growths):
        return "grows"
    if 0 in growths:
        return "steady"
    if any(row["drain_ms"] is None for row in lagging):
        return "-"
    drains = [row["drain_ms"] for row in partitions if row["drain_ms"] is not None]
    return cell(max(drains, default=None), Kind.DURATION_MS)


def test_every_finding_is_that_of_lag_report_stuck(kgroup: Kgroup) -> None:
    with top() as terminal:
        shown = {row["GROUP"]: row for row in table_of(terminal.lines)}
    worst: dict[str, str] = {}
    for finding in answer(kgroup, "--stuck"):
        doubt = "?" if finding["grade"] == "unknown" else ""
        worst.setdefault(finding["group"], finding["finding"] + doubt)
    assert len(worst) > 5
    assert {group: row["FINDING"] for group, row in shown.items() if row["FINDING"] != "-"} == worst


def test_the_generation_is_that_of_replay(kgroup: Kgroup) -> None:
    with top() as terminal:
        shown = {row["GROUP"]: row["GEN"] for row in table_of(terminal.lines)}
    for group in ("orders-app", "push-storm", "trades-848"):
        replayed = kgroup("replay", LIVES, "--group", group, "-q", "-o", "jsonl")
        assert shown[group] == str(json.loads(replayed.out.splitlines()[-1])["generation"])


def test_pages_say_what_the_commands_say(kgroup: Kgroup) -> None:
    group = "warehouse-stuck"
    explained = kgroup("explain", group, LIVES, *AT, "-q").out.splitlines()
    replayed = kgroup("replay", LIVES, "--group", group, "-q").out.splitlines()
    with top(width=400, height=100) as terminal:
        terminal.press("/" + group + "\re")
        # First what is known anyway, then all of it. It is wider here: texts wrap elsewhere.
        lines = terminal.until(lambda lines: any(line.startswith("Reset now: ") for line in lines))
        page = "".join("".join(lines[3:-1]).split())
        for line in explained[:8]:
            assert "".join(line.split()) in page
        assert next("".join(line.split()) for line in explained if line.startswith("Reset now")) in page
        terminal.press("r")
        lines = terminal.until(lambda lines: lines[1].startswith("replay") and "reading ..." not in lines)
        assert [line for line in reversed(lines) if re.match(r" +\d+  2", line)] == [
            line.rstrip() for line in replayed if re.match(r" +\d+  2", line)
        ]
        terminal.press("c")
        lines = terminal.until(lambda lines: lines[1].startswith("commits") and "reading ..." not in lines)
        cells = [line.split() for line in lines if re.match(r"\d{4}-", line)]
        last = {tuple(place.rsplit("-", 1)): offset for _, place, offset, *_ in cells}
    committed = {
        (row["topic"], str(row["partition"])): str(row["current_offset"])
        for row in answer(kgroup, "--status", "--group", group)
    }
    assert last == committed


def test_a_new_size_is_filled_and_a_filter_can_be_typed() -> None:
    with top(width=80, height=24) as terminal:
        assert len(terminal.lines) == 24
        terminal.resize(120, 40)
        lines = terminal.until(lambda lines: lines[39].endswith("q quit") and "LAST EVENT" in lines[3])
        assert len(table_of(lines)) == 40 - 8
        terminal.press("/stuck")
        lines = terminal.until(lambda lines: lines[-1].startswith("filter: stuck_"))
        terminal.press("\r")
        lines = terminal.until(lambda lines: lines[-1].endswith("q quit"))
        assert [row["GROUP"] for row in table_of(lines)] == ["warehouse-stuck"]


@pytest.mark.parametrize("how", ["q", "\x03", "SIGTERM"])
def test_whoever_leaves_gets_the_terminal_back(how: str) -> None:
    with top() as terminal:
        in_use = terminal.mode
        assert not in_use[3] & (termios.ECHO | termios.ICANON)
        if how == "SIGTERM":
            terminal.signal(signal.SIGTERM)
        else:
            terminal.press(how)
        assert terminal.ended() == 0
        assert terminal.mode[3] & termios.ECHO and terminal.mode[3] & termios.ICANON
        # Out of the alternate screen, and the cursor can be seen.
        assert terminal.sent.rindex(b"\x1b[?1049l") > terminal.sent.rindex(b"\x1b[?1049h")
        assert terminal.sent.rindex(b"\x1b[?25h") > terminal.sent.rindex(b"\x1b[?25l")
        assert b"Traceback" not in terminal.sent


def test_ctrl_z_gives_the_terminal_back_for_a_while() -> None:
    with top() as terminal:
        terminal.press("\x1a")
        assert terminal.wait_until_stopped()
        assert terminal.mode[3] & termios.ECHO and terminal.mode[3] & termios.ICANON
        terminal.signal(signal.SIGCONT)
        terminal.press("?")
        terminal.until(lambda lines: lines[-1] == "any key goes back")
        terminal.press("xq")
        assert terminal.ended() == 0


def test_a_first_look_that_fails_is_one_line_on_the_terminal_as_it_was() -> None:
    with in_terminal("top", "-b", "127.0.0.1:1") as terminal:
        assert terminal.ended() == 1
        after = terminal.sent[terminal.sent.rindex(b"\x1b[?1049l") :].decode()
    assert "kgroup: no broker answers: 127.0.0.1:1: Connection refused" in after
    assert after.count("\n") == 1


def test_once_prints_all_groups_where_no_terminal_is(kgroup: Kgroup) -> None:
    ended = kgroup("top", LIVES, *AT, "--once")
    lines = ended.out.splitlines()
    with top() as terminal:
        rows = [line for line in terminal.lines[3:-4] if line]
    assert (ended.status, ended.err) == (0, "")
    assert [re.sub(r" {2,}", "  ", line) for line in lines[3:]] == [
        re.sub(r" {2,}", "  ", line) for line in rows
    ]


@pytest.mark.parametrize("keyboard_too", [True, False])
def test_without_a_terminal_it_says_so_in_a_line(keyboard_too: bool) -> None:
    """Neither into a pipe, nor with keys from one."""
    main_end, other_end = pty.openpty()
    streams = {"stdin": other_end if keyboard_too else subprocess.DEVNULL}
    ended = subprocess.run(
        [sys.executable, "-m", "kgroup", *ONE_LOOK], capture_output=True, text=True, check=False, **streams
    )
    os.close(main_end)
    os.close(other_end)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert ended.stderr.startswith("kgroup: top needs a terminal; for a pipe or a file: top --once")
