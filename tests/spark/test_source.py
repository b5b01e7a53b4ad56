"""The data source `kgroup-offsets`: every commit of real captures as Kafka's own code decoded it, in SQL."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgroup.errors import InputError, KgroupError
from kgroup.spark.failure import raised_as_kgroup_error
from kgroup.spark.source import OffsetsDataSource, OffsetsOptions, OnDamage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIXTURES = Path(__file__).parents[2] / "fixtures"
COLUMNS = (
    "offsets_partition",
    "log_offset",
    "group",
    "topic",
    "partition",
    "tombstone",
    "offset",
    "metadata",
)


def load(spark: "SparkSession", *paths: Path, **options: str) -> "DataFrame":
    spark.dataSource.register(OffsetsDataSource)
    reader = spark.read.format("kgroup-offsets").options(**options)
    return reader.load([str(path) for path in paths] if len(paths) > 1 else str(paths[0]))


def commits_in_truth(capture: Path) -> Iterator[tuple[object, ...]]:
    for line in (capture / "truth.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["kind"] in ("record", "tombstone") and record["keyVersion"] in (0, 1):
            key, value = record["key"], record["value"] or {"offset": -1, "metadata": ""}
            yield (
                record["partition"],
                record["offset"],
                key["group"],
                key["topic"],
                key["partition"],
                record["kind"] == "tombstone",
                value["offset"],
                value["metadata"],
            )


@pytest.mark.spark
def test_each_commit_is_a_row_as_kafka_decodes_it(spark: "SparkSession") -> None:
    capture = FIXTURES / "4.3.1/lives"
    rows = load(spark, capture, taskBytes="4096").select(*COLUMNS).toArrow().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == sorted(commits_in_truth(capture))


@pytest.mark.spark
def test_several_paths_and_fewer_columns(spark: "SparkSession") -> None:
    captures = [FIXTURES / "2.4.1/lives", FIXTURES / "1.1.1/format-0.9"]
    spark.dataSource.register(OffsetsDataSource)
    reader = spark.read.format("kgroup-offsets").schema("log_offset bigint not null, topic string not null")
    frame = reader.load([str(capture) for capture in captures])
    assert frame.columns == ["log_offset", "topic"]
    assert frame.count() == sum(1 for capture in captures for _ in commits_in_truth(capture))


@pytest.mark.spark
def test_damage_fails_the_query_with_file_and_position_unless_it_is_to_be_skipped(
    spark: "SparkSession",
) -> None:
    damaged = FIXTURES / "damaged/bit-flip-in-records"
    at = json.loads((FIXTURES / "damaged/cases.json").read_text())["bit-flip-in-records"]["damage_at"]
    with (
        pytest.raises(
            KgroupError, match=rf"^the query: \S+/bit-flip-in-records/\S+: byte {at}: .*CRC"
        ) as raised,
        raised_as_kgroup_error("the query"),
    ):
        load(spark, damaged).collect()
    assert "\n" not in str(raised.value)
    assert load(spark, damaged, damage="skip").count() > 0


@pytest.mark.spark
def test_a_path_that_is_not_there_is_one_line(spark: "SparkSession") -> None:
    with (
        pytest.raises(KgroupError, match=r"^the query: /nowhere: No such file or directory$"),
        raised_as_kgroup_error("the query"),
    ):
        load(spark, Path("/nowhere")).collect()


def test_options_come_in_lower_case_with_their_defaults() -> None:
    options = OffsetsOptions.of({"path": "/a", "taskbytes": "4096"})
    assert options == OffsetsOptions(paths=("/a",), damage=OnDamage.FAIL, task_bytes=4096)
    assert OffsetsOptions.of({"paths": '["/a", "/b"]', "damage": "SKIP"}).paths == ("/a", "/b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no path"),
        ({"path": "-"}, "executors cannot read standard input"),
        ({"path": "/a", "damage": "ignore"}, "option damage is 'ignore', not fail or skip"),
        ({"path": "/a", "taskbytes": "64m"}, "option taskBytes is '64m', not a number of bytes"),
        ({"path": "/a", "taskbytes": "0"}, "option taskBytes is '0'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=f"^kgroup-offsets: {message}"):
        OffsetsOptions.of(options)
