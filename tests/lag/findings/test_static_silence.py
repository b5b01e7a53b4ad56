"""Static members that are in the group and have not committed since they were taken over."""

from dataclasses import replace

import pytest

from kgroup.history.timeline.model import Grade, Takeover
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import STUCK_KINDS, FindingKind
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import NOW, ago

K = FindingKind
GOES_ON = [(175, 150), (60, 300), (1, 490)]
STANDS = steadily(180, 100)


def taken_over(seconds, *, old="m0", new="m1", instance="pod-0"):
    return Takeover(
        instance_id=instance,
        at_ms=None if seconds is None else ago(seconds),
        generation=3,
        old_id=old,
        new_id=new,
        before=("c", "/h"),
        after=("c", "/h"),
        quiet_ms=None,
        usual_ms=None,
    )


def group(*takeovers, commits=STANDS, others=True):
    stands = partition(0, commits, 500, seen=GOES_ON)
    rest = [partition(1, steadily(1, 495), 500, member="m2")] if others else []
    return replace(facts(stands, *rest), takeovers=takeovers)


def kinds(facts):
    return [finding.kind for finding in find(facts)]


def test_what_is_said():
    (finding,) = find(group(taken_over(178, new="m9"), taken_over(174, old="m9")))
    assert (finding.kind, finding.grade) == (K.STATIC_MEMBER_SILENT, Grade.INFERRED)
    assert (finding.topic, finding.partition, finding.member_id) == ("orders", 0, "m1")
    assert finding.since_ms == NOW - 174_000
    assert finding.evidence == (
        "instance pod-0 got a new member id 2 times within 4s, is in the group, and has committed nothing"
        " for 2m 54s since; 400 unread on 1 partition (orders-0)"
    )
    assert (finding.numbers["takeovers"], finding.numbers["total_lag"]) == (2, 400)
    assert "FENCED_INSTANCE_ID" in finding.try_this
    assert K.STATIC_MEMBER_SILENT in STUCK_KINDS


# Takeovers, and what is told of the member
TABLE = {
    "it came back and is silent": ([taken_over(174)], K.STATIC_MEMBER_SILENT),
    "it came back long ago, and went on": ([taken_over(900)], K.STALLED_MEMBER),
    "it went on after it came back": ([taken_over(181)], K.STALLED_MEMBER),
    "it was silent long before": ([taken_over(130)], K.STALLED_MEMBER),
    "it came back once more, and was silent before that": (
        [taken_over(174, new="m9"), taken_over(100, old="m9")],
        K.STALLED_MEMBER,
    ),
    "somebody else came back": ([taken_over(174, new="m2", instance="pod-2")], K.STALLED_MEMBER),
    "another member has the instance now": (
        [taken_over(178), taken_over(174, old="m1", new="m3")],
        K.STALLED_MEMBER,
    ),
    "nobody knows when": ([taken_over(None)], K.STALLED_MEMBER),
    "nor when it came back before": (
        [taken_over(None, new="m9"), taken_over(174, old="m9")],
        K.STATIC_MEMBER_SILENT,
    ),
    "another instance came back just before it": (
        [taken_over(175, old="m7", new="m2", instance="pod-2"), taken_over(174)],
        K.STATIC_MEMBER_SILENT,
    ),
    "a dynamic member": ([], K.STALLED_MEMBER),
}


@pytest.mark.parametrize(("takeovers", "kind"), TABLE.values(), ids=TABLE)
def test_who_is_told(takeovers, kind):
    assert kinds(group(*takeovers)) == [kind]


def test_only_its_own_takeovers_are_counted():
    other = taken_over(176, old="m7", new="m2", instance="pod-2")
    (finding,) = find(group(taken_over(None, new="m9"), other, taken_over(174, old="m9")))
    assert finding.numbers["takeovers"] == 1


def test_it_is_all_of_the_group():
    assert kinds(group(taken_over(174), others=False)) == [K.STATIC_MEMBER_SILENT]


def test_a_static_member_that_goes_on_is_left_in_peace():
    assert kinds(group(taken_over(174), commits=steadily(1, 495))) == []


def test_one_partition_that_it_commits_is_enough():
    goes_on = partition(2, steadily(1, 495), 500)
    some = group(taken_over(174))
    assert kinds(replace(some, partitions=(*some.partitions, goes_on))) == [K.STALLED_PARTITION]
