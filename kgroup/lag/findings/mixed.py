"""Members of one group that subscribe to different topics.

It works: each topic is shared among those that ask for it. But every restart of one application stops the
other, and who removes the group's offsets, or moves them, does so for both.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from kgroup.durations import lasting
from kgroup.history.groups.model import Member
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, Severity
from kgroup.lag.findings.subscribers import client_names, is_judged, topics_of
from kgroup.lag.findings.text import listed

ROLLOUT_MS: Final = 300_000
"""A generation this long is no step of a rollout: each step of one makes a new generation."""

_NUMBERS: Final = re.compile(r"[0-9a-f]{8,}|[0-9]+")

_TRY: Final = (
    "Give each application its own group id; the new one starts at the offsets you set with"
    " kafka-consumer-groups --reset-offsets. If it is one application in two versions, finish the"
    " rollout."
)


def mixed_subscriptions(facts: GroupFacts) -> Iterator[Finding]:
    """Different subscriptions in one generation for longer than a rollout's step takes."""
    group = facts.group
    if group.since_ms is None or facts.now_ms - group.since_ms < ROLLOUT_MS or not is_judged(group):
        return
    by_topics: dict[frozenset[str], list[Member]] = {}
    for member in group.members:
        if not member.subscribed_regex:
            by_topics.setdefault(topics_of(member), []).append(member)
    by_topics.pop(frozenset(), None)
    if len(by_topics) < 2:
        return
    parts = sorted(by_topics.items(), key=lambda part: sorted(part[0]))
    clear = _are_two_applications(by_topics)
    described = listed(
        [f"{listed(sorted(topics))} by {listed(client_names(tuple(members)))}" for topics, members in parts]
    )
    shared = "no topic in common" if _disjoint(by_topics) else "some topics in common"
    yield Finding(
        kind=FindingKind.MIXED_SUBSCRIPTIONS,
        group=group.group_id,
        since_ms=group.since_ms,
        grade=Grade.INFERRED,
        evidence=f"{len(parts)} subscriptions with {shared} for {lasting(facts.now_ms - group.since_ms)}:"
        f" {described}",
        numbers={"subscriptions": len(parts), "members": len(group.members)},
        try_this=_TRY,
        weight=Severity.TROUBLE if clear else Severity.HYGIENE,
    )


def _disjoint(by_topics: Mapping[frozenset[str], Sequence[Member]]) -> bool:
    return all(not one & other for one, other in combinations(by_topics, 2))


def _are_two_applications(by_topics: Mapping[frozenset[str], Sequence[Member]]) -> bool:
    """Whether no topic is shared, and neither is the way in which clients are called.

    One application may well have several listeners with a topic each; their client ids differ by a number.
    """
    called = [{_NUMBERS.sub("#", member.client_id) for member in members} for members in by_topics.values()]
    named = all(name for names in called for name in names)
    return named and _disjoint(by_topics) and all(not one & other for one, other in combinations(called, 2))
