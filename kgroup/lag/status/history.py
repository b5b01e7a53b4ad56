"""Groups' lag at the end of each of many time windows, from their commits in log order.

Over columns: every window of many groups and partitions at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kgroup.lag.status.columns import (
    FURTHEST,
    UNKNOWN,
    CommitColumns,
    Flags,
    Int64s,
    WindowColumns,
    judge_columns,
)
from kgroup.lag.status.numbers import Numbers, RuleNumbers, verdict_numbers
from kgroup.lag.status.rule_sets import BurrowRules, LagRules


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsOfTime:
    """Windows of `length_ms` from the epoch on. `first` to `last` are shown; the last ends at `until_ms`.

    Times are epoch ms; `first` and `last` are numbers of windows.
    """

    length_ms: int
    first: int
    last: int
    until_ms: int

    @classmethod
    def between(cls, since_ms: int, until_ms: int, length_ms: int) -> "WindowsOfTime":
        """The windows that `since_ms` and `until_ms` are in, and those between."""
        return cls(
            length_ms=length_ms, first=since_ms // length_ms, last=until_ms // length_ms, until_ms=until_ms
        )

    def __len__(self) -> int:
        return max(self.last - self.first + 1, 0)

    def start_ms(self, number: int) -> int:
        """The first ms of a window."""
        return number * self.length_ms

    def end_ms(self, number: int) -> int:
        """The end of a window, the first ms that is not in it; the last one may be cut short."""
        return min((number + 1) * self.length_ms, self.until_ms + 1)

    def ends_ms(self) -> Int64s:
        """The end of each."""
        return np.array([self.end_ms(self.first + number) for number in range(len(self))], np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedCommits:
    """Commits and tombstones of keys, each a group's partition; those of a key one after the other.

    Key k has those from `starts[k]` up to `starts[k + 1]`, by window and then in log order; of each window
    the last `slots` are enough. `timestamps` are epoch ms: a commit's own, a tombstone's record's. `orders`
    are log offsets; `membership_changes[k]` those of records that changed the group's members, rising.
    """

    starts: Int64s
    offsets: Int64s
    timestamps: Int64s
    orders: Int64s
    is_tombstone: Flags
    membership_changes: Sequence[Int64s]


@dataclass(frozen=True, slots=True)
class PastLogEnds:
    """The log end of each key at the end of each window (keys x windows), and that of now, else UNKNOWN."""

    by_window: Int64s
    now: Int64s


@dataclass(frozen=True, slots=True, kw_only=True)
class LagHistory:
    """Rows, by key and window: a partition of a group as it was when a window ended.

    `progress` is how far the committed offset came within the window, unknown in the first window with a
    commit; negative after going back. `log_end_offsets`, `lags`, `statuses` and `rules` are UNKNOWN where no
    log end is known; `numbers` are of the rows that are judged. Statuses and rules are places in STATUSES and
    RULES.
    """

    keys: Int64s
    windows: Int64s
    current_offsets: Int64s
    progress: Numbers
    log_end_offsets: Int64s
    lags: Int64s
    statuses: NDArray[np.int8]
    rules: NDArray[np.int8]
    numbers: Sequence[RuleNumbers]


def lag_history(
    logged: LoggedCommits, windows: WindowsOfTime, slots: int, ends: PastLogEnds, rules: LagRules
) -> LagHistory:
    """A row for each key and window from the first commit on, silent ones too; none after a tombstone."""
    logged = _until(logged, windows.until_ms)
    rows = _rows(logged, windows, slots)
    current = logged.offsets[rows.stops - 1]
    log_ends = proven_ends(ends.by_window[rows.keys, rows.columns], current, ends.now[rows.keys])
    is_sane = _is_sane(logged, rows.stops, rows.counts) & (log_ends <= FURTHEST)
    log_ends = np.where(is_sane, log_ends, UNKNOWN)
    judged = np.flatnonzero(log_ends >= 0)
    told_ms = windows.ends_ms() - 1
    judged_ends, judged_ms = log_ends[judged], told_ms[rows.columns[judged]]
    looked_at = _looked_at(logged, rows, judged, slots)
    if not isinstance(rules, BurrowRules):
        # Burrow's own past log ends are of the last minute or two, not of the last windows.
        seen = _SeenEnds.of(rows, judged, judged_ends, told_ms, len(logged.starts) - 1)
        looked_at = seen.known_to(looked_at, rows.keys[judged], rows.columns[judged], current[judged])
    verdicts = judge_columns(looked_at, judged_ends, judged_ms, rules)
    changed = partial(_changed_between, logged, rows.keys[judged])
    numbers = verdict_numbers(looked_at, judged_ends, judged_ms, rules, verdicts, changed)
    statuses = np.full(len(current), UNKNOWN, np.int8)
    names, lags = statuses.copy(), np.full(len(current), UNKNOWN)
    statuses[judged], names[judged] = verdicts.statuses, verdicts.rules
    lags[judged] = judged_ends - current[judged]
    return LagHistory(
        keys=rows.keys,
        windows=windows.first + rows.columns,
        current_offsets=current,
        progress=_progress(logged, rows, current),
        log_end_offsets=log_ends,
        lags=lags,
        statuses=statuses,
        rules=names,
        numbers=[replace(of_rule, rows=judged[of_rule.rows]) for of_rule in numbers],
    )


def proven_ends(logged_ends: Int64s, current_offsets: Int64s, ends_now: Int64s) -> Int64s:
    """The log ends that rows may go by, given what the data's log says of that time and of now, or UNKNOWN.

    Clocks of producers and brokers differ, so a log may seem shorter than what was committed; then it was as
    long as the committed offset, if it ever got there. If not, it is another topic's log, or somebody
    committed beyond its end, and nothing is known.
    """
    reached = np.where(current_offsets <= ends_now, current_offsets, UNKNOWN)
    return np.where((logged_ends < 0) | (logged_ends >= current_offsets), logged_ends, reached)


def _until(logged: LoggedCommits, until_ms: int) -> LoggedCommits:
    """The commits that were there by then."""
    there = logged.timestamps <= until_ms
    if there.all():
        return logged
    return LoggedCommits(
        starts=np.concatenate([[0], np.cumsum(there)])[logged.starts],
        offsets=logged.offsets[there],
        timestamps=logged.timestamps[there],
        orders=logged.orders[there],
        is_tombstone=logged.is_tombstone[there],
        membership_changes=logged.membership_changes,
    )


@dataclass(frozen=True, slots=True)
class _Rows:
    """The keys and windows (columns of a matrix) that have a row.

    What counts when the window ends are the `counts` commits before their place in `stops`, and when it began
    the one before `before`, 0 if there was none.
    """

    keys: Int64s
    columns: Int64s
    stops: Int64s
    counts: Int64s
    before: Int64s


def _rows(logged: LoggedCommits, windows: WindowsOfTime, slots: int) -> _Rows:
    # Column 0 is the time before the first window.
    starts, size = logged.starts[:-1], len(windows) + 1
    key = np.repeat(np.arange(len(starts)), np.diff(logged.starts))
    column = np.maximum(logged.timestamps // windows.length_ms - windows.first + 1, 0)
    number = np.bincount(key * size + column, minlength=len(starts) * size)
    stops = starts[:, None] + number.reshape(-1, size).cumsum(axis=1)
    # Nothing before a tombstone counts.
    ordinal = np.arange(1, len(key) + 1)
    fresh = np.maximum.accumulate(np.concatenate([[0], np.where(logged.is_tombstone, ordinal, 0)]))
    counts = stops - np.maximum(fresh[stops], starts[:, None])
    is_row = counts[:, 1:] > 0
    keys, columns = np.nonzero(is_row)
    return _Rows(
        keys=keys,
        columns=columns,
        stops=stops[:, 1:][is_row],
        counts=np.minimum(counts[:, 1:][is_row], slots),
        before=np.where(counts[:, :-1] > 0, stops[:, :-1], 0)[is_row],
    )


def _is_sane(logged: LoggedCommits, stops: Int64s, counts: Int64s) -> Flags:
    """Whether none of the last commits before a place is far from anything real."""
    strange = np.logical_or.reduce(
        [(values > FURTHEST) | (values < -FURTHEST) for values in (logged.offsets, logged.timestamps)]
    )
    number = np.concatenate([[0], np.cumsum(strange)])
    sane: Flags = number[stops] == number[stops - counts]
    return sane


def _progress(logged: LoggedCommits, rows: _Rows, current: Int64s) -> Numbers:
    last = np.minimum(rows.before, 1)
    is_known = (rows.before > 0) & _is_sane(logged, rows.before, last)
    is_known &= _is_sane(logged, rows.stops, np.ones_like(rows.stops))
    before = logged.offsets[rows.before - 1]
    return Numbers(np.where(is_known, current, 0) - np.where(is_known, before, 0), is_known)


def _looked_at(logged: LoggedCommits, rows: _Rows, judged: Int64s, slots: int) -> WindowColumns:
    unknown = np.full(len(judged), UNKNOWN)
    lags = np.full(len(logged.offsets), UNKNOWN)
    commits = CommitColumns(offsets=logged.offsets, timestamps=logged.timestamps, lags=lags)
    return WindowColumns(
        commits=commits,
        slots=slots,
        stops=rows.stops[judged],
        counts=rows.counts[judged],
        unread_since_ms=unknown,
        unread_by_ms=unknown,
        caught_up_ms=unknown,
    )


@dataclass(frozen=True, slots=True)
class _SeenEnds:
    """The log ends that rows were judged by, as a matrix of keys and windows.

    `longest` is how far the log had got by a window, UNKNOWN before anything is known; `last` is the last
    window up to each whose log end was no less, as clocks may make a later one look shorter, -1 if none.
    """

    longest: Int64s
    last: Int64s
    told_ms: Int64s

    @classmethod
    def of(cls, rows: _Rows, judged: Int64s, ends: Int64s, told_ms: Int64s, keys: int) -> "_SeenEnds":
        ends_by_window = np.full((keys, len(told_ms)), UNKNOWN)
        ends_by_window[rows.keys[judged], rows.columns[judged]] = ends
        longest = np.maximum.accumulate(ends_by_window, axis=1)
        is_longest = (ends_by_window >= 0) & (ends_by_window == longest)
        last = np.maximum.accumulate(np.where(is_longest, np.arange(len(told_ms)), -1), axis=1)
        return cls(longest, last, told_ms)

    def known_to(
        self, looked_at: WindowColumns, keys: Int64s, columns: Int64s, current: Int64s
    ) -> WindowColumns:
        """Add when the log was last seen not to end beyond the current offset, and first seen to."""
        beyond = self._first_beyond(keys, columns, current)
        before = np.where(beyond > 0, self.last[keys, beyond - 1], -1)
        return replace(
            looked_at,
            caught_up_ms=np.where(before >= 0, self.told_ms[before], UNKNOWN),
            unread_by_ms=np.where(beyond < columns, self.told_ms[beyond], UNKNOWN),
        )

    def _first_beyond(self, keys: Int64s, columns: Int64s, current: Int64s) -> Int64s:
        """The first window before these in which the log ended beyond `current`; these themselves if none."""
        low, high = np.zeros_like(columns), columns.copy()
        for _ in range(len(self.told_ms).bit_length()):
            middle = (low + high) // 2
            is_open = low < high
            is_beyond = self.longest[keys, middle] > current
            high = np.where(is_open & is_beyond, middle, high)
            low = np.where(is_open & ~is_beyond, middle + 1, low)
        return high


def _changed_between(
    logged: LoggedCommits, keys: Int64s, rows: Int64s, before: Int64s, after: Int64s
) -> Numbers:
    """Whether the membership changed between two commits of each of these rows, given by their places."""
    changed = np.zeros(len(rows), np.bool_)
    begins, ends = logged.orders[before], logged.orders[after]
    of_key = keys[rows]
    for key in np.unique(of_key).tolist():
        changes, here = logged.membership_changes[key], of_key == key
        first = np.searchsorted(changes, begins[here], side="right")
        next_change = np.append(changes, np.iinfo(np.int64).max)[first]
        changed[here] = next_change < ends[here]
    return Numbers(changed)
