"""The racks known to a sticky assignor (KIP-881)."""

from collections import Counter
from dataclasses import dataclass

from kgroup.assignors.client.leader_view import LeaderView, needs_racks, rack_of, racks_of_partitions
from kgroup.protocol.topic_partition import TopicPartition

_NOWHERE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class StickyRacks:
    """Racks of members and of partitions' replicas; all empty where racks make no difference.

    `members_near` counts, per partition, the members in a rack of one of its replicas.
    """

    of_member: dict[str, str]
    of_partition: dict[TopicPartition, frozenset[str]]
    members_near: dict[TopicPartition, int]

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack, and the partition no replica there."""
        rack = self.of_member.get(member_id)
        return rack is not None and rack not in self.of_partition.get(partition, _NOWHERE)


def sticky_racks(view: LeaderView) -> StickyRacks:
    """Collect the racks of a group."""
    of_member = {member.member_id: rack for member in view.members if (rack := rack_of(member))}
    nothing = StickyRacks(of_member={}, of_partition={}, members_near={})
    if not of_member:
        return nothing
    of_partition = {
        (topic.name, number): racks
        for topic in view.topics.values()
        for number, racks in zip(topic.ids(), racks_of_partitions(topic), strict=True)
    }
    if not needs_racks(set(of_member.values()), of_partition.values()):
        return nothing
    members = Counter(of_member.values())
    near = {racks: sum(members[rack] for rack in racks) for racks in set(of_partition.values())}
    return StickyRacks(
        of_member=of_member,
        of_partition=of_partition,
        members_near={partition: near[racks] for partition, racks in of_partition.items()},
    )
