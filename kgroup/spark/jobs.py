"""What kgroup asks of Spark. Importing this module does not import PySpark."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from kgroup.log.partition import SegmentFile
    from kgroup.log.scan import Newest, Slice
    from kgroup.spark.tasks import Task

_MERGED_AT_ONCE: Final = 16


def newest(session: "SparkSession", segments: "Iterable[SegmentFile]") -> "Newest":
    """What `kgroup.log.scan.newest` says of these segments, given in log order; Spark's executors scan them.

    The driver holds what is newest per key, never more. Raises KgroupError, with the cause, if a segment
    cannot be read or the job fails.
    """
    from kgroup.spark.tasks import bytes_of, split_segments, task_bytes_for

    segments = tuple(segments)
    task_bytes = task_bytes_for(bytes_of(segments), session.sparkContext.defaultParallelism)
    return newest_of_slices(session, split_segments(segments, task_bytes), task_bytes)


def newest_of_slices(session: "SparkSession", slices: "Iterable[Slice]", task_bytes: int) -> "Newest":
    """The same for slices in log order, read in tasks of `task_bytes`."""
    from kgroup.log.scan import merge
    from kgroup.spark.failure import raised_as_kgroup_error
    from kgroup.spark.newest_source import NewestDataSource, tasks_option, unpack
    from kgroup.spark.tasks import pack

    tasks = pack(slices, task_bytes)
    session.dataSource.register(NewestDataSource)
    with raised_as_kgroup_error("the Spark job failed"):
        parts = session.read.format(NewestDataSource.name()).option("tasks", tasks_option(tasks)).load()
        if not _each_partition_in_one_run(tasks):
            parts = _merged_by_partition(parts)
        rows = parts.toArrow().sort_by("run")
    return merge([unpack(packed.as_py()) for packed in rows["newest"]])


def merge_sorted(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Merge rows of `kgroup-newest` that are sorted by offsets partition and run: one row per partition.

    Holds a few parts of one partition at a time.
    """
    from kgroup.log.scan import merge
    from kgroup.spark.newest_source import packed_row, unpack

    rows = (row for batch in batches for row in batch.to_pylist())
    for partition, of_partition in groupby(rows, key=lambda row: row["offsets_partition"]):
        first_run: int | None = None
        parts: list[Newest] = []
        for row in of_partition:
            first_run = row["run"] if first_run is None else first_run
            parts.append(unpack(row["newest"]))
            if len(parts) == _MERGED_AT_ONCE:
                parts = [merge(parts)]
        assert first_run is not None
        yield packed_row(partition, first_run, merge(parts))


def _each_partition_in_one_run(tasks: "Iterable[Task]") -> bool:
    partitions = [run.offsets_partition for task in tasks for run in task.runs()]
    return len(partitions) == len(set(partitions))


def _merged_by_partition(parts: "DataFrame") -> "DataFrame":
    """Merge the runs of each offsets partition: a transaction may begin in one and end in a later one."""
    from kgroup.spark.newest_source import SCHEMA

    return (
        parts.repartition("offsets_partition")
        .sortWithinPartitions("offsets_partition", "run")
        .mapInArrow(merge_sorted, SCHEMA)
    )
