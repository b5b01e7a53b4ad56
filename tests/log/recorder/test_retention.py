"""What goes when a recording is too old or too large."""

from kgroup.log.recorder.retention import KeptLog, KeptSegment, Retention

DAY = 86_400_000
NOW = 30 * DAY
WEEK = Retention(retain_ms=7 * DAY, bytes_max=None)


def log(*closed: tuple[int, int], folded: int = 0, open_bytes: int = 10) -> KeptLog:
    """Closed segments by size and age in days; so many of them are folded."""
    segments = [
        KeptSegment(size=size, end_offset=100 * number, newest_ms=NOW - age * DAY)
        for number, (size, age) in enumerate(closed, 1)
    ]
    return KeptLog(closed=segments, open_bytes=open_bytes, folded_to=100 * folded)


def test_without_limits_everything_stays() -> None:
    retention = Retention(retain_ms=None, bytes_max=None)
    assert retention.to_fold({0: log((100, 400))}, NOW) == {}
    assert retention.samples_to_drop(log((100, 400)), NOW) == 0
    assert retention.segment_ms is None


def test_segments_whose_newest_record_is_too_old_are_folded() -> None:
    assert WEEK.to_fold({0: log((50, 9), (50, 8), (50, 6)), 1: log((50, 3))}, NOW) == {0: 2}


def test_not_one_of_them_behind_a_younger_one() -> None:
    assert WEEK.to_fold({0: log((50, 9), (50, 3), (50, 8))}, NOW) == {0: 1}


def test_what_is_folded_is_folded_again_when_half_as_much_has_come_to_it() -> None:
    assert WEEK.to_fold({0: log((100, 20), (49, 8), folded=1)}, NOW) == {}
    assert WEEK.to_fold({0: log((100, 20), (50, 8), folded=1)}, NOW) == {0: 2}


def test_nothing_new_is_nothing_to_fold() -> None:
    assert WEEK.to_fold({0: log((0, 20), folded=1)}, NOW) == {}
    assert WEEK.to_fold({0: log((0, 20), (50, 1), folded=1)}, NOW) == {}


def test_too_many_bytes_fold_the_oldest_of_all_partitions_until_an_eighth_below() -> None:
    retention = Retention(retain_ms=None, bytes_max=800)
    logs = {0: log((200, 5), (200, 3)), 1: log((200, 4), (200, 2)), 2: log(open_bytes=1)}
    # 821 bytes there, 700 wanted.
    assert retention.to_fold(logs, NOW) == {0: 1}
    assert retention.to_fold(logs, NOW, other_bytes=200) == {0: 1, 1: 1}


def test_what_is_written_just_now_stays_whatever_the_limit() -> None:
    retention = Retention(retain_ms=None, bytes_max=100)
    assert retention.to_fold({0: log(open_bytes=1000)}, NOW) == {}
    assert retention.to_fold({0: log((500, 5), folded=1, open_bytes=10)}, NOW) == {}


def test_both_limits_together_fold_what_either_wants() -> None:
    retention = Retention(retain_ms=7 * DAY, bytes_max=800)
    logs = {0: log((10, 9), (10, 8)), 1: log((500, 6), (400, 5))}
    assert retention.to_fold(logs, NOW) == {0: 2, 1: 1}


def test_samples_go_by_age_and_by_a_tenth_of_the_size() -> None:
    assert WEEK.samples_to_drop(log((50, 9), (50, 8), (50, 6)), NOW) == 2
    retention = Retention(retain_ms=None, bytes_max=1000)
    assert retention.samples_to_drop(log((50, 3), (50, 2), (50, 1)), NOW) == 2
    assert retention.samples_to_drop(log((50, 3), (30, 2)), NOW) == 0


def test_segments_are_small_against_the_limits() -> None:
    assert Retention(retain_ms=None, bytes_max=10**10).segment_bytes == 16 << 20
    assert Retention(retain_ms=None, bytes_max=10**9).segment_bytes == 10**9 // 256
    assert Retention(retain_ms=None, bytes_max=10**6).segment_bytes == 64 << 10
    assert WEEK.segment_ms == 21 * 3_600_000
