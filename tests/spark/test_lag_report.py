"""`kgroup lag-report --spark` prints what `kgroup lag-report` prints, byte for byte."""

from pathlib import Path

import pytest

from kgroup.cli.shell.app import main

FIXTURES = Path(__file__).parents[2] / "fixtures"
CAPTURES = sorted(truth.parent for truth in FIXTURES.glob("[0-9]*/*/truth.jsonl"))


LIVES = [path for path in CAPTURES if path.name == "lives"]


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", *arguments, "-o", "jsonl"])
    assert ended.value.code == 0
    written = capsys.readouterr()
    return written.out, written.err


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session")
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_spark_reports_what_the_local_scan_reports(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    local = report(capsys, str(capture))
    assert local[0].count("\n") > 5
    assert report(capsys, str(capture), "--spark") == local


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session")
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda path: str(path.relative_to(FIXTURES)))
@pytest.mark.parametrize("rules", ["burrow", "kgroup"])
def test_spark_judges_as_the_local_scan_judges(
    capture: Path, rules: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (str(capture), "--status", "--rules", rules, "--now", "2026-11-20T13:00Z")
    local = report(capsys, *arguments)
    assert '"status":' in local[0]
    assert report(capsys, *arguments, "--spark") == local


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session")
@pytest.mark.parametrize("capture", LIVES, ids=lambda path: path.parent.name)
def test_spark_finds_what_the_local_scan_finds(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    local = report(capsys, str(capture), "--stuck", "--hygiene")
    assert local[0].count("\n") > 3
    assert report(capsys, str(capture), "--stuck", "--hygiene", "--spark") == local
