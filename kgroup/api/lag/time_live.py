"""The time columns of a lag report on a live cluster, queried for many rows at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from kgroup.api.lag.time_columns import UNKNOWN_RATES
from kgroup.api.lag.windows import Windows
from kgroup.lag.measures.rates import LagRates, lag_rates
from kgroup.lag.measures.rows import LagRow, Note
from kgroup.lag.measures.successive import LagLooks
from kgroup.lag.measures.time_lag import (
    TimeLag,
    TimeLagNote,
    exact_time_lag,
    interpolated_time_lag,
    without_looking,
)
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.measures.timestamp_search import TimestampSearch
from kgroup.lag.status.window import LogEnd
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.timestamps import TimeInLog, first_newer, search_timestamps
from kgroup.net.admin.unread import UnreadPlace, fetch_first_unread
from kgroup.protocol.log_listing import FirstUnread

_REFUSED: Final = -1


@dataclass(slots=True, kw_only=True)
class TimesInCluster:
    """Time lags at `now_ms` from the cluster; interpolation needs `looks` with the rows in question.

    Rates are those between looks; at a single one, since the first of a group's last commits, as the cluster
    knows where its logs ended then. Answers are kept, as other groups ask about the same places.
    """

    method: TimeLagMethod
    cluster: Cluster
    windows: Windows
    now_ms: int
    looks: LagLooks | None
    problems: list[str] = field(default_factory=list)
    _fetched: dict[UnreadPlace, FirstUnread | None] = field(default_factory=dict)
    _searches: dict[UnreadPlace, TimestampSearch] = field(default_factory=dict)
    _ends: Mapping[TimeInLog, int | None] = field(default_factory=dict)

    def ask(self, rows: Sequence[LagRow]) -> None:
        """Raises SourceError if the cluster does not answer."""
        if self.looks is None:
            times = [time for row in rows if row.lag and (time := self._begin(row)) is not None]
            self._ends = first_newer(self.cluster, times)
        places = [_place(row) for row in rows if without_looking(row, self.method) is None]
        problems: Sequence[str] = ()
        match self.method:
            case TimeLagMethod.EXACT:
                fetched = fetch_first_unread(
                    self.cluster, [start for start in places if start not in self._fetched]
                )
                self._fetched.update(fetched.records)
                problems = fetched.problems
            case TimeLagMethod.BISECT:
                searched = search_timestamps(
                    self.cluster, [start for start in places if start not in self._searches]
                )
                self._searches.update(searched.searches)
                problems = searched.problems
            case TimeLagMethod.INTERPOLATE:
                assert self.looks is not None, "the options were checked"
            case _:
                assert_never(self.method)
        self.problems += [line for line in problems if line not in self.problems]

    def time_lag(self, row: LagRow) -> TimeLag:
        """The time lag by the chosen method, for a row that was asked about."""
        match self.method:
            case TimeLagMethod.EXACT:
                return self._exact(row)
            case TimeLagMethod.BISECT:
                return self._bisected(row)
            case TimeLagMethod.INTERPOLATE:
                return self._interpolated(row)
        assert_never(self.method)

    def rates(self, row: LagRow) -> LagRates:
        """The rates of a row that was asked about."""
        return self._since_commits(row) if self.looks is None else self.looks.rates(row)

    def _exact(self, row: LagRow) -> TimeLag:
        assert row.current_offset is not None and row.log_end_offset is not None
        if _place(row) not in self._fetched:
            return _unreadable(TimeLagMethod.EXACT)
        first = self._fetched[_place(row)]
        start = row.log_start_offset or 0
        return exact_time_lag(row.current_offset, start, row.log_end_offset, first, self.now_ms)

    def _bisected(self, row: LagRow) -> TimeLag:
        search = self._searches.get(_place(row))
        if search is None:
            return _unreadable(TimeLagMethod.BISECT)
        time_lag = search.time_lag(self.now_ms)
        if time_lag.note is None and Note.BELOW_LOG_START in row.notes:
            return replace(time_lag, note=TimeLagNote.FIRST_LEFT_RECORD)
        return time_lag

    def _interpolated(self, row: LagRow) -> TimeLag:
        assert row.current_offset is not None and self.looks is not None
        table = self.looks.table(row.topic, row.partition)
        return interpolated_time_lag(table, row.current_offset, self.now_ms)

    def _since_commits(self, row: LagRow) -> LagRates:
        """The rates since the first commit of the row's window."""
        begin, end = self._begin(row), row.log_end_offset
        if begin is None or end is None or row.lag is None:
            return UNKNOWN_RATES
        window = self.windows.find(row.group, row.topic, row.partition)
        heads = [LogEnd(offset=end, timestamp=max(self.now_ms, begin.time_ms))]
        newer = self._ends.get(begin, _REFUSED)
        # Before the first record that is left nobody knows how long the log was.
        if newer is None or newer == 0 or newer > (row.log_start_offset or 0):
            heads.insert(0, LogEnd(offset=end if newer is None else newer, timestamp=begin.time_ms))
        return lag_rates(replace(window, heads=tuple(heads)), end)

    def _begin(self, row: LagRow) -> TimeInLog | None:
        if row.current_offset is None:
            return None
        commits = self.windows.find(row.group, row.topic, row.partition).commits
        return TimeInLog(row.topic, row.partition, commits[0].timestamp) if commits else None


def _place(row: LagRow) -> UnreadPlace:
    """The place of the first unread record; records before the log's start are gone."""
    assert row.current_offset is not None
    return UnreadPlace(row.topic, row.partition, max(row.current_offset, row.log_start_offset or 0))


def _unreadable(method: TimeLagMethod) -> TimeLag:
    return TimeLag(lag_ms=None, method=method, note=TimeLagNote.UNREADABLE)
