"""Tables and pages of every command on terminals of 80 and 200 columns."""

import shlex
from pathlib import Path

import pytest

from kgroup.report.table import display_width
from tests.cli.conftest import Kgroup

LIVES = Path(__file__).parents[2] / "fixtures" / "4.3.1" / "lives"
END = "2026-11-20T12:48:41Z"
COMMANDS = (
    "assign {lives} --group orders-app --compare",
    "assign --members c1,c2,c3 --topic orders:60 --then 'leave c2'",
    "decode {lives} --group 'orders-*'",
    "decode {lives} --latest --group '*-app'",
    "find-coordinator --from {lives}",
    "lag-report {lives} -q",
    "lag-report {lives} -q --by member",
    "lag-report {lives} -q --by group",
    f"lag-report {{lives}} -q --stuck --now {END}",
    f"lag-report {{lives}} -q --explain warehouse-stuck --now {END}",
    "ledger {lives} --group '*' -q",
    "ledger {lives} --group orders-app --by owner -q",
    "ledger {lives} --group '*' --by minute -q",
    "replay {lives} --group orders-app --events -q",
    "replay {lives} --group '*' -q",
    "simulate --for 20s",
    "simulate --for 5s --explain",
    "what-if {lives} --group orders-app --static -q",
    "what-if {lives} --group '*-app' --group 'assign-*' --assignor sticky --static -q",
    "what-if {lives} --group '*-app' --group 'assign-*' --assignor sticky --static -q --rounds",
    f"lag-report {{lives}} -q --status --now {END}",
    f"lag-report {{lives}} -q --time-lag exact --now {END}",
    "lag-report {lives} -q --breakdown",
    "lag-report {lives} -q --breakdown --by group",
    "lag-report {lives} -q --windows 1m",
)


@pytest.mark.parametrize(
    ("command", "columns"),
    [(each, columns) for each in COMMANDS for columns in (80, 200)],
)
def test_no_line_is_longer_than_the_terminal_is_wide(
    command: str, columns: int, kgroup: Kgroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = kgroup(*shlex.split(command.replace("{lives}", shlex.quote(str(LIVES)))))
    assert ended.status == 0, ended.err
    lines = ended.out.splitlines()
    assert lines
    assert [line for line in lines if display_width(line) > columns] == []


@pytest.mark.parametrize("view", ["", f"--status --now {END}", "--windows 1m"])
def test_most_rows_of_a_lag_report_are_one_line_on_80_columns(
    view: str, kgroup: Kgroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = kgroup("lag-report", str(LIVES), "-q", "-o", "jsonl", *view.split()).out.count("\n")
    monkeypatch.setenv("COLUMNS", "80")
    ended = kgroup("lag-report", str(LIVES), "-q", *view.split())
    lines = ended.out.splitlines()
    assert ended.err.startswith("kgroup: left out on 80 columns: "), "what is no row is not among the rows"
    assert rows < len(lines) < rows * 1.25
    monkeypatch.setenv("COLUMNS", "200")
    whole = kgroup("lag-report", str(LIVES), "-q", *view.split()).out.splitlines()
    assert len(whole) <= rows + 2  # a heading may wrap
