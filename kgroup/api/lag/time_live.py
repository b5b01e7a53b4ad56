"""The time columns of a lag report on a live cluster, which is asked for all rows at once."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Final, assert_never

from kgroup.api.lag.time_columns import UNKNOWN_RATES, Finder, TimeColumns
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
from kgroup.lag.status.window import LogEnd
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.timestamps import SearchAnswers, TimeInLog, first_newer, search_timestamps
from kgroup.net.admin.unread import UnreadAnswers, UnreadPlace, fetch_first_unread

_REFUSED: Final = -1


def live_columns(
    method: TimeLagMethod,
    cluster: Cluster,
    rows: Iterable[LagRow],
    windows: Windows,
    now_ms: int,
    looks: LagLooks | None,
) -> TimeColumns:
    """The columns for these rows. Interpolation needs `looks`, these rows' among them.

    Rates are those between looks; at a single one, since the first of a group's last commits, as the cluster
    knows where its logs ended then. Raises SourceError if the cluster does not answer.
    """
    rows = list(rows)
    asked = [row for row in rows if without_looking(row, method) is None]
    rates = looks.rates if looks is not None else _RatesSinceCommits(cluster, rows, windows, now_ms).rates
    problems: tuple[str, ...] = ()
    finder: Finder
    match method:
        case TimeLagMethod.EXACT:
            fetched = fetch_first_unread(cluster, [_place(row) for row in asked])
            finder = partial(_exact, fetched, now_ms)
            problems = fetched.problems
        case TimeLagMethod.BISECT:
            searched = search_timestamps(cluster, [_place(row) for row in asked])
            finder = partial(_bisected, searched, now_ms)
            problems = searched.problems
        case TimeLagMethod.INTERPOLATE:
            assert looks is not None, "check_time_lag is asked first"
            finder = partial(_interpolated, looks, now_ms)
        case _:
            assert_never(method)
    return TimeColumns(method=method, find=finder, rates=rates, problems=list(problems))


def _place(row: LagRow) -> UnreadPlace:
    """Where to look for what the row's group has not read: records before the log's start are gone."""
    assert row.current_offset is not None
    return UnreadPlace(row.topic, row.partition, max(row.current_offset, row.log_start_offset or 0))


def _exact(fetched: UnreadAnswers, now_ms: int, row: LagRow) -> TimeLag:
    assert row.current_offset is not None and row.log_end_offset is not None
    if _place(row) not in fetched.records:
        return _unreadable(TimeLagMethod.EXACT)
    first = fetched.records[_place(row)]
    return exact_time_lag(row.current_offset, row.log_start_offset or 0, row.log_end_offset, first, now_ms)


def _bisected(searched: SearchAnswers, now_ms: int, row: LagRow) -> TimeLag:
    search = searched.searches.get(_place(row))
    if search is None:
        return _unreadable(TimeLagMethod.BISECT)
    found = search.time_lag(now_ms)
    if found.note is None and Note.BELOW_LOG_START in row.notes:
        return replace(found, note=TimeLagNote.FIRST_LEFT_RECORD)
    return found


def _interpolated(looks: LagLooks, now_ms: int, row: LagRow) -> TimeLag:
    assert row.current_offset is not None
    return interpolated_time_lag(looks.table(row.topic, row.partition), row.current_offset, now_ms)


def _unreadable(method: TimeLagMethod) -> TimeLag:
    return TimeLag(lag_ms=None, method=method, note=TimeLagNote.UNREADABLE)


class _RatesSinceCommits:
    """Rates since the first commit of each row's window."""

    def __init__(self, cluster: Cluster, rows: Iterable[LagRow], windows: Windows, now_ms: int) -> None:
        self._windows = windows
        self._now_ms = now_ms
        times = [time for row in rows if row.lag and (time := self._begin(row)) is not None]
        self._ends = first_newer(cluster, times)

    def rates(self, row: LagRow) -> LagRates:
        """The rates of one of the rows."""
        begin, end = self._begin(row), row.log_end_offset
        if begin is None or end is None or row.lag is None:
            return UNKNOWN_RATES
        window = self._windows.find(row.group, row.topic, row.partition)
        heads = [LogEnd(offset=end, timestamp=max(self._now_ms, begin.time_ms))]
        newer = self._ends.get(begin, _REFUSED)
        # Before the first record that is left nobody knows how long the log was.
        if newer is None or newer == 0 or newer > (row.log_start_offset or 0):
            heads.insert(0, LogEnd(offset=end if newer is None else newer, timestamp=begin.time_ms))
        return lag_rates(replace(window, heads=tuple(heads)), end)

    def _begin(self, row: LagRow) -> TimeInLog | None:
        if row.current_offset is None:
            return None
        commits = self._windows.find(row.group, row.topic, row.partition).commits
        return TimeInLog(row.topic, row.partition, commits[0].timestamp) if commits else None
