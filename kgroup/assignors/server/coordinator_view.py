"""The group as the assigning coordinator holds it: Java maps by member id, topic name and topic id."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kgroup.assignors.java_order import (
    DEFAULT_TABLE,
    sorted_strings,
    spread,
    spread_order,
    string_order,
    table_for_copy,
    utf16_key,
    uuid_hash,
)
from kgroup.assignors.model import AssignorError, TargetAssignment, TargetMember, Topic, require_distinct
from kgroup.errors import InputError


@dataclass(frozen=True, kw_only=True)
class CoordinatorView:
    """`members` in the order of the coordinator's map; `topics` are those there are, by name.

    `topic_hashes` and `topic_spreads` are the hash codes of the topics' ids and what HashMap makes
    of them, also for a topic that is gone but still assigned.
    """

    members: list[TargetMember]
    topics: dict[str, Topic]
    topic_hashes: dict[str, int]
    topic_spreads: dict[str, int]
    said_homogeneous: bool | None = None
    # Members mostly share a few lists of topics.
    _in_set_order: dict[tuple[str, ...], list[str]] = field(default_factory=dict)

    @cached_property
    def homogeneous(self) -> bool:
        """True if the coordinator says so; without its word, if all members subscribe to the same topics."""
        if self.said_homogeneous is not None:
            return self.said_homogeneous
        return len({frozenset(topics) for topics in {member.topics for member in self.members}}) <= 1

    def subscribed(self, member: TargetMember) -> list[str]:
        """The topics that the member wants and that there are, in the order of a HashSet by *name*."""
        if member.topics not in self._in_set_order:
            in_order = string_order(member.topics, table_for_copy(len(member.topics)))
            self._in_set_order[member.topics] = [name for name in in_order if name in self.topics]
        return self._in_set_order[member.topics]

    def in_map_order(self, names: Collection[str], table: int = DEFAULT_TABLE) -> list[str]:
        """Topics in the order of a map by their *ids*, given in the order in which they were put."""
        listed = list(names)
        return spread_order(listed, [self.topic_spreads[name] for name in listed], table)

    def by_name(self, assignment: Mapping[str, Mapping[str, Sequence[int]]]) -> TargetAssignment:
        """Sorted as answers are: topics by name, partitions ascending."""
        names = sorted_strings({topic for topics in assignment.values() for topic in topics})
        ranks = {name: rank for rank, name in enumerate(names)}
        return {
            member_id: {name: _ascending(topics[name]) for name in sorted(topics, key=ranks.__getitem__)}
            for member_id, topics in assignment.items()
        }


def coordinator_view(
    members: Sequence[TargetMember], topics: Sequence[Topic], homogeneous: bool | None = None
) -> CoordinatorView:
    """Put members into the coordinator's order.

    Raises InputError if a member id is given twice, a topic has no id, or a member is assigned a
    topic that is not among `topics`.
    """
    require_distinct(members)
    hashes: dict[str, int] = {}
    for topic in topics:
        if topic.topic_id is None:
            raise InputError(f"topic {topic.name!r}: a server-side assignor needs its topic id")
        hashes[topic.name] = uuid_hash(topic.topic_id)
    for member in members:
        for name in member.assigned:
            if name not in hashes:
                raise InputError(
                    f"member {member.member_id!r}, assigned: topic {name!r} is not among the topics"
                )
    by_id = {member.member_id: member for member in members}
    return CoordinatorView(
        members=[by_id[member_id] for member_id in string_order(by_id)],
        topics={topic.name: topic for topic in topics if not topic.deleted},
        topic_hashes=hashes,
        topic_spreads={name: spread(code) for name, code in hashes.items()},
        said_homogeneous=homogeneous,
    )


def _ascending(numbers: Sequence[int]) -> list[int]:
    return list(numbers) if len(numbers) < 2 else sorted(set(numbers))


def static_then_id(member: TargetMember) -> tuple[bool, bytes]:
    """Sort key: static members by group.instance.id, then the others by member id."""
    dynamic = member.group_instance_id is None
    return dynamic, utf16_key(member.member_id if dynamic else member.group_instance_id or "")


def left_unassigned() -> AssignorError:
    """The exception of `uniform` when members are full and partitions are left."""
    return AssignorError(
        "org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException",
        "Partitions were left unassigned",
        "partitions assigned that do not exist count as taken",
    )
