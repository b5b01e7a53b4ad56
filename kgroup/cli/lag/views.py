"""The views of a lag report's rows: one per partition, sums, metrics."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from kgroup.api.lag.chunks import LagChunk
from kgroup.api.lag.report import LagReport, Reported
from kgroup.report.emit import Column, Row
from kgroup.report.emit_columns import Columns, columns_of, rows_of, selected
from kgroup.report.lag.metrics import LookSummary, lag_metrics
from kgroup.report.lag.sums import SUMMED, By, sum_columns, sum_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """Rows of partitions, or sums `by` something; of both perhaps only those that lag."""

    by: By | None = None
    is_table: bool = True
    only_lagging: bool = False

    def columns(self, report: Reported) -> tuple[Column, ...]:
        """The columns of what is shown."""
        options, rates = report.options, report.looks is not None
        if self.by is None:
            return options.columns(is_table=self.is_table, rates=rates)
        return sum_columns(
            self.by,
            is_table=self.is_table,
            times=options.time_lag is not None,
            rates=rates or options.time_lag is not None,
            status=options.rules is not None,
            breakdown=options.breakdown,
        )

    def chunks(self, chunks: Iterable[LagChunk]) -> Iterator[Columns]:
        """The rows in columns, in the order of their names."""
        shown: Iterable[Columns] = (chunk.columns for chunk in chunks)
        if self.by is not None:
            shown = _sums(shown, self.by)
        return map(lagging, shown) if self.only_lagging else iter(shown)

    def rows(self, report: LagReport) -> list[Row]:
        """All rows at once."""
        return [row for chunk in self.chunks(report.chunks()) for row in rows_of(chunk)]


def _sums(chunks: Iterable[Columns], by: By) -> Iterator[Columns]:
    rows = (rows_of(chunk, [name for name in chunk if name in SUMMED]) for chunk in chunks)
    yield columns_of(list(sum_rows(chain.from_iterable(rows), by)))


def metrics(
    report: Reported, chunks: Iterable[LagChunk], seconds: float, *, only_lagging: bool = False
) -> Iterator[str]:
    """Lines of metrics of the report's chunks; `seconds` is what it took."""
    rows = RowView(only_lagging=only_lagging).chunks(chunks)
    chosen = [row for chunk in rows for row in rows_of(chunk)]
    problems = problems_of_rows(report)
    return lag_metrics(
        chosen, LookSummary(at_ms=report.as_of.now_ms, seconds=seconds, problems=len(problems))
    )


def problems_of_rows(report: Reported) -> tuple[str, ...]:
    """Read errors that affect the rows shown."""
    return report.row_problems if report.options.rules is None else report.problems


def lagging(columns: Columns) -> Columns:
    """The rows whose lag is above 0."""
    lags: Sequence[object] = columns.get("lag", ())
    return selected(columns, [isinstance(lag, int) and lag > 0 for lag in lags])
