"""`--save-as`: the rows of a report as a table of Spark's catalog."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgroup.cli.shell.app import main
from kgroup.errors import InputError, KgroupError
from kgroup.report.emit import Column, Kind, arrow_batches, arrow_schema
from kgroup.spark import tables
from kgroup.spark.tables import check_table, save_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CAPTURE = Path(__file__).parents[2] / "fixtures" / "4.3.1" / "lives"
COLUMNS = (
    Column(name="group"),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="at", kind=Kind.TIME_MS),
    Column(name="notes", kind=Kind.NESTED),
)


@pytest.fixture
def database(spark: "SparkSession", tmp_path: Path) -> "Iterator[str]":
    spark.sql(f"CREATE DATABASE kgroup_test LOCATION '{tmp_path}'")
    yield "kgroup_test"
    spark.sql("DROP DATABASE kgroup_test CASCADE")


def save(spark: "SparkSession", name: str, rows: list[dict[str, object]]) -> int:
    return save_table(spark, name, arrow_schema(COLUMNS), arrow_batches(rows, COLUMNS))


@pytest.mark.spark
def test_rows_come_back_as_they_were_and_a_second_time_takes_the_place_of_the_first(
    spark: "SparkSession", database: str
) -> None:
    name = f"{database}.lag"
    first = {"group": "old", "lag": 1, "at": 0, "notes": []}
    assert save(spark, name, [first, first]) == 2
    row = {"group": "orders-app", "lag": None, "at": 1_763_642_552_345, "notes": ["no-owner"]}
    assert save(spark, name, [row]) == 1
    sql = f"SELECT `group`, lag, unix_millis(at) AS at, notes FROM {name}"
    assert [row.asDict() for row in spark.sql(sql).collect()] == [{**row, "notes": '["no-owner"]'}]


@pytest.mark.spark
def test_no_rows_make_an_empty_table_with_all_columns(spark: "SparkSession", database: str) -> None:
    assert save(spark, f"{database}.lag", []) == 0
    assert spark.table(f"{database}.lag").columns == [column.name for column in COLUMNS]


@pytest.mark.spark
def test_a_database_that_is_not_there_is_one_line(spark: "SparkSession") -> None:
    with pytest.raises(KgroupError, match=r"^--save-as nowhere\.lag: .*nowhere") as raised:
        save(spark, "nowhere.lag", [])
    assert "\n" not in str(raised.value)


@pytest.mark.spark
def test_a_catalog_in_memory_is_refused_before_any_work(spark: "SparkSession") -> None:
    with pytest.raises(InputError, match="no catalog that lasts"):
        check_table(spark, "lag")


@pytest.mark.spark
def test_a_name_that_is_none_is_one_line(spark: "SparkSession") -> None:
    with pytest.raises(KgroupError, match=r"^--save-as a b;: ") as raised:
        check_table(spark, "a b;")
    assert "\n" not in str(raised.value)


@pytest.mark.spark
@pytest.mark.usefixtures("shared_session")
def test_one_table_holds_the_rows_of_the_report_and_another_the_findings(
    spark: "SparkSession", database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tables, "check_table", lambda session, name: None)
    arguments = ["lag-report", str(CAPTURE), "--now", "2026-11-20T13:00Z"]

    def rows_of(*more: str) -> int:
        with pytest.raises(SystemExit):
            main([*arguments, *more, "-o", "csv", "-q"])
        return capsys.readouterr().out.count("\n") - 1

    partitions, findings = rows_of("--status"), rows_of("--stuck")
    assert min(partitions, findings) > 5
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--stuck", "--spark", "--save-as", f"{database}.lag"])
    written = capsys.readouterr()
    assert (ended.value.code, written.out) == (0, "")
    assert f"kgroup: table {database}.lag: {partitions} rows" in written.err
    table, table_of_findings = spark.table(f"{database}.lag"), spark.table(f"{database}.lag_findings")
    assert (table.count(), table_of_findings.count()) == (partitions, findings)
    assert {"group", "lag", "status", "rule", "evidence"} <= set(table.columns)
    assert {"group", "finding", "since", "evidence", "try_this"} <= set(table_of_findings.columns)
