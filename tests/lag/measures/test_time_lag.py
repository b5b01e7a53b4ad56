"""Lag in time: from the first unread record, and by interpolation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.lag.measures.time_lag import (
    AddedPoint,
    LagIsZero,
    LogEndTable,
    Prediction,
    TimeLag,
    TimeLagMethod,
    TimeLagNote,
    TooFewPoints,
    exact_time_lag,
    interpolated_time_lag,
)
from kgroup.protocol.log_listing import FirstUnread

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("committed", "first_unread", "lag_ms", "note"),
    [
        (100, None, 0, TimeLagNote.CAUGHT_UP),
        (101, None, 0, TimeLagNote.CAUGHT_UP),
        (99, None, 0, TimeLagNote.NOTHING_LEFT),
        (50, FirstUnread(offset=50, timestamp_ms=NOW - 1500), 1500, None),
        (50, FirstUnread(offset=53, timestamp_ms=NOW), 0, None),
        (50, FirstUnread(offset=50, timestamp_ms=NOW + 1), 0, TimeLagNote.IN_FUTURE),
        (50, FirstUnread(offset=50, timestamp_ms=-1), None, TimeLagNote.NO_TIMESTAMP),
        (10, FirstUnread(offset=10, timestamp_ms=NOW - 9), 9, None),
        (9, FirstUnread(offset=10, timestamp_ms=NOW - 9), 9, TimeLagNote.FIRST_LEFT_RECORD),
    ],
)
def test_by_the_first_unread_record_of_a_log_from_10_to_100(committed, first_unread, lag_ms, note):
    assert exact_time_lag(committed, 10, 100, first_unread, NOW) == TimeLag(
        lag_ms=lag_ms, method=TimeLagMethod.EXACT, note=note
    )


def table(*points, size=10):
    made = LogEndTable(size)
    for offset, time in points:
        made.add(offset, time)
    return made


class TestTable:
    def test_it_takes_log_ends_that_follow_in_time_and_offset(self):
        ends = table((100, 1000))
        assert ends.add(200, 1000) is AddedPoint.OUT_OF_ORDER
        assert ends.add(99, 2000) is AddedPoint.NON_MONOTONIC
        assert ends.add(100, 2000) is AddedPoint.INSERTED
        assert ends.add(100, 3000) is AddedPoint.UPDATED
        assert ends.add(101, 4000) is AddedPoint.INSERTED

    def test_an_end_that_stands_still_takes_two_points_however_often_it_is_read(self):
        still = table((90, 0), *((100, time) for time in range(1000, 9000, 1000)), size=3)
        assert still.lookup(95) == Prediction(500.0)
        assert still.lookup(110) == Prediction(16_000.0)

    def test_the_oldest_point_makes_room(self):
        assert table((0, 0), (10, 100), (20, 300), size=2).lookup(5) == Prediction(0.0)
        assert table((0, 0), (10, 100), (20, 300), size=3).lookup(5) == Prediction(50.0)

    def test_the_newest_neighbours_that_enclose_an_offset_win(self):
        assert table((100, 30), (200, 60), (200, 700), (300, 730)).lookup(200) == Prediction(700.0)

    def test_it_takes_two_points_but_for_the_newest_end_itself(self):
        assert LogEndTable(1).lookup(5) == TooFewPoints()
        assert table((5, 0)).lookup(5) == LagIsZero()
        assert table((5, 0)).lookup(4) == TooFewPoints()
        assert table((5, 0), (6, 1), size=1).lookup(5) == TooFewPoints()

    @given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=2, max_size=20), st.data())
    def test_between_the_oldest_end_and_the_newest_the_time_lies_between_theirs(self, steps, data):
        ends, offset, time = LogEndTable(30), 0, 0
        ends.add(0, 0)
        for grown, passed in steps:
            offset, time = offset + grown, time + passed
            ends.add(offset, time)
        match ends.lookup(data.draw(st.integers(0, offset))):
            case Prediction(predicted):
                assert 0 <= predicted <= time
            case other:
                assert other == LagIsZero()


@pytest.mark.parametrize(
    ("points", "committed", "lag_ms", "note"),
    [
        ([(100, NOW - 2000), (200, NOW - 1000)], 150, 1500, None),
        ([(100, NOW - 2000), (200, NOW - 1000)], 200, 0, TimeLagNote.CAUGHT_UP),
        ([(100, NOW - 2000), (200, NOW - 1000)], 50, 2500, None),
        ([(100, NOW - 2000), (200, NOW - 1000)], 301, 0, TimeLagNote.IN_FUTURE),
        ([(100, NOW - 2000)], 50, None, TimeLagNote.TOO_FEW_POINTS),
        ([], 50, None, TimeLagNote.TOO_FEW_POINTS),
        ([(100, NOW - 2000), (100, NOW - 1000)], 50, None, TimeLagNote.FLAT_LOG_END),
        ([(100, NOW - 2000), (100, NOW - 1000)], 150, None, TimeLagNote.FLAT_LOG_END),
    ],
)
def test_by_interpolation(points, committed, lag_ms, note):
    assert interpolated_time_lag(table(*points), committed, NOW) == TimeLag(
        lag_ms=lag_ms, method=TimeLagMethod.INTERPOLATE, note=note
    )


def test_the_table_itself_says_infinity_where_the_line_is_flat():
    flat = table((100, 1000), (100, 2000))
    assert flat.lookup(99) == Prediction(float("-inf"))
    assert flat.lookup(101) == Prediction(float("inf"))
