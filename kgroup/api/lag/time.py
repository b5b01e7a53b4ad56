"""The time columns of a lag report on files, from the topics' own logs and each group's last commits."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kgroup.api.lag.own_logs import read_records
from kgroup.api.lag.time_columns import UNKNOWN_RATES, note
from kgroup.api.lag.windows import Windows
from kgroup.errors import SourceError
from kgroup.lag.measures.rates import LagRates, lag_rates
from kgroup.lag.measures.record_clock import is_clock_skewed
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.time_lag import (
    LogEndTable,
    TimeLag,
    TimeLagNote,
    exact_time_lag,
    interpolated_time_lag,
)
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.status.window import CommitWindow, LogEnd
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.log_listing import FirstUnread

_POINTS_MIN: Final = 3
_POINTS: Final = 60  # as many log ends as kafka-lag-exporter keeps by default


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesInLogs:
    """Time lags at `now_ms` from the segments of data topics; damage is reported once and leaves it unknown.

    By the method `exact` or `interpolate`; to bisect a cluster is needed.
    """

    method: TimeLagMethod
    logs: DataLogs
    windows: Windows
    now_ms: int
    problems: list[str] = field(default_factory=list)

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Files are asked when they are needed."""

    def time_lag(self, row: LagRow) -> TimeLag:
        """The time lag by the chosen method."""
        if self.method is TimeLagMethod.INTERPOLATE:
            return self._interpolated(row)
        return self._exact(row)

    def _exact(self, row: LagRow) -> TimeLag:
        """The time lag by the first unread record."""
        method = TimeLagMethod.EXACT
        topic, partition, offset, end = _place(row)
        try:
            here = self.logs.end(topic, partition)
            unread = self.logs.first_unread(topic, partition, offset) if here is not None else None
        except SourceError as error:
            return self._unreadable(error, method)
        if here is None or (unread is None and here < end):
            return TimeLag(lag_ms=None, method=method, note=TimeLagNote.NO_DATA_LOG)
        time_lag = exact_time_lag(offset, row.log_start_offset or 0, end, unread, self.now_ms)
        if time_lag.note is None and unread is not None and self._is_skewed(row, unread):
            return replace(time_lag, note=TimeLagNote.CLOCK_SKEW)
        return time_lag

    def _is_skewed(self, row: LagRow, unread: FirstUnread) -> bool:
        try:
            history = self.logs.history(row.topic, row.partition, _POINTS_MIN)
        except SourceError:
            return False
        read = read_records(self.logs, row, self.windows.of_row(row))
        newest_ms = history[-1].timestamp_ms if history else unread.timestamp_ms
        return is_clock_skewed(read, unread.timestamp_ms, newest_ms)

    def _interpolated(self, row: LagRow) -> TimeLag:
        """The time lag by the line through past log ends."""
        method = TimeLagMethod.INTERPOLATE
        topic, partition, offset, _ = _place(row)
        try:
            history = self.logs.history(topic, partition, _POINTS)
        except SourceError as error:
            return self._unreadable(error, method)
        if not history:
            return TimeLag(lag_ms=None, method=method, note=TimeLagNote.NO_DATA_LOG)
        table = LogEndTable(_POINTS)
        for past in history:
            table.add(past.offset, past.timestamp_ms)
        return interpolated_time_lag(table, offset, self.now_ms)

    def rates(self, row: LagRow) -> LagRates:
        """The rates since the first of the group's last commits."""
        window = self.windows.find(row.group, row.topic, row.partition)
        if row.log_end_offset is None or row.current_offset is None or row.lag is None:
            return UNKNOWN_RATES
        return lag_rates(replace(window, heads=self._heads(row, window)), row.log_end_offset)

    def _heads(self, row: LagRow, window: CommitWindow) -> tuple[LogEnd, ...]:
        """The log's end when the window began, and its end now with the time of its newest record."""
        if not window.commits:
            return ()
        since_ms = window.commits[0].timestamp
        try:
            before = self.logs.end_at(row.topic, row.partition, since_ms)
            history = self.logs.history(row.topic, row.partition, _POINTS_MIN)
        except SourceError as error:
            note(self.problems, error)
            return ()
        if before is None or not history:
            return ()
        first, last = LogEnd(offset=before, timestamp=since_ms), history[-1]
        newest_ms = max(last.timestamp_ms, since_ms)
        return first, LogEnd(offset=max(last.offset, before), timestamp=newest_ms)

    def _unreadable(self, error: SourceError, method: TimeLagMethod) -> TimeLag:
        note(self.problems, error)
        return TimeLag(lag_ms=None, method=method, note=TimeLagNote.UNREADABLE)


def _place(row: LagRow) -> tuple[str, int, int, int]:
    """Topic, partition, committed offset and log end of a row that has both."""
    assert row.current_offset is not None and row.log_end_offset is not None
    return row.topic, row.partition, row.current_offset, row.log_end_offset
