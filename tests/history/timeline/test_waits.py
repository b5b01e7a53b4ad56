"""A round that lasts for the rebalance timeout, and ends without the member that it waited for."""

from dataclasses import replace

import pytest

from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.departures import Evidence, why_gone
from kgroup.history.timeline.model import CauseKind, Grade, Partition
from tests.history.timeline.test_departures import commits_until, member, roster

K = CauseKind
P0, P1, P2 = Partition("t", 0), Partition("t", 1), Partition("t", 2)
TIMEOUT_MS, END_MS = 60_000 * 5, 1_000_000
LATE, STAYS, OTHER, NEW = (
    replace(member(name, *owned, session_ms=45_000), rebalance_timeout_ms=TIMEOUT_MS)
    for name, owned in (("late", [P0]), ("stays", [P1]), ("other", [P2]), ("new", []))
)
STATIC = replace(LATE, instance_id="late-1")
PATIENT = replace(NEW, rebalance_timeout_ms=2 * TIMEOUT_MS)


def cause_of(
    *, late=304_000, stays=299_500, other=298_000, gone=LATE, now=(STAYS, OTHER, NEW), generation=2, **more
):
    """Of silences in ms at the end of the round."""
    silences = {P0: late, P1: stays, P2: other}
    return why_gone(
        gone,
        roster(0, gone, STAYS, OTHER),
        replace(roster(END_MS, *now), generation=generation),
        Evidence(tracks={place: commits_until(END_MS - ms) for place, ms in silences.items()}, **more),
    )


def test_a_member_that_all_waited_for():
    cause = cause_of()
    assert (cause.kind, cause.grade, cause.member_ids) == (K.REBALANCE_TIMEOUT, Grade.INFERRED, ("late",))
    assert cause.evidence == (
        "the round lasted for its rebalance timeout of 5m 0s, in which nobody committed, and went on"
        " without it; its session timeout of 45s would have ended it sooner"
    )
    assert "max.poll.interval.ms" in (cause.remedy or "")


# What is otherwise, each of which leaves open why the round ended
TABLE = {
    "the round was shorter": {"stays": 298_400, "other": 298_000},
    "the round was longer": {"stays": 302_600},
    "somebody who stays rejoined late": {"other": 284_900},
    "it committed while the round lasted": {"late": 298_400},
    "its session is nearly as long": {"gone": replace(LATE, session_timeout_ms=150_001)},
    "a static member is not dropped by a round": {"gone": STATIC},
    "another one is gone, too": {"now": (STAYS, NEW)},
    "somebody joins with a longer timeout": {"now": (STAYS, OTHER, PATIENT)},
    "a round between was not finished": {"generation": 3},
    "records are missing": {"cut": True},
}


@pytest.mark.parametrize("otherwise", TABLE.values(), ids=TABLE)
def test_it_is_not_told(otherwise):
    assert cause_of(**otherwise).kind is not K.REBALANCE_TIMEOUT


def test_commits_that_come_seldom_tell_no_length_of_a_round():
    short = {"late": 30_400, "stays": 29_900, "other": 29_900}
    members = [
        replace(one, rebalance_timeout_ms=30_000, session_timeout_ms=6_000) for one in (LATE, STAYS, OTHER)
    ]
    tracks = {
        place: commits_until(END_MS - ms) for place, ms in zip((P0, P1, P2), short.values(), strict=True)
    }
    before, after = roster(0, *members), replace(roster(END_MS, *members[1:]), generation=2)
    assert why_gone(members[0], before, after, Evidence(tracks=tracks)).kind is not K.REBALANCE_TIMEOUT


def test_a_broker_that_assigns_waits_for_nobody():
    before = replace(roster(0, LATE, STAYS, OTHER), kind=GroupKind.CONSUMER)
    after = replace(roster(END_MS, STAYS, OTHER), kind=GroupKind.CONSUMER, generation=2)
    tracks = {P0: commits_until(END_MS - 304_000), P1: commits_until(END_MS - 299_500)}
    assert why_gone(LATE, before, after, Evidence(tracks=tracks)).kind is not K.REBALANCE_TIMEOUT
