"""The lag rules on columns: millions of windows at once, with the same statuses and rules as one by one.

For histories and Spark. Order and statuses of the rules are those of `rules.py`; the numbers of the
verdicts are made by `numbers.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from typing import Final, TypeVar, assert_never

import numpy as np
from numpy.typing import NDArray

from kgroup.lag.status.model import PartitionStatus, Rule
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules, LagRules
from kgroup.lag.status.rules import BURROW_CLAUSES, KGROUP_CLAUSES, Clauses
from kgroup.lag.status.window_evidence import COMMITS_BEHIND, SHORTEST_MS

Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]

FURTHEST: Final = 1 << 58
"""No real offset or time (epoch ms) is beyond it, or below its negative; what is has no place in columns."""
UNKNOWN: Final = -1
"""The value that marks an unknown in arrays."""
STATUSES: Final = tuple(PartitionStatus)
RULES: Final = tuple(Rule)

_WINDOWS_AT_ONCE: Final = 1 << 13  # what a pass works on stays in the processor's cache


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitColumns:
    """Commits, those of a key one after the other in the order of the offsets topic.

    `lags` are what was unread at the time of the commit, UNKNOWN where no log end was known.
    """

    offsets: Int64s
    timestamps: Int64s
    lags: Int64s


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowColumns:
    """Windows over commits: each ends before its place in `stops` and holds `counts` of them, of `slots`.

    `unread_since_ms` and `unread_by_ms` are those of `CommitWindow`, UNKNOWN where they are None. Of its
    `heads` there is `caught_up_ms`, the time of the last one that is not beyond the last commit; of those
    behind it the earliest time belongs into `unread_by_ms`. `proofs` are the places in RULES of its `proof`,
    UNKNOWN where it is None; None if no window has one.
    """

    commits: CommitColumns
    slots: int
    stops: Int64s
    counts: Int64s
    unread_since_ms: Int64s
    unread_by_ms: Int64s
    caught_up_ms: Int64s
    proofs: NDArray[np.int8] | None = None

    def at(self, rows: Int64s) -> "WindowColumns":
        """Some of the windows."""
        return WindowColumns(
            commits=self.commits,
            slots=self.slots,
            stops=self.stops[rows],
            counts=self.counts[rows],
            unread_since_ms=self.unread_since_ms[rows],
            unread_by_ms=self.unread_by_ms[rows],
            caught_up_ms=self.caught_up_ms[rows],
            proofs=None if self.proofs is None else self.proofs[rows],
        )


@dataclass(frozen=True, slots=True)
class VerdictColumns:
    """Each window's index of its status in STATUSES and of its rule in RULES, and its lag in records."""

    statuses: NDArray[np.int8]
    rules: NDArray[np.int8]
    lags: Int64s


def every_commit(commits: CommitColumns, begins: Flags, slots: int) -> WindowColumns:
    """The window that each commit ends; `begins` is True at the first commit of each key."""
    number = np.arange(1, len(begins) + 1, dtype=np.int64)
    start = np.maximum.accumulate(np.where(begins, number - 1, 0))
    unknown = np.full(len(begins), UNKNOWN, np.int64)
    return WindowColumns(
        commits=commits,
        slots=slots,
        stops=number,
        counts=np.minimum(number - start, slots),
        unread_since_ms=unknown,
        unread_by_ms=unknown,
        caught_up_ms=unknown,
    )


def judge_columns(
    windows: WindowColumns,
    end_offsets: Int64s,
    now_ms: Int64s | int,
    rules: LagRules,
    looked: "Seen | None" = None,
) -> VerdictColumns:
    """Judge each window by its partition's log end, at its own time or all at the same (epoch ms).

    `looked` is a look at them that was taken already, by these ends and the rules' `allowed_lag`.
    """
    count = len(windows.stops)
    statuses, names = np.empty(count, np.int8), np.empty(count, np.int8)
    lags = np.empty(count, np.int64)
    times = np.broadcast_to(np.asarray(now_ms, np.int64), (count,))
    at_once = max(count, 1) if looked is not None else _WINDOWS_AT_ONCE
    for start in range(0, count, at_once):
        part = slice(start, min(start + at_once, count))
        seen = looked or look(windows, part, end_offsets[part], rules.allowed_lag)
        lags[part] = seen.lag
        match rules:
            case KgroupRules():
                cases = KgroupCases(seen, windows, part, times[part], rules)
                decide_columns(KGROUP_CLAUSES, KGROUP_COLUMNS, cases, statuses[part], names[part])
            case BurrowRules():
                of_burrow = BurrowCases(seen, windows, part, times[part], rules)
                decide_columns(BURROW_CLAUSES, BURROW_COLUMNS, of_burrow, statuses[part], names[part])
            case _:
                assert_never(rules)
    return VerdictColumns(statuses, names, lags)


_C = TypeVar("_C")


def decide_columns(
    clauses: Clauses,
    columns: Mapping[Rule, Callable[[_C], Flags | None]],
    cases: _C,
    statuses: NDArray[np.int8],
    rules: NDArray[np.int8],
) -> None:
    """The first rule that holds decides, case by case; `statuses` and `rules` are filled."""
    open_ = np.ones(len(statuses), np.bool_)
    for rule, clause in clauses.items():
        holds = columns[rule](cases)
        if holds is None:
            continue
        decided = open_ & holds
        statuses[decided] = STATUSES.index(clause.status)
        rules[decided] = RULES.index(rule)
        open_ &= ~decided
    assert not open_.any(), "the last rule holds always"


@dataclass(slots=True)
class Seen:
    """The results of one look over the commits of each window, from the oldest to the newest.

    `places`, where the commits are in their columns, `times`, `offsets` and `each_lag` go from slot to slot;
    a window that is not full begins with its first commit several times.
    """

    count: Int64s
    lag: Int64s
    first_ms: Int64s
    last_ms: Int64s
    first_lag: Int64s
    last_lag: Int64s
    spread_ms: Int64s
    is_stalled: Flags
    places: Sequence[Int64s]
    times: Sequence[Int64s]
    offsets: Sequence[Int64s]
    each_lag: Sequence[Int64s]
    highest: Int64s
    ends: Int64s
    lags: "_SeenLags"

    def at(self, rows: Int64s) -> "Seen":
        """The same of some of the windows."""
        return Seen(
            count=self.count[rows],
            lag=self.lag[rows],
            first_ms=self.first_ms[rows],
            last_ms=self.last_ms[rows],
            first_lag=self.first_lag[rows],
            last_lag=self.last_lag[rows],
            spread_ms=self.spread_ms[rows],
            is_stalled=self.is_stalled[rows],
            places=_each_at(self.places, rows),
            times=_each_at(self.times, rows),
            offsets=_each_at(self.offsets, rows),
            each_lag=_each_at(self.each_lag, rows),
            highest=self.highest[rows],
            ends=self.ends[rows],
            lags=self.lags.at(rows),
        )


@dataclass(slots=True)
class _SeenLags:
    was_within: Flags
    fell: Flags
    number: Int64s
    kept: Flags

    def at(self, rows: Int64s) -> "_SeenLags":
        return _SeenLags(self.was_within[rows], self.fell[rows], self.number[rows], self.kept[rows])


def _each_at(slots: Sequence[Int64s], rows: Int64s) -> list[Int64s]:
    return [slot[rows] for slot in slots]


def look(windows: WindowColumns, part: slice, ends: Int64s, allowed_lag: int) -> Seen:
    """Look at some of the windows, whose logs end at `ends`."""
    stops, count = windows.stops[part], windows.counts[part]
    columns = windows.commits if len(windows.commits.offsets) else _NO_COMMITS
    # A window that is not full is filled up with its first commit, which changes nothing but their number.
    first = np.minimum(stops - count, len(columns.offsets) - 1)
    slots = [np.maximum(stops - back, first) for back in range(int(count.max(initial=0)), 0, -1)] or [first]
    times, offsets, lags = (
        _in_slots(column, slots) for column in (columns.timestamps, columns.offsets, columns.lags)
    )
    highest, lowest = reduce(np.maximum, offsets), reduce(np.minimum, offsets)
    return Seen(
        count=count,
        lag=np.where(count == 0, 0, np.maximum(ends - offsets[-1], 0)),
        first_ms=times[0],
        last_ms=times[-1],
        first_lag=lags[0],
        last_lag=lags[-1],
        spread_ms=reduce(np.maximum, times) - reduce(np.minimum, times),
        is_stalled=highest == lowest,
        places=slots,
        times=times,
        offsets=offsets,
        each_lag=lags,
        highest=highest,
        ends=ends,
        lags=_look_at_lags(lags, len(slots) - count, allowed_lag),
    )


def _in_slots(column: Int64s, slots: Sequence[Int64s]) -> list[Int64s]:
    if not any(column.strides):  # the same throughout, as lags are in a log: UNKNOWN
        return [np.full(len(slots[0]), column[0])] * len(slots)
    return [column.take(slot) for slot in slots]


def completeness(seen: Seen, slots: int) -> NDArray[np.float32]:
    """The share of slots that hold a commit, in 32 bits; as with Burrow, the last slot always counts."""
    share: NDArray[np.float32] = (np.maximum(seen.count, 1) / max(slots, 1)).astype(np.float32)
    return share


def _below_peak(seen: Seen) -> Flags:
    """Whether the last commit that is not beyond the log's end is below the highest of those."""
    if not (seen.highest > seen.ends).any():
        return seen.offsets[-1] < seen.highest
    peak, last = np.full(len(seen.ends), _LEAST), np.full(len(seen.ends), _LEAST)
    for offset in seen.offsets:
        last = np.where(offset <= seen.ends, offset, last)
        peak = np.maximum(peak, last)
    return last < peak


def _unrecovered(offsets: Sequence[Int64s]) -> Flags:
    """Whether after the first step back no commit reached the offset before it."""
    fell = np.zeros(len(offsets[0]), np.bool_)
    if all(bool((after >= before).all()) for before, after in pairwise(offsets)):
        return fell
    recovered, before_fall = np.zeros_like(fell), np.full(len(fell), _LEAST)
    for before, after in pairwise(offsets):
        before_fall = np.where(~fell & (after < before), before, before_fall)
        fell |= after < before
        recovered |= fell & (after >= before_fall)
    return fell & ~recovered


def _look_at_lags(lags: Sequence[Int64s], filled_up: Int64s, allowed_lag: int) -> _SeenLags:
    lowest, highest = reduce(np.minimum, lags), reduce(np.maximum, lags)
    if (lowest >= 0).all():
        fell = np.logical_or.reduce([after < before for before, after in pairwise(lags)] or [lowest < 0])
        return _SeenLags(lowest <= allowed_lag, fell, len(lags) - filled_up, lags[0] == lags[-1])
    size = len(filled_up)
    was_within, fell = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    number, first, last = np.zeros(size, np.int64), np.full(size, UNKNOWN), np.full(size, UNKNOWN)
    if (highest < 0).all():
        return _SeenLags(was_within, fell, number, first == last)
    for lag in lags:
        is_known = lag >= 0
        was_within |= is_known & (lag <= allowed_lag)
        fell |= is_known & (lag < last)
        first = np.where(first < 0, lag, first)
        last = np.where(is_known, lag, last)
        number += is_known
    number -= np.where(lags[0] >= 0, filled_up, 0)
    return _SeenLags(was_within, fell, number, first == last)


_NO_COMMITS: Final = CommitColumns(
    offsets=np.zeros(1, np.int64), timestamps=np.zeros(1, np.int64), lags=np.full(1, UNKNOWN)
)
_LEAST: Final = np.iinfo(np.int64).min


def arrival(seen: Seen, windows: WindowColumns, part: slice, now_ms: Int64s) -> tuple[Int64s, Int64s]:
    """Times when the first unread record was not there yet, and when it was, as closely as is known."""
    since, by = windows.unread_since_ms[part], windows.unread_by_ms[part]
    caught_up = windows.caught_up_ms[part]
    had_lag = seen.last_lag > 0
    not_before = np.where((caught_up >= 0) & ~had_lag, np.maximum(caught_up, seen.last_ms), seen.last_ms)
    not_later = np.where(by >= 0, np.minimum(by, now_ms), now_ms)
    not_later = np.where(caught_up >= 0, np.maximum(not_later, not_before), not_later)
    caught_up_ms = np.where(since >= 0, since, not_before)
    unread_by_ms = np.where(since >= 0, since, np.where(had_lag, seen.last_ms, not_later))
    return caught_up_ms, unread_by_ms


@dataclass(frozen=True)
class KgroupCases:
    """Some of the windows, looked at, and the times and settings to judge them by."""

    seen: Seen
    windows: WindowColumns
    part: slice
    now_ms: Int64s
    rules: KgroupRules

    @cached_property
    def arrival(self) -> tuple[Int64s, Int64s]:
        """Times when the first unread record was not there yet, and when it was."""
        return arrival(self.seen, self.windows, self.part, self.now_ms)

    @cached_property
    def limit_ms(self) -> Int64s:
        """A longer silence is too long."""
        return np.maximum(self.rules.patience_ms, self.seen.spread_ms)

    def is_silent(self, unread_ms: Int64s) -> Flags:
        """Whether the group is silent for too long, if there has been something unread since `unread_ms`."""
        silent: Flags = self.now_ms - np.maximum(self.seen.last_ms, unread_ms) > self.limit_ms
        return silent

    def is_proven(self, rule: Rule) -> Flags | None:
        """Whether a window has such a proof; None if no window has any."""
        proofs = self.windows.proofs
        return None if proofs is None else proofs[self.part] == RULES.index(rule)

    @cached_property
    def stands_still_on_unread(self) -> tuple[Flags, Flags] | None:
        """Windows whose commits stand still for long though there is something to read, and those that may.

        None if they do so nowhere.
        """
        seen, patience_ms = self.seen, self.rules.patience_ms
        long_enough = (seen.count == self.windows.slots) | (seen.spread_ms >= patience_ms)
        stalls = seen.is_stalled & (seen.count > 1) & long_enough
        if not stalls.any():
            return None
        had_unread, unknown = _had_unread(self)
        return stalls & had_unread, stalls & unknown

    def lacks_trend(self) -> Flags | None:
        """Windows with fewer than two known lags; None without any."""
        without_trend = self.seen.lags.number < 2
        return without_trend if without_trend.any() else None


def _had_unread(cases: KgroupCases) -> tuple[Flags, Flags]:
    """Windows with something to read for as long as commits stand still, and those where that is unknown."""
    seen, rules = cases.seen, cases.rules
    since, by = cases.windows.unread_since_ms[cases.part], cases.windows.unread_by_ms[cases.part]
    by_since, by_proof = (
        (unread_ms >= 0) & ((unread_ms <= seen.first_ms) | (cases.now_ms - unread_ms > rules.patience_ms))
        for unread_ms in (since, by)
    )
    by_lag = by_proof | (seen.first_lag > rules.allowed_lag)
    waited: Flags = np.where(since >= 0, by_since, by_lag)
    waiting_ms = np.where(since >= 0, since, np.where(by_proof, by, seen.first_ms))
    for_long = seen.last_ms - np.maximum(seen.first_ms, waiting_ms) >= SHORTEST_MS
    open_ = (since < 0) & ~by_proof & (seen.first_lag < 0)
    return waited & for_long, open_ | (waited & ~for_long)


def _stalled(cases: KgroupCases) -> Flags | None:
    return cases.stands_still_on_unread and cases.stands_still_on_unread[0]


def _perhaps_stalled(cases: KgroupCases) -> Flags | None:
    return cases.stands_still_on_unread and cases.stands_still_on_unread[1]


def _few_unread(cases: KgroupCases) -> Flags | None:
    seen, without_trend = cases.seen, cases.lacks_trend()
    if without_trend is None:
        return None
    advanced = seen.offsets[-1] - seen.offsets[0]
    return without_trend & (seen.lag * (seen.count - 1) < COMMITS_BEHIND * advanced)


KGROUP_COLUMNS: Final[Mapping[Rule, Callable[[KgroupCases], Flags | None]]] = {
    Rule.NO_COMMITS: lambda cases: cases.seen.count == 0,
    Rule.WITHIN_ALLOWED: lambda cases: cases.seen.lag <= cases.rules.allowed_lag,
    Rule.OPEN_TRANSACTION: lambda cases: cases.is_proven(Rule.OPEN_TRANSACTION),
    Rule.STOPPED: lambda cases: cases.is_silent(cases.arrival[1]),
    Rule.RHYTHM_BROKEN: lambda cases: cases.is_proven(Rule.RHYTHM_BROKEN),
    Rule.REPEATED: lambda cases: cases.is_proven(Rule.REPEATED),
    Rule.REWOUND: lambda cases: _below_peak(cases.seen),
    Rule.PERHAPS_STOPPED: lambda cases: cases.is_silent(cases.arrival[0]),
    Rule.LAG_GREW: lambda cases: cases.is_proven(Rule.LAG_GREW),
    Rule.READER_STANDS_STILL: lambda cases: cases.is_proven(Rule.READER_STANDS_STILL),
    Rule.READ_IN_TURN: lambda cases: cases.is_proven(Rule.READ_IN_TURN),
    Rule.NO_MEMBERS: lambda cases: cases.is_proven(Rule.NO_MEMBERS),
    Rule.WAS_WITHIN_ALLOWED: lambda cases: cases.seen.lags.was_within,
    Rule.STALLED: _stalled,
    Rule.PERHAPS_STALLED: _perhaps_stalled,
    Rule.LAG_FELL: lambda cases: cases.seen.lags.fell,
    Rule.FEW_UNREAD: _few_unread,
    Rule.LAG_TREND_UNKNOWN: KgroupCases.lacks_trend,
    Rule.LAG_KEPT: lambda cases: cases.seen.lags.kept,
    Rule.LAG_NEVER_FELL: lambda cases: np.ones(len(cases.now_ms), np.bool_),
}
"""The windows in which each of kgroup's rules holds, as in `rules.py`; None is nowhere."""


@dataclass(frozen=True)
class BurrowCases:
    """Some of the windows, looked at, and the times and settings to judge them by."""

    seen: Seen
    windows: WindowColumns
    part: slice
    now_ms: Int64s
    rules: BurrowRules

    def is_incomplete(self) -> Flags:
        """Whether fewer slots are filled than wanted."""
        incomplete: Flags = completeness(self.seen, self.windows.slots) < np.float32(
            self.rules.minimum_complete
        )
        return incomplete

    def is_stopped(self) -> Flags:
        """Whether the last commit is older than the window is long, and no log end excuses it."""
        was_caught_up = self.windows.caught_up_ms[self.part] >= 0
        span_ms = self.seen.last_ms - self.seen.first_ms
        is_silent: Flags = self.now_ms // 1000 * 1000 - self.seen.last_ms > span_ms
        return is_silent & ~was_caught_up


BURROW_COLUMNS: Final[Mapping[Rule, Callable[[BurrowCases], Flags]]] = {
    Rule.NO_COMMITS: lambda cases: cases.seen.count == 0,
    Rule.INCOMPLETE_WINDOW: BurrowCases.is_incomplete,
    Rule.WITHIN_ALLOWED: lambda cases: cases.seen.lag <= cases.rules.allowed_lag,
    Rule.STOPPED: BurrowCases.is_stopped,
    Rule.REWOUND: lambda cases: _unrecovered(cases.seen.offsets),
    Rule.WAS_WITHIN_ALLOWED: lambda cases: cases.seen.lags.was_within,
    Rule.STALLED: lambda cases: cases.seen.is_stalled,
    Rule.LAG_FELL: lambda cases: cases.seen.lags.fell,
    Rule.LAG_NEVER_FELL: lambda cases: np.ones(len(cases.now_ms), np.bool_),
}
"""The windows in which each of Burrow's rules holds."""
