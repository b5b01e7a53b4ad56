"""`lag-report --spark` writes what it writes without Spark, where executors make the rows."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.make_log import Options, make_log
from kgroup.api.lag import there
from kgroup.cli.shell.app import main
from kgroup.spark import room, tables, tasks
from tests.compat.captures import FIXTURES
from tests.spark.made_there import made_there

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIVES = sorted(truth.parent for truth in FIXTURES.glob("[0-9]*/lives/truth.jsonl"))
NOW = ("--now", "2026-11-20T13:00Z")

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("shared_session")]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some days of transactions of thirty groups on three offsets partitions, with logs of their topics."""
    folder = tmp_path_factory.mktemp("generated")
    options = Options(
        out=folder, size=300_000, groups=30, partitions=3, transactions=True, data_logs=True, seed=5
    )
    assert make_log(options) > 200_000
    return folder


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Rows are made there of a small log, too, in tasks of little; says in how many ranges of groups."""
    monkeypatch.setattr(tasks, "TASK_BYTES_MIN", 40_000)
    monkeypatch.setattr(tasks, "TASK_BYTES_MAX", 40_000)
    with made_there() as counts:
        yield counts


def report(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["lag-report", *arguments])
    written = capsys.readouterr()
    assert ended.value.code == code, written.err
    return written.out, written.err


ASKED = {
    "rows": ("-o", "jsonl"),
    "table": (),
    "status": ("--status", "-o", "csv", *NOW),
    "burrow": ("--status", "--rules", "burrow", "-o", "jsonl", *NOW),
    "times": ("--time-lag", "exact", "--breakdown", "-o", "jsonl", *NOW),
    "stuck": ("--stuck", "--hygiene", "-o", "jsonl", *NOW),
    "sums": ("--status", "--by", "group", "-o", "json", *NOW),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("capture", LIVES[-1:], ids=lambda path: path.parent.name)
def test_rows_of_a_capture(
    asked: str, capture: Path, ranges: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    local = report(capsys, str(capture), *ASKED[asked])
    assert not ranges
    assert report(capsys, str(capture), *ASKED[asked], "--spark") == local
    assert ranges[0] > 2


@pytest.mark.parametrize(
    "asked",
    [
        ("--status", "--only-lagging", "-o", "jsonl"),
        ("--stuck", "--group", "[a-m]*", "--group", "nobody-*", "--topic", "nothing-*", "--topic", "*"),
    ],
    ids=["status", "stuck"],
)
def test_of_a_log_that_is_read_in_many_tasks(
    asked: Sequence[str],
    generated: Path,
    ranges: list[int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Transactions begin in one task's part and end in another's; the path is no whole one."""
    monkeypatch.chdir(generated.parent)
    arguments = (generated.name, *asked, "--fail-on", "stuck", "--fail-on", "lag=1000")
    local = report(capsys, *arguments, code=3)
    assert report(capsys, *arguments, "--spark", code=3) == local
    assert ranges[0] > 2


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--group", "order-ap"), "no group here matches order-ap; did you mean orders-app?"),
        (("--topic", "ordrs"), "no topic here matches ordrs; did you mean orders?"),
    ],
)
def test_what_matches_nothing_is_said_as_without_spark(
    asked: Sequence[str], message: str, ranges: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    local = report(capsys, str(LIVES[-1]), *asked, code=1)
    assert message in local[1]
    assert report(capsys, str(LIVES[-1]), *asked, "--spark", code=1) == local


@pytest.mark.usefixtures("ranges")
def test_executors_write_the_tables(
    tmp_path: Path,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = (str(LIVES[-1]), *NOW, "--stuck")
    monkeypatch.setattr(tables, "check_table", lambda session, name: None)
    spark.sql(f"CREATE DATABASE kgroup_there LOCATION '{tmp_path / 'database'}'")
    names = ["kgroup_there.lag", "kgroup_there.here"]
    try:
        for name, worth in zip(names, (0, 1 << 40), strict=True):
            monkeypatch.setattr(there, "WORTH_BYTES", worth)
            report(capsys, *arguments, "--spark", "--save-as", name)
        (rows, rows_here), (found, found_here) = (
            [spark.table(name + more).toArrow() for name in names] for more in ("", "_findings")
        )
    finally:
        spark.sql("DROP DATABASE kgroup_there CASCADE")
    assert rows_here.num_rows > 20 and found_here.num_rows > 5
    order = [(name, "ascending") for name in ("group", "topic", "partition")]
    assert rows.schema == rows_here.schema
    assert rows.sort_by(order).equals(rows_here.sort_by(order))
    of_findings = [(name, "ascending") for name in ("group", "finding", "topic", "partition", "evidence")]
    assert found.schema == found_here.schema
    assert found.sort_by(of_findings).equals(found_here.sort_by(of_findings))


def test_too_much_for_the_driver_is_refused_in_one_line_before_it_comes(
    ranges: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(room, "room_of", lambda session: 1000)
    out, message = report(capsys, str(LIVES[-1]), "--status", "--spark", code=1)
    assert out == ""
    assert re.fullmatch(
        r"kgroup: summaries of all parts of the log are 0\.\d MB, and the driver takes 0\.0 MB"
        r" \(spark\.driver\.maxResultSize\); give it more: --spark-conf spark\.driver\.memory=8g"
        r" --spark-conf spark\.driver\.maxResultSize=4g\n",
        message,
    )
    assert not ranges
