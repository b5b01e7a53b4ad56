"""The first lines of a report: what was wrong, who, when and what to do, in words."""

import pytest

from kgroup.report.incident.claims import Claim, ClaimKind, Incident
from kgroup.report.incident.headline import headline

DAY = 1_790_000_400_000  # 14:20:00
NOON = "14:20:0"


def at(seconds):
    return DAY + 1000 * seconds


def claim(kind, **says):
    return Claim(kind=kind, group="g", question={}, says=says, cited=())


def rebalance(seconds, cause, *who, grade="inferred", remedy="Mend it."):
    told = {"cause": cause, "grade": grade, "who": list(who), "remedy": remedy}
    return claim(ClaimKind.REBALANCE, at_ms=at(seconds), causes=[told])


def pattern(name, remedy="Slow down.", evidence="so it is"):
    return claim(
        ClaimKind.PATTERN, pattern=name, from_ms=at(0), to_ms=at(5), evidence=evidence, remedy=remedy
    )


def finding(name, grade="inferred"):
    return claim(
        ClaimKind.FINDING, finding=name, grade=grade, since_ms=at(1), evidence="by this", try_this="Look."
    )


def event(seconds, name, grade="inferred"):
    return claim(
        ClaimKind.EVENT, event=name, at_ms=at(seconds), grade=grade, evidence="t-0: 1 to 9", remedy=None
    )


def lines(*claims):
    incident = Incident(kgroup="1", sources=(), from_ms=at(0), to_ms=at(9), claims=claims)
    return list(headline(incident, "g", lambda *marked: f"[{len(marked)}]"))


LOST = "the session: no heartbeat came for session.timeout.ms"
LATE = "after max.poll.interval.ms without a poll()"
TABLE = {
    "nothing": ([], []),
    "ordinary comings and goings": ([rebalance(1, "join", "a"), rebalance(2, "leave", "a")], []),
    "a cause that is not known": ([rebalance(1, "session-expired", "a", grade="unknown")], []),
    "the same again and again": (
        [rebalance(second, "poll-interval-exceeded", "a") for second in (1, 3, 7)],
        [
            f"a left 3 times {LATE} (poll-interval-exceeded), from {NOON}1 to {NOON}7. [3]",
            "what to do: Mend it.",
        ],
    ),
    "two at once": (
        [rebalance(1, "session-expired", "a"), rebalance(1, "session-expired", "b")],
        [f"a and b lost {LOST} (session-expired), at {NOON}1. [2]", "what to do: Mend it."],
    ),
    "one after the other": (
        [rebalance(1, "session-expired", "a"), rebalance(2, "session-expired", "b")],
        [
            f"a lost {LOST} (session-expired), at {NOON}1. [1]",
            f"b lost {LOST} (session-expired), at {NOON}2. [1]",
            "what to do: Mend it.",
        ],
    ),
    "a pattern says no more than its causes": (
        [rebalance(1, "poll-interval-exceeded", "a"), pattern("flapping-member")],
        [f"a left {LATE} (poll-interval-exceeded), at {NOON}1. [1]", "what to do: Mend it."],
    ),
    "a pattern by itself": (
        [pattern("flapping-member")],
        [
            "the same client came and left again and again: so it is (flapping-member),"
            f" from {NOON}0 to {NOON}5. [1]",
            "what to do: Slow down.",
        ],
    ),
    "a pattern that is a finding, too": (
        [pattern("members-oscillate", remedy=None), finding("members-oscillate")],
        [
            "members came and left again and again: so it is (members-oscillate),"
            f" from {NOON}0 to {NOON}5. [1]"
        ],
    ),
    "what is wrong still": (
        [finding("dead-with-lag")],
        [
            "nobody is in the group, and records wait: by this (dead-with-lag),"
            f" since {NOON}1 and still at {NOON}9. [1]",
            "what to do: Look.",
        ],
    ),
    "what is wrong perhaps": (
        [finding("poison-record", grade="unknown")],
        [
            "perhaps one record stops every member that gets it: by this (poison-record),"
            f" since {NOON}1 and still at {NOON}9. [1]",
            "what to do: Look.",
        ],
    ),
    "a kind without words": (
        [finding("some-thing")],
        [
            f"there was some-thing: by this (some-thing), since {NOON}1 and still at {NOON}9. [1]",
            "what to do: Look.",
        ],
    ),
    "an event": (
        [event(3, "topic-recreated")],
        [f"a topic was deleted and made anew: t-0: 1 to 9 (topic-recreated), at {NOON}3. [1]"],
    ),
    "an event twice": (
        [event(3, "rewind"), event(5, "rewind", grade="unknown")],
        [f"a committed offset went back twice (rewind), from {NOON}3 to {NOON}5. [2]"],
    ),
    "in the order of time": (
        [event(3, "rewind"), rebalance(1, "rebalance-timeout", "a", remedy=None)],
        [
            f"a did not rejoin within the rebalance timeout (rebalance-timeout), at {NOON}1. [1]",
            f"a committed offset went back: t-0: 1 to 9 (rewind), at {NOON}3. [1]",
        ],
    ),
    "long evidence stands below": (
        [pattern("instance-id-duel", remedy=None, evidence="x" * 201)],
        [
            "two processes had one group.instance.id and took it from each other (instance-id-duel),"
            f" from {NOON}0 to {NOON}5. [1]"
        ],
    ),
}


@pytest.mark.parametrize(("claims", "said"), TABLE.values(), ids=TABLE)
def test_what_the_first_lines_say(claims, said):
    assert lines(*claims) == said


def test_no_more_than_a_few():
    many = [rebalance(second, "session-expired", f"m-{second}", remedy=None) for second in range(6)]
    assert lines(*many)[-1] == "2 more are told below."
    crowd = [rebalance(1, "session-expired", *"abcde", remedy=None)]
    assert lines(*crowd)[0].startswith("a, b, c and 2 more lost")
