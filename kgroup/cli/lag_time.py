"""The time columns of a lag report: how long the first unread record has waited, and how that changes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from kgroup.cli.lag_status import Windows
from kgroup.errors import InputError, SourceError
from kgroup.group.commit_window import CommitWindow, LogEnd
from kgroup.group.lag import LagRow
from kgroup.group.lag_rates import LagRates, lag_rates
from kgroup.group.time_lag import (
    LogEndTable,
    TimeLag,
    TimeLagMethod,
    TimeLagNote,
    exact_time_lag,
    interpolated_time_lag,
    without_looking,
)
from kgroup.log.data_logs import DataLogs
from kgroup.report.emit import Column, Kind

if TYPE_CHECKING:
    from kgroup.net.admin import Cluster
    from kgroup.net.unread import UnreadPlace

COLUMNS: Final = (
    Column(name="time_lag_ms", header="TIME-LAG", kind=Kind.DURATION_MS),
    Column(name="time_lag_method", header="METHOD"),
    Column(name="time_lag_reason", header="REASON"),
    Column(name="written_per_s", kind=Kind.FLOAT),
    Column(name="read_per_s", kind=Kind.FLOAT),
    Column(name="growth_per_s", header="GROWTH/S", kind=Kind.FLOAT),
    Column(name="drain_ms", header="DRAIN", kind=Kind.DURATION_MS),
)
TABLE_COLUMNS: Final = tuple(
    column for column in COLUMNS if column.name not in ("written_per_s", "read_per_s")
)

_POINTS: Final = 60  # as many log ends as kafka-lag-exporter keeps by default
_UNKNOWN_RATES: Final = LagRates(written_per_s=None, read_per_s=None, growth_per_s=None, drain_ms=None)


class TimeLagChoice(Enum):
    """What `--time-lag` takes."""

    EXACT = "exact"
    BISECT = "bisect"
    INTERPOLATE = "interpolate"


_METHODS: Final[Mapping[TimeLagChoice, TimeLagMethod]] = {
    TimeLagChoice.EXACT: TimeLagMethod.FIRST_UNREAD_RECORD,
    TimeLagChoice.BISECT: TimeLagMethod.BISECTION,
    TimeLagChoice.INTERPOLATE: TimeLagMethod.INTERPOLATION,
}

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
        """The fields of `COLUMNS`."""
        found, rates = self.time_lag(row), self.rates(row)
        return {
            "time_lag_ms": found.lag_ms,
            "time_lag_method": found.method.value,
            "time_lag_reason": found.note.value if found.note else None,
            "written_per_s": rates.written_per_s,
            "read_per_s": rates.read_per_s,
            "growth_per_s": rates.growth_per_s,
            "drain_ms": rates.drain_ms,
        }
