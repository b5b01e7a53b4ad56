"""What a partition's own log proves, and what clocks that are wrong do to it."""

import pytest

from kgroup.lag.findings.own_log import (
    NO_LOG,
    LogProof,
    LogWent,
    is_worth_reading,
    log_proof,
)
from kgroup.lag.findings.partition_facts import partition_facts
from kgroup.lag.measures.record_clock import ReadRecord, RecordClock
from kgroup.lag.status.window import LogEnd
from tests.lag.facts import partition, steadily
from tests.lag.windows import NOW, ago, window

HOUR_S = 3600


def proven(read, first_unread, newest):
    """By (seconds ago written, seconds ago committed) of what was read; unread is seconds ago, too."""
    clock = RecordClock.of([ReadRecord(ago(written), ago(committed)) for written, committed in read])
    proof = log_proof(clock, ago(first_unread), ago(newest), NOW)
    return tuple(
        None if at is None else (NOW - at) / 1000 for at in (proof.unread_by_ms, proof.passed_until_ms)
    )


# What was read, the first unread record and the newest: since when something waits, until when it goes on
CLOCKS = {
    "clocks agree": ([(202, 200), (102, 101)], 100, 1, (100, 1)),
    "nothing that was read is there any more": ([], 100, 1, (100, 1)),
    "an hour ahead": ([(200 - HOUR_S, 200), (101 - HOUR_S, 99)], 98 - HOUR_S, 1 - HOUR_S, (98, 1)),
    "ahead, and nothing says so": ([], 100 - HOUR_S, 1 - HOUR_S, (None, None)),
    "five minutes behind, or read late": ([(600, 300), (500, 190)], 450, 301, (150, 150)),
    "the same with an older rest": ([(600, 300)], 100, 1, (None, None)),
    "read within a minute": ([(300, 241)], 200, 1, (200, 1)),
}


@pytest.mark.parametrize(("read", "first_unread", "newest", "expected"), CLOCKS.values(), ids=CLOCKS)
def test_clocks(read, first_unread, newest, expected):
    assert proven(read, first_unread, newest) == expected


def test_the_own_log_and_others_commits_prove_together():
    silent = partition(0, steadily(120, 100), 500, seen=[(60, 150), (50, 200)])
    proof = LogProof(unread_by_ms=ago(118), passed_until_ms=ago(1), went=LogWent(50, 0, 150, 10_000))
    row, commits, seen = silent.row, silent.window, ()
    alone = partition_facts(row, commits, seen, NOW, proof)
    assert (alone.unread_by_ms, alone.passed_until_ms, alone.written_per_s) == (ago(118), ago(1), 10.0)
    late = LogProof(unread_by_ms=ago(50), passed_until_ms=ago(50))
    assert (silent.unread_by_ms, silent.passed_until_ms) == (ago(60), ago(50))
    others = (LogEnd(offset=150, timestamp=ago(60)), LogEnd(offset=200, timestamp=ago(20)))
    for in_log, waiting, went_on in ((proof, 118, 1), (late, 60, 20)):
        both = partition_facts(row, commits, others, NOW, in_log)
        assert (both.unread_by_ms, both.passed_until_ms) == (ago(waiting), ago(went_on))
    assert partition_facts(row, commits, seen, NOW, NO_LOG).unread_by_ms is None
    assert partition_facts(row, commits, seen, NOW, late).written_per_s is None


def test_a_log_that_went_on_for_no_time_has_no_rate():
    assert LogWent(1, 5, 9, 5).per_s is None


@pytest.mark.parametrize(
    ("commits", "lag", "is_worth_it"),
    [
        ([(10, 100, None), (5, 105, None)], 49, False),
        ([(10, 100, None), (5, 105, None)], 50, True),
        ([(50, 100, None), (44, 105, None)], 1, False),
        ([(50, 100, None), (45, 105, None)], 1, True),
        ([(10, 100, None), (5, 100, None)], 1, True),
        ([(5, 100, None)], 1, False),
    ],
    ids=["little", "much", "not silent yet", "silent", "the same offset again", "one commit"],
)
def test_a_log_is_read_where_it_can_matter(commits, lag, is_worth_it):
    assert is_worth_reading(window(*commits), lag, 5, NOW) is is_worth_it
