"""Searching for a record's timestamp, with a log in place of the broker."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.lag.measures.time_lag import TimeLag, TimeLagNote
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.lag.measures.timestamp_search import TimestampSearch
from kgroup.protocol.log_listing import FirstUnread

NOW = 1_700_000_000_000


def search(log, committed_offset, now=NOW, **bounds):
    """The time lag by a log of (offset, timestamp) records, and how many questions it took."""
    searching = TimestampSearch(committed_offset, **{"until_ms": now, **bounds})
    questions = 0
    while (question := searching.question_ms) is not None:
        questions += 1
        first_unread = next((record for record in log if record[1] >= question), None)
        searching.tell(first_unread and FirstUnread(offset=first_unread[0], timestamp_ms=first_unread[1]))
    return searching.time_lag(now), questions


def lag(ms, note=None):
    return TimeLag(lag_ms=ms, method=TimeLagMethod.BISECT, note=note)


LOG = [(0, NOW - 900), (1, NOW - 500), (2, NOW - 500), (5, NOW - 100), (6, NOW)]


@pytest.mark.parametrize(
    ("committed", "expected"),
    [
        (0, lag(900)),
        (1, lag(500)),
        (2, lag(500, TimeLagNote.AT_MOST)),  # 1 has the same timestamp and is found in its place
        (3, lag(500, TimeLagNote.AT_MOST)),  # 5 is next, but 3 and 4 might be of the time of 2
        (5, lag(100)),
        (6, lag(0)),
        (7, lag(0, TimeLagNote.AT_MOST)),
    ],
)
def test_the_record_at_the_committed_offset_is_found(committed, expected):
    assert search(LOG, committed)[0] == expected


def test_where_all_that_was_read_is_deleted_the_first_record_left_is_found():
    assert search([(10, NOW - 70), (11, NOW)], 5)[0] == lag(70)


def test_a_log_without_timestamps_says_nothing():
    assert search([(0, -1), (1, -1)], 0)[0] == lag(None, TimeLagNote.NO_TIMESTAMP)


def test_a_search_takes_some_forty_questions_and_fewer_with_a_bound():
    assert search(LOG, 2)[1] <= 42
    assert search(LOG, 2, after_ms=NOW - 1000)[1] <= 10


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 400)), min_size=1, max_size=12), st.data())
def test_what_is_said_is_never_less_than_the_truth_and_the_truth_unless_noted(steps, data):
    log, offset, time = [], 0, 0
    for gap, passed in steps:
        log.append((offset, time := time + passed))
        offset += gap
    now = time + 10
    committed = data.draw(st.integers(0, log[-1][0]))
    truth = now - next(written for at, written in log if at >= committed)
    time_lag, _ = search(log, committed, now)
    assert time_lag.lag_ms == truth if time_lag.note is None else time_lag.lag_ms >= truth
    assert time_lag.note in (None, TimeLagNote.AT_MOST)
