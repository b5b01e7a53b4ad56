"""`sticky`: balanced, with as few moves as possible.

Source: StickyAssignor of Kafka 4.3.1. Members remember their last assignment in their user data.
"""

from collections.abc import Mapping, Sequence

from kgroup.assignors.client.leader_view import LeaderView, leader_view
from kgroup.assignors.client.sticky_claims import Claim, settle
from kgroup.assignors.client.sticky_equal import assign_equal
from kgroup.assignors.client.sticky_general import assign_general
from kgroup.assignors.client.sticky_racks import sticky_racks
from kgroup.assignors.java_order import computed_order, string_hash
from kgroup.assignors.model import NO_GENERATION, Assignment, GroupMember, Topic
from kgroup.errors import DecodeError
from kgroup.protocol.sticky_user_data import decode_sticky, encode_sticky
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic


class StickyAssignor:
    """Kafka's StickyAssignor."""

    name = "sticky"

    def assign(self, members: Sequence[GroupMember], topics: Sequence[Topic]) -> Assignment:
        """See `ClientAssignor.assign`."""
        view = leader_view(members, topics)
        ownership = settle(view, {member.member_id: sticky_claim(member) for member in view.members})
        racks = sticky_racks(view)
        if equal_subscriptions(view):
            return assign_equal(view, ownership, racks).assignment
        return assign_general(view, ownership, racks)

    def next_user_data(self, assigned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """User data of version 1: topics in the order of a HashMap by topic."""
        return remember(group_by_topic(assigned), generation)


def remember(received: Mapping[str, Sequence[int]], generation: int) -> bytes:
    """User data of version 1 of a member that has read partitions by topic, in this order, off the wire."""
    partitions = [(topic, number) for topic, numbers in received.items() for number in numbers]
    return encode_sticky(list(map_by_topic(partitions).items()), generation)


def map_by_topic(partitions: Sequence[TopicPartition]) -> dict[str, list[int]]:
    """Partition ids by topic, in the order of the HashMap in which Kafka collects them one by one."""
    by_topic = group_by_topic(partitions)
    return {name: by_topic[name] for name in computed_order([name for name, _ in partitions], string_hash)}


def sticky_claim(member: GroupMember) -> Claim:
    """The claim in a member's user data; nothing, in generation -1, if it cannot be read."""
    if not member.user_data:
        return Claim(partitions=(), generation=None)
    try:
        memory = decode_sticky(member.user_data)
    except DecodeError:
        return Claim(partitions=(), generation=NO_GENERATION)
    return Claim(partitions=memory.partitions, generation=memory.generation)


def equal_subscriptions(view: LeaderView) -> bool:
    """Whether Kafka takes all subscriptions for equal.

    It compares each with the first that is not empty, and passes over empty ones before that: a
    member without topics that comes first in the map counts as subscribed to what the others want.
    """
    if view.same_topics():
        return True
    first: set[str] = set()
    compared: set[tuple[str, ...]] = set()
    for member in view.members:
        if not first:
            first = set(member.topics)
        elif member.topics not in compared:
            if len(member.topics) != len(first) or not first.issuperset(member.topics):
                return False
            compared.add(member.topics)
    return True
