"""The jobs that kgroup runs on Spark. Importing this module does not import PySpark."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kgroup.spark.reductions import NewestRecords, Part, Reduction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kgroup.log.files.log_dir import SegmentFile
    from kgroup.scan.reductions.scan import Newest, Slice
    from kgroup.spark.tasks import Task

Value = TypeVar("Value")

_MERGED_AT_ONCE: Final = 16
_REMOTE_CORES: Final = 16
_ASKED_PER_CORE: Final = 4  # tasks: log directories are of different sizes


def newest(session: "SparkSession", segments: "Iterable[SegmentFile]") -> "Newest":
    """As `kgroup.scan.reductions.scan.newest`, for these segments in log order; executors scan them.

    The driver holds what is newest per key, never more. Raises KgroupError, with the cause, if a segment
    cannot be read or the job fails.
    """
    return reduced(session, segments, NewestRecords())


def reduced(session: "SparkSession", segments: "Iterable[SegmentFile]", reduction: Reduction[Part]) -> Part:
    """The part to which these segments, given in log order, reduce, merged here in the driver."""
    slices, task_bytes = _planned(session, segments)
    return reduced_slices(session, slices, task_bytes, reduction)


def reduced_slices(
    session: "SparkSession", slices: "Iterable[Slice]", task_bytes: int, reduction: Reduction[Part]
) -> Part:
    """The same for slices in log order, read in tasks of `task_bytes`."""
    from kgroup.spark.failure import raised_as_kgroup_error
    from kgroup.spark.parts.kinds import unpack
    from kgroup.spark.shipping import is_connected
    from kgroup.spark.tasks import pack

    tasks = pack(slices, task_bytes)
    with raised_as_kgroup_error("the Spark job failed"):
        if not _is_each_in_one_run(_runs(tasks)):
            parts = merged_by_partition(_read(session, tasks, reduction), reduction)
        elif is_connected(session):
            parts = _read(session, tasks, reduction, is_one_row=True)
        else:
            return reduction.merge([unpack(packed) for packed in _packed(session, tasks, reduction)])
        rows = parts.toArrow().sort_by("run")
    return reduction.merge([unpack(packed.as_py()) for packed in rows["part"]])


def _packed(session: "SparkSession", tasks: "Sequence[Task]", reduction: Reduction[Any]) -> list[bytes]:
    """What each task leaves, by an RDD: a query's planning, and pandas, take a seventh of a small report."""
    from kgroup.spark.reduced_source import packed_task

    values = session.sparkContext.parallelize([task.value for task in tasks], len(tasks))
    return values.map(partial(packed_task, reduction=reduction)).collect()


@contextmanager
def kept_pieces(
    session: "SparkSession",
    segments: "Iterable[SegmentFile]",
    reduction: Reduction[Part],
    cut: Callable[[Part, int], Sequence[Part]],
) -> "Iterator[DataFrame]":
    """The part to which each offsets partition reduces, kept on the executors' disks to be read again.

    A large one is not put together as a whole, but in as many pieces, made by `cut`, as tasks have read it.
    Inside, every failure of Spark is raised as KgroupError.
    """
    from pyspark import StorageLevel

    from kgroup.spark.failure import raised_as_kgroup_error
    from kgroup.spark.tasks import pack

    slices, task_bytes = _planned(session, segments)
    tasks = pack(slices, task_bytes)
    with raised_as_kgroup_error("the Spark job failed"):
        read = _read(session, tasks, reduction)
        parts = merged_in_pieces(read, _runs(tasks), reduction, cut, len(tasks))
        parts = parts.persist(StorageLevel.DISK_ONLY)
        try:
            yield parts
        finally:
            parts.unpersist()


def of_each_part(parts: "DataFrame", function: Callable[[Any], Value], what: str) -> list[Value]:
    """The function's value for each part, by offsets partition; executors call it, and it can be packed.

    Raises KgroupError if the answers, which are `what`, are too much for the driver.
    """
    from pyspark import StorageLevel

    from kgroup.spark.parts.kinds import unpack
    from kgroup.spark.reduced_source import SCHEMA
    from kgroup.spark.room import fetched

    answers = parts.mapInArrow(partial(_apply, function=function), SCHEMA).persist(StorageLevel.DISK_ONLY)
    try:
        table = fetched(answers, what).sort_by([("offsets_partition", "ascending"), ("run", "ascending")])
    finally:
        answers.unpersist()
    return [unpack(packed.as_py()) for packed in table["part"]]


def asked_there(session: "SparkSession", function: Callable[[Any], str], asked: Sequence[Any]) -> list[str]:
    """The answers of a function that executors ask a storage with, in the order of what is asked."""
    from kgroup.spark.failure import raised_as_kgroup_error

    if not asked:
        return []
    tasks = min(len(asked), cores_of(session) * _ASKED_PER_CORE)
    with raised_as_kgroup_error("the Spark job failed"):
        numbers = session.range(0, len(asked), 1, tasks)
        answers = numbers.mapInArrow(
            partial(_asked, function=function, asked=asked), "id long, answer string"
        )
        return [answer.as_py() for answer in answers.toArrow().sort_by("id")["answer"]]


def tasks_done(session: "SparkSession") -> tuple[int, int]:
    """The numbers of finished and of all tasks of the jobs that run now; not for Spark Connect."""
    tracker = session.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    planned = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in planned), sum(stage.numTasks for stage in planned)


def _asked(
    batches: "Iterator[pa.RecordBatch]", function: Callable[[Any], str], asked: Sequence[Any]
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for batch in batches:
        answers = [function(asked[number.as_py()]) for number in batch["id"]]
        yield pa.RecordBatch.from_arrays([batch["id"], pa.array(answers, pa.string())], ["id", "answer"])


def _apply(batches: "Iterator[pa.RecordBatch]", function: Callable[[Any], Any]) -> "Iterator[pa.RecordBatch]":
    from kgroup.spark.parts.kinds import unpack
    from kgroup.spark.reduced_source import packed_row

    for batch in batches:
        for row in batch.to_pylist():
            yield packed_row(row["offsets_partition"], row["run"], function(unpack(row["part"])))


def _planned(session: "SparkSession", segments: "Iterable[SegmentFile]") -> "tuple[list[Slice], int]":
    from kgroup.spark.tasks import bytes_of, split_segments, task_bytes_for

    segments = tuple(segments)
    task_bytes = task_bytes_for(bytes_of(segments), cores_of(session))
    return split_segments(segments, task_bytes), task_bytes


def cores_of(session: "SparkSession") -> int:
    """The number of tasks that run at a time; a Spark Connect server does not say."""
    from kgroup.spark.shipping import is_connected

    return _REMOTE_CORES if is_connected(session) else session.sparkContext.defaultParallelism


def _read(
    session: "SparkSession", tasks: "Sequence[Task]", reduction: Reduction[Part], *, is_one_row: bool = False
) -> "DataFrame":
    """One row for each run, or with `is_one_row` for each task."""
    from kgroup.spark.reduced_source import SCHEMA, read_tasks

    values = [task.value for task in tasks]
    read = partial(read_tasks, tasks=values, reduction=reduction, is_one_row=is_one_row)
    return session.range(0, len(tasks), 1, len(tasks)).mapInArrow(read, SCHEMA)


def merged_by_partition(parts: "DataFrame", reduction: Reduction[Any]) -> "DataFrame":
    """Merge the runs of each offsets partition: a transaction may begin in one and end in a later one."""
    from kgroup.spark.reduced_source import SCHEMA

    return (
        parts.repartition("offsets_partition")
        .sortWithinPartitions("offsets_partition", "run")
        .mapInArrow(partial(merge_sorted, reduction=reduction), SCHEMA)
    )


def merged_in_pieces(
    parts: "DataFrame",
    runs: Mapping[int, int],
    reduction: Reduction[Part],
    cut: Callable[[Part, int], Sequence[Part]],
    tasks: int,
) -> "DataFrame":
    """Merge the runs of each offsets partition, of which there are `runs`, in as many pieces.

    No more than `tasks` do it: most pieces are small where one partition is large.
    """
    from pyspark.sql.functions import expr

    from kgroup.spark.reduced_source import SCHEMA

    if _is_each_in_one_run(runs):
        return parts
    begins = dict(zip(runs, accumulate(runs.values(), initial=0), strict=False))
    pieces = sum(runs.values())
    tasks = min(tasks, pieces)
    return (
        parts.mapInArrow(partial(_cut, runs=runs, begins=begins, cut=cut), f"piece int, {_ddl(SCHEMA)}")
        .repartitionById(tasks, expr(f"CAST(piece * {tasks}L DIV {pieces}L AS INT)"))
        .sortWithinPartitions("piece", "run")
        .mapInArrow(partial(merge_sorted, reduction=reduction), SCHEMA)
    )


def _cut(
    batches: "Iterator[pa.RecordBatch]",
    runs: Mapping[int, int],
    begins: Mapping[int, int],
    cut: Callable[[Any, int], Sequence[Any]],
) -> "Iterator[pa.RecordBatch]":
    """Rows of parts in pieces; those of all offsets partitions are numbered together."""
    import pyarrow as pa

    from kgroup.spark.parts.kinds import unpack
    from kgroup.spark.reduced_source import packed_row

    for batch in batches:
        for row in batch.to_pylist():
            partition = row["offsets_partition"]
            for number, part in enumerate(cut(unpack(row["part"]), runs[partition]), begins[partition]):
                piece = packed_row(partition, row["run"], part)
                yield piece.add_column(0, "piece", pa.array([number], pa.int32()))


def _ddl(schema: "StructType") -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)


def merge_sorted(
    batches: "Iterator[pa.RecordBatch]", reduction: Reduction[Any]
) -> "Iterator[pa.RecordBatch]":
    """Merge rows of parts that are sorted by offsets partition and run: one row per partition.

    Those in pieces, which are sorted by piece and run: one row per piece. Holds a few parts at a time.
    """
    from kgroup.spark.parts.kinds import unpack
    from kgroup.spark.reduced_source import packed_row

    rows = (row for batch in batches for row in batch.to_pylist())
    merged = groupby(rows, key=lambda row: (row["offsets_partition"], row.get("piece")))
    for (partition, _), of_one in merged:
        first_run: int | None = None
        parts: list[Any] = []
        for row in of_one:
            first_run = row["run"] if first_run is None else first_run
            parts.append(unpack(row["part"]))
            if len(parts) == _MERGED_AT_ONCE:
                parts = [reduction.merge(parts)]
        assert first_run is not None
        yield packed_row(partition, first_run, reduction.merge(parts))


def _is_each_in_one_run(runs: Mapping[int, int]) -> bool:
    """Whether no offsets partition is read in several pieces."""
    return max(runs.values(), default=1) == 1


def _runs(tasks: "Iterable[Task]") -> dict[int, int]:
    """The number of runs in which each offsets partition is read."""
    return Counter(run.offsets_partition for task in tasks for run in task.runs())
