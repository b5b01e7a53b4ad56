"""A request to `lag-report`, parsed and checked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kgroup.api.lag.options import LagOptions
from kgroup.cli.lag.asked import Asked
from kgroup.cli.lag.fail_on import FailOn
from kgroup.cli.lag.spark_options import SparkOptions, Streaming
from kgroup.cli.lag.spool import Spool
from kgroup.cli.lag.view_options import Views
from kgroup.cli.lag.views import RowView
from kgroup.cli.shell.source import Given
from kgroup.report.emit import Column, OutputFormat, OutputOptions, Row, emit
from kgroup.report.emit_columns import Columns, emit_columns
from kgroup.report.progress import NO_PROGRESS, Progress, TerminalProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class LagRequest:
    """The options of the command in the forms that the ways of answering take.

    `now_ms` is None without --now, and `since_ms` without --since. `began_s` is when the command began, on
    the monotonic clock. With a `spool` rows go there, of one cluster of several.
    """

    source: Given
    options: LagOptions
    asked: Asked
    views: Views
    failing: FailOn
    output: OutputOptions
    spark: SparkOptions | None
    streaming: Streaming
    only_lagging: bool
    quiet: bool
    now_ms: int | None
    since_ms: int | None
    began_s: float
    only_page: bool = False
    spool: Spool | None = None

    @property
    def save_as(self) -> str | None:
        """The table of Spark's catalog that rows go to, if they do."""
        return self.spark.save_as if self.spark is not None else None

    @property
    def work(self) -> str:
        """The request in words, as the name that lists of a Spark cluster's applications show."""
        ways = {
            "--stream": self.streaming.stream,
            "--windows": self.asked.windows is not None,
            "--stuck": self.asked.stuck,
            "--status": self.asked.status,
        }
        way = next((f" {option}" for option, given in ways.items() if given), "")
        if self.source.clusters:
            return f"kgroup lag-report{way} of {len(self.source.clusters)} clusters"
        first, *others = (path.partition("?")[0] for path in self.source.paths or ("of a live cluster",))
        more = f" and {len(others)} more" if others else ""
        return f"kgroup lag-report{way} {first.rpartition('@')[2]}{more}"

    @property
    def progress(self) -> Progress:
        """The receiver of the work's progress."""
        return TerminalProgress(quiet=self.quiet) if self.spool is None else NO_PROGRESS

    def show_chunks(self, chunks: Iterable[Columns], columns: Sequence[Column]) -> None:
        """Write rows in columns to where they are to go."""
        if self.spool is None:
            emit_columns(chunks, columns, self.output)
        else:
            self.spool.keep_chunks(chunks, columns)

    def show_rows(self, rows: Iterable[Row], columns: Sequence[Column]) -> None:
        """The same of rows as mappings."""
        if self.spool is None:
            emit(rows, columns, self.output)
        else:
            self.spool.keep_rows(rows, columns)

    @property
    def view(self) -> RowView:
        """The way rows are shown."""
        return RowView(
            by=self.views.by,
            is_table=self.output.format is OutputFormat.TABLE and self.save_as is None,
            only_lagging=self.only_lagging,
        )
