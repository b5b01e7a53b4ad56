"""`lag-report --spark --stream`: repeated reports on a live cluster, each from what is new."""

import json
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgroup.api.lag.on_spark import reduction_of
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.spark import spark_session
from kgroup.cli.lag.spark_options import Streaming
from kgroup.cli.lag.stream_report import PLAN, StreamReport, stream_report
from kgroup.cli.shell.say import say
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError
from kgroup.lag.findings.text import counted
from kgroup.log.files.sources import Sources
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.offsets_topic import LiveOffsetsTopic
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.report.emit import (
    Column,
    OutputFormat,
    OutputOptions,
    Row,
    arrow_batches,
    arrow_schema,
    emit,
    to_json,
)
from kgroup.report.emit_columns import emit_columns
from kgroup.report.lag.finding_events import EVENT_COLUMNS, EVENT_TABLE, turned
from kgroup.report.lag.finding_rows import finding_rows
from kgroup.spark.stream_support import check_streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from kgroup.spark.open_findings import OpenFindings
    from kgroup.spark.stream_state import Advanced


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSettings:
    """The options of `--stream`. `every_ms` is None for `--once`; `now_ms` is None for the clock's time."""

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
    check_streams()
    check_cluster(connection)
    with spark_session(request.spark, request.progress, request.work) as session:
        assert session is not None, "the options were checked"
        is_table = output.format is OutputFormat.TABLE and request.save_as is None
        columns = request.options.columns(is_table=is_table)
        _run(session, request, connection, settings, columns)


def _run(
    session: "SparkSession",
    request: LagRequest,
    connection: ConnectionOptions,
    settings: StreamSettings,
    columns: "Sequence[Column]",
) -> None:
    from kgroup.spark.open_findings import OpenFindings
    from kgroup.spark.shipping import is_connected
    from kgroup.spark.stream import StreamOptions, run_stream
    from kgroup.spark.stream_tables import check_stream_table

    if is_connected(session):
        raise InputError("--stream reports from here, so it needs a --master, not a --remote")
    if request.save_as is not None:
        check_stream_table(session, request.save_as)
    open_findings = None
    if request.asked.stuck:
        open_findings = OpenFindings(session, settings.checkpoint)
        open_findings.check_version()
    shipped = connection.self_contained()
    options = StreamOptions(
        topic=LiveOffsetsTopic(shipped),
        reduction=reduction_of(PLAN),
        checkpoint=settings.checkpoint,
        offsets_max=settings.offsets_max,
        every_ms=settings.every_ms,
        tells_whole=request.asked.stuck,
    )
    batches = _Batches(session, shipped, request, settings, columns, open_findings)
    run_stream(session, options, batches.each, say)


@dataclass(slots=True)
class _Batches:
    """The work on the state after each micro-batch."""

    session: "SparkSession"
    connection: ConnectionOptions
    request: LagRequest
    settings: StreamSettings
    columns: "Sequence[Column]"
    open_findings: "OpenFindings | None"
    """Set if findings are shown as events."""

    def each(self, number: int, state: "Advanced[Any]") -> None:
        now_ms = self.settings.now_ms or int(time.time() * 1000)
        with Cluster(self.connection) as cluster:
            logs = OpenedLogs(sources=Sources(segments=()), listing=cluster.log_listing(), cluster=cluster)
            with stream_report(self.session, state, logs, self.connection, self.request, now_ms) as report:
                said = f"micro-batch {number}: {report.records} records so far"
                if self.open_findings is None or self.request.save_as is not None:
                    self._write(number, report, int(time.time() * 1000))
                if self.open_findings is not None:
                    events = self._events(number, report, now_ms, self.open_findings)
                    self._tell(number, events or ())
                    said += ", still catching up" if events is None else f", {counted(len(events), 'event')}"
                problems = report.problems
        if not self.request.quiet:
            say(said)
        for line in problems:
            say(line)

    def _events(
        self, number: int, report: StreamReport, now_ms: int, open_findings: "OpenFindings"
    ) -> "Sequence[Row] | None":
        """Findings opened and closed; None while only part of the log has been read."""
        if not open_findings.is_whole(number):
            return None
        # In JSON's types, whatever made the numbers.
        rows = [json.loads(to_json(row)) for row in finding_rows(report.found())]

        def decide(were_open: "Sequence[Row]") -> "tuple[Sequence[Row], Sequence[Row]]":
            turn = turned(were_open, rows, now_ms, closes=not report.problems)
            return turn.events, turn.still_open

        return open_findings.events(number, decide)

    def _write(self, number: int, report: StreamReport, clock_ms: int) -> None:
        output, save_as = self.request.output, self.request.save_as
        if save_as is not None:
            from kgroup.spark.stream_tables import replace_latest

            replace_latest(self.session, save_as, report.frame(self.session, self.columns), clock_ms)
        elif output.path is not None:
            report.write(self.session, self._folder(number), self.columns)
        else:
            emit_columns(report.chunks(), self.columns, output)
            sys.stdout.flush()

    def _tell(self, number: int, events: "Sequence[Row]") -> None:
        output, save_as = self.request.output, self.request.save_as
        if save_as is not None:
            from kgroup.spark.stream_tables import append_events
            from kgroup.spark.tables import frame_of

            batches = arrow_batches(events, EVENT_COLUMNS)
            frame = frame_of(self.session, arrow_schema(EVENT_COLUMNS), batches)
            append_events(self.session, save_as, self.settings.checkpoint, number, frame)
        elif events and output.path is not None:
            from kgroup.spark.tables import write_parquet

            batches = arrow_batches(events, EVENT_COLUMNS)
            write_parquet(self.session, self._folder(number), arrow_schema(EVENT_COLUMNS), batches)
        elif events:
            emit(events, EVENT_TABLE if output.format is OutputFormat.TABLE else EVENT_COLUMNS, output)
            sys.stdout.flush()

    def _folder(self, number: int) -> str:
        """A micro-batch that is done again takes the place of what it wrote the first time."""
        return f"{self.request.output.path}/batch={number}"
