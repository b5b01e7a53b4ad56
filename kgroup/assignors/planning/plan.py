"""A group as a plan: members, topics and current owners, to be put to any assignor round after round."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from uuid import NAMESPACE_OID, uuid5

from kgroup.assignors.model import NO_GENERATION, Assignment, GroupMember, TargetMember, Topic
from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMember:
    """A member. `owned` is what it was assigned last, in `generation` (-1: it is new)."""

    member_id: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None
    rack_id: str | None = None
    owned: tuple[TopicPartition, ...] = ()
    generation: int = NO_GENERATION


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """A group before a rebalance. `generation` is the last one; the answer is handed out in the next.

    Members are in the order in which the leader, or coordinator, puts them into its map. `previous`
    says who read each partition last, be it a member that left since.
    """

    members: tuple[PlanMember, ...]
    topics: tuple[Topic, ...]
    generation: int = 0
    previous: Mapping[TopicPartition, str]

    def after(self, assignment: Assignment) -> "GroupPlan":
        """The group once all members have received this assignment."""
        generation = self.generation + 1
        members = tuple(
            replace(member, owned=tuple(assignment.get(member.member_id, ())), generation=generation)
            for member in self.members
        )
        previous = {**self.previous, **_readers(members)}
        return replace(self, members=members, generation=generation, previous=previous)


def _readers(members: Iterable[PlanMember]) -> dict[TopicPartition, str]:
    return {partition: member.member_id for member in members for partition in member.owned}


def new_plan(members: Iterable[PlanMember], topics: Iterable[Topic], generation: int = 0) -> GroupPlan:
    """A plan in which the members own what they say."""
    listed = tuple(members)
    return GroupPlan(members=listed, topics=tuple(topics), generation=generation, previous=_readers(listed))


def assign_plan(name: str, plan: GroupPlan) -> Assignment:
    """Put the plan to the assignor of this name in `ASSIGNORS`.

    Raises AssignorError where Kafka throws, and InputError for a plan that contradicts itself.
    """
    entry = ASSIGNORS[name]
    if entry.client is not None:
        return entry.client.assign(client_members(name, plan), plan.topics)
    assert entry.server is not None
    target = entry.server.assign(_target_members(plan), _with_ids(plan))
    flat = {
        member_id: [(topic, number) for topic, numbers in topics.items() for number in numbers]
        for member_id, topics in target.items()
    }
    # Where nobody has topics, the coordinator's assignors answer nothing at all.
    return {member.member_id: flat.get(member.member_id, []) for member in plan.members}


def client_members(name: str, plan: GroupPlan) -> list[GroupMember]:
    """The members as they would join for a rebalance under this client-side assignor.

    Under an eager protocol they have revoked everything before, and only user data remembers it.
    """
    entry = ASSIGNORS[name]
    assert entry.client is not None
    cooperative = entry.protocol is Protocol.COOPERATIVE
    return [
        GroupMember(
            member_id=member.member_id,
            topics=member.topics,
            group_instance_id=member.group_instance_id,
            rack_id=member.rack_id,
            owned_partitions=member.owned if cooperative else (),
            generation=member.generation,
            user_data=None
            if member.generation == NO_GENERATION
            else entry.client.next_user_data(member.owned, member.generation),
        )
        for member in plan.members
    ]


def _target_members(plan: GroupPlan) -> list[TargetMember]:
    return [
        TargetMember(
            member_id=member.member_id,
            topics=member.topics,
            group_instance_id=member.group_instance_id,
            assigned=group_by_topic(member.owned),
        )
        for member in plan.members
    ]


def _with_ids(plan: GroupPlan) -> list[Topic]:
    """The topics with an id each: where it is not known, one made from the name.

    Among topics that are alike, `uniform` goes by their ids. Topics that are owned but gone are deleted.
    """
    existing = {topic.name for topic in plan.topics}
    gone = dict.fromkeys(name for member in plan.members for name, _ in member.owned if name not in existing)
    return [
        topic if topic.topic_id else replace(topic, topic_id=uuid5(NAMESPACE_OID, topic.name))
        for topic in (*plan.topics, *(Topic(name=name, partitions=0, deleted=True) for name in gone))
    ]
