"""The group as the assigning leader holds it: Java maps of subscriptions and of partitions per topic."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from kgroup.assignors.java_order import string_order, utf16_key
from kgroup.assignors.model import GroupMember, Topic, require_distinct


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderView:
    """`members` in the order of the map of subscriptions; `topics` in that of the map of partitions.

    `topics` holds what somebody subscribes to and the metadata knows with at least one partition.
    """

    members: list[GroupMember]
    topics: dict[str, Topic]

    def same_topics(self) -> bool:
        """Whether all members name the same topics in the same order (a quick sufficient test)."""
        return len({member.topics for member in self.members}) <= 1


def leader_view(members: Sequence[GroupMember], topics: Iterable[Topic]) -> LeaderView:
    """Put members and topics into the order in which AbstractPartitionAssignor meets them.

    Raises InputError if a member id is given twice.
    """
    require_distinct(members)
    by_id = {member.member_id: member for member in members}
    in_order = [by_id[member_id] for member_id in string_order(by_id)]
    metadata = {topic.name: topic for topic in topics if topic.partitions > 0 and not topic.deleted}
    # A list of topics seen before adds nothing to the set.
    subscribed = string_order(chain.from_iterable(dict.fromkeys(member.topics for member in in_order)))
    existing = string_order(topic for topic in subscribed if topic in metadata)
    return LeaderView(members=in_order, topics={topic: metadata[topic] for topic in existing})


def by_instance_then_id(members: Iterable[GroupMember]) -> list[GroupMember]:
    """Static members by group.instance.id, then the others by member id (KIP-345's order)."""

    def key(member: GroupMember) -> tuple[bool, bytes]:
        dynamic = member.group_instance_id is None
        return dynamic, utf16_key(member.member_id if dynamic else member.group_instance_id or "")

    return sorted(members, key=key)


def rack_of(member: GroupMember) -> str | None:
    """The member's rack, None where it has none or an empty one (which counts as none)."""
    return member.rack_id or None


def needs_racks(member_racks: set[str], partition_racks: Iterable[frozenset[str]]) -> bool:
    """Whether racks can make a difference (KIP-881).

    They can if members and replicas share a rack and some partition is not in every rack.
    """
    racks = set(partition_racks)
    everywhere = frozenset(chain.from_iterable(racks))
    return not member_racks.isdisjoint(everywhere) and racks != {everywhere}


def racks_of_partitions(topic: Topic) -> list[frozenset[str]]:
    """Racks of the replicas of each partition in ascending order of id; none where none are known."""
    if not topic.replica_racks:
        return [frozenset()] * topic.partitions
    racks = [frozenset(rack for rack in replicas if rack is not None) for replicas in topic.replica_racks]
    if topic.partition_ids is None:
        return racks
    return [
        racks for _, racks in sorted(zip(topic.partition_ids, racks, strict=True), key=lambda pair: pair[0])
    ]
