"""The client-side assignors of Kafka 2.4.1: no racks, no shortcut for equal subscriptions.

Source: RangeAssignor, AbstractStickyAssignor and CooperativeStickyAssignor of Kafka 2.4.1. Partition ids
are 0..n-1 whatever the metadata says. Cooperative members send no generation, so all claims are as good.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kgroup.assignors.client.cooperative_sticky import changing_hands
from kgroup.assignors.client.leader_view import LeaderView, by_instance_then_id, leader_view
from kgroup.assignors.client.sticky import StickyAssignor, map_by_topic, remember, sticky_claim
from kgroup.assignors.client.sticky_claims import Claim, Ownership
from kgroup.assignors.client.sticky_general import GeneralGroup, balance_general
from kgroup.assignors.client.sticky_racks import sticky_racks
from kgroup.assignors.java_order import computed_order, hash_order, partition_hash, string_hash
from kgroup.assignors.model import NO_GENERATION, Assignment, AssignorError, GroupMember, Topic
from kgroup.protocol.topic_partition import TopicPartition


class RangeAssignor24:
    """`range` of Kafka 2.4.1: a topic that a member names twice counts it twice."""

    name = "range"

    def assign(self, members: Sequence[GroupMember], topics: Sequence[Topic]) -> Assignment:
        """See `ClientAssignor.assign`. Lists go by the map of subscribers, which knows no metadata."""
        view = leader_view(members, _plain(topics))
        takers: dict[str, list[GroupMember]] = {}
        for member in view.members:
            for name in member.topics:
                takers.setdefault(name, []).append(member)
        assignment: Assignment = {member.member_id: [] for member in view.members}
        named = [name for member in view.members for name in member.topics]
        for name in computed_order(named, string_hash):
            if name in view.topics:
                _cut(view.topics[name], by_instance_then_id(takers[name]), assignment)
        return assignment

    def next_user_data(self, assigned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """Always None: `range` remembers nothing."""
        return None


def _cut(topic: Topic, takers: Sequence[GroupMember], assignment: Assignment) -> None:
    quota, extra = divmod(topic.partitions, len(takers))
    start = 0
    for index, member in enumerate(takers):
        stop = start + quota + (index < extra)
        assignment[member.member_id].extend((topic.name, number) for number in range(start, stop))
        start = stop


class StickyAssignor24(StickyAssignor):
    """`sticky` of Kafka 2.4.1."""

    def assign(self, members: Sequence[GroupMember], topics: Sequence[Topic]) -> Assignment:
        """See `ClientAssignor.assign`."""
        view = leader_view(members, _plain(topics))
        return _assign(view, {member.member_id: sticky_claim(member) for member in view.members})

    def next_user_data(self, assigned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """User data of version 1. On the wire, too, topics stand in the order of a HashMap."""
        return remember(map_by_topic(assigned), generation)


class CooperativeStickyAssignor24:
    """`cooperative-sticky` of Kafka 2.4.1."""

    name = "cooperative-sticky"

    def assign(self, members: Sequence[GroupMember], topics: Sequence[Topic]) -> Assignment:
        """See `ClientAssignor.assign`. Partitions still to be revoked are with nobody."""
        view = leader_view(members, _plain(topics))
        claims = {
            member.member_id: Claim(partitions=member.owned_partitions, generation=None)
            for member in view.members
        }
        assignment = _assign(view, claims)
        for partition, member_id in changing_hands(view, assignment).items():
            assignment[member_id].remove(partition)
        return assignment

    def next_user_data(self, assigned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """Always None: what a member owns is a field of its subscription."""
        return None


def _plain(topics: Iterable[Topic]) -> list[Topic]:
    return [replace(topic, partition_ids=None, replica_racks=()) for topic in topics]


def _assign(view: LeaderView, claims: dict[str, Claim]) -> Assignment:
    if not view.members:
        raise AssignorError("java.util.NoSuchElementException", None, "the group has no members")
    members = [replace(member, rack_id=None) for member in view.members]
    view = LeaderView(members=members, topics=view.topics)
    group = GeneralGroup(view, _settle(view, claims), sticky_racks(view))
    everyone = [member.member_id for member in members]
    group.most = {m: sum(view.topics[name].partitions for name in group.wanted[m]) for m in everyone}
    nothing_claimed = not any(claim.partitions for claim in claims.values())
    if not nothing_claimed and len({frozenset(names) for names in group.wanted.values()}) == 1:
        group.everything = _in_turn(view, group)
    return balance_general(group, tolerance=0)


def _settle(view: LeaderView, claims: dict[str, Claim]) -> Ownership:
    """Each partition belongs to its newest claimer, and before to the one of the generation before that.

    In one generation the first claimer counts; but of claims without a generation, the last.
    """
    claimers: dict[TopicPartition, dict[int, str]] = {}
    for member_id, claim in claims.items():
        for partition in claim.partitions:
            by_generation = claimers.setdefault(partition, {})
            if claim.generation is None:
                by_generation[NO_GENERATION] = member_id
            else:
                by_generation.setdefault(claim.generation, member_id)
    ownership = Ownership(owned={member_id: [] for member_id in claims})
    for partition in hash_order(claimers, partition_hash):
        topic, number = partition
        newest, *older = sorted(claimers[partition], reverse=True)
        if topic in view.topics and 0 <= number < view.topics[topic].partitions:
            ownership.owned[claimers[partition][newest]].append(partition)
        if older:
            ownership.previous[partition] = claimers[partition][older[0]]
    return ownership


def _in_turn(view: LeaderView, group: GeneralGroup) -> list[TopicPartition]:
    """Partitions in the order in which they may move: one at a time from the member that has most left.

    First what had another owner before, then the rest of what it has; last what nobody has. Ends: each
    turn takes a partition from a member's list, or drops the member.
    """
    moved_before = hash_order(group.previous, partition_hash)
    left = {member_id: list(partitions) for member_id, partitions in group.held.items()}
    in_turn: dict[TopicPartition, None] = {}
    while left:
        member_id = max(left, key=lambda m: (len(left[m]), group.ranks[m]))
        mine = left[member_id]
        if not mine:
            del left[member_id]
            continue
        partition = next((p for p in moved_before if p in mine), mine[0])
        mine.remove(partition)
        in_turn[partition] = None
    existing = [(name, number) for name, topic in view.topics.items() for number in range(topic.partitions)]
    in_turn.update(dict.fromkeys(hash_order(existing, partition_hash)))
    return list(in_turn)
