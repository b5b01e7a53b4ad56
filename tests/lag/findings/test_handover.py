"""A partition that stands still since it changed hands: when that is said, and when it is not known."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Partition, Roster, TimelineMember
from kgroup.lag.findings.find import find
from kgroup.lag.findings.handover import handover_text
from kgroup.lag.findings.model import FindingKind
from tests.lag.facts import facts, partition, steadily
from tests.lag.windows import ago

GOES_ON = [(175, 150), (60, 300), (1, 490)]
SAID = "; it changed hands in generation 7 right after, and has not been committed since"


def rosters(*rounds):
    """Of (generation, seconds ago, the owner of orders-0, None for nobody)."""
    return tuple(
        Roster(
            kind=GroupKind.CLASSIC,
            generation=generation,
            at_ms=ago(seconds),
            offset=generation,
            offsets_partition=0,
            leader_epoch=0,
            members=tuple(
                TimelineMember(
                    member_id=name,
                    owned=frozenset({Partition("orders", 0)} if name == owner else ()),
                )
                for name in ("m1", "m2")
            ),
        )
        for generation, seconds, owner in rounds
    )


def stalled(rounds, commits=None, seen=GOES_ON):
    group = facts(
        partition(0, commits or steadily(180, 100), 500, seen=seen, member="m1"),
        partition(1, steadily(1, 495), 500, member="m1"),
    )
    (finding,) = find(replace(group, rosters=rosters(*rounds)))
    assert finding.kind is FindingKind.STALLED_PARTITION
    return finding


def test_what_is_said():
    finding = stalled([(6, 300, "m2"), (7, 178, "m1")])
    assert finding.evidence.endswith(SAID)
    assert finding.numbers["since_generation"] == 7
    assert finding.try_this.startswith("The member never started on what it was given")


# Rounds, and whether the evidence says so
TABLE = {
    "taken from one, then given to another": ([(5, 300, "m2"), (6, 181, None), (7, 178, "m1")], True),
    "later rounds leave it there": ([(6, 300, "m2"), (7, 178, "m1"), (8, 90, "m1")], True),
    "its new owner committed it": ([(6, 300, "m2"), (7, 182, "m1")], False),
    "its old owner had stopped before": ([(6, 300, "m2"), (7, 134, "m1")], False),
    "it never changed hands": ([(6, 300, "m1"), (7, 178, "m1")], False),
    "rounds between are not kept": ([(5, 300, "m2"), (7, 178, "m1")], False),
    "nothing is known of rounds": ([], False),
    "somebody else owned it last": ([(6, 300, "m1"), (7, 178, "m2")], False),
}


@pytest.mark.parametrize(("rounds", "is_said"), TABLE.values(), ids=TABLE)
def test_when_it_is_said(rounds, is_said):
    finding = stalled(rounds)
    assert finding.evidence.endswith(SAID) is is_said
    assert ("since_generation" in finding.numbers) is is_said


# Commits, the seconds ago at which the partition changed hands, and whether that was right after the last one
BOUNDS = {
    "at the moment of the commit": (steadily(180, 100), 180, True),
    "a moment before it": (steadily(180, 100), 180.001, False),
    "a session timeout later": (steadily(180, 100), 135, True),
    "a moment more": (steadily(180, 100), 134.999, False),
    "ten intervals later": (steadily(180, 100, every=5), 130, True),
    "a moment more than ten intervals": (steadily(180, 100, every=5), 129.999, False),
    "of a single commit, a session timeout": ([(400, 100)], 355, True),
    "of a single commit, more": ([(400, 100)], 354.999, False),
}


@pytest.mark.parametrize(("commits", "seconds", "is_said"), BOUNDS.values(), ids=BOUNDS)
def test_how_long_after_the_last_commit_it_may_change_hands(commits, seconds, is_said):
    finding = stalled([(6, 500, "m2"), (7, seconds, "m1")], commits, [(390, 150), *GOES_ON])
    assert finding.evidence.endswith(SAID) is is_said


def test_nothing_is_said_of_no_handover():
    assert handover_text(None) == ""


def test_an_offset_that_is_committed_again_and_again_is_taken_up():
    repeats = steadily(1, 100, step=0, every=40)
    finding = stalled([(6, 500, "m2"), (7, 178, "m1")], repeats, [(400, 480)])
    assert finding.evidence.startswith("offset 100 committed again and again")
    assert "generation" not in finding.evidence
