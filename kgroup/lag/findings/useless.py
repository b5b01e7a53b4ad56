"""Members without partitions, because there are more members than partitions."""

from collections.abc import Iterator
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts
from kgroup.lag.findings.subscribers import is_judged, topics_of
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.status.window_evidence import SHORTEST_MS

_TRY: Final = (
    "Stop members that are not kept as spares, or give the topic more partitions: each partition has one"
    " reader in a group. Cap the autoscaler at the number of partitions."
)


def useless_members(facts: GroupFacts) -> Iterator[Finding]:
    """Members without work, where all that they could have had is with others."""
    group = facts.group
    if group.since_ms is None or facts.now_ms - group.since_ms < SHORTEST_MS or not is_judged(group):
        return
    left_out = {partition.topic for partition in facts.unowned}
    owned_topics = {owned.topic for member in group.members for owned in member.owned}
    idle = [
        member
        for member in group.members
        if not member.owned and (topics := topics_of(member)) & owned_topics and not topics & left_out
    ]
    if not idle:
        return
    wanted = frozenset().union(*(topics_of(member) for member in idle))
    partitions = sum(owned.topic in wanted for member in group.members for owned in member.owned)
    # An assignor that goes by topic leaves members out though there is enough to do: that is uneven.
    if len(group.members) <= partitions:
        return
    names = listed([member.client_id or member.member_id for member in idle])
    yield Finding(
        kind=FindingKind.USELESS_MEMBERS,
        group=group.group_id,
        member_id=idle[0].member_id if len(idle) == 1 else None,
        since_ms=group.since_ms,
        grade=Grade.RECORDED,
        evidence=f"{counted(len(idle), 'member')} of {len(group.members)} ({names}) without a partition for"
        f" {lasting(facts.now_ms - group.since_ms)}: only {counted(partitions, 'partition')} to share",
        numbers={"idle_members": len(idle), "members": len(group.members), "partitions": partitions},
        try_this=_TRY,
    )
