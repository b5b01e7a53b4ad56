"""Proof of past log ends, by what anybody had committed."""

from kgroup.lag.findings.seen_ends import passed_until, seen_ends, unread_by, written_per_s
from kgroup.lag.status.window import LogEnd


def ends(*pairs):
    return tuple(LogEnd(offset=offset, timestamp=timestamp) for timestamp, offset in pairs)


def test_by_time_and_without_what_nobody_can_have_read():
    seen = seen_ends(ends((30, 20), (10, 90), (20, 101), (30, 10)), 100)
    assert seen == ends((10, 90), (30, 10), (30, 20))
    assert seen_ends(ends((10, 100), (20, 101)), 100) == ends((10, 100))  # all of the log was read
    assert seen_ends(ends((20, 101), (10, 100)), None) == ends((10, 100), (20, 101))


def test_since_when_there_has_been_something_to_read():
    seen = ends((10, 50), (20, 90), (30, 60), (40, 95))
    assert unread_by(seen, 49) == 10
    assert unread_by(seen, 50) == 20
    assert unread_by(seen, 95) is None


def test_until_when_somebody_who_had_passed_it_committed():
    seen = ends((10, 50), (20, 90), (30, 60), (40, 95), (50, 20))
    assert passed_until(seen, 50) == 40
    assert passed_until(seen, 95) is None


def test_how_fast_the_furthest_reader_went():
    # One that is behind all the time takes nothing away from it.
    seen = ends((0, 100), (500, 10), (1000, 110), (1500, 11), (2000, 140), (9000, 900))
    assert written_per_s(seen, 0, 2000) == 20.0
    assert written_per_s(seen, 1200, 2000) == 30.0  # from where it was when that time began
    assert written_per_s(seen, 1200, 1900) is None
    assert written_per_s(seen, 0, 400) is None
    assert written_per_s((), 0, 2000) is None


def test_readings_at_the_bounds_of_the_time_count():
    seen = ends((0, 100), (500, 110), (1000, 140), (1001, 900))
    assert written_per_s(seen, 500, 1000) == 60.0
    assert written_per_s(seen, 500, 999) is None
    assert written_per_s(seen, 499, 1000) == 40.0  # the last one before the time is at 0


def test_an_offset_that_is_reached_again_says_nothing_of_the_rate():
    assert written_per_s(ends((0, 1000), (1000, 1020), (2000, 1020)), 0, 2000) == 20.0


def test_two_readings_at_one_time_have_no_rate():
    assert written_per_s(ends((10, 1000), (10, 1010)), 10, 2000) is None
    assert written_per_s(ends((10, 1000), (10, 1010)), 0, 2000) is None
    assert written_per_s(ends((10, 1000), (11, 1010)), 0, 2000) == 10_000.0
