"""The time columns of a lag report on a live cluster, which is asked for all rows at once."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import assert_never

from kgroup.cli.lag_time import UNKNOWN_RATES, Finder, TimeColumns
from kgroup.group.lag import LagRow, Note
from kgroup.group.lag_looks import LagLooks
from kgroup.group.lag_rates import LagRates
from kgroup.group.time_lag import (
    TimeLag,
    TimeLagNote,
    exact_time_lag,
    interpolated_time_lag,
    without_looking,
)
from kgroup.group.time_lag_method import TimeLagMethod
from kgroup.net.admin import Cluster
from kgroup.net.timestamps import SearchAnswers, search_timestamps
from kgroup.net.unread import UnreadAnswers, UnreadPlace, fetch_first_unread


def live_columns(
    method: TimeLagMethod, cluster: Cluster, rows: Iterable[LagRow], now_ms: int, looks: LagLooks | None
) -> TimeColumns:
    """The columns for these rows. Interpolation and rates need `looks`, these rows' among them.

    Raises SourceError if the cluster does not answer.
    """
    asked = [row for row in rows if without_looking(row, method) is None]
    rates = looks.rates if looks is not None else _no_rates
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
    if _place(row) not in fetched.found:
        return _unreadable(TimeLagMethod.EXACT)
    first = fetched.found[_place(row)]
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


def _no_rates(row: LagRow) -> LagRates:
    return UNKNOWN_RATES
