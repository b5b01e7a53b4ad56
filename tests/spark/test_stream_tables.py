"""The tables of a stream: the old rows or the new ones at any moment, and each event once."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgroup.errors import InputError, KgroupError
from kgroup.spark import stream_tables
from kgroup.spark.stream_tables import append_events, check_stream_table, replace_latest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def name(spark: "SparkSession", tmp_path: Path) -> "Iterator[str]":
    spark.sql(f"CREATE DATABASE kgroup_tables LOCATION '{tmp_path / 'warehouse'}'")
    yield "kgroup_tables.lag"
    spark.sql("DROP DATABASE kgroup_tables CASCADE")


def frame(spark: "SparkSession", *lags: int) -> "DataFrame":
    return spark.createDataFrame([(f"g{lag}", lag) for lag in lags], "`group` string, lag long")


def lags(spark: "SparkSession", table: str) -> list[int]:
    return sorted(row.lag for row in spark.table(table).collect())


def test_each_takes_the_place_of_the_one_before_and_a_few_old_ones_are_kept(
    spark: "SparkSession", name: str
) -> None:
    for number in range(8):
        replace_latest(spark, name, frame(spark, number, number + 1))
        assert lags(spark, name) == [number, number + 1]
    assert spark.table(name).columns == ["group", "lag"]
    kept = spark.sql(f"SELECT DISTINCT version FROM {name}_versions").collect()
    assert sorted(row.version for row in kept) == [3, 4, 5, 6, 7, 8]


def test_no_rows_are_none(spark: "SparkSession", name: str) -> None:
    for rows in ([1], [], [2]):
        replace_latest(spark, name, frame(spark, *rows))
        assert lags(spark, name) == rows


def test_until_all_is_written_the_old_rows_are_there(
    spark: "SparkSession", name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_latest(spark, name, frame(spark, 1))
    put, seen = stream_tables._put, list[list[int]]()

    def dies(*arguments: Any) -> None:
        put(*arguments)
        seen.append(lags(spark, name))
        raise KgroupError("gone")

    with monkeypatch.context() as dying:
        dying.setattr(stream_tables, "_put", dies)
        with pytest.raises(KgroupError, match="gone"):
            replace_latest(spark, name, frame(spark, 2))
    assert (seen, lags(spark, name)) == ([[1]], [1])
    replace_latest(spark, name, frame(spark, 3))
    assert lags(spark, name) == [3]


def test_the_events_of_a_micro_batch_are_there_once_and_those_of_other_streams_stay(
    spark: "SparkSession", name: str, tmp_path: Path
) -> None:
    for stream in ("one", "two"):
        (tmp_path / stream).mkdir()
        (tmp_path / stream / "metadata").write_text(f'{{"id":"{stream}"}}')
    for stream, number, row in (("one", 0, 1), ("one", 3, 2), ("one", 3, 2), ("two", 3, 3)):
        append_events(spark, name, str(tmp_path / stream), number, frame(spark, row))
    append_events(spark, name, str(tmp_path / "one"), 4, frame(spark))
    assert lags(spark, f"{name}_finding_events") == [1, 2, 3]


def test_before_anything_has_happened_the_table_is_there(
    spark: "SparkSession", name: str, tmp_path: Path
) -> None:
    append_events(spark, name, str(tmp_path), 0, frame(spark))
    assert lags(spark, f"{name}_finding_events") == []


def test_a_table_of_that_name_and_other_columns_are_one_line(spark: "SparkSession", name: str) -> None:
    replace_latest(spark, name, frame(spark, 1))
    check_stream_table(spark, name)
    with pytest.raises(KgroupError, match=r"lag_versions has other columns, as another report made it"):
        replace_latest(spark, name, frame(spark, 1).withColumnRenamed("lag", "behind"))
    with pytest.raises(InputError, match=r"^--save-as kgroup_tables.lag_versions: a table is there already"):
        check_stream_table(spark, f"{name}_versions")


def test_another_catalog_is_refused(spark: "SparkSession") -> None:
    spark.conf.set("spark.sql.catalog.lake", "org.example.Catalog")
    try:
        with pytest.raises(InputError, match=r"^--save-as lake.a.b: with --stream only tables of Spark"):
            check_stream_table(spark, "lake.a.b")
    finally:
        spark.conf.unset("spark.sql.catalog.lake")
