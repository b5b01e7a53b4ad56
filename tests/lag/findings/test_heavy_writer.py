"""One group that fills the offsets topic: when it is said, and what is advised."""

import pytest

from kgroup.lag.findings.heavy_writer import Writing, heavy_writer

MINUTE = 60_000


def writing(group: str = "busy", **changed: int) -> Writing:
    usual = {
        "run_ms": MINUTE,
        "records": 1201,
        "commits": 1201,
        "keys": 1,
        "commit_bytes": 90_000,
        "bytes": 90_000,
    }
    return Writing(group=group, **{**usual, **changed})


OTHER = writing("other", records=12, commits=12, commit_bytes=10_000, bytes=10_000)


def test_the_one_that_commits_by_record_is_named_with_what_five_seconds_would_leave() -> None:
    found = heavy_writer([OTHER, writing()])
    assert found is not None
    assert (found.group, found.interval_ms) == ("busy", 50)
    assert (found.share, found.left) == (pytest.approx(0.9), pytest.approx(0.01))
    assert found.text == (
        "busy writes 90% of the bytes, 1,500 B/s: it commits 1 partition every 50ms each; a commit every 5s,"
        " the default of auto.commit.interval.ms, would leave 1% of that"
    )


def test_an_interval_is_that_of_one_partition() -> None:
    assert writing(keys=60, commits=660, records=660).commit_interval_ms == 6000
    assert writing(keys=5, commits=5).commit_interval_ms is None
    assert writing(keys=5, commits=6).commit_interval_ms == 5 * MINUTE
    assert writing(keys=0, commits=5).commit_interval_ms is None


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            {"keys": 200, "commits": 1400, "records": 1400},
            "it commits 200 partitions, each every 10s; only fewer",
        ),
        ({"keys": 1201}, "it commits 1,201 partitions; only fewer"),
        ({"keys": 100, "commits": 1300, "records": 1300}, "100 partitions, each every 5s; only fewer"),
        ({"commit_bytes": 44_999}, "mostly records of the group and its members, so it rebalances"),
    ],
)
def test_where_the_interval_is_not_what_does_it_none_is_advised(changed: dict[str, int], why: str) -> None:
    found = heavy_writer([OTHER, writing(**changed)])
    assert found is not None
    assert found.left is None
    assert why in found.text


@pytest.mark.parametrize(
    "changed",
    [
        {"keys": 100, "commits": 1301, "records": 1301},  # each a little sooner than every 5 seconds
        {"commit_bytes": 45_000},  # half of its bytes
    ],
)
def test_just_beyond_these_bounds_another_interval_is_advised(changed: dict[str, int]) -> None:
    found = heavy_writer([OTHER, writing(**changed)])
    assert found is not None
    assert found.left is not None
    assert "a commit every 5s" in found.text


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"bytes": 9_999, "commit_bytes": 9_999}, "less than half"),
        ({"records": 59, "commits": 59}, "less than a record a second"),
        ({"records": 60, "commits": 60, "run_ms": MINUTE + 1}, "less than a record a second, if only just"),
        ({"run_ms": MINUTE - 1}, "less than a minute"),
    ],
)
def test_nobody_is_named_for(changed: dict[str, int], why: str) -> None:
    assert heavy_writer([OTHER, writing(**changed)]) is None


def test_half_of_the_bytes_and_a_record_a_second_are_enough() -> None:
    found = heavy_writer(
        [OTHER, writing("zealous", bytes=10_000, commit_bytes=10_000, records=60, commits=60)]
    )
    assert found is not None
    assert (found.group, found.share) == ("zealous", 0.5)


def test_nobody_is_named_while_another_writes_more_for_less_than_a_minute() -> None:
    assert heavy_writer([writing(), writing("burst", run_ms=10_000)]) is None


def test_a_group_that_is_alone_fills_the_topic_by_nature() -> None:
    assert heavy_writer([writing()]) is None
