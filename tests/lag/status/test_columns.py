"""The rules over columns say what the rules say of each window by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.lag.status.columns import (
    BURROW_COLUMNS,
    KGROUP_COLUMNS,
    RULES,
    STATUSES,
    UNKNOWN,
    CommitColumns,
    WindowColumns,
    decide_columns,
    every_commit,
    judge_columns,
)
from kgroup.lag.status.model import (
    LagGrew,
    NoMembers,
    PartitionStatus,
    ReaderStandsStill,
    ReadInTurn,
    Repeated,
    RhythmBroken,
    Rule,
)
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules
from kgroup.lag.status.rules import BURROW_CLAUSES, KGROUP_CLAUSES
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit
from tests.lag.windows import NOW

# Few values that lie close together, so that they meet and cross.
TIMES = st.sampled_from([0, 1, 999, 1000, 60_000, 299_999, 300_000, 300_001, 900_000]).map(
    lambda ago: NOW - ago
)
COMMITS = st.lists(
    st.builds(
        WindowCommit,
        offset=st.integers(0, 6),
        timestamp=TIMES,
        lag=st.none() | st.integers(0, 3),
    ),
    max_size=4,
)
MAYBE_TIME = st.none() | TIMES
PROOFS = st.sampled_from(
    [
        RhythmBroken(
            last_commit_ms=0,
            unread_by_ms=0,
            went_on_until_ms=0,
            silent_ms=0,
            limit_ms=0,
            longest_interval_ms=0,
            usual_step=1,
        ),
        Repeated(offset=3, since_ms=0, unread_by_ms=0),
        LagGrew(read_per_s=1.0, written_per_s=2.0),
        ReaderStandsStill(partitions=1, since_ms=0),
        ReadInTurn(since_ms=0),
        NoMembers(since_ms=None),
    ]
)
HEADS = st.lists(st.builds(LogEnd, offset=st.integers(0, 7), timestamp=TIMES), max_size=2)


def window_of(commits, since, by, heads, proof):
    """Whoever has seen a log end beyond the last commit knows that there was something to read by then."""
    beyond = [head.timestamp for head in heads if commits and head.offset > commits[-1].offset]
    times = beyond if by is None else [by, *beyond]
    return CommitWindow(
        slots=4,
        commits=tuple(commits),
        heads=tuple(heads),
        unread_since_ms=since,
        unread_by_ms=min(times, default=None),
        proof=proof,
    )


WINDOWS = st.lists(
    st.builds(window_of, COMMITS, MAYBE_TIME, MAYBE_TIME, HEADS, st.none() | PROOFS),
    min_size=1,
    max_size=8,
)
RULE_SETS = st.builds(KgroupRules, allowed_lag=st.integers(0, 2)) | st.builds(
    BurrowRules, allowed_lag=st.integers(0, 2), minimum_complete=st.sampled_from([0.0, 0.5, 1.0])
)


def known(numbers):
    return np.array([UNKNOWN if number is None else number for number in numbers], np.int64)


def commit_columns(commits):
    return CommitColumns(
        offsets=np.array([commit.offset for commit in commits], np.int64),
        timestamps=np.array([commit.timestamp for commit in commits], np.int64),
        lags=known(commit.lag for commit in commits),
    )


def columns(windows):
    counts = np.array([len(window.commits) for window in windows], np.int64)
    return WindowColumns(
        commits=commit_columns([commit for window in windows for commit in window.commits]),
        slots=windows[0].slots,
        stops=np.cumsum(counts),
        counts=counts,
        unread_since_ms=known(window.unread_since_ms for window in windows),
        unread_by_ms=known(unread_by(window) for window in windows),
        caught_up_ms=known(caught_up(window) for window in windows),
        proofs=proofs(windows),
    )


def behind(window):
    """The heads after the last one that is not beyond the last commit, and that one."""
    for index in reversed(range(len(window.heads))):
        if window.heads[index].offset <= window.commits[-1].offset:
            return window.heads[index + 1 :], window.heads[index]
    return window.heads, None


def caught_up(window):
    head = behind(window)[1] if window.commits else None
    return head and head.timestamp


def unread_by(window):
    later = [head.timestamp for head in behind(window)[0]] if window.commits else []
    times = [time for time in (window.unread_by_ms, *later) if time is not None]
    return min(times, default=None)


def proofs(windows):
    if not any(window.proof for window in windows):
        return None
    rules = [UNKNOWN if window.proof is None else RULES.index(window.proof.rule) for window in windows]
    return np.array(rules, np.int8)


def said(verdicts):
    return [
        (STATUSES[status], RULES[rule], lag)
        for status, rule, lag in zip(verdicts.statuses, verdicts.rules, verdicts.lags.tolist(), strict=True)
    ]


@given(WINDOWS, st.integers(0, 8), RULE_SETS)
def test_each_window_is_judged_as_by_itself(windows, end, rules):
    verdicts = judge_columns(columns(windows), np.full(len(windows), end), NOW, rules)
    expected = [rules.judge(window, end, NOW) for window in windows]
    assert said(verdicts) == [(one.status, one.rule, one.lag) for one in expected]


@given(st.lists(COMMITS.filter(bool), min_size=1, max_size=4), st.sampled_from([1, 3]), RULE_SETS)
def test_every_commit_ends_a_window_of_its_own_key(keys, slots, rules):
    commits = [commit for key in keys for commit in key]
    begins = np.array([index == 0 for key in keys for index in range(len(key))])
    windows = every_commit(commit_columns(commits), begins, slots)
    verdicts = judge_columns(windows, np.full(len(commits), 5), NOW, rules)
    expected = [
        rules.judge(CommitWindow(slots=slots, commits=tuple(key[: index + 1][-slots:])), 5, NOW)
        for key in keys
        for index in range(len(key))
    ]
    assert said(verdicts) == [(one.status, one.rule, one.lag) for one in expected]


@pytest.mark.parametrize("rules", [KgroupRules(), BurrowRules()])
def test_more_windows_than_are_judged_at_once(rules):
    one = CommitWindow(
        slots=2, commits=(WindowCommit(offset=3, timestamp=NOW - 900_000),), unread_since_ms=NOW - 900_000
    )
    two = CommitWindow(slots=2, commits=(WindowCommit(offset=9, timestamp=NOW),))
    count = 10_000
    verdicts = said(judge_columns(columns([one, two] * count), np.full(2 * count, 9), NOW, rules))
    assert verdicts[:2] == [
        (PartitionStatus.STOP, Rule.STOPPED, 6),
        (PartitionStatus.OK, Rule.WITHIN_ALLOWED, 0),
    ]
    assert verdicts == verdicts[:2] * count


def test_no_window_at_all():
    nothing = np.empty(0, np.int64)
    windows = every_commit(CommitColumns(offsets=nothing, timestamps=nothing, lags=nothing), nothing > 0, 10)
    assert said(judge_columns(windows, nothing, NOW, KgroupRules())) == []


@pytest.mark.parametrize(
    ("columns", "clauses"),
    [(KGROUP_COLUMNS, KGROUP_CLAUSES), (BURROW_COLUMNS, BURROW_CLAUSES)],
    ids=["kgroup", "burrow"],
)
def test_columns_are_asked_the_rules_of_the_page_in_its_order(columns, clauses):
    assert list(columns) == list(clauses)
    # Of row N the first N rules do not hold, and all others do.
    rows = np.arange(len(clauses))
    made_up = {rule: lambda rows, number=number: rows <= number for number, rule in enumerate(columns)}
    statuses, rules = np.empty(len(rows), np.int8), np.empty(len(rows), np.int8)
    decide_columns(clauses, made_up, rows, statuses, rules)
    assert [(RULES[rule], STATUSES[status]) for rule, status in zip(rules, statuses, strict=True)] == [
        (rule, clause.status) for rule, clause in clauses.items()
    ]
