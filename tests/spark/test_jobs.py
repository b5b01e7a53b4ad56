"""Spark leaves of a log exactly what the local scan leaves, however the log is cut up."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kgroup.errors import KgroupError
from kgroup.log.files.segment import read_segment
from kgroup.log.files.sources import open_sources
from kgroup.log.format.batch import Batch
from kgroup.scan.reductions.cut_groups import cut_by_hash
from kgroup.scan.reductions.last_commits import Keep, counting, last_commits
from kgroup.scan.reductions.scan import Slice, newest, split
from kgroup.spark import jobs, reduced_source
from kgroup.spark.parts.kinds import pack as pack_part
from kgroup.spark.parts.kinds import unpack
from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords, ReachAndRounds
from kgroup.spark.tasks import pack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIXTURES = Path(__file__).parents[2] / "fixtures"
WHOLE_FILES = 1 << 40
SOME_CAPTURES = 8


def capture_slices() -> Iterator[Slice]:
    """Every segment of every capture, whole; offsets partitions numbered anew, so that one job takes all."""
    captures = sorted(path.parent for path in FIXTURES.glob("*/*/truth.jsonl"))
    for number, capture in enumerate(captures):
        for segment in open_sources([capture]):
            for part in split(segment.path, segment.partition, WHOLE_FILES):
                yield replace(part, offsets_partition=100 * number + part.offsets_partition % 100)


@pytest.mark.spark
def test_spark_equals_local_on_every_capture_and_every_damaged_file(spark: "SparkSession") -> None:
    slices = list(capture_slices())
    local = newest(slices)
    assert len({part.offsets_partition // 100 for part in slices}) > 50
    assert local.commits.num_rows > 1000
    assert local.damage
    assert jobs.reduced_slices(spark, slices, WHOLE_FILES, NewestRecords()) == local


@pytest.mark.spark
@pytest.mark.parametrize(("slice_bytes", "queries"), [(WHOLE_FILES, 0), (1 << 12, 1)])
def test_no_query_is_planned_where_the_driver_merges_all(
    spark: "SparkSession", slice_bytes: int, queries: int
) -> None:
    sources = open_sources([FIXTURES / "4.3.1/lives"])
    slices = [part for one in sources for part in split(one.path, one.partition, slice_bytes)]
    planned = spark._jsparkSession.sharedState().statusStore().executionsCount
    before = planned()
    assert jobs.reduced_slices(spark, slices, 1 << 15, NewestRecords()) == newest(slices)
    assert planned() - before == queries


def transactional_segments() -> list[Path]:
    """Real segments in which transactions were committed and aborted."""
    folders = ("1.1.1/lives/__consumer_offsets-48", "3.9.1/compacted/__consumer_offsets-11")
    segments = [min((FIXTURES / folder).glob("*.log")) for folder in folders]
    assert all({batch.transactional for batch in batches_of(path)} == {True, False} for path in segments)
    return segments


def batches_of(path: Path) -> list[Batch]:
    return [item for item in read_segment(path) if isinstance(item, Batch)]


def slice_per_batch(path: Path, offsets_partition: int) -> list[Slice]:
    return [
        Slice(
            path=path,
            offsets_partition=offsets_partition,
            start=batch.position,
            end=batch.position + batch.size,
        )
        for batch in batches_of(path)
    ]


def cut_at_every_boundary(paths: list[Path]) -> tuple[list[Slice], list[Slice]]:
    """The front and the back parts of segments that are cut behind each batch; a partition for each cut."""
    fronts: list[Slice] = []
    backs: list[Slice] = []
    for path in paths:
        for batch in slice_per_batch(path, 0):
            cut = Slice(path=path, offsets_partition=len(fronts), start=0, end=batch.end)
            fronts.append(cut)
            backs.append(replace(cut, start=batch.end, end=path.stat().st_size))
    return fronts, backs


@pytest.mark.spark
def test_a_transaction_that_is_cut_anywhere_counts_the_same(spark: "SparkSession") -> None:
    fronts, backs = cut_at_every_boundary(transactional_segments())
    # With all fronts before all backs each part is a run by itself, and they meet again only in the shuffle.
    merged = jobs.reduced_slices(spark, [*fronts, *backs], WHOLE_FILES, NewestRecords())
    whole = newest(replace(front, end=back.end) for front, back in zip(fronts, backs, strict=True))
    assert merged == whole
    assert merged.commits.num_rows > len(fronts)


@pytest.mark.spark
def test_last_commits_of_a_log_that_is_cut_anywhere_are_the_same(spark: "SparkSession") -> None:
    fronts, backs = cut_at_every_boundary(transactional_segments())
    keep = Keep(slots=3)
    both = Both(NewestRecords(), LastCommitsOfEach(keep))
    newest_records, last = jobs.reduced_slices(spark, [*fronts, *backs], WHOLE_FILES, both)
    whole = [replace(front, end=back.end) for front, back in zip(fronts, backs, strict=True)]
    assert newest_records == newest(whole)
    assert counting(last, keep) == last_commits(whole, 3)
    assert last.settled.num_rows > len(fronts)


@pytest.mark.spark
def test_a_partition_in_several_tasks_of_several_slices(spark: "SparkSession") -> None:
    segments = sorted((FIXTURES / "3.9.1/compacted/__consumer_offsets-11").glob("*.log"))
    slices = [part for path in segments for part in slice_per_batch(path, 11)]
    task_bytes = sum(part.end - part.start for part in slices) // 5
    whole = [part for path in segments for part in split(path, 11, WHOLE_FILES)]
    assert jobs.reduced_slices(spark, slices, task_bytes, NewestRecords()) == newest(whole)


@pytest.mark.spark
def test_nothing_to_read_leaves_nothing(spark: "SparkSession") -> None:
    assert jobs.newest(spark, []) == newest([])


@pytest.mark.spark
def test_a_segment_that_vanishes_is_one_line_with_its_path(spark: "SparkSession") -> None:
    gone = Slice(path=Path("/nowhere/0.log"), offsets_partition=0, start=0, end=100)
    with pytest.raises(KgroupError) as raised:
        jobs.reduced_slices(spark, [gone], WHOLE_FILES, NewestRecords())
    assert str(raised.value) == "the Spark job failed: /nowhere/0.log: No such file or directory"


def test_parts_of_a_partition_are_merged_in_log_order_and_partitions_stay_apart() -> None:
    segments = sorted((FIXTURES / "3.9.1/compacted/__consumer_offsets-11").glob("*.log"))
    slices = [
        part for partition in (11, 12) for path in segments for part in slice_per_batch(path, partition)
    ]
    rows = [
        reduced_source.packed_row(part.offsets_partition, run, newest([part]))
        for run, part in enumerate(slices)
    ]
    merged = [batch.to_pylist()[0] for batch in jobs.merge_sorted(iter(rows), NewestRecords())]
    assert [(row["offsets_partition"], row["run"]) for row in merged] == [(11, 0), (12, len(slices) // 2)]
    for row in merged:
        whole = [part for path in segments for part in split(path, row["offsets_partition"], WHOLE_FILES)]
        assert unpack(row["part"]) == newest(whole)


@pytest.mark.spark
def test_pieces_of_many_partitions_share_as_many_tasks_as_have_read_them(spark: "SparkSession") -> None:
    path = min((FIXTURES / "3.9.1/compacted/__consumer_offsets-11").glob("*.log"))
    slices = [part for partition in range(7) for part in slice_per_batch(path, partition)[:2]]
    rows = [
        {"offsets_partition": part.offsets_partition, "run": run, "part": pack_part(newest([part]))}
        for run, part in enumerate(slices)
    ]
    runs = dict.fromkeys(range(7), 2)
    read = spark.createDataFrame(rows, reduced_source.SCHEMA)
    merged = jobs.merged_in_pieces(read, runs, NewestRecords(), cut_by_hash, 3)
    pieces = merged.selectExpr("*", "spark_partition_id() AS task").collect()
    assert {row["task"] for row in pieces} == {0, 1, 2}
    assert len(pieces) == 14
    assert [row["offsets_partition"] for row in pieces] == [each for each in range(7) for _ in range(2)]
    whole = NewestRecords().merge(unpack(row["part"]) for row in pieces)
    assert whole.commits.num_rows == newest(slices).commits.num_rows


def test_a_task_whose_runs_go_to_the_driver_sends_one_row_of_all_that_they_leave() -> None:
    captured = [part for part in capture_slices() if part.offsets_partition // 100 < SOME_CAPTURES]
    tasks = [task.value for task in pack(captured, sum(part.end - part.start for part in captured) // 3)]
    reduction = Both(Both(NewestRecords(), LastCommitsOfEach(Keep(slots=10))), ReachAndRounds())
    numbers = pa.RecordBatch.from_pydict({"id": list(range(len(tasks)))})
    rows = [
        row
        for batch in reduced_source.read_tasks(iter([numbers]), tasks, reduction, is_one_row=True)
        for row in batch.to_pylist()
    ]
    assert len(tasks) > 2
    assert len(rows) == len(tasks)
    assert [row["run"] for row in rows] == sorted(row["run"] for row in rows)
    assert [row["part"] for row in rows] == [reduced_source.packed_task(task, reduction) for task in tasks]
    (records, last), history = reduction.merge([unpack(row["part"]) for row in rows])
    (each, each_last), each_history = reduction.merge([reduction.reduce([part]) for part in captured])
    assert records == each
    assert last.leaps.to_pylist() == each_last.leaps.to_pylist()  # their names may be numbered differently
    assert replace(last, leaps=each_last.leaps) == each_last
    assert history == each_history
