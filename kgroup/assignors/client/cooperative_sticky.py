"""`cooperative-sticky`: as `sticky`, but a partition moves only after its old owner has given it up.

Source: CooperativeStickyAssignor of Kafka 4.3.1; KIP-429. A partition that must change hands is left
out of the first answer. Its owner revokes it and joins again, and the next answer hands it out.
"""

from collections.abc import Sequence

from kgroup.assignors.client.leader_view import LeaderView, leader_view
from kgroup.assignors.client.sticky import equal_subscriptions
from kgroup.assignors.client.sticky_claims import Claim, settle
from kgroup.assignors.client.sticky_equal import assign_equal
from kgroup.assignors.client.sticky_general import assign_general
from kgroup.assignors.client.sticky_racks import sticky_racks
from kgroup.assignors.model import NO_GENERATION, Assignment, GroupMember, Topic
from kgroup.errors import DecodeError
from kgroup.protocol.sticky_user_data import decode_cooperative, encode_cooperative
from kgroup.protocol.topic_partition import TopicPartition


class CooperativeStickyAssignor:
    """Kafka's CooperativeStickyAssignor."""

    name = "cooperative-sticky"

    def assign(self, members: Sequence[GroupMember], topics: Sequence[Topic]) -> Assignment:
        """See `ClientAssignor.assign`. Partitions still to be revoked are with nobody."""
        view = leader_view(members, topics)
        ownership = settle(view, {member.member_id: cooperative_claim(member) for member in view.members})
        racks = sticky_racks(view)
        if equal_subscriptions(view):
            equal = assign_equal(view, ownership, racks)
            assignment, transferring = equal.assignment, equal.transferring
        else:
            assignment = assign_general(view, ownership, racks)
            transferring = changing_hands(view, assignment)
        for partition, member_id in transferring.items():
            assignment[member_id].remove(partition)
        return assignment

    def next_user_data(self, assigned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """The generation alone: what a member owns is a field of its subscription."""
        return encode_cooperative(generation)


def cooperative_claim(member: GroupMember) -> Claim:
    """The partitions a member owns by its subscription; generation as in the field or the user data."""
    if member.generation > NO_GENERATION:
        return Claim(partitions=member.owned_partitions, generation=member.generation)
    if member.user_data is None:
        return Claim(partitions=member.owned_partitions, generation=None)
    try:
        generation = decode_cooperative(member.user_data)
    except DecodeError:
        generation = NO_GENERATION
    return Claim(partitions=member.owned_partitions, generation=generation)


def changing_hands(view: LeaderView, assignment: Assignment) -> dict[TopicPartition, str]:
    """Partitions that one member is to lose and another to get, with the one to get them."""
    claims = {member.member_id: member.owned_partitions for member in view.members}
    added: dict[TopicPartition, str] = {}
    revoked: set[TopicPartition] = set()
    for member_id, partitions in assignment.items():
        owned = set(claims[member_id])
        added.update((partition, member_id) for partition in partitions if partition not in owned)
        revoked |= owned.difference(partitions)
    return {partition: member_id for partition, member_id in added.items() if partition in revoked}
