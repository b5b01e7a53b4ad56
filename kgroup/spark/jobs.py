"""What kgroup asks of Spark."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

from kgroup.log.partition import SegmentFile
from kgroup.log.scan import Newest, Slice, merge
from kgroup.spark import newest_source
from kgroup.spark.failure import raised_as_kgroup_error
from kgroup.spark.tasks import Task, bytes_of, pack, split_segments, task_bytes_for

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_MERGED_AT_ONCE: Final = 16


def newest(session: "SparkSession", segments: Iterable[SegmentFile]) -> Newest:
    """What `kgroup.log.scan.newest` says of these segments, given in log order; Spark's executors scan them.

    The driver holds what is newest per key, never more. Raises KgroupError, with the cause, if a segment
    cannot be read or the job fails.
    """
    segments = tuple(segments)
    task_bytes = task_bytes_for(bytes_of(segments), session.sparkContext.defaultParallelism)
    return newest_of_slices(session, split_segments(segments, task_bytes), task_bytes)


def newest_of_slices(session: "SparkSession", slices: Iterable[Slice], task_bytes: int) -> Newest:
    """The same for slices in log order, read in tasks of `task_bytes`."""
    tasks = pack(slices, task_bytes)
    session.dataSource.register(newest_source.NewestDataSource)
    with raised_as_kgroup_error("the Spark job failed"):
        parts = (
            session.read.format(newest_source.SOURCE)
            .option("tasks", newest_source.tasks_option(tasks))
            .load()
        )
        whole = _each_partition_in_one_run(tasks)
        rows = (parts if whole else _merged_by_partition(parts)).toArrow().sort_by("run")
    return merge([newest_source.unpack(packed.as_py()) for packed in rows["newest"]])


def _each_partition_in_one_run(tasks: "Iterable[Task]") -> bool:
    partitions = [run.offsets_partition for task in tasks for run in task.runs()]
    return len(partitions) == len(set(partitions))


def _merged_by_partition(parts: "DataFrame") -> "DataFrame":
    """Merge the runs of each offsets partition: a transaction may begin in one and end in a later one."""
    return (
        parts.repartition("offsets_partition")
        .sortWithinPartitions("offsets_partition", "run")
        .mapInArrow(merge_sorted, newest_source.SCHEMA)
    )


def merge_sorted(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Merge rows sorted by offsets partition and run; hold a few parts of one partition at a time."""
    rows = (row for batch in batches for row in batch.to_pylist())
    for partition, of_partition in groupby(rows, key=lambda row: row["offsets_partition"]):
        first_run: int | None = None
        parts: list[Newest] = []
        for row in of_partition:
            first_run = row["run"] if first_run is None else first_run
            parts.append(newest_source.unpack(row["newest"]))
            if len(parts) == _MERGED_AT_ONCE:
                parts = [merge(parts)]
        assert first_run is not None
        yield newest_source.packed_row(partition, first_run, merge(parts))
