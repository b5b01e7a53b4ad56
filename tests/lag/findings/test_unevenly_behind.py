"""One partition, or one member, with nearly all of a topic's lag: whose fault it is, and when it is none."""

from dataclasses import replace

import pytest

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import FindingKind
from kgroup.lag.findings.proven_status import judged_one_by_one
from kgroup.lag.status.rule_sets import KgroupRules
from tests.lag.facts import facts, partition, steadily

FAST = [(20, 380), (10, 440), (1, 490)]  # some six records a second


def kinds(group):
    return [finding.kind.value for finding in find(group)]


def keeps_up(number, end=500, **other):
    """A partition of which what is written, five in two seconds, is read at once."""
    return partition(number, steadily(1, end), end, **other)


def lags(number, end=500, *, step=1, **other):
    return partition(number, steadily(1, end - 400, step=step), end, **other)


def test_a_hot_partition():
    (finding,) = find(facts(lags(0, 2000, member="m1"), keeps_up(1), keeps_up(2, 300)))
    assert (finding.kind, finding.partition, finding.member_id) == (FindingKind.HOT_PARTITION, 0, "m1")
    assert finding.grade is Grade.INFERRED
    assert finding.evidence == (
        "400 of the topic's 400 unread are in one of 3 partitions, the others have 0 each; its log holds"
        " 2,000 offsets, each of the others 400"
    )
    assert finding.numbers == {"lag": 400, "total_lag": 400, "share": 1.0, "partitions": 3}
    assert "keys" in finding.try_this


def test_a_hot_partition_by_what_is_written_lately():
    (finding,) = find(facts(lags(0, seen=FAST), keeps_up(1), keeps_up(2)))
    assert finding.kind is FindingKind.HOT_PARTITION
    assert finding.evidence.endswith("5.8/s are written there, 2.5/s to each of the others")


def test_a_slow_member():
    (finding,) = find(facts(lags(0, member="m2"), keeps_up(1), keeps_up(2, 520)))
    assert (finding.kind, finding.topic, finding.partition) == (FindingKind.SLOW_MEMBER, "orders", 0)
    assert (finding.member_id, finding.numbers["host"]) == ("m2", "/h")
    assert finding.grade is Grade.INFERRED
    assert finding.evidence == (
        "400 of the topic's 400 unread are on 1 partition (orders-0) of this member on /h: it reads 0.5/s of"
        " 2.5/s that are written there, as to the others (2.5/s each); the other members keep up"
    )
    assert finding.numbers == {
        "lag": 400,
        "total_lag": 400,
        "share": 1.0,
        "partitions": 1,
        "read_per_s": 0.5,
        "written_per_s": 2.5,
        "host": "/h",
    }
    assert "host" in finding.try_this
    assert "keys are not to blame" in finding.try_this


# the partitions of a group, and what is found
TABLE = {
    "a slow member with several partitions": (
        [lags(0, member="m2"), lags(1, member="m2"), keeps_up(2), keeps_up(3)],
        ["slow-member"],
    ),
    "a slow member of which the log says what is written": (
        [lags(0, member="m2", seen=[(19, 455), (1, 498)]), keeps_up(1), keeps_up(2)],
        ["slow-member"],
    ),
    "nobody owned it for a while": (
        [
            partition(
                0, [*steadily(59, 90, step=1), *steadily(1, 100, step=1, commits=3)][-10:], 500, member="m2"
            ),
            keeps_up(1),
            keeps_up(2),
        ],
        [],
    ),
    "one member that owns all": ([lags(0), keeps_up(1), keeps_up(2)], []),
    "it catches up": ([lags(0, step=20, member="m2"), keeps_up(1), keeps_up(2)], []),
    "it keeps pace however far behind": ([lags(0, step=5, member="m2"), keeps_up(1), keeps_up(2)], []),
    "another partition of the member keeps up": (
        [lags(0, member="m2"), keeps_up(1, member="m2"), keeps_up(2), keeps_up(3)],
        [],
    ),
    "two partitions are too few": ([lags(0, member="m2"), keeps_up(1)], []),
    "what is read no longer is not slow": (
        [partition(0, steadily(30, 100, step=1), 500, member="m2"), keeps_up(1), keeps_up(2)],
        [],
    ),
    "behind everywhere": ([lags(number, member=f"m{number}") for number in range(3)], []),
    "little is unread": (
        [partition(0, steadily(1, 460, step=1), 500, member="m2"), keeps_up(1), keeps_up(2)],
        [],
    ),
    "more is written there, and no more is unread than comes in between two commits": (
        [partition(0, steadily(1, 1000, step=30, every=3), 1030, seen=[(28, 730), (1, 1030)])]
        + [partition(number, steadily(1, 490, step=1, every=3), 490) for number in (1, 2, 3)],
        [],
    ),
    "nobody knows what is written": (
        [
            replace(one, row=one.row._replace(log_start_offset=None))
            for one in (
                lags(0, member="m2"),
                partition(1, steadily(1, 495), 500),
                partition(2, steadily(1, 495), 500),
            )
        ],
        [],
    ),
    "nobody owns it": ([lags(0, member=None), keeps_up(1), keeps_up(2)], []),
}


@pytest.mark.parametrize(("partitions", "expected"), TABLE.values(), ids=TABLE)
def test_who_is_told(partitions, expected):
    assert kinds(facts(*partitions)) == expected


def test_the_statuses_are_of_the_same_partitions():
    seen = [(20, 380), (1, 430)]
    slow = partition(0, steadily(1, 50, step=1), 450, member="m2", seen=seen)
    group = facts(slow, partition(1, steadily(1, 445), 450, seen=seen), keeps_up(2, 450))
    assert kinds(group) == ["slow-member"]
    judged = judged_one_by_one(group, KgroupRules())
    assert [one.rule.value for one in judged if one] == ["lag-grew", "few-unread", "within-allowed"]


def test_a_lag_that_one_member_explains_is_not_told_twice():
    seen = [(20, 380), (1, 430)]
    slow = partition(0, steadily(1, 50, step=1), 450, member="m2", seen=seen)
    assert kinds(facts(slow)) == ["lag-growing"]
    assert kinds(facts(slow, keeps_up(1, 450), keeps_up(2, 450))) == ["slow-member"]
