"""The time columns of lag rows, however their numbers are found."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kgroup.lag.measures.rates import LagRates
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.time_lag import TimeLag, without_looking
from kgroup.lag.measures.time_lag_method import TimeLagMethod

UNKNOWN_RATES: Final = LagRates(written_per_s=None, read_per_s=None, growth_per_s=None, drain_ms=None)


Finder = Callable[[LagRow], TimeLag]
"""Finds the time lag of a row that has something unread; both of its offsets are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeColumns:
    """Fills the time columns of rows. `problems` are what could not be read, once it has been met."""

    method: TimeLagMethod
    find: Finder
    rates: Callable[[LagRow], LagRates]
    problems: list[str]

    def time_lag(self, row: LagRow) -> TimeLag:
        """How long the first unread record of a row has waited."""
        return without_looking(row, self.method) or self.find(row)

    def fields(self, row: LagRow) -> dict[str, object]:
        """The fields of `report.lag.columns.TIME_COLUMNS` and `RATE_COLUMNS`."""
        found, rates = self.time_lag(row), self.rates(row)
        return {
            "time_lag_ms": found.lag_ms,
            "time_lag_method": found.method.value,
            "time_lag_reason": found.note.value if found.note else None,
            **rates.fields(),
        }
