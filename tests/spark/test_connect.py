"""Through Spark Connect, of a server whose Python has no kgroup: the rows and the page of the local scan."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="needs kgroup's extra [connect]")

from kgroup.cli.shell.app import main
from tests.compat.captures import FIXTURES
from tests.spark.connect_server import connect_server
from tests.spark.test_lag_html import comparable

ROOT = FIXTURES.parent
CAPTURE = FIXTURES / "4.3.1/lives"

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


def command(*arguments: str) -> list[str]:
    return ["lag-report", str(CAPTURE), *arguments, "-o", "jsonl", "-q"]


def here(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    """The exit status and what is written without Spark."""
    with pytest.raises(SystemExit) as ended:
        main(command(*arguments))
    return ended.value.code, *capsys.readouterr()


def report(*arguments: str, module: str = "kgroup") -> tuple[int, str, str]:
    """The same by Spark; of a process for each, as that of the tests has another Spark."""
    answer = subprocess.run(
        [sys.executable, "-m", module, *command(*arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.returncode, answer.stdout, answer.stderr


def test_rows_statuses_and_the_page_are_the_same(
    remote: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, page_there = tmp_path / "here.html", tmp_path / "there.html"
    options = ("--status", "--now", "2026-11-20T13:00Z")
    local = here(capsys, *options, "--html", str(page))
    assert (local[0], local[2]) == (0, "")
    assert local[1].count("\n") > 100
    assert report(*options, "--html", str(page_there), "--spark", "--remote", remote, "--ship") == local
    assert comparable(page_there, by_spark=True) == comparable(page, by_spark=False)


def test_the_history_is_the_same(remote: str, capsys: pytest.CaptureFixture[str]) -> None:
    local = here(capsys, "--windows", "20s")
    assert local[1].count("\n") > 500
    assert report("--windows", "20s", "--spark", "--remote", remote, "--ship") == local


def test_findings_of_rows_that_executors_make_are_the_same(
    remote: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of a large log; with them go their statuses."""
    options = ("--stuck", "--now", "2026-11-20T12:42:11Z")
    local = here(capsys, *options)
    assert local[1].count("\n") > 5
    spark = ("--spark", "--remote", remote, "--ship")
    assert report(*options, *spark, module="tests.spark.made_there") == local


def test_a_server_without_kgroup_is_told_apart_in_one_line(remote: str) -> None:
    status, out, err = report("--spark", "--remote", remote)
    assert (status, out) == (1, "")
    why = "ModuleNotFoundError: No module named 'kgroup'; --ship sends it to executors"
    assert err == f"kgroup: the Spark job failed: {why}\n"
