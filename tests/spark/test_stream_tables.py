"""The tables of a stream: the old rows or the new ones at any moment, and each event once."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kgroup.errors import InputError, KgroupError
from kgroup.spark import stream_tables
from kgroup.spark.stream_tables import append_events, check_stream_table, outdated, replace_latest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOW_MS = 1_800_000_000_000
MINUTE_MS = 60_000

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
        replace_latest(spark, name, frame(spark, number, number + 1), NOW_MS + number * MINUTE_MS * 10)
        assert lags(spark, name) == [number, number + 1]
    assert spark.table(name).columns == ["group", "lag"]
    kept = spark.sql(f"SELECT DISTINCT version FROM {name}_versions").collect()
    assert sorted((row.version - NOW_MS) // MINUTE_MS for row in kept) == [20, 30, 40, 50, 60, 70]


@pytest.mark.parametrize(
    ("minutes", "removed"),
    [
        ([], []),
        ([0, 1, 2, 3, 4, 30], []),  # no more than six
        ([0, 1, 2, 3, 4, 5, 30], [0]),
        # Nine minutes ago somebody may have begun with the one of minute 20.
        ([0, 10, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30], [0, 10]),
        ([0, 10, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30], [0, 10, 19]),
    ],
)
def test_what_was_replaced_less_than_ten_minutes_ago_is_kept_too(
    minutes: list[int], removed: list[int]
) -> None:
    versions = [NOW_MS + minute * MINUTE_MS for minute in minutes]
    assert outdated(versions, NOW_MS + 30 * MINUTE_MS) == [NOW_MS + each * MINUTE_MS for each in removed]


def test_versions_that_were_counted_or_written_by_a_clock_ahead_are_followed(
    spark: "SparkSession", name: str
) -> None:
    for now_ms in (3, 1, NOW_MS, NOW_MS - 5):
        replace_latest(spark, name, frame(spark, now_ms), now_ms)
        assert lags(spark, name) == [now_ms]
    kept = spark.sql(f"SELECT DISTINCT version FROM {name}_versions").collect()
    assert sorted(row.version for row in kept) == [3, 4, NOW_MS, NOW_MS + 1]


def test_no_rows_are_none(spark: "SparkSession", name: str) -> None:
    for rows in ([1], [], [2]):
        replace_latest(spark, name, frame(spark, *rows), NOW_MS)
        assert lags(spark, name) == rows


def test_until_all_is_written_the_old_rows_are_there(
    spark: "SparkSession", name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_latest(spark, name, frame(spark, 1), NOW_MS)
    put, seen = stream_tables._put, list[list[int]]()

    def dies(*arguments: Any) -> None:
        put(*arguments)
        seen.append(lags(spark, name))
        raise KgroupError("gone")

    with monkeypatch.context() as dying:
        dying.setattr(stream_tables, "_put", dies)
        with pytest.raises(KgroupError, match="gone"):
            replace_latest(spark, name, frame(spark, 2), NOW_MS)
    assert (seen, lags(spark, name)) == ([[1]], [1])
    replace_latest(spark, name, frame(spark, 3), NOW_MS)
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
    replace_latest(spark, name, frame(spark, 1), NOW_MS)
    check_stream_table(spark, name)
    with pytest.raises(KgroupError, match=r"lag_versions has other columns, as another report made it"):
        replace_latest(spark, name, frame(spark, 1).withColumnRenamed("lag", "behind"), NOW_MS)
    with pytest.raises(InputError, match=r"^--save-as kgroup_tables.lag_versions: a table is there already"):
        check_stream_table(spark, f"{name}_versions")


def test_another_catalog_is_refused(spark: "SparkSession") -> None:
    spark.conf.set("spark.sql.catalog.lake", "org.example.Catalog")
    try:
        with pytest.raises(InputError, match=r"^--save-as lake.a.b: with --stream only tables of Spark"):
            check_stream_table(spark, "lake.a.b")
    finally:
        spark.conf.unset("spark.sql.catalog.lake")
