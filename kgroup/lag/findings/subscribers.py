"""Groups whose assignment can be judged: the log has all of it, and members follow it."""

from collections.abc import Iterator, Mapping
from typing import Final

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.history.groups.model import Group, GroupKind, GroupState, Member
from kgroup.history.what_if.changes import DEFAULT_ASSIGNORS

_SERVER_NAMES: Final = {
    "range": "server-range",
    "uniform": "uniform",
    None: DEFAULT_ASSIGNORS[Protocol.SERVER],
}
_CONSUMERS: Final = "consumer"
_STREAMS: Final = "stream"
"""The assignor of Kafka Streams in a classic group: what it hands out are tasks, which may wait for state."""


def is_judged(group: Group) -> bool:
    """Whether the members of a group are consumers that have settled, and can all be read."""
    return (
        group.kind in (GroupKind.CLASSIC, GroupKind.CONSUMER)
        and group.state is GroupState.STABLE
        and group.protocol_type == _CONSUMERS
        and group.protocol != _STREAMS
        and group.since_ms is not None
        and all(member.subscribed is not None and not member.notes for member in group.members)
    )


def assignor_of(group: Group) -> str | None:
    """The name in `ASSIGNORS` of the assignor that a group has, None for one that is not Kafka's."""
    if group.kind is GroupKind.CONSUMER:
        return _SERVER_NAMES.get(group.protocol)
    entry = ASSIGNORS.get(group.protocol or "")
    return group.protocol if entry is not None and entry.client is not None else None


def topics_of(member: Member) -> frozenset[str]:
    """A member's topics: by name, and by a pattern those topics of which it owns something."""
    owned = (owned.topic for owned in member.owned) if member.subscribed_regex else ()
    return frozenset((*(member.subscribed or ()), *owned))


def subscribed_topics(group: Group) -> list[str]:
    """All topics that members of the group subscribe to, by name."""
    return sorted({topic for member in group.members for topic in topics_of(member)})


def owned_counts(group: Group) -> Mapping[str, int]:
    """The least number of partitions of each topic, by the highest that a member owns."""
    counts: dict[str, int] = {}
    for member in group.members:
        for owned in member.owned:
            counts[owned.topic] = max(counts.get(owned.topic, 0), owned.partition + 1)
    return counts


def client_names(members: Iterator[Member] | tuple[Member, ...]) -> list[str]:
    """The client ids of members, each once, in order."""
    return sorted({member.client_id or member.member_id for member in members})
