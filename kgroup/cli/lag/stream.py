"""`lag-report --spark --stream`: a live cluster's report again and again, each time from what is new."""

import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgroup.api.lag.report import WINDOW_COMMITS, LagQuestion, Look, matcher, take_look
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.spark_options import Streaming
from kgroup.cli.lag.views import lagging
from kgroup.cli.shell.say import say
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError
from kgroup.log.files.sources import Sources
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.offsets_topic import LiveOffsetsTopic
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.report.emit import Column, OutputFormat, OutputOptions, Row, arrow_batches, arrow_schema, emit
from kgroup.scan.reductions.history import History
from kgroup.scan.reductions.last_commits import Keep, LastPart, counting
from kgroup.scan.reductions.scan import Newest
from kgroup.scan.reductions.scanned import Scanned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

_KEEP = Keep(slots=WINDOW_COMMITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """What `--stream` came with. `every_ms` is None for `--once`; `now_ms` is None for the clock's time."""

    checkpoint: str
    every_ms: int | None
    offsets_max: int
    now_ms: int | None


def stream_settings(options: Streaming, now_ms: int | None) -> StreamSettings:
    """Check the options of `--stream`. Raises InputError."""
    if not options.checkpoint:
        raise InputError("--stream needs --checkpoint DIR, where it remembers how far it has read")
    every_ms = parse_length(options.every, "--every")
    return StreamSettings(
        checkpoint=options.checkpoint,
        every_ms=None if options.once else every_ms,
        offsets_max=options.max_offsets,
        now_ms=now_ms,
    )


def check_destination(destination: OutputOptions) -> None:
    """Raises InputError for what cannot be written again and again."""
    is_parquet = destination.format is OutputFormat.PARQUET
    if destination.format is OutputFormat.JSON:
        raise InputError("--stream has no end, and a JSON array has one: use -o jsonl")
    if is_parquet != (destination.path is not None):
        raise InputError("--stream writes files only as -o parquet, into the folder --output DIR")


def check_cluster(connection: ConnectionOptions) -> None:
    """Ask for the offsets topic before Spark is started for it. Raises SourceError if it cannot be read."""
    LiveOffsetsTopic(connection).spans()


def report_stream(
    session: "SparkSession",
    connection: ConnectionOptions,
    question: LagQuestion,
    settings: StreamSettings,
    columns: "Sequence[Column]",
    destination: OutputOptions,
) -> None:
    """Write the report after each micro-batch, until the query is stopped or all is read."""
    from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords, ReachAndRounds
    from kgroup.spark.shipping import is_connected
    from kgroup.spark.stream import StreamOptions, run_stream

    if is_connected(session):
        raise InputError("--stream reports from here, so it needs a --master, not a --remote")
    shipped = connection.self_contained()
    options = StreamOptions(
        topic=LiveOffsetsTopic(shipped),
        # The same whatever is asked, as a checkpoint may be gone on with to ask something else.
        reduction=Both(Both(NewestRecords(), LastCommitsOfEach(_KEEP)), ReachAndRounds()),
        checkpoint=settings.checkpoint,
        offsets_max=settings.offsets_max,
        every_ms=settings.every_ms,
    )
    report = _Report(session, shipped, question, settings, columns, destination)
    run_stream(session, options, report.each)


@dataclass(slots=True)
class _Report:
    """What is done with the state after each micro-batch."""

    session: "SparkSession"
    connection: ConnectionOptions
    question: LagQuestion
    settings: StreamSettings
    columns: "Sequence[Column]"
    destination: OutputOptions

    def each(self, number: int, state: tuple[tuple[Newest, LastPart], History]) -> None:
        (newest, last), history = state
        scanned = Scanned(newest, counting(last, _KEEP), history)
        now_ms = self.settings.now_ms or int(time.time() * 1000)
        # While it catches up a group may not have come yet, which is no mistake of the user's.
        everything = replace(self.question, groups=None)
        with Cluster(self.connection) as cluster:
            logs = OpenedLogs(sources=Sources(segments=()), listing=cluster.log_listing(), cluster=cluster)
            look = take_look(everything, logs, scanned, now_ms)
            self._write(number, self._rows(look))
        if not self.question.quiet:
            say(f"micro-batch {number}: {newest.records} records so far")
        for line in look.problems():
            say(line)

    def _rows(self, look: Look) -> "Iterator[Row]":
        wanted = matcher(self.question.groups)
        rows = (row for row in look.rows(self.columns) if wanted(str(row["group"])))
        return lagging(rows) if self.question.only_lagging else rows

    def _write(self, number: int, rows: "Iterable[Row]") -> None:
        if self.destination.path is None:
            emit(rows, self.columns, self.destination)
            sys.stdout.flush()
            return
        from kgroup.spark.tables import write_parquet

        # A micro-batch that is done again takes the place of what it wrote the first time.
        folder = str(self.destination.path / f"batch={number}")
        schema = arrow_schema(self.columns)
        write_parquet(self.session, folder, schema, arrow_batches(rows, self.columns))
