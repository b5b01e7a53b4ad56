"""The time columns of lag rows, whatever source their numbers come from."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kgroup.errors import SourceError
from kgroup.lag.measures.rates import LagRates
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.successive import LagLooks
from kgroup.lag.measures.time_lag import TimeLag, without_looking
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.report.emit_columns import Columns
from kgroup.report.lag.columns import RATE_COLUMNS

UNKNOWN_RATES: Final = LagRates(written_per_s=None, read_per_s=None, growth_per_s=None, drain_ms=None)


class TimeSource(Protocol):
    """Knows when records were written."""

    @property
    def problems(self) -> Sequence[str]:
        """Places that could not be read, as far as they have been met."""

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Find out at once what `time_lag` and `rates` will be asked of these rows."""

    def time_lag(self, row: LagRow) -> TimeLag:
        """The time the first unread record has waited, for a row that has one and both of its offsets."""

    def rates(self, row: LagRow) -> LagRates:
        """The rates at which the log grows and is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLagColumns:
    """Fills the time columns and the rates of rows."""

    method: TimeLagMethod
    source: TimeSource

    def fill(self, rows: Sequence[LagRow]) -> Columns:
        """The columns `TIME_COLUMNS` and `RATE_COLUMNS` of `report.lag.columns`."""
        self.source.ask(rows)
        lags: list[TimeLag] = []
        rates: list[LagRates] = []
        for row in rows:
            lags.append(without_looking(row, self.method) or self.source.time_lag(row))
            rates.append(self.source.rates(row))
        return {
            "time_lag_ms": [lag.lag_ms for lag in lags],
            "time_lag_method": [lag.method.value for lag in lags],
            "time_lag_reason": [lag.note.value if lag.note else None for lag in lags],
            **_rate_columns(rates),
        }


@dataclass(frozen=True, slots=True)
class SuccessiveRateColumns:
    """Fills the rates of rows by what several looks found."""

    looks: LagLooks

    def fill(self, rows: Sequence[LagRow]) -> Columns:
        """The columns `RATE_COLUMNS`."""
        return _rate_columns([self.looks.rates(row) for row in rows])


def note(problems: list[str], error: SourceError) -> None:
    """Add what could not be read, once: many rows meet the same."""
    if str(error) not in problems:
        problems.append(str(error))


def _rate_columns(rates: Sequence[LagRates]) -> dict[str, list[object]]:
    return {column.name: [getattr(rate, column.name) for rate in rates] for column in RATE_COLUMNS}
