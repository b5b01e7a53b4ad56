"""What kgroup asks of Spark. Importing this module does not import PySpark."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from kgroup.spark.reductions import NewestRecords, Part, Reduction

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
    return reduced(session, segments, NewestRecords())


def reduced(session: "SparkSession", segments: "Iterable[SegmentFile]", reduction: Reduction[Part]) -> Part:
    """What the reduction leaves of these segments, given in log order, merged here in the driver."""
    slices, task_bytes = _planned(session, segments)
    return reduced_slices(session, slices, task_bytes, reduction)


def reduced_slices(
    session: "SparkSession", slices: "Iterable[Slice]", task_bytes: int, reduction: Reduction[Part]
) -> Part:
    """The same for slices in log order, read in tasks of `task_bytes`."""
    from kgroup.spark.failure import raised_as_kgroup_error
    from kgroup.spark.reduced_source import unpack

    with raised_as_kgroup_error("the Spark job failed"):
        rows = _parts(session, slices, task_bytes, reduction).toArrow().sort_by("run")
    return reduction.merge([unpack(packed.as_py()) for packed in rows["part"]])


def _planned(session: "SparkSession", segments: "Iterable[SegmentFile]") -> "tuple[list[Slice], int]":
    from kgroup.spark.tasks import bytes_of, split_segments, task_bytes_for

    segments = tuple(segments)
    task_bytes = task_bytes_for(bytes_of(segments), session.sparkContext.defaultParallelism)
    return split_segments(segments, task_bytes), task_bytes


def _parts(
    session: "SparkSession", slices: "Iterable[Slice]", task_bytes: int, reduction: Reduction[Part]
) -> "DataFrame":
    """One row for each offsets partition."""
    from kgroup.spark.reduced_source import ReducedDataSource, source_options
    from kgroup.spark.tasks import pack

    tasks = pack(slices, task_bytes)
    session.dataSource.register(ReducedDataSource)
    options = source_options(tasks, reduction)
    parts = session.read.format(ReducedDataSource.name()).options(**options).load()
    return parts if _each_partition_in_one_run(tasks) else merged_by_partition(parts, reduction)


def merged_by_partition(parts: "DataFrame", reduction: Reduction[Any]) -> "DataFrame":
    """Merge the runs of each offsets partition: a transaction may begin in one and end in a later one."""
    from kgroup.spark.reduced_source import SCHEMA

    return (
        parts.repartition("offsets_partition")
        .sortWithinPartitions("offsets_partition", "run")
        .mapInArrow(partial(merge_sorted, reduction=reduction), SCHEMA)
    )


def merge_sorted(
    batches: "Iterator[pa.RecordBatch]", reduction: Reduction[Any]
) -> "Iterator[pa.RecordBatch]":
    """Merge rows of `kgroup-reduced` that are sorted by offsets partition and run: one row per partition.

    Holds a few parts of one partition at a time.
    """
    from kgroup.spark.reduced_source import packed_row, unpack

    rows = (row for batch in batches for row in batch.to_pylist())
    for partition, of_partition in groupby(rows, key=lambda row: row["offsets_partition"]):
        first_run: int | None = None
        parts: list[Any] = []
        for row in of_partition:
            first_run = row["run"] if first_run is None else first_run
            parts.append(unpack(row["part"]))
            if len(parts) == _MERGED_AT_ONCE:
                parts = [reduction.merge(parts)]
        assert first_run is not None
        yield packed_row(partition, first_run, reduction.merge(parts))


def _each_partition_in_one_run(tasks: "Iterable[Task]") -> bool:
    partitions = [run.offsets_partition for task in tasks for run in task.runs()]
    return len(partitions) == len(set(partitions))
