"""A streaming query over a live offsets topic. Importing this module does not import PySpark.

The state is what a reduction leaves of the log so far, packed parts for each offsets partition
(`stream_state.py`). Micro-batch N makes state N out of state N-1 and of what its span of the log was reduced
to. What is new in N is written before Spark notes N as done, and what it came from stays until then. So
whenever a query dies, the next one makes the same state N of the same two things: nothing is lost, nothing
counts twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic

from kgroup.errors import KgroupError
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.spark.reductions import Part, Reduction
from kgroup.spark.stream_state import Advanced, StreamState

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from kgroup.spark.live_source import OffsetsTopic


_TRIES: Final = 5  # of a query whose Python workers a slow machine starts too late for Spark


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions(Generic[Part]):
    """A stream's source and limits. `checkpoint`, a folder on any file system of Spark's, keeps the progress.

    `offsets_max` is for one micro-batch, about. `every_ms` is from one micro-batch to the next; None stops
    when all is read that was there at the beginning. With `tells_whole` there is a micro-batch whenever all
    is read, even if nothing is new, and `spark_notes.positions_of` tells these from others.
    """

    topic: "OffsetsTopic"
    reduction: Reduction[Part]
    checkpoint: str
    offsets_max: int
    every_ms: int | None
    tells_whole: bool = False


def run_stream(
    session: "SparkSession",
    options: StreamOptions[Part],
    each: Callable[[int, Advanced[Part]], None],
    notice: Callable[[str], None] = lambda line: None,
) -> None:
    """Run until it is stopped, or all is read; `each` gets a micro-batch's number and the state after it.

    `each` is called again with the same after a query died in it. `notice` is called with partitions that had
    to start over. Raises InputError for a checkpoint of an earlier version, else KgroupError with the cause.
    """
    from kgroup.spark.failure import raised_as_kgroup_error, was_slow

    for tries_left in reversed(range(_TRIES)):
        try:
            with raised_as_kgroup_error("the streaming query failed"):
                query = _start(session, options, each, notice)
                try:
                    query.awaitTermination()
                finally:
                    query.stop()
            return
        except KgroupError as error:
            # Whenever a query dies, the next one continues as if nothing had happened.
            if not tries_left or not was_slow(error):
                raise


def _start(
    session: "SparkSession",
    options: StreamOptions[Part],
    each: Callable[[int, Advanced[Part]], None],
    notice: Callable[[str], None],
) -> "StreamingQuery":
    from kgroup.spark.live_source import LiveDataSource, source_options

    session.dataSource.register(LiveDataSource.of_topics(type(options.topic)))
    stream = session.readStream.format(LiveDataSource.name()).options(
        **source_options(
            options.topic, options.reduction, options.offsets_max, tells_whole=options.tells_whole
        )
    )
    state = StreamState(session, options.checkpoint, options.reduction)
    state.check_version()

    def micro_batch(parts: "DataFrame", number: int) -> None:
        advanced = state.advance(parts, number)
        for line in anew_lines(advanced.anew):
            notice(line)
        each(number, advanced)

    writer = stream.load().writeStream.foreachBatch(micro_batch)
    writer = writer.option("checkpointLocation", options.checkpoint)
    if options.every_ms is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{options.every_ms} milliseconds").start()


def anew_lines(anew: Mapping[int, str]) -> list[str]:
    """A line for each reason why partitions were begun again."""
    by_reason: dict[str, list[int]] = {}
    for partition, why in sorted(anew.items()):
        by_reason.setdefault(why, []).append(partition)
    return [
        f"{OFFSETS_TOPIC}, partition {', '.join(map(str, partitions))}: read anew from where it begins: {why}"
        for why, partitions in by_reason.items()
    ]
