"""A partition's lag and status when each window ended: a row each from the first commit on."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.lag.status.columns import RULES, STATUSES, UNKNOWN
from kgroup.lag.status.history import (
    FURTHEST,
    LoggedCommits,
    PastLogEnds,
    WindowsOfTime,
    lag_history,
    proven_ends,
)
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules
from tests.lag.plain_history import LoggedCommit, plain_history

MINUTE = 60_000


def commits(*offsets):
    """(minute, offset), None for a tombstone."""
    return [LoggedCommit(offset, int(at * MINUTE), order) for order, (at, offset) in enumerate(offsets)]


def logged(keys, changes):
    everything = [commit for of_key in keys for commit in of_key]
    return LoggedCommits(
        starts=np.cumsum([0, *map(len, keys)]),
        offsets=np.array([commit.offset or 0 for commit in everything], np.int64),
        timestamps=np.array([commit.timestamp for commit in everything], np.int64),
        orders=np.array([commit.order for commit in everything], np.int64),
        is_tombstone=np.array([commit.offset is None for commit in everything], np.bool_),
        membership_changes=[np.array(changes, np.int64) for _ in keys],
    )


def or_unknown(values):
    return np.array([UNKNOWN if value is None else value for value in values], np.int64)


class Row(NamedTuple):
    """A row of the history, None where something is unknown."""

    key: int
    window: int
    current_offset: int
    progress: int | None
    log_end_offset: int | None
    lag: int | None
    status: str | None
    rule: str | None
    numbers: dict | None


def told_rows(keys, ends, now, windows, slots, rules, changes=()):
    past = PastLogEnds(np.stack([or_unknown(of_key) for of_key in ends]), or_unknown(now))
    history = lag_history(logged(keys, changes), windows, slots, past, rules)
    numbers = {}
    for rule in history.numbers:
        for index, row in enumerate(rule.rows.tolist()):
            numbers[row] = {
                name: of.values[index].item() if of.known is None or of.known[index] else None
                for name, of in rule.fields.items()
            }
    return [
        Row(
            *(array[row].item() for array in (history.keys, history.windows, history.current_offsets)),
            history.progress.values[row].item() if history.progress.known[row] else None,
            *(
                None if array[row] < 0 else array[row].item()
                for array in (history.log_end_offsets, history.lags)
            ),
            *(
                None if array[row] < 0 else names[array[row]].value
                for array, names in ((history.statuses, STATUSES), (history.rules, RULES))
            ),
            numbers.get(row),
        )
        for row in range(len(history.keys))
    ]


def rows(of_key, ends, *, first=0, last=None, until=None, rules=None, slots=10):
    """`ends`: the log end when each window of 10 minutes ended, by window; `last` is the last one of them."""
    last = len(ends) - 1 if last is None else last
    until_ms = (last + 1) * 10 * MINUTE - 1 if until is None else int(until * MINUTE)
    windows = WindowsOfTime(length_ms=10 * MINUTE, first=first, last=last, until_ms=until_ms)
    return told_rows([of_key], [ends[first:]], [None], windows, slots, rules or KgroupRules())


def brief(history):
    return [(row.window, row.current_offset, row.progress, row.lag) for row in history]


def test_each_window_from_the_first_commit_on_has_a_row_also_a_silent_one():
    committed = commits((12, 100), (18, 150), (41, 180))
    assert brief(rows(committed, [0, 160, 200, 200, 200])) == [
        (1, 150, None, 10),
        (2, 150, 0, 50),
        (3, 150, 0, 50),
        (4, 180, 30, 20),
    ]


def test_what_was_committed_before_the_first_window_still_counts():
    committed = commits((2, 10), (35, 30))
    assert brief(rows(committed, [10, 20, 30, 40], first=2)) == [(2, 10, 0, 20), (3, 30, 20, 10)]


def test_going_back_is_negative_progress():
    assert brief(rows(commits((1, 100), (11, 40)), [100, 100])) == [(0, 100, None, 0), (1, 40, -60, 60)]


def test_a_tombstone_ends_the_rows_until_somebody_commits_anew():
    committed = commits((1, 100), (12, None), (31, 5))
    assert brief(rows(committed, [100, 100, 100, 100])) == [(0, 100, None, 0), (3, 5, None, 95)]


def test_an_unknown_log_end_leaves_the_progress():
    (row, _) = rows(commits((1, 100)), [None, 100])
    assert (row.current_offset, row.log_end_offset, row.lag, row.status) == (100, None, None, None)


def test_what_comes_after_the_end_is_not_there_yet():
    committed = commits((1, 100), (15, 120), (16, None), (17, 140))
    history = rows(committed, [100, 200], until=15.5)
    assert brief(history) == [(0, 100, None, 0), (1, 120, 20, 80)]


def test_a_group_that_stops_is_seen_to_have_stopped_once_the_log_grew_behind_it():
    """No log end of one moment could tell: after 10 min it was caught up, after 20 there was some to read."""
    history = rows(commits((2, 50), (4, 70), (6, 100)), [100, 130, 150])
    assert [row.status for row in history] == ["OK", "UNKNOWN", "STOP"]
    assert history[2].numbers["unread_by_ms"] == 20 * MINUTE - 1


def test_a_group_that_commits_one_place_again_and_again_stalls_once_there_has_been_more_to_read():
    history = rows(commits(*((at, 100) for at in range(2, 40, 2))), [100, 130, 150, 160])
    assert [row.status for row in history] == ["OK", "UNKNOWN", "STALL", "STALL"]


def test_burrow_judges_each_window_as_if_it_had_just_looked():
    history = rows(commits(*((at, 10 + at) for at in range(10))), [100], rules=BurrowRules())
    assert history[0].status == "WARN"
    assert history[0].lag == 100 - 19


def test_the_last_commits_are_judged_across_windows():
    committed = commits((1, 10), (2, 10), (12, 10))
    history = rows(committed, [20, 20], rules=BurrowRules(minimum_complete=1.0), slots=3)
    assert [(row.rule, row.numbers) for row in history] == [
        ("incomplete-window", {"complete": pytest.approx(2 / 3), "minimum_complete": 1.0}),
        ("stalled", {"offset": 10, "since_ms": MINUTE, "commits": 3}),
    ]


@pytest.mark.parametrize(
    ("listed", "current", "now", "end"),
    [
        (120, 100, 200, 120),
        (100, 100, 200, 100),
        (90, 100, 200, 100),  # clocks differ: the commit proves that the log was as long
        (90, 100, 95, None),  # the log never was: of another topic, or somebody committed beyond its end
        (90, 100, None, None),
        (None, 100, 200, None),
    ],
)
def test_a_log_cannot_have_been_shorter_than_what_was_read(listed, current, now, end):
    assert proven_ends(*map(or_unknown, ([listed], [current], [now]))).tolist() == or_unknown([end]).tolist()


def test_windows_begin_at_multiples_of_their_length_and_the_last_ends_early():
    windows = WindowsOfTime.between(25 * MINUTE, 47 * MINUTE, 10 * MINUTE)
    assert (windows.first, windows.last, len(windows)) == (2, 4, 3)
    assert [windows.end_ms(number) for number in (2, 3, 4)] == [
        30 * MINUTE,
        40 * MINUTE,
        47 * MINUTE + 1,
    ]


TIMES = st.integers(-2, 13).map(lambda number: number * 5 * MINUTE)
COMMITS = st.lists(st.tuples(TIMES, st.none() | st.integers(-1, 6)), max_size=8).map(
    lambda offsets: sorted(
        (LoggedCommit(offset, time_ms, order) for order, (time_ms, offset) in enumerate(offsets)),
        key=lambda commit: (commit.timestamp // (10 * MINUTE), commit.order),
    )
)
WINDOWS = st.builds(
    lambda first, count, cut: WindowsOfTime(
        length_ms=10 * MINUTE,
        first=first,
        last=first + count - 1,
        until_ms=(first + count) * 10 * MINUTE - 1 - cut,
    ),
    st.integers(-1, 3),
    st.just(4),
    st.sampled_from([0, 1, 5 * MINUTE]),
)
ENDS = st.lists(st.none() | st.integers(0, 7), min_size=4, max_size=4)
KEYS = st.lists(st.tuples(COMMITS, ENDS, st.none() | st.integers(0, 7)), min_size=1, max_size=4)
RULE_SETS = st.sampled_from([KgroupRules(), KgroupRules(allowed_lag=2, patience_ms=MINUTE), BurrowRules()])


def plain_rows(keys, windows, slots, rules, changes):
    for number, (of_key, ends, now) in enumerate(keys):

        def end_at(window, current, ends=ends, now=now):
            listed = ends[window - windows.first]
            (end,) = proven_ends(*map(or_unknown, ([listed], [current], [now]))).tolist()
            return None if end == UNKNOWN else end

        for row in plain_history(of_key, windows, slots, end_at, rules, changes):
            verdict = row.verdict
            said = (None, None, None)
            if verdict is not None:
                said = (verdict.status.value, verdict.rule.value, verdict.numbers())
            end, lag = row.log_end_offset, row.lag
            yield Row(number, row.window, row.current_offset, row.progress, end, lag, *said)


@settings(max_examples=300)
@given(KEYS, WINDOWS, st.sampled_from([1, 3]), RULE_SETS, st.sampled_from([(), (2,), (0, 3, 5)]))
def test_many_keys_at_once_are_told_of_as_each_by_itself_window_by_window(
    keys, windows, slots, rules, changes
):
    commits_of, ends, now = zip(*keys, strict=True)
    history = told_rows(commits_of, ends, now, windows, slots, rules, changes)
    assert history == list(plain_rows(keys, windows, slots, rules, changes))


@pytest.mark.parametrize(
    "strange", [(FURTHEST + 1, 0), (-(2**63), 0), (2**63 - 1, 0), (5, -(2**63)), (5, -FURTHEST - 1)]
)
def test_by_an_offset_or_a_time_that_cannot_be_nothing_is_judged(strange):
    offset, time_ms = strange
    committed = [LoggedCommit(offset, time_ms, 0), *commits((11, 7))]
    first, second = rows(committed, [100, 100])
    assert (first.current_offset, first.lag, first.status) == (offset, None, None)
    assert (second.current_offset, second.progress, second.lag) == (7, None, None)


def test_what_is_strange_is_forgotten_with_the_commits_that_are_looked_at():
    committed = [LoggedCommit(2**62, 0, 0), *commits((1, 7), (12, 8))]
    before, after = rows(committed, [100, 100], slots=1)
    assert (before.lag, before.progress, after.lag, after.progress) == (93, None, 92, 1)
