"""A streaming query over a live offsets topic. Importing this module does not import PySpark.

The state is what a reduction leaves of the log so far, a packed part for each offsets partition. Micro-batch
N makes state N out of state N-1 and of what its span of the log was reduced to; executors merge. State N is
written before Spark notes N as done, and N-1 stays until then. So whenever a query dies, the next one makes
the same state N of the same two things: nothing is lost, nothing counts twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic

from kgroup.errors import InputError
from kgroup.spark.jobs import merged_by_partition
from kgroup.spark.reductions import Part, Reduction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kgroup.spark.live_source import OffsetsTopic

_STATES: Final = "kgroup-state-"
_STATE: Final = f"{_STATES}4"
"""In the checkpoint folder. Another number when the form of states changes; parts have their own versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions(Generic[Part]):
    """A stream's source and limits. `checkpoint`, a folder on any file system of Spark's, keeps the progress.

    `offsets_max` is for one micro-batch, about. `every_ms` is from one micro-batch to the next; None stops
    when all is read that was there at the beginning.
    """

    topic: "OffsetsTopic"
    reduction: Reduction[Part]
    checkpoint: str
    offsets_max: int
    every_ms: int | None


def run_stream(
    session: "SparkSession", options: StreamOptions[Part], each: Callable[[int, Part], None]
) -> None:
    """Run until it is stopped, or all is read; `each` gets the micro-batch's number and all read so far.

    `each` is called again with the same after a query died in it. Raises InputError for a checkpoint of an
    earlier version, else KgroupError with the cause.
    """
    from kgroup.spark.failure import raised_as_kgroup_error

    with raised_as_kgroup_error("the streaming query failed"):
        query = _start(session, options, each)
        try:
            query.awaitTermination()
        finally:
            query.stop()


def _start(
    session: "SparkSession", options: StreamOptions[Part], each: Callable[[int, Part], None]
) -> "StreamingQuery":
    from kgroup.spark.live_source import LiveDataSource, source_options

    session.dataSource.register(LiveDataSource)
    stream = session.readStream.format(LiveDataSource.name()).options(
        **source_options(options.topic, options.reduction, options.offsets_max)
    )
    state = _State(options.checkpoint, options.reduction)
    state.check_version(session)

    def micro_batch(parts: "DataFrame", number: int) -> None:
        each(number, state.advance(parts, number))

    writer = stream.load().writeStream.foreachBatch(micro_batch)
    writer = writer.option("checkpointLocation", options.checkpoint)
    if options.every_ms is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{options.every_ms} milliseconds").start()


class _State:
    """States of micro-batches, as Parquet beside Spark's own checkpoint."""

    def __init__(self, checkpoint: str, reduction: Reduction[Any]) -> None:
        self._checkpoint = checkpoint
        self._folder = f"{checkpoint.rstrip('/')}/{_STATE}"
        self._reduction = reduction

    def check_version(self, session: "SparkSession") -> None:
        """Raises InputError where the folder has states, and none that this version can read."""
        files, folder = _hadoop(session, self._checkpoint)
        names = (
            [each.getPath().getName() for each in files.listStatus(folder)] if files.exists(folder) else []
        )
        states = [name for name in names if name.startswith(_STATES)]
        if states and _STATE not in states:
            raise InputError(
                f"--checkpoint {self._checkpoint}: made by another version of kgroup, which this one cannot"
                " go on from; give a new folder, and the log is read from its beginning"
            )

    def advance(self, parts: "DataFrame", number: int) -> Any:
        """Make state `number`, and return what it comes to."""
        from kgroup.spark.parts.kinds import unpack

        session = parts.sparkSession
        if number > 0:
            parts = session.read.parquet(self._path(number - 1)).union(parts)
        merged_by_partition(parts, self._reduction).write.mode("overwrite").parquet(self._path(number))
        self._forget(session, number - 2)
        rows = session.read.parquet(self._path(number)).toArrow().sort_by("offsets_partition")
        return self._reduction.merge([unpack(packed.as_py()) for packed in rows["part"]])

    def _path(self, number: int) -> str:
        return f"{self._folder}/{number}"

    def _forget(self, session: "SparkSession", number: int) -> None:
        """Remove a state that no restart needs, through Hadoop, as the folder may be anywhere."""
        if number < 0:
            return
        files, path = _hadoop(session, self._path(number))
        files.delete(path, True)


def _hadoop(session: "SparkSession", path: str) -> tuple[Any, Any]:
    """The file system of a path, which may be any of Hadoop's, and the path as it takes it."""
    jvm: Any = session._jvm
    hadoop_path = jvm.org.apache.hadoop.fs.Path(path)
    return hadoop_path.getFileSystem(session._jsc.hadoopConfiguration()), hadoop_path
