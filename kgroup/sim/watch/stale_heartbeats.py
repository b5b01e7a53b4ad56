"""Partitions that a coordinator thinks given up because a heartbeat came twice, or too late."""

from collections.abc import Callable, Collection, Iterable
from uuid import UUID

from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import JOINING, ConsumerMember
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from kgroup.protocol.topic_partition import TopicPartition


class StaleHeartbeats:
    """Stale heartbeats that name what their members have: what the coordinator had given by then.

    Who joins says that it has nothing. The first copy's answer may have given the member partitions when the
    second arrives, and Kafka's coordinator believes that, too: it gives them to others. The same goes for any
    heartbeat that names partitions: `throwIfConsumerGroupMemberEpochIsInvalid` of 4.3.1 lets epoch 0 pass,
    the member's own epoch, and the one before it if all that is named is assigned to the member, as the
    answer may have been lost. The member hears so at its next heartbeat, which is fenced.

    No network of Kafka's delivers twice. But it delivers late: what a cut has held back comes through when it
    is mended, on a connection that the member has hung up and replaced, and a broker handles all that it
    reads before the end of a stream.
    """

    def __init__(self, name_of: Callable[[UUID], str | None]) -> None:
        self._name_of = name_of
        self._given: dict[tuple[str, str], tuple[int, frozenset[TopicPartition]]] = {}

    def taken(self, asked: ConsumerGroupHeartbeat, group: ConsumerGroup | None) -> None:
        """A coordinator is about to decide on a stale heartbeat; `group` is as it was before.

        Stale is a second copy, and what its member has hung up on since it sent it.
        """
        member = None if group is None else group.members.get(asked.member_id)
        if member is None or asked.topic_partitions is None:
            return
        assigned = named(member.assigned.items(), self._name_of)
        claimed = named(asked.topic_partitions, self._name_of)
        is_late = asked.member_epoch == member.previous_member_epoch and claimed <= assigned
        if asked.member_epoch in (JOINING, member.member_epoch) or is_late:
            given = held(member, self._name_of)
            self._given[asked.group_id, asked.member_id] = member.member_epoch, given - claimed

    def explain(
        self, group_id: str, member_id: str, epoch: int, partitions: Collection[TopicPartition]
    ) -> bool:
        """Whether a member at this epoch has these for that reason, although they are thought given up."""
        given_epoch, given = self._given.get((group_id, member_id), (JOINING, frozenset()))
        return epoch == given_epoch and given.issuperset(partitions)


def held(member: ConsumerMember, name_of: Callable[[UUID], str | None]) -> frozenset[TopicPartition]:
    """What the coordinator has given a member and not had back."""
    return named((*member.assigned.items(), *member.revoking.items()), name_of)


def named(
    owned: Iterable[tuple[UUID, Iterable[int]]], name_of: Callable[[UUID], str | None]
) -> frozenset[TopicPartition]:
    """Partitions of topic ids by their topics' names; of an id without a name there are none."""
    return frozenset(
        (name, partition)
        for topic_id, partitions in owned
        if (name := name_of(topic_id)) is not None
        for partition in partitions
    )
