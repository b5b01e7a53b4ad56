"""The ways to show a look of `lag-report`: a row for each partition, sums, metrics."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kgroup.api.lag.report import LagQuestion, Look
from kgroup.report.emit import Column, Row
from kgroup.report.lag.by import By
from kgroup.report.lag.columns import report_columns
from kgroup.report.lag.metrics import LookSummary, lag_metrics
from kgroup.report.lag.sums import sum_columns, sum_rows

Watched = Callable[[Iterable[Row]], Iterable[Row]]
"""Passes on the rows of all partitions, as `--fail-on` looks at them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """Rows of partitions, or sums `by` something; of both only those that lag, if the question says so."""

    by: By | None = None
    is_table: bool = True

    def columns(self, look: Look) -> tuple[Column, ...]:
        """The columns of what is shown."""
        question, rates = look.question, look.looks is not None
        if self.by is None:
            return columns_of(question, is_table=self.is_table, rates=rates)
        return sum_columns(
            self.by,
            is_table=self.is_table,
            times=question.time_lag is not None,
            rates=rates or question.time_lag is not None,
            status=question.rules is not None,
            breakdown=question.breakdown,
        )

    def rows(self, look: Look, watched: Watched = iter) -> Iterator[Row]:
        """The rows, in the order of their names."""
        if self.by is None:
            rows = watched(look.rows(self.columns(look)))
        else:
            rows = sum_rows(watched(_all_fields(look)), self.by)
        return lagging(rows) if look.question.only_lagging else iter(rows)


def metrics(look: Look, seconds: float, watched: Watched = iter) -> Iterator[str]:
    """Lines of metrics; `seconds` is what the look took."""
    rows = watched(_all_fields(look))
    chosen = list(lagging(rows) if look.question.only_lagging else rows)
    summary = LookSummary(at_ms=look.now_ms, seconds=seconds, problems=len(look.problems()))
    return lag_metrics(chosen, summary)


def columns_of(question: LagQuestion, *, is_table: bool, rates: bool = False) -> tuple[Column, ...]:
    """The columns of partitions that answer a question; rates come with time lags anyway."""
    times = question.time_lag is not None
    return report_columns(
        is_table=is_table,
        times=times,
        rates=rates or times,
        status=question.rules is not None,
        breakdown=question.breakdown,
    )


def lagging(rows: Iterable[Row]) -> Iterator[Row]:
    """Those whose lag is above 0."""
    return (row for row in rows if isinstance(lag := row["lag"], int) and lag > 0)


def _all_fields(look: Look) -> Iterator[Row]:
    return look.rows(columns_of(look.question, is_table=False, rates=look.looks is not None))
