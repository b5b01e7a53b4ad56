"""A partition's lag and status when each window ended: a row each from the first commit on."""

import pytest

from kgroup.group.lag_history import LoggedCommit, WindowsOfTime, lag_history, proven_end
from kgroup.group.lag_rules import BurrowRules, KgroupRules

MINUTE = 60_000


def commits(*told: tuple[float, int | None]) -> list[LoggedCommit]:
    """(minute, offset), None for a tombstone."""
    return [LoggedCommit(offset, int(at * MINUTE), order) for order, (at, offset) in enumerate(told)]


def rows(told, ends, *, first=0, last=None, until=None, rules=None, slots=10):
    """`ends`: the log end when each window of 10 minutes ended, by window; `last` is the last one of them."""
    last = len(ends) - 1 if last is None else last
    until_ms = (last + 1) * 10 * MINUTE - 1 if until is None else int(until * MINUTE)
    windows = WindowsOfTime(length_ms=10 * MINUTE, first=first, last=last, until_ms=until_ms)
    return list(lag_history(told, windows, slots, lambda number, _: ends[number], rules or KgroupRules(), ()))


def brief(found):
    return [(row.window, row.current_offset, row.progress, row.lag) for row in found]


def test_each_window_from_the_first_commit_on_has_a_row_also_a_silent_one():
    told = commits((12, 100), (18, 150), (41, 180))
    assert brief(rows(told, [0, 160, 200, 200, 200])) == [
        (1, 150, None, 10),
        (2, 150, 0, 50),
        (3, 150, 0, 50),
        (4, 180, 30, 20),
    ]


def test_what_was_committed_before_the_first_window_still_counts():
    told = commits((2, 10), (35, 30))
    assert brief(rows(told, [10, 20, 30, 40], first=2)) == [(2, 10, 0, 20), (3, 30, 20, 10)]


def test_going_back_is_negative_progress():
    assert brief(rows(commits((1, 100), (11, 40)), [100, 100])) == [(0, 100, None, 0), (1, 40, -60, 60)]


def test_a_tombstone_ends_the_rows_until_somebody_commits_anew():
    told = commits((1, 100), (12, None), (31, 5))
    assert brief(rows(told, [100, 100, 100, 100])) == [(0, 100, None, 0), (3, 5, None, 95)]


def test_an_unknown_log_end_leaves_the_progress():
    (row, _) = rows(commits((1, 100)), [None, 100])
    assert (row.current_offset, row.log_end_offset, row.lag, row.verdict) == (100, None, None, None)


def test_what_comes_after_the_end_is_not_there_yet():
    told = commits((1, 100), (15, 120), (16, None), (17, 140))
    found = rows(told, [100, 200], until=15.5)
    assert brief(found) == [(0, 100, None, 0), (1, 120, 20, 80)]


def test_a_group_that_stops_is_seen_to_have_stopped_once_the_log_grew_behind_it():
    """No log end of one moment could tell: after 10 min it was caught up, after 20 there was some to read."""
    found = rows(commits((2, 50), (4, 70), (6, 100)), [100, 130, 150])
    assert [row.verdict.status.value for row in found] == ["OK", "UNKNOWN", "STOP"]
    assert found[2].verdict.numbers()["unread_by_ms"] == 20 * MINUTE - 1


def test_a_group_that_commits_one_place_again_and_again_stalls_once_there_has_been_more_to_read():
    found = rows(commits(*((at, 100) for at in range(2, 40, 2))), [100, 130, 150, 160])
    assert [row.verdict.status.value for row in found] == ["OK", "UNKNOWN", "STALL", "STALL"]


def test_burrow_judges_each_window_as_if_it_had_just_looked():
    found = rows(commits(*((at, 10 + at) for at in range(10))), [100], rules=BurrowRules())
    assert found[0].verdict.status.value == "WARN"
    assert found[0].verdict.lag == 100 - 19


@pytest.mark.parametrize("slots", [1, 3])
def test_the_last_commits_are_judged_across_windows(slots):
    found = rows(commits((1, 10), (2, 11), (12, 12)), [20, 20], slots=slots)
    assert found[1].verdict.complete == (1.0 if slots <= 3 else 0.3)


@pytest.mark.parametrize(
    ("found", "current", "now", "end"),
    [
        (120, 100, 200, 120),
        (100, 100, 200, 100),
        (90, 100, 200, 100),  # clocks differ: the commit proves that the log was as long
        (90, 100, 95, None),  # the log never was: of another topic, or somebody committed beyond its end
        (90, 100, None, None),
        (None, 100, 200, None),
    ],
)
def test_a_log_cannot_have_been_shorter_than_what_was_read(found, current, now, end):
    assert proven_end(found, current, now) == end


def test_windows_begin_at_multiples_of_their_length_and_the_last_ends_early():
    windows = WindowsOfTime.between(25 * MINUTE, 47 * MINUTE, 10 * MINUTE)
    assert (windows.first, windows.last, len(windows)) == (2, 4, 3)
    assert [windows.end_ms(number) for number in (2, 3, 4)] == [
        30 * MINUTE,
        40 * MINUTE,
        47 * MINUTE + 1,
    ]
