"""Shares of the work that differ more than necessary, and what assignors would have given instead.

Shares are judged among members that subscribe to the same topics: who asks for less gets less.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.assignors.model import Assignment, AssignorError, Topic
from kgroup.assignors.planning.plan import PlanMember, assign_plan, new_plan
from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.durations import lasting
from kgroup.errors import InputError
from kgroup.history.groups.model import Member
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.group_standstill import Standings
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, Severity
from kgroup.lag.findings.pace import growths
from kgroup.lag.findings.subscribers import assignor_of, is_judged, owned_counts, topics_of
from kgroup.lag.findings.text import counted
from kgroup.lag.status.window_evidence import SHORTEST_MS

_EVEN: Final = 1
"""Where partitions do not divide by members some have one more."""
_PARTITIONS_MAX: Final = 5_000
"""Of larger groups nothing is played: what the assignors do there takes too long for a report."""
_OTHERS: Final = {
    Protocol.EAGER: ("roundrobin", "sticky", "cooperative-sticky"),
    Protocol.COOPERATIVE: ("cooperative-sticky", "range"),
    Protocol.SERVER: ("uniform", "server-range"),
}

_TRY: Final = (
    "Compare with kgroup assign --compare, and see what a change costs with kgroup what-if --assignor. range"
    " distributes each topic separately, always from the same member on; cooperative-sticky and uniform"
    " distribute all topics together, and may leave one topic with few members."
)


@dataclass(frozen=True, slots=True)
class _Shares:
    """Partitions of a member, least and most; and of the topic that is shared out worst, if any is."""

    least: int
    most: int
    topic: str | None = None

    @property
    def spread(self) -> int:
        return self.most - self.least

    def __str__(self) -> str:
        return f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"


def uneven_assignment(facts: GroupFacts, standings: Standings, *, hygiene: bool = True) -> Iterator[Finding]:
    """The widest difference: of all partitions, or else of one topic's that has one for each member.

    Without `hygiene` only where it makes a member fall behind.
    """
    group = facts.group
    settled_ms = facts.now_ms - group.since_ms if group.since_ms is not None else 0
    if settled_ms < SHORTEST_MS or len(group.members) < 2 or not is_judged(group):
        return
    subscriptions = {topics_of(member) for member in group.members}
    sizes = [len(member.owned) for member in group.members]
    if len(subscriptions) != 1 or not 0 < sum(sizes) <= _PARTITIONS_MAX:
        return
    if max(sizes) - min(sizes) <= _EVEN and len(next(iter(subscriptions))) < 2:
        return  # as nearly all groups
    owned = {member.member_id: [(o.topic, o.partition) for o in member.owned] for member in group.members}
    counts = {**owned_counts(group), **facts.counts}
    now = _of_all(owned)
    alone = None if now.spread > _EVEN else _worst_topic(owned, counts)
    if now.spread <= _EVEN and alone is None:
        return
    shares = alone or now
    busiest = max(owned, key=lambda member_id: (_share(owned[member_id], shares.topic), member_id))
    late = _late(facts, standings, busiest)
    if not (hygiene or late):
        return
    others = dict(_played(facts, counts, shares.topic))
    better = [name for name, other in others.items() if other.spread < shares.spread]
    if not better:
        return
    yield _finding(facts, shares, others, better[0], busiest, late)


def given_more(findings: Sequence[Finding]) -> str | None:
    """The member that falls behind only as it was given more than others, if one was found to do so."""
    late = (finding.member_id for finding in findings if finding.severity is Severity.TROUBLE)
    return next(late, None)


def _of_all(owned: Mapping[str, Sequence[tuple[str, int]]]) -> _Shares:
    sizes = [len(partitions) for partitions in owned.values()]
    return _Shares(min(sizes), max(sizes))


def _of_topic(owned: Mapping[str, Sequence[tuple[str, int]]], topic: str) -> _Shares:
    sizes = [sum(name == topic for name, _ in partitions) for partitions in owned.values()]
    return _Shares(min(sizes), max(sizes), topic)


def _worst_topic(owned: Mapping[str, Sequence[tuple[str, int]]], counts: Mapping[str, int]) -> _Shares | None:
    """The topic of which one member has all, though there is a partition for each."""
    enough = [topic for topic, count in sorted(counts.items()) if count >= len(owned)]
    alone = [
        shares
        for topic in enough
        if (shares := _of_topic(owned, topic)).most == counts[topic] and shares.spread > _EVEN
    ]
    return max(alone, key=lambda shares: shares.most, default=None)


def _played(facts: GroupFacts, counts: Mapping[str, int], topic: str | None) -> Iterator[tuple[str, _Shares]]:
    """Shares by the group's own assignor from a fresh start, then by others of Kafka's."""
    group = facts.group
    own = assignor_of(group)
    protocol = ASSIGNORS[own].protocol if own else Protocol.EAGER
    for name in dict.fromkeys((*((own,) if own else ()), *_OTHERS[protocol])):
        assignment = _assigned(name, group.members, counts)
        if assignment is not None:
            yield name, _of_all(assignment) if topic is None else _of_topic(assignment, topic)


def _assigned(name: str, members: Sequence[Member], counts: Mapping[str, int]) -> Assignment | None:
    plan = new_plan(
        [
            PlanMember(
                member_id=member.member_id,
                topics=tuple(sorted(topics_of(member))),
                group_instance_id=member.instance_id,
            )
            for member in members
        ],
        [Topic(name=topic, partitions=count) for topic, count in sorted(counts.items())],
    )
    try:
        return assign_plan(name, plan)
    except (AssignorError, InputError):
        return None


def _finding(
    facts: GroupFacts,
    shares: _Shares,
    others: Mapping[str, _Shares],
    better: str,
    busiest: str,
    late: str,
) -> Finding:
    group = facts.group
    own = assignor_of(group) or ""
    of_what = f" of '{shares.topic}'" if shares.topic else ""
    from_start = f"; '{own}' from the start: {others[own]}" if own in others and own != better else ""
    return Finding(
        kind=FindingKind.UNEVEN_ASSIGNMENT,
        group=group.group_id,
        topic=shares.topic,
        member_id=busiest,
        since_ms=group.since_ms,
        grade=Grade.RECORDED,
        evidence=f"{counted(len(group.members), 'member')} with one subscription have {shares} partitions"
        f"{of_what} each under '{group.protocol or own}' for {lasting(facts.now_ms - (group.since_ms or 0))};"
        f" '{better}' would give {others[better]}{from_start}{late}",
        numbers={
            "partitions_min": shares.least,
            "partitions_max": shares.most,
            "members": len(group.members),
            "assignor": group.protocol or own,
            "better_assignor": better,
            "better_min": others[better].least,
            "better_max": others[better].most,
            "own_min": others[own].least if own in others else None,
            "own_max": others[own].most if own in others else None,
        },
        try_this=_TRY,
        weight=Severity.TROUBLE if late else None,
    )


def _share(partitions: Sequence[tuple[str, int]], topic: str | None) -> int:
    return sum(topic is None or name == topic for name, _ in partitions)


def _late(facts: GroupFacts, standings: Standings, busiest: str) -> str:
    """Words on the lag that only the busiest member has, and that grows; empty without proof of it."""
    growing = [partition for growth in growths(facts, standings) for partition in growth.partitions]
    if not growing or {partition.row.member_id for partition in growing} != {busiest}:
        return ""
    lag = sum(partition.row.lag or 0 for partition in growing)
    rest = sum(
        max(partition.row.lag or 0, 0)
        for partition in facts.partitions
        if partition.row.member_id not in (None, busiest)
    )
    if lag <= rest:
        return ""
    return f"; only the one with the most falls behind: {lag:,} unread, {rest:,} with all others"
