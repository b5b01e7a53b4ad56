"""Readers that wait for an open transaction: when they are told, and that nobody blames them."""

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.blocked import may_be_blocked
from kgroup.lag.findings.find import find
from kgroup.lag.findings.model import FindingKind
from kgroup.lag.findings.proven_status import judged_one_by_one
from kgroup.lag.status.rule_sets import BurrowRules, KgroupRules
from tests.lag.facts import behind, facts, partition, steadily
from tests.lag.windows import ago

GOES_ON = [(110, 150), (60, 300), (1, 490)]  # somebody read on to 490 while others stand still
FAST = [(20, 300), (10, 400), (1, 490)]  # ten records a second are written
SILENT = partition(0, steadily(120, 100), 500, seen=GOES_ON)
REPEATS = partition(0, steadily(1, 100, step=0, every=40), 500, seen=[(400, 480)])
PATIENT = partition(0, [(400, 100)], 500, seen=[(390, 150)])
HEALTHY = steadily(1, 495)


def kinds(group):
    return [finding.kind.value for finding in find(group)]


def said(group, rules=None):
    judged = judged_one_by_one(group, rules or KgroupRules())
    return [f"{one.status} {one.rule}" for one in judged if one is not None]


def test_what_is_said_of_it():
    two = behind(partition(1, steadily(118, 90), 500, seen=GOES_ON), first=92)
    (finding,) = find(facts(behind(SILENT), two))
    assert finding.kind is FindingKind.OPEN_TRANSACTION
    assert (finding.topic, finding.partition, finding.member_id) == ("orders", None, None)
    assert finding.since_ms == ago(120)
    assert finding.grade is Grade.INFERRED
    assert finding.evidence == (
        "blocked by an open transaction for 2m 0s: producer id 7, epoch 0; orders-0 from offset 100 on,"
        " orders-1 from offset 92 on; all 810 unread on 2 partitions lie behind it, and the last"
        " commit is 1m 58s ago"
    )
    assert finding.numbers == {
        "producer_id": 7,
        "producer_epoch": 0,
        "first_offset": 100,
        "open_ms": 120_000,
        "total_lag": 810,
        "partitions": 2,
    }
    assert "describe-producers" in finding.try_this
    assert "abort" in finding.try_this


# the partitions of a group, the kinds of findings, status and rule of each
TABLE = {
    "silent at a transaction": ([behind(SILENT)], ["open-transaction"], ["WARN open-transaction"]),
    "the same offset again and again": (
        [behind(REPEATS)],
        ["open-transaction"],
        ["WARN open-transaction"],
    ),
    "beyond all patience": ([behind(PATIENT)], ["open-transaction"], ["WARN open-transaction"]),
    "no transaction is open": ([SILENT], ["stopped-group"], ["STOP rhythm-broken"]),
    "other partitions go on": (
        [behind(SILENT), partition(1, HEALTHY, 500, seen=GOES_ON)],
        ["open-transaction"],
        ["WARN open-transaction", "OK few-unread"],
    ),
    "another member hangs": (
        [behind(SILENT), partition(1, steadily(120, 100), 500, seen=GOES_ON, member="m2")],
        ["stopped-group", "open-transaction"],
        ["WARN open-transaction", "STOP rhythm-broken"],
    ),
    "of another partition behind the same one no standstill is proven": (
        [behind(SILENT), behind(partition(1, steadily(118, 100), 500))],
        ["open-transaction"],
        ["WARN open-transaction", "WARN open-transaction"],
    ),
    "of another partition behind another one no standstill is proven": (
        [behind(SILENT), behind(partition(1, steadily(118, 490), 500), producer=8)],
        ["open-transaction"],
        ["WARN open-transaction", "OK few-unread"],
    ),
    "two producers": (
        [behind(SILENT), behind(partition(1, steadily(118, 100), 500, seen=GOES_ON), producer=8)],
        ["open-transaction", "open-transaction"],
        ["WARN open-transaction", "WARN open-transaction"],
    ),
    "another transaction of the same producer": (
        [behind(SILENT), behind(partition(1, steadily(118, 490), 500), epoch=1)],
        ["open-transaction"],
        ["WARN open-transaction", "OK few-unread"],
    ),
    "a lag that grows": (
        [
            behind(partition(0, steadily(1, 100), 500, seen=FAST)),
            partition(1, HEALTHY, 500, seen=GOES_ON),
        ],
        [],
        None,
    ),
    "a short transaction": ([behind(partition(0, steadily(30, 100), 500, seen=GOES_ON))], [], None),
    "a transaction no longer than pauses usually are": (
        [behind(partition(0, steadily(120, 100, every=20), 500, seen=GOES_ON))],
        [],
        None,
    ),
}


@pytest.mark.parametrize(("partitions", "findings", "statuses"), TABLE.values(), ids=TABLE)
def test_who_is_told(partitions, findings, statuses):
    group = facts(*partitions)
    assert kinds(group) == findings
    if statuses is not None:
        assert said(group) == statuses
    else:
        assert not any(one.startswith(("STOP", "STALL", "WARN")) for one in said(group))


def test_the_numbers_of_its_status():
    (judged,) = judged_one_by_one(facts(behind(SILENT)), KgroupRules())
    assert judged is not None
    assert judged.numbers == {
        "producer_id": 7,
        "producer_epoch": 0,
        "first_offset": 100,
        "since_ms": ago(120),
    }


def test_burrow_knows_of_no_transactions():
    assert said(facts(behind(SILENT)), BurrowRules()) == ["STOP stopped"]


def test_without_membership_too():
    alone = behind(partition(0, steadily(120, 100), 500, seen=GOES_ON, member=None))
    assert kinds(facts(alone, kind=GroupKind.SIMPLE)) == ["open-transaction"]


def test_a_group_that_all_have_left_waits_for_its_members():
    alone = behind(partition(0, steadily(120, 100), 500, seen=GOES_ON, member=None))
    assert kinds(facts(alone, since=119)) == ["dead-with-lag"]


def test_a_producer_that_nobody_knows_and_a_clock_ahead():
    unknown = behind(SILENT, producer=None, open_for=None)
    (finding,) = find(facts(unknown))
    assert finding.evidence.startswith(
        "blocked by an open transaction: its producer is unknown; orders-0 from"
    )
    (finding,) = find(facts(behind(SILENT, open_for=-3600)))
    assert finding.since_ms == ago(0)
    assert "for 0s:" in finding.evidence


@pytest.mark.parametrize(
    ("one", "is_looked_at"),
    [
        (SILENT, True),
        (REPEATS, True),
        (partition(0, HEALTHY, 500, seen=GOES_ON), False),
        (partition(0, steadily(120, 500), 500), False),
        (partition(0, [], 500), False),
        (partition(0, steadily(120, 100), 500, member=None), False),
        (partition(0, steadily(45, 100), 500), True),
        (partition(0, steadily(44.999, 100), 500), False),
        (partition(0, [(3, 100), (1, 100)], 500), True),
        (partition(0, [(1, 100)], 500), False),
    ],
    ids=[
        "silent",
        "repeats",
        "goes on",
        "nothing unread",
        "no commits",
        "nobody owns it",
        "silent for a session timeout",
        "silent for less",
        "two commits of one offset",
        "one commit repeats nothing",
    ],
)
def test_where_it_is_worth_a_look(one, is_looked_at):
    owned = partition(9, HEALTHY, 500)
    assert list(may_be_blocked(facts(one, owned))) == ([one] if is_looked_at else [])
