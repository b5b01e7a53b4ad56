"""`lag-report --spark --stream`: a live cluster's report again and again, each time from what is new."""

import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kgroup.api.lag.on_spark import reduction_of, scanned_of
from kgroup.api.lag.options import WINDOW_COMMITS, LagOptions, matcher
from kgroup.api.lag.reading import AsOf
from kgroup.api.lag.report import LagReport, report_of
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.spark import spark_session
from kgroup.cli.lag.spark_options import Streaming
from kgroup.cli.lag.views import lagging
from kgroup.cli.shell.say import say
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError
from kgroup.log.files.sources import Sources
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.offsets_topic import LiveOffsetsTopic
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.report.emit import Column, OutputFormat, OutputOptions, arrow_schema
from kgroup.report.emit_columns import Columns, column_batches, emit_columns, selected
from kgroup.scan.reductions.scanned import ScanPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

# The same whatever is asked, as a checkpoint may be gone on with to ask something else.
_PLAN: Final = ScanPlan(slots=WINDOW_COMMITS, history=True)


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


def report_stream(request: LagRequest) -> None:
    """Write the report of a cluster after each micro-batch, until the query is stopped or all is read.

    Raises InputError for options that do not fit, SourceError if the cluster cannot be read.
    """
    connection, output = request.source.connection, request.output
    assert connection is not None, "the options were checked"
    settings = stream_settings(request.streaming, request.now_ms)
    check_destination(output)
    check_cluster(connection)
    with spark_session(request.spark, request.progress, request.work) as session:
        assert session is not None, "the options were checked"
        columns = request.options.columns(is_table=output.format is OutputFormat.TABLE)
        _run(session, request, connection, settings, columns)


def _run(
    session: "SparkSession",
    request: LagRequest,
    connection: ConnectionOptions,
    settings: StreamSettings,
    columns: "Sequence[Column]",
) -> None:
    from kgroup.spark.shipping import is_connected
    from kgroup.spark.stream import StreamOptions, run_stream

    if is_connected(session):
        raise InputError("--stream reports from here, so it needs a --master, not a --remote")
    shipped = connection.self_contained()
    options = StreamOptions(
        topic=LiveOffsetsTopic(shipped),
        reduction=reduction_of(_PLAN),
        checkpoint=settings.checkpoint,
        offsets_max=settings.offsets_max,
        every_ms=settings.every_ms,
    )
    run_stream(session, options, _Batches(session, shipped, request, settings, columns).each, say)


@dataclass(slots=True)
class _Batches:
    """What is done with the state after each micro-batch."""

    session: "SparkSession"
    connection: ConnectionOptions
    request: LagRequest
    settings: StreamSettings
    columns: "Sequence[Column]"

    def each(self, number: int, state: Any) -> None:
        scanned = scanned_of(_PLAN, state)
        now_ms = self.settings.now_ms or int(time.time() * 1000)
        # While it catches up a group may not have come yet, which is no mistake of the user's.
        everything: LagOptions = replace(self.request.options, groups=None)
        with Cluster(self.connection) as cluster:
            logs = OpenedLogs(sources=Sources(segments=()), listing=cluster.log_listing(), cluster=cluster)
            as_of = AsOf(now_ms=now_ms, log_ms=now_ms)
            report = report_of(logs, everything, scanned, as_of, progress=self.request.progress)
            self._write(number, self._chunks(report))
        if not self.request.quiet:
            say(f"micro-batch {number}: {scanned.newest.records} records so far")
        for line in report.problems:
            say(line)

    def _chunks(self, report: LagReport) -> "Iterator[Columns]":
        wanted = matcher(self.request.options.groups)
        for chunk in report.chunks():
            columns = selected(chunk.columns, [wanted(row.group) for row in chunk.rows])
            yield lagging(columns) if self.request.only_lagging else columns

    def _write(self, number: int, chunks: "Iterable[Columns]") -> None:
        output = self.request.output
        if output.path is None:
            emit_columns(chunks, self.columns, output)
            sys.stdout.flush()
            return
        from kgroup.spark.tables import write_parquet

        # A micro-batch that is done again takes the place of what it wrote the first time.
        folder = str(output.path / f"batch={number}")
        write_parquet(self.session, folder, arrow_schema(self.columns), column_batches(chunks, self.columns))
