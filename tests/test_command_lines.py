"""The list of command lines is long and wide enough, and a difference between two records is seen."""

from itertools import pairwise
from pathlib import Path

import pytest

from kgroup.cli.shell.app import COMMANDS
from tests.command_lines import LIST, ListError, answer_of, command_lines, compare, main

LINES = list(command_lines(LIST.read_text(encoding="utf-8")))


def test_the_list_is_long_and_names_no_line_twice() -> None:
    assert len(LINES) >= 250
    assert len({line.text for line in LINES}) == len({line.record_name for line in LINES}) == len(LINES)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_called_with_its_help_and_without(command: str) -> None:
    calls = [line.arguments[1:] for line in LINES if line.command == command and not line.spark]
    assert ("--help",) in calls
    assert len(calls) > 5


@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv", "parquet"])
def test_every_format_is_written_by_each_command_that_has_rows(output_format: str) -> None:
    rowless = {
        "compat",
        "config",
        "demo",
        "explain",
        "join",
        "metrics",
        "record",
        "report",
        "serve",
        "serve-ctl",
        "top",
        "watch",
    }
    rows = COMMANDS.keys() - rowless
    written = {
        line.command
        for line in LINES
        if (output_format in line.arguments if output_format != "table" else "-o" not in line.arguments)
    }
    assert rows - written == set()


def test_no_line_asks_a_broker() -> None:
    brokers = {value for line in LINES for option, value in pairwise(line.arguments) if option == "-b"}
    assert brokers == {"127.0.0.1:1"}  # where nobody listens


def test_a_line_is_read_as_a_shell_reads_it() -> None:
    text = "# note\n\n@spark A=1 B='x y' kgroup decode 'a b' - <<< 'in put'\nkgroup\n"
    spark, bare = command_lines(text)
    assert (spark.number, spark.spark, spark.text) == (1, True, text.splitlines()[2].removeprefix("@spark "))
    assert (spark.variables, spark.arguments) == ({"A": "1", "B": "x y"}, ("decode", "a b", "-"))
    assert spark.stdin == b"in put\n"
    assert (bare.number, bare.spark, bare.arguments, bare.stdin) == (2, False, (), b"")
    assert spark.record_name == "001-A-1-B-x-y-decode-a-b-in-put.txt"


def test_a_line_that_calls_something_else_is_refused() -> None:
    with pytest.raises(ListError, match="line 1 of the list calls no kgroup: rm x"):
        list(command_lines("rm x\n"))


def test_an_answer_has_status_outputs_and_written_files() -> None:
    (line,) = command_lines("kgroup find-coordinator test-group -o csv --output {out}/groups.csv\n")
    assert answer_of(line).decode() == (
        "$ kgroup find-coordinator test-group -o csv --output {out}/groups.csv\n"
        "[0]\n"
        "--- standard output\n"
        "--- standard error\n"
        "--- {out}/groups.csv\n"
        "group,partition,partitions,hash\n"
        "test-group,12,50,627841412\n"
    )


def test_a_planted_difference_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, end in ((before, "\n"), (after, "\r\n")):
        folder.mkdir()
        (folder / "001-same.txt").write_bytes(b"$ kgroup\n[2]\n")
        (folder / "002-other.txt").write_bytes(f"$ kgroup --help\n[0]\nusage{end}".encode())
    (after / "003-new.txt").write_bytes(b"$ kgroup new\n[0]\n")

    assert main(["compare", str(before), str(after)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "002-other.txt",
        "    $ kgroup --help",
        "    --- ",
        "    +++ ",
        "    @@ -2,3 +2,3 @@",
        "     [0]",
        "    -usage",
        "    +usage\\r",
        "     ",
        "003-new.txt",
        f"    not recorded in {before}",
        "1 same, 2 different",
    ]
    assert compare(before, before) == 0
    assert capsys.readouterr().out == "2 same, 0 different\n"


def test_a_wrong_call_is_answered_with_the_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["record"]) == main(["compare", str(tmp_path / "nowhere"), str(tmp_path)]) == 2
    assert "usage: " in capsys.readouterr().err
