"""Whether record times can be trusted to say how long a record has waited."""

import pytest

from kgroup.lag.measures.record_clock import ReadRecord, RecordClock, is_clock_skewed
from tests.lag.windows import ago

HOURS_S = 3 * 3600

# (Written, committed) of what was read, the first unread record, the newest; seconds ago
CASES = {
    "clocks agree": ([(31, 30), (11, 10)], 9, 1, False),
    "nothing that was read is known": ([], HOURS_S, HOURS_S, False),
    "half a second ahead": ([(29.5, 30), (9.5, 10)], 9, 1, False),
    "three hours ahead": ([(30 - HOURS_S, 30), (10 - HOURS_S, 10)], 9 - HOURS_S, -HOURS_S, True),
    "three hours behind": ([(HOURS_S + 31, 30), (HOURS_S + 11, 10)], HOURS_S + 9, HOURS_S, True),
    "as late at the writer's pace": (
        [(HOURS_S + 31, 30), (HOURS_S + 11, 10)],
        HOURS_S + 9,
        1,
        False,
    ),
    "it catches up on what was written hours ago": (
        [(HOURS_S + 600, 30), (HOURS_S + 11, 10)],
        HOURS_S + 9,
        HOURS_S,
        False,
    ),
    "one read says nothing of a pace": ([(HOURS_S + 11, 10)], HOURS_S + 9, HOURS_S, False),
    "times that go back in the log": ([(31, 30), (11, 10)], HOURS_S, 1, True),
    "times that go back since": ([(301, 300), (11, 10)], 200, 1, True),
    "times that go back a little": ([(31, 30), (11, 10)], 70, 1, False),
}


@pytest.mark.parametrize(("read", "first_unread", "newest", "expected"), CASES.values(), ids=CASES)
def test_skew(read, first_unread, newest, expected):
    records = [ReadRecord(ago(written), ago(committed)) for written, committed in read]
    assert is_clock_skewed(records, ago(first_unread), ago(newest)) is expected


@pytest.mark.parametrize(("age_ms", "expected"), [(-5, 0), (59_999, 0), (60_000, 60_000), (800_000, 700_000)])
def test_a_clock_is_no_further_behind_than_the_newest_record_is_old(age_ms, expected):
    clock = RecordClock.of([ReadRecord(ago(900), ago(200))])
    assert clock.behind_ms == 700_000
    assert clock.no_further_behind(age_ms).behind_ms == expected
