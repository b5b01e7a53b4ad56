"""A stream of `kafka-offsets` into Parquet, run by itself to be killed: CAPTURE FOLDER MARKER."""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgroup.errors import KgroupError
from kgroup.spark.failure import raised_as_kgroup_error, was_slow
from kgroup.spark.session import open_session
from kgroup.spark.sources.offsets import OffsetsSource
from tests.spark.files_topic import FilesTopic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

COLUMNS = (
    "group",
    "topic",
    "partition",
    "type",
    "offset",
    "offsets_partition",
    "log_offset",
    "commit_timestamp",
)


@dataclass(frozen=True, slots=True)
class KillsTheDriver(FilesTopic):
    """When a micro-batch is fetched that does not begin where the log does, for the first time."""

    marker: str = ""

    def copy(self, spans: Mapping[int, tuple[int, int]], folder: Path) -> dict[int, tuple[Path, int]]:
        copied = super(KillsTheDriver, self).copy(spans, folder)
        if any(begin > 0 for begin, _ in spans.values()) and not Path(self.marker).exists():
            Path(self.marker).touch()
            os.kill(driver(), signal.SIGKILL)
        return copied


def driver() -> int:
    """The JVM: it started the daemon that started this worker."""
    process = os.getpid()
    while not Path(f"/proc/{process}/comm").read_text().startswith("java"):
        process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        assert process > 1
    return process


def topic_of(servers: str, config: str | None) -> FilesTopic:
    return FilesTopic(servers)


def killer_of(servers: str, config: str | None) -> FilesTopic:
    return KillsTheDriver(servers, marker=config or "")


def started(
    session: "SparkSession", connect: Callable[..., Any], capture: str, folder: Path, **options: str
) -> "StreamingQuery":
    """Until all is read, in micro-batches of about 900 offsets."""
    session.dataSource.register(OffsetsSource.streaming(connect))
    given = {"bootstrapServers": capture, "maxOffsets": "900", **options}
    rows = session.readStream.format("kafka-offsets").options(**given).load()
    writer = rows.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    return writer.option("path", str(folder / "rows")).trigger(availableNow=True).start()


def finished(
    session: "SparkSession", connect: Callable[..., Any], capture: str, folder: Path, **options: str
) -> None:
    """Run it to its end; anew, if a busy machine was too slow for Spark, as `--stream` does."""
    for tries_left in reversed(range(5)):
        try:
            with raised_as_kgroup_error("the query"):
                started(session, connect, capture, folder, **options).awaitTermination()
            return
        except KgroupError as error:
            if not tries_left or not was_slow(error):
                raise


if __name__ == "__main__":
    with open_session("local[2]") as session:
        finished(session, killer_of, sys.argv[1], Path(sys.argv[2]), commandConfig=sys.argv[3])
