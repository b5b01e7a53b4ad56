"""The ways to show a look of `lag-report`: a row for each partition, sums, metrics."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kgroup.cli.lag_columns import report_columns
from kgroup.cli.lag_look import Look
from kgroup.report.emit import Column, Row
from kgroup.report.lag_by import By
from kgroup.report.lag_metrics import LookSummary, lag_metrics
from kgroup.report.lag_sums import sum_columns, sum_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """Rows of partitions, or sums `by` something; with `only_lagging` those whose lag is above 0."""

    by: By | None = None
    only_lagging: bool = False
    is_table: bool = True

    def columns(self, look: Look) -> tuple[Column, ...]:
        """The columns of what is shown."""
        if self.by is None:
            return _columns(look, is_table=self.is_table)
        has = _parts(look)
        return sum_columns(self.by, is_table=self.is_table, **has)

    def rows(self, look: Look) -> Iterator[Row]:
        """The rows, in the order of their names."""
        if self.by is None:
            rows = look.rows(_columns(look, is_table=self.is_table))
        else:
            rows = sum_rows(look.rows(_columns(look, is_table=False)), self.by)
        return lagging(rows) if self.only_lagging else rows


def metrics(look: Look, seconds: float, *, only_lagging: bool) -> Iterator[str]:
    """Lines of metrics; `seconds` is what the look took."""
    rows = look.rows(_columns(look, is_table=False))
    chosen = list(lagging(rows) if only_lagging else rows)
    return lag_metrics(chosen, LookSummary(at_ms=look.now_ms, seconds=seconds, problems=len(look.problems())))


def lagging(rows: Iterable[Row]) -> Iterator[Row]:
    """Those whose lag is above 0."""
    return (row for row in rows if isinstance(lag := row["lag"], int) and lag > 0)


def _columns(look: Look, *, is_table: bool) -> tuple[Column, ...]:
    return report_columns(is_table=is_table, **_parts(look))


def _parts(look: Look) -> dict[str, bool]:
    times = look.question.time_lag is not None
    return {
        "times": times,
        "rates": times or look.looks is not None,
        "status": look.question.rules is not None,
    }
