"""`spark.readStream.format("kafka-offsets")`: each row of a live log once, whatever dies on the way."""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

import kgroup.spark
from kgroup.errors import InputError, SourceError
from kgroup.spark.positions import Positions
from kgroup.spark.sources.offsets import OffsetsSource
from kgroup.spark.sources.stream_options import STREAM_OPTIONS, Connect
from tests.spark.sources.killed_stream import COLUMNS, finished, topic_of
from tests.spark.test_stream import made_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[3]
LIVES = ROOT / "fixtures/4.3.1/lives"


def rows_of(frame: "DataFrame") -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in frame.select(*COLUMNS).collect())


def in_files(spark: "SparkSession", path: Path) -> Counter[tuple[Any, ...]]:
    kgroup.spark.register(spark)
    return rows_of(spark.read.format("kafka-offsets").load(str(path)))


@pytest.mark.spark
def test_a_driver_that_is_killed_within_a_micro_batch_loses_and_doubles_nothing(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """The JVM, which is the driver here, is killed by a task that has fetched a part of the second one."""
    marker = tmp_path / "killed"
    command = [
        sys.executable,
        "-m",
        "tests.spark.sources.killed_stream",
        str(LIVES),
        str(tmp_path),
        str(marker),
    ]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert marker.exists(), ended.stderr
    assert ended.returncode != 0
    commits = tmp_path / "checkpoint" / "commits"
    assert [path.name for path in commits.iterdir() if path.name.isdigit()] == ["0"]
    assert (tmp_path / "checkpoint" / "offsets" / "1").exists()
    finished(spark, topic_of, str(LIVES), tmp_path)
    assert len([path for path in commits.iterdir() if path.name.isdigit()]) >= 3
    expected = in_files(spark, LIVES)
    assert rows_of(spark.read.parquet(str(tmp_path / "rows"))) == expected
    assert expected.total() > 2000 and max(expected.values()) == 1


def id_in_folder(servers: str, config: str | None) -> Any:
    from tests.spark.test_stream import TopicWithId

    return TopicWithId(servers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "a stream is of a live cluster: give the option bootstrapServers, like host:9092"),
        (
            {"bootstrapServers": "a:1", "path": "/x"},
            "a stream is of a live cluster, and load() takes no path",
        ),
        ({"bootstrapServers": "a:1", "maxOffsets": "0"}, "option maxOffsets is '0', not a number of offsets"),
        ({"bootstrapServers": "a:1", "logReset": "on"}, "option logReset is 'on', not fail or again"),
    ],
)
def test_wrong_options_of_streams_are_one_line(options: dict[str, str], message: str) -> None:
    source = OffsetsSource.streaming(topic_of)(options)
    with pytest.raises(InputError) as raised:
        source.streamReader(source.schema())
    assert str(raised.value) == f"kafka-offsets: {message}"


def test_files_do_not_stream() -> None:
    source = OffsetsSource({"path": "/x", "maxOffsets": "5"})
    with pytest.raises(InputError, match=r"^kafka-offsets: option maxOffsets is for readStream$"):
        source.reader(source.schema())


def test_the_page_has_every_option_of_streams() -> None:
    text = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
    section = text.partition("## As a stream\n")[2].partition("\n# ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == sorted(STREAM_OPTIONS)


def stream_reader(capture: Path, connect: Connect = topic_of, **options: str) -> Any:
    source = OffsetsSource.streaming(connect)({"bootstrapServers": str(capture), **options})
    return source.streamReader(source.schema())


def rows_read(reader: Any, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        row
        for task in reader.partitions(start, end)
        for batch in reader.read(task)
        for row in batch.to_pylist()
    ]


def test_a_micro_batch_has_the_rows_from_where_it_begins_and_no_others() -> None:
    """A log may begin within a batch, which comes whole: its records were deleted up to there."""
    reader = stream_reader(LIVES)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    every_row = rows_read(reader, start, end)
    assert len(every_row) > 2000
    partition, row = next((row["offsets_partition"], row) for row in every_row if row["log_offset"] > 40)
    later = Positions.of_json(start)
    position = replace(later.partitions[partition], offset=row["log_offset"], begin=row["log_offset"])
    later = replace(later, partitions={**later.partitions, partition: position})
    rest = [
        each
        for each in every_row
        if each["offsets_partition"] != partition or each["log_offset"] >= row["log_offset"]
    ]
    assert len(rest) < len(every_row)
    read = rows_read(reader, later.as_json(), end)
    places = [(each["offsets_partition"], each["log_offset"]) for each in read]
    assert sorted(places) == sorted((each["offsets_partition"], each["log_offset"]) for each in rest)


@pytest.mark.parametrize("log_reset", ["fail", "again"])
def test_a_log_that_is_another_one_is_read_again_only_where_that_is_asked_for(
    log_reset: str, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    made_of(logs, "3.9.1/lives", "first")
    reader = stream_reader(logs, id_in_folder, logReset=log_reset)
    start = reader.initialOffset()
    read = reader.latestOffset(start, ReadAllAvailable())
    made_of(logs, "3.9.1/lives", "second")
    if log_reset == "fail":
        with pytest.raises(SourceError, match=r"; option logReset=again reads it from where it begins now$"):
            reader.latestOffset(read, ReadAllAvailable())
    else:
        again = reader.latestOffset(read, ReadAllAvailable())
        assert rows_read(reader, read, again) == rows_read(reader, start, read)
