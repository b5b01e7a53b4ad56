"""The numbers of verdicts, on columns: what `Verdict.numbers` says about one window, rule by rule."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, get_args

import numpy as np
from numpy.typing import NDArray

from kgroup.lag.status.burrow_rules import as_float32
from kgroup.lag.status.columns import (
    RULES,
    Flags,
    Int64s,
    Seen,
    VerdictColumns,
    WindowColumns,
    arrival,
    completeness,
    look,
)
from kgroup.lag.status.model import Proof, Rule
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules, LagRules

PROVEN: Final = frozenset(proof.rule for proof in get_args(Proof))
_LEAST: Final = np.iinfo(np.int64).min
_MOST: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Numbers:
    """Integers, floats or booleans, one for each window; `known` None is for all of them."""

    values: NDArray[Any]
    known: Flags | None = None


@dataclass(frozen=True, slots=True)
class RuleNumbers:
    """The windows that a rule decided, and its numbers of them by name, in the order of the rule's fields."""

    rule: Rule
    rows: Int64s
    fields: Mapping[str, Numbers]


ChangedBetween = Callable[[Int64s, Int64s, Int64s], Numbers]
"""Given windows and, for each, the places of two of its commits: whether membership changed between them."""


def unknown_changes(windows: Int64s, _before: Int64s, _after: Int64s) -> Numbers:
    """Unknown membership changes, for callers that do not know the membership."""
    nothing = np.zeros(len(windows), np.bool_)
    return Numbers(nothing, nothing)


def verdict_numbers(
    windows: WindowColumns,
    end_offsets: Int64s,
    now_ms: Int64s,
    rules: LagRules,
    verdicts: VerdictColumns,
    changed_between: ChangedBetween = unknown_changes,
    looked: Seen | None = None,
) -> Iterator[RuleNumbers]:
    """The numbers of what `judge_columns` has said of the same windows, rule by rule; `looked` as there.

    Without the numbers of proofs, which carry their own.
    """
    for number in np.flatnonzero(np.bincount(verdicts.rules)).tolist():
        rule, rows = RULES[number], np.flatnonzero(verdicts.rules == number)
        if rule in PROVEN:
            continue
        chosen = windows.at(rows)
        if looked is None:
            seen = look(chosen, slice(0, len(rows)), end_offsets[rows], rules.allowed_lag)
        else:
            seen = looked.at(rows)
        fields = _fields(_Decided(rows, chosen, seen, now_ms[rows], rules, changed_between), rule)
        yield RuleNumbers(rule, rows, dict(fields))


@dataclass(frozen=True, slots=True)
class _Decided:
    """The windows that one rule decided."""

    rows: Int64s
    windows: WindowColumns
    seen: Seen
    now_ms: Int64s
    rules: LagRules
    changed_between: ChangedBetween

    def same(self, number: float) -> NDArray[Any]:
        return np.full(len(self.rows), number)


_Fields = Iterator[tuple[str, Numbers]]


def _fields(of: _Decided, rule: Rule) -> _Fields:
    match rule:
        case Rule.NO_COMMITS:
            return iter(())
        case Rule.INCOMPLETE_WINDOW:
            return _incomplete(of)
        case Rule.WITHIN_ALLOWED:
            return _within_allowed(of)
        case Rule.STOPPED:
            return _stopped(of)
        case Rule.PERHAPS_STOPPED:
            return _perhaps_stopped(of)
        case Rule.REWOUND:
            return _rewound(of)
        case Rule.WAS_WITHIN_ALLOWED:
            return _was_within_allowed(of)
        case Rule.STALLED | Rule.PERHAPS_STALLED:
            return _stalled(of)
        case Rule.LAG_NEVER_FELL:
            return _lag_never_fell(of)
        case Rule.LAG_FELL:
            return _lag_fell(of)
        case Rule.LAG_KEPT:
            return iter([("lag", Numbers(_first_and_last_lag(of.seen)[1]))])
        case Rule.FEW_UNREAD:
            return _few_unread(of)
        case Rule.LAG_TREND_UNKNOWN:
            return iter([("known_lags", Numbers(of.seen.lags.number))])
        case _:
            raise AssertionError(f"{rule} is proven elsewhere")


def _incomplete(of: _Decided) -> _Fields:
    assert isinstance(of.rules, BurrowRules)
    yield "complete", Numbers(completeness(of.seen, of.windows.slots).astype(np.float64))
    yield "minimum_complete", Numbers(of.same(as_float32(of.rules.minimum_complete)))


def _within_allowed(of: _Decided) -> _Fields:
    yield "lag", Numbers(of.seen.lag)
    yield "allowed_lag", Numbers(of.same(of.rules.allowed_lag))


def _stopped(of: _Decided) -> _Fields:
    seen = of.seen
    yield "last_commit_ms", Numbers(seen.last_ms)
    if isinstance(of.rules, BurrowRules):
        yield "unread_by_ms", Numbers(of.same(0), np.zeros(len(of.rows), np.bool_))
        yield "silent_ms", Numbers(of.now_ms // 1000 * 1000 - seen.last_ms)
        yield "limit_ms", Numbers(seen.last_ms - seen.first_ms)
        return
    _, unread_by_ms = arrival(seen, of.windows, slice(None), of.now_ms)
    yield "unread_by_ms", Numbers(unread_by_ms)
    yield "silent_ms", Numbers(of.now_ms - np.maximum(seen.last_ms, unread_by_ms))
    yield "limit_ms", Numbers(_limit_ms(of))


def _perhaps_stopped(of: _Decided) -> _Fields:
    last_ms = of.seen.last_ms
    caught_up_ms, unread_by_ms = arrival(of.seen, of.windows, slice(None), of.now_ms)
    yield "last_commit_ms", Numbers(last_ms)
    yield "silent_min_ms", Numbers(of.now_ms - np.maximum(last_ms, unread_by_ms))
    yield "silent_max_ms", Numbers(of.now_ms - np.maximum(last_ms, caught_up_ms))
    yield "limit_ms", Numbers(_limit_ms(of))


def _limit_ms(of: _Decided) -> Int64s:
    assert isinstance(of.rules, KgroupRules)
    return np.maximum(of.rules.patience_ms, of.seen.spread_ms)


def _rewound(of: _Decided) -> _Fields:
    offsets, times = np.stack(of.seen.offsets), np.stack(of.seen.times)
    windows = np.arange(len(of.rows))
    if isinstance(of.rules, BurrowRules):
        before = (offsets[1:] < offsets[:-1]).argmax(axis=0)
        after, lowest = before + 1, offsets[before + 1, windows]
        changed = unknown_changes(of.rows, before, after)
    else:
        # Commits beyond the log's end are left out.
        counted = np.where(offsets <= of.seen.ends, offsets, _LEAST)
        before = len(offsets) - 1 - counted[::-1].argmax(axis=0)
        follows = (np.arange(len(offsets))[:, None] > before) & (counted > _LEAST)
        after, lowest = follows.argmax(axis=0), np.where(follows, counted, _MOST).min(axis=0)
        places = np.stack(of.seen.places)
        changed = of.changed_between(of.rows, places[before, windows], places[after, windows])
    yield "from_offset", Numbers(offsets[before, windows])
    yield "to_offset", Numbers(lowest)
    yield "at_ms", Numbers(times[after, windows])
    yield "membership_changed", changed


def _was_within_allowed(of: _Decided) -> _Fields:
    lags, times = np.stack(of.seen.each_lag), np.stack(of.seen.times)
    windows = np.arange(len(of.rows))
    first = ((lags >= 0) & (lags <= of.rules.allowed_lag)).argmax(axis=0)
    yield "lag", Numbers(lags[first, windows])
    yield "allowed_lag", Numbers(of.same(of.rules.allowed_lag))
    yield "at_ms", Numbers(times[first, windows])


def _stalled(of: _Decided) -> _Fields:
    yield "offset", Numbers(of.seen.offsets[-1])
    yield "since_ms", Numbers(of.seen.first_ms)
    yield "commits", Numbers(of.seen.count)


def _lag_never_fell(of: _Decided) -> _Fields:
    first, last = _first_and_last_lag(of.seen)
    yield "first_lag", Numbers(first, first >= 0)
    yield "last_lag", Numbers(last, last >= 0)


def _lag_fell(of: _Decided) -> _Fields:
    """The first fall from one known lag to the next."""
    lags, times = np.stack(of.seen.each_lag), np.stack(of.seen.times)
    for before, slot in pairwise(range(len(lags))):
        lags[slot] = np.where(lags[slot] < 0, lags[before], lags[slot])
    fell = (lags[1:] < lags[:-1]).argmax(axis=0)
    windows = np.arange(len(of.rows))
    yield "from_lag", Numbers(lags[fell, windows])
    yield "to_lag", Numbers(lags[fell + 1, windows])
    yield "at_ms", Numbers(times[fell + 1, windows])


def _few_unread(of: _Decided) -> _Fields:
    yield "lag", Numbers(of.seen.lag)
    yield "advanced", Numbers(of.seen.offsets[-1] - of.seen.offsets[0])
    yield "commits", Numbers(of.seen.count)


def _first_and_last_lag(seen: Seen) -> tuple[Int64s, Int64s]:
    """The first and the last known lag of each window; UNKNOWN without any."""
    lags = np.stack(seen.each_lag)
    windows = np.arange(lags.shape[1])
    is_known = lags >= 0
    first, last = is_known.argmax(axis=0), len(lags) - 1 - is_known[::-1].argmax(axis=0)
    return lags[first, windows], lags[last, windows]
