"""`kgroup lag-report --windows --spark` writes what it writes without Spark, byte for byte and row by row."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from benchmarks.make_log import Options, make_log
from kgroup.api.lag_history import on_spark as lag_history_spark
from kgroup.api.lag_history.on_spark import KeyRanges, PartSummary
from kgroup.cli.shell.app import main
from kgroup.spark import tables, tasks
from tests.compat.captures import FIXTURES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIVES = sorted(truth.parent for truth in FIXTURES.glob("[0-9]*/lives/truth.jsonl"))

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("shared_session")]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some days of transactions of ten groups, with the logs of the topics that they read."""
    folder = tmp_path_factory.mktemp("generated")
    options = Options(
        out=folder, size=240_000, groups=10, partitions=3, transactions=True, data_logs=True, seed=3
    )
    assert make_log(options) > 200_000
    return folder


@pytest.fixture
def cut_small(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tasks of little, as if all this were much; says how many there were to put rows into order."""
    monkeypatch.setattr(tasks, "TASK_BYTES_MIN", 40_000)
    monkeypatch.setattr(tasks, "TASK_BYTES_MAX", 40_000)
    monkeypatch.setattr(lag_history_spark, "_ROWS_OF_TASK", 2000)
    ranges: list[int] = []
    planned = KeyRanges.of

    def noted(summaries: "Sequence[PartSummary]", windows: int) -> KeyRanges:
        key_ranges = planned(summaries, windows)
        ranges.append(len(key_ranges))
        return key_ranges

    monkeypatch.setattr(KeyRanges, "of", noted)
    return ranges


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", *arguments])
    written = capsys.readouterr()
    assert ended.value.code == 0, written.err
    return written.out, written.err


@pytest.mark.parametrize("rules", ["burrow", "kgroup"])
@pytest.mark.parametrize("capture", LIVES, ids=lambda path: path.parent.name)
def test_of_captures(capture: Path, rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (str(capture), "--windows", "20s", "--rules", rules, "-o", "jsonl")
    local = report(capsys, *arguments)
    assert local[0].count("\n") > 5
    assert report(capsys, *arguments, "--spark") == local


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--rules", "burrow", "--only-lagging"),
        ("--topic", "[a-s]*", "--since", "2026-01-02T05:10Z", "--now", "2026-01-08T20:05Z"),
    ],
    ids=" ".join,
)
def test_of_a_log_that_is_read_and_told_of_in_many_tasks(
    generated: Path, cut_small: list[int], more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (str(generated), "--windows", "1h", *more, "-o", "jsonl")
    local = report(capsys, *arguments)
    there = report(capsys, *arguments, "--spark")
    assert there == local
    assert cut_small[0] > 2
    rows = [json.loads(line) for line in local[0].splitlines()]
    assert len(rows) > 5000
    assert len({row["rule"] for row in rows}) > 1


@pytest.mark.usefixtures("cut_small")
def test_of_partitions_whose_log_is_not_here(
    generated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the offsets topic: what is unknown is counted once, however many tasks ask about it."""
    for folder in generated.glob("__consumer_offsets-*"):
        (tmp_path / folder.name).symlink_to(folder)
    arguments = (str(tmp_path), "--windows", "2h", "-o", "csv")
    local = report(capsys, *arguments)
    assert "no log ends of the time are known of" in local[1]
    assert report(capsys, *arguments, "--spark") == local


@pytest.mark.usefixtures("cut_small")
def test_in_parquet_and_as_a_table_of_the_catalog(
    generated: Path,
    tmp_path: Path,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = (str(generated), "--windows", "2h", "--topic", "[a-s]*")
    here, there = tmp_path / "here.parquet", tmp_path / "there.parquet"
    report(capsys, *arguments, "-o", "parquet", "--output", str(here))
    report(capsys, *arguments, "-o", "parquet", "--output", str(there), "--spark")
    local = parquet.read_table(here)
    assert local.num_rows > 500
    assert parquet.read_table(there).equals(local)
    monkeypatch.setattr(tables, "check_table", lambda session, name: None)
    spark.sql(f"CREATE DATABASE kgroup_history LOCATION '{tmp_path / 'database'}'")
    try:
        out, message = report(capsys, *arguments, "--spark", "--save-as", "kgroup_history.lag")
        saved = spark.table("kgroup_history.lag").toArrow()
    finally:
        spark.sql("DROP DATABASE kgroup_history CASCADE")
    assert (out, message) == ("", f"kgroup: table kgroup_history.lag: {local.num_rows} rows\n")
    assert saved.column_names == local.column_names
    order = [(name, "ascending") for name in ("group", "topic", "partition", "window_start")]
    assert saved.sort_by(order).cast(local.schema).equals(local.sort_by(order))


def test_a_log_without_commits_has_no_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    (folder / "00000000000000000000.log").write_bytes(b"")
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", str(tmp_path), "--windows", "15m", "--spark"])
    written = capsys.readouterr()
    assert (ended.value.code, written.out) == (1, "")
    assert "the log holds no commit" in written.err


@pytest.mark.parametrize("case", ["bad-magic", "short-value"])
def test_damage_is_told_and_strict_ends_in_three_as_without_spark(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(FIXTURES / "damaged" / case), "--windows", "1000d", "--strict", "-q", "-o", "jsonl"]
    written = []
    for where in ([], ["--spark"]):
        with pytest.raises(SystemExit) as ended:
            main(["lag-report", *where, *arguments])
        assert ended.value.code == 3
        written.append(capsys.readouterr())
    assert written[0] == written[1]
    assert "kgroup: damaged or undecodable places: 1" in written[0].err
