"""The report after a micro-batch of `--stream`: made here, or by executors where the state is large."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from kgroup.api.lag.on_spark import scanned_of
from kgroup.api.lag.options import WINDOW_COMMITS, LagOptions, matcher
from kgroup.api.lag.reading import AsOf
from kgroup.api.lag.report import LagReport, report_of
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.present import is_shown
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.views import lagging
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.report.emit import Column, arrow_schema
from kgroup.report.emit_columns import Columns, column_batches, selected
from kgroup.report.lag.finding_rows import with_clients
from kgroup.scan.reductions.scanned import ScanPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kgroup.api.lag.there import ReportThere
    from kgroup.lag.findings.model import Finding
    from kgroup.report.lag.finding_rows import Found
    from kgroup.spark.stream_state import Advanced

# The same whatever is asked, as a checkpoint may be continued with another question.
PLAN: Final = ScanPlan(slots=WINDOW_COMMITS, history=True)


class StreamReport(Protocol):
    """What is written of a report; rows, if they are asked for, before findings."""

    @property
    def records(self) -> int:
        """The records of the offsets topic so far."""

    @property
    def problems(self) -> Sequence[str]:
        """What could not be looked at. Complete when the rows, or else the findings, have been made."""

    def chunks(self) -> Iterator[Columns]:
        """The rows that are wanted."""

    def found(self) -> Iterator["Found"]:
        """The findings that are wanted."""

    def frame(self, session: "SparkSession", columns: Sequence[Column]) -> "DataFrame":
        """The rows that are wanted, for Spark's writers."""

    def write(self, session: "SparkSession", folder: str, columns: Sequence[Column]) -> None:
        """Write the rows that are wanted as Parquet."""


def stream_report(
    session: "SparkSession",
    state: "Advanced[Any]",
    logs: OpenedLogs,
    connection: ConnectionOptions,
    request: LagRequest,
    now_ms: int,
) -> AbstractContextManager[StreamReport]:
    """The report of what was read so far, with a cluster whose log ends are known."""
    as_of = AsOf(now_ms=now_ms, log_ms=now_ms)
    if state.is_here:
        scanned = scanned_of(PLAN, state.whole())
        # While it catches up a group may not have come yet, which is no mistake of the user's.
        everything: LagOptions = replace(request.options, groups=None)
        report = report_of(logs, everything, scanned, as_of, progress=request.progress)
        return nullcontext(_Here(request, report, scanned.newest.records))
    return _made_there(session, state, logs, connection, request, as_of)


@contextmanager
def _made_there(
    session: "SparkSession",
    state: "Advanced[Any]",
    logs: OpenedLogs,
    connection: ConnectionOptions,
    request: LagRequest,
    as_of: AsOf,
) -> Iterator[StreamReport]:
    from kgroup.api.lag.there import report_of_parts

    with (
        state.there() as parts,
        report_of_parts(
            session,
            parts,
            logs,
            request.options,
            PLAN,
            lambda newest_ms: as_of,
            reading="Spark is looking through the state",
            connection=connection,
            only_findings=request.asked.stuck and request.save_as is None,
            progress=request.progress,
        ) as report,
    ):
        yield _There(request, report)


@dataclass(slots=True)
class _Here:
    request: LagRequest
    report: LagReport
    records: int
    _found: "list[Finding] | None" = field(default=None)

    @property
    def problems(self) -> Sequence[str]:
        return self.report.problems

    def chunks(self) -> Iterator[Columns]:
        """What is found is kept as the rows pass."""
        wanted = matcher(self.request.options.groups)
        found = self._found = []
        for chunk in self.report.chunks():
            found += (finding for _, findings in chunk.groups for finding in findings)
            columns = selected(chunk.columns, [wanted(row.group) for row in chunk.rows])
            yield lagging(columns) if self.request.only_lagging else columns

    def found(self) -> "Iterator[Found]":
        found = self._found
        if found is None:
            found = [finding for _, findings in self.report.groups() for finding in findings]
        wanted = matcher(self.request.options.groups)
        shown = (each for each in found if wanted(each.group) and is_shown(each, self.request))
        return with_clients(shown, self.report.inputs.groups)

    def frame(self, session: "SparkSession", columns: Sequence[Column]) -> "DataFrame":
        from kgroup.spark.tables import frame_of

        return frame_of(session, arrow_schema(columns), column_batches(self.chunks(), columns))

    def write(self, session: "SparkSession", folder: str, columns: Sequence[Column]) -> None:
        from kgroup.spark.tables import write_parquet

        write_parquet(session, folder, arrow_schema(columns), column_batches(self.chunks(), columns))


@dataclass(frozen=True, slots=True)
class _There:
    request: LagRequest
    report: "ReportThere"

    @property
    def records(self) -> int:
        return self.report.records

    @property
    def problems(self) -> Sequence[str]:
        return self.report.problems

    def chunks(self) -> Iterator[Columns]:
        for chunk in self.report.chunks():
            yield lagging(chunk.columns) if self.request.only_lagging else chunk.columns

    def found(self) -> "Iterator[Found]":
        return (one for one in self.report.found() if is_shown(one[0], self.request))

    def frame(self, session: "SparkSession", columns: Sequence[Column]) -> "DataFrame":
        return self.report.frame(columns, only_lagging=self.request.only_lagging)

    def write(self, session: "SparkSession", folder: str, columns: Sequence[Column]) -> None:
        from kgroup.spark.tables import write_frame

        write_frame(folder, self.frame(session, columns))
