"""`kafka-offsets` as Spark's planner and workers call it, without Spark; Kafka's decoding is the truth."""

import json
import pickle
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import datasource as spark
from pyspark.sql.types import LongType, StringType, StructField, StructType

from kgroup.errors import InputError, SourceError
from kgroup.spark.sources.offsets import OFFSETS_TABLE, OffsetsSource

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = FIXTURES / "4.3.1/lives"


def reader_of(paths: Path | Sequence[Path], *filters: spark.Filter, **options: str):
    given = [paths] if isinstance(paths, Path) else paths
    source = OffsetsSource(
        {"paths": json.dumps([str(path) for path in given]), "pushfilters": "true", **options}
    )
    reader = source.reader(source.schema())
    return reader, list(reader.pushFilters(list(filters)))


def rows_of(reader) -> list[dict[str, object]]:
    at_executors = pickle.loads(pickle.dumps(reader))  # Spark sends it before it asks for tasks
    batches = [batch for task in reader.partitions() for batch in at_executors.read(task)]
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def read(paths: Path | Sequence[Path], *filters: spark.Filter, **options: str) -> list[dict[str, object]]:
    reader, left = reader_of(paths, *filters, **options)
    assert not left
    return rows_of(reader)


def read_partitions(reader) -> set[int]:
    return {run.offsets_partition for task in reader.partitions() for run, _ in task.runs()}


def commits_in_truth(capture: Path) -> Iterator[tuple[object, ...]]:
    for line in (capture / "truth.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["kind"] in ("record", "tombstone") and record["keyVersion"] in (0, 1):
            key, value = record["key"], record["value"] or {}
            yield (
                record["partition"],
                record["offset"],
                key["group"],
                key["topic"],
                key["partition"],
                "tombstone" if record["kind"] == "tombstone" else "commit",
                value.get("offset"),
                value.get("metadata"),
            )


COLUMNS = "offsets_partition,log_offset,group,topic,partition,type,offset,metadata"


def test_each_commit_is_a_row_as_kafka_decodes_it():
    rows = read(LIVES, columns=COLUMNS, taskBytes="4096")
    place = itemgetter(0, 1)
    assert sorted((tuple(row.values()) for row in rows), key=place) == sorted(
        commits_in_truth(LIVES), key=place
    )


def test_times_are_times_and_what_a_record_does_not_say_is_null():
    rows = read(LIVES)
    commit = next(row for row in rows if row["type"] == "commit")
    tombstone = next(row for row in rows if row["type"] == "tombstone")
    assert commit["commit_timestamp"].tzinfo is not None
    assert commit["commit_timestamp"].year >= 2020
    assert commit["expire_timestamp"] is None
    for unknown in ("offset", "metadata", "commit_timestamp", "leader_epoch", "topic_id"):
        assert tombstone[unknown] is None
    assert list(commit) == OFFSETS_TABLE.names


def test_the_schema_is_what_is_documented_or_the_columns_that_are_chosen():
    everything = OffsetsSource({"path": "/a"}).schema()
    assert everything.names == OFFSETS_TABLE.names
    assert everything["commit_timestamp"].dataType.simpleString() == "timestamp"
    assert OffsetsSource({"path": "/a", "columns": "topic, group"}).schema().names == ["topic", "group"]


def test_a_schema_of_the_users_chooses_columns_and_types():
    source = OffsetsSource({"path": str(LIVES), "pushfilters": "true"})
    reader = source.reader(schema_of(partition=LongType(), topic=StringType()))
    asked = [spark.EqualTo(("partition",), 0), spark.EqualTo(("topic",), "orders")]
    assert list(reader.pushFilters(asked)) == asked[:1], "partition is of another type, so Spark filters"
    rows = rows_of(reader)
    assert list(rows[0]) == ["partition", "topic"]
    with pytest.raises(InputError, match="no column offzet, only group, topic"):
        source.reader(schema_of(offzet=LongType()))


def schema_of(**columns) -> StructType:
    return StructType([StructField(name, each) for name, each in columns.items()])


def the(rows: list[dict[str, object]], test) -> list[dict[str, object]]:
    return [row for row in rows if test(row)]


@cache
def everything() -> list[dict[str, object]]:
    return read(LIVES)


A_GROUP, A_TOPIC = "orders-app", "audit"
A_TIME = datetime(2026, 11, 20, 12, 46, 52, 293000, tzinfo=UTC)
"""Of a record in the middle of the log."""


@pytest.mark.parametrize(
    ("condition", "test"),
    [
        (spark.EqualTo(("group",), A_GROUP), lambda row: row["group"] == A_GROUP),
        (spark.EqualNullSafe(("topic",), A_TOPIC), lambda row: row["topic"] == A_TOPIC),
        (spark.In(("partition",), (0, 2)), lambda row: row["partition"] in (0, 2)),
        (spark.EqualTo(("type",), "tombstone"), lambda row: row["type"] == "tombstone"),
        (spark.GreaterThan(("record_timestamp",), A_TIME), lambda row: row["record_timestamp"] > A_TIME),
        (spark.LessThanOrEqual(("record_timestamp",), A_TIME), lambda row: row["record_timestamp"] <= A_TIME),
        (spark.StringStartsWith(("group",), A_GROUP[:3]), lambda row: row["group"].startswith(A_GROUP[:3])),
        (spark.StringContains(("group",), A_GROUP[1:3]), lambda row: A_GROUP[1:3] in row["group"]),
        (spark.StringEndsWith(("topic",), A_TOPIC[-2:]), lambda row: row["topic"].endswith(A_TOPIC[-2:])),
        (spark.IsNull(("offset",)), lambda row: row["offset"] is None),
        (spark.Not(spark.IsNull(("offset",))), lambda row: row["offset"] is not None),
        (
            spark.Not(spark.EqualTo(("offset",), 0)),
            lambda row: row["offset"] is not None and row["offset"] != 0,
        ),
        (
            spark.Not(spark.In(("offset",), (0, 10))),
            lambda row: row["offset"] is not None and row["offset"] not in (0, 10),
        ),
        (spark.LessThan(("offset",), 100), lambda row: row["offset"] is not None and row["offset"] < 100),
    ],
)
def test_a_filter_keeps_what_sql_would(condition: spark.Filter, test):
    expected = the(everything(), test)
    assert 0 < len(expected) < len(everything())
    assert read(LIVES, condition) == expected


@pytest.mark.parametrize(
    "condition",
    [
        spark.EqualTo(("members", "id"), "a"),
        spark.EqualTo(("group",), 7),
        spark.EqualTo(("partition",), 2**40),
        spark.EqualTo(("partition",), True),
        spark.GreaterThan(("record_timestamp",), datetime(2026, 1, 1)),
        spark.In(("group",), ("a", None)),
        spark.EqualNullSafe(("offset",), None),
        spark.Not(spark.EqualNullSafe(("offset",), 1)),
    ],
)
def test_what_cannot_be_answered_exactly_is_left_to_spark(condition: spark.Filter):
    _, left = reader_of(LIVES, condition)
    assert left == [condition]


def test_a_filter_on_groups_reads_the_partitions_of_their_hash_alone():
    mine = {row["offsets_partition"] for row in everything() if row["group"] == A_GROUP}
    everywhere, _ = reader_of(LIVES)
    reader, _ = reader_of(LIVES, spark.EqualTo(("group",), A_GROUP))
    assert read_partitions(reader) == mine
    assert read_partitions(everywhere) > mine
    told, _ = reader_of(LIVES, spark.EqualTo(("group",), A_GROUP), offsetsPartitions="50")
    assert read_partitions(told) == mine
    not_asked, _ = reader_of(LIVES, spark.EqualTo(("group",), A_GROUP), offsetsPartitions="unknown")
    assert read_partitions(not_asked) == read_partitions(everywhere)
    neither, _ = reader_of(
        LIVES, spark.EqualTo(("group",), A_GROUP), spark.EqualTo(("offsets_partition",), max(mine) + 1)
    )
    assert rows_of(neither) == []


def test_options_are_conditions_that_need_no_push_down():
    since, until = "2026-11-20T12:46:30Z", str(int(A_TIME.timestamp() * 1000))
    rows = read(LIVES, group=A_GROUP, topic=A_TOPIC, since=since, until=until)
    first = datetime.fromisoformat(since)
    last = A_TIME.replace(microsecond=A_TIME.microsecond // 1000 * 1000)
    assert rows == [
        row
        for row in everything()
        if row["group"] == A_GROUP and row["topic"] == A_TOPIC and first <= row["record_timestamp"] < last
    ]
    reader, _ = reader_of(LIVES, group=A_GROUP)
    assert len(read_partitions(reader)) == 1
    assert not hasattr(OffsetsSource({"path": "/a"}).reader(schema_of(group=StringType())), "_reader")


def test_where_groups_are_not_on_their_partitions_all_is_read(tmp_path: Path):
    for source in LIVES.rglob("__consumer_offsets-*"):
        number = int(source.name.rpartition("-")[2])
        (tmp_path / f"__consumer_offsets-{number + 1}").symlink_to(source)
    condition = spark.EqualTo(("group",), A_GROUP)
    assert len(read(tmp_path, condition)) == len(the(everything(), lambda row: row["group"] == A_GROUP))


def test_a_time_passes_over_what_the_index_says_is_earlier(tmp_path: Path):
    reader, _ = reader_of(LIVES, spark.GreaterThanOrEqual(("record_timestamp",), A_TIME))
    late = rows_of(reader)
    assert late == the(everything(), lambda row: row["record_timestamp"] >= A_TIME)
    size = bytes_of(reader)
    assert 0 < size < bytes_of(reader_of(LIVES)[0])
    never, _ = reader_of(LIVES, spark.GreaterThan(("record_timestamp",), datetime(2100, 1, 1, tzinfo=UTC)))
    assert rows_of(never) == []


def bytes_of(reader) -> int:
    return sum(
        part.end - part.start for task in reader.partitions() for run, _ in task.runs() for part in run.slices
    )


def test_damage_fails_the_query_with_file_and_position_unless_it_is_to_be_skipped():
    damaged = FIXTURES / "damaged/bit-flip-in-records"
    at = json.loads((FIXTURES / "damaged/cases.json").read_text())["bit-flip-in-records"]["damage_at"]
    with pytest.raises(SourceError, match=rf"/bit-flip-in-records/\S+: byte {at}: .*CRC.*; option damage"):
        read(damaged)
    assert read(damaged, damage="skip")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no path; give one or several to load"),
        ({"path": "-"}, "executors cannot read standard input"),
        ({"path": "/a", "damage": "ignore"}, "option damage is 'ignore', not fail or skip"),
        ({"path": "/a", "taskbytes": "64m"}, "option taskBytes is '64m', not a number of bytes"),
        ({"path": "/a", "taskbytes": "0"}, "option taskBytes is '0'"),
        ({"path": "/a", "colums": "x"}, "no option colums, only clusters, columns, damage, "),
        ({"path": "/a", "columns": "group,nope"}, "option columns is 'group,nope', not names, each once"),
        ({"path": "/a", "columns": "group,group"}, "option columns is 'group,group', not names, each once"),
        ({"path": "/a", "since": "noon"}, "option since is 'noon', not a time like 2026-02-01T10:00:00Z"),
        ({"path": "/a", "group": ""}, "option group is '', not a text"),
        ({"path": "/a", "schemaversion": "2"}, "option schemaVersion is '2', not 1"),
        (
            {"path": "/a", "offsetspartitions": "many"},
            "option offsetsPartitions is 'many', not auto, unknown",
        ),
        ({"paths": "/a"}, "option paths is '/a', not a list of paths in JSON"),
    ],
)
def test_wrong_options_are_named_with_what_is_allowed(options: dict[str, str], message: str):
    with pytest.raises(InputError, match=f"^kafka-offsets: {message}"):
        source = OffsetsSource(options)
        source.reader(source.schema())


def test_a_path_that_is_not_there_is_one_line():
    with pytest.raises(SourceError, match=r"^/nowhere: No such file or directory$"):
        read(Path("/nowhere"))
