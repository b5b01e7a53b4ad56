"""Partitions that a coordinator thinks given up because a joining heartbeat came twice."""

from collections.abc import Callable, Collection
from uuid import UUID

from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import JOINING
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from kgroup.protocol.topic_partition import TopicPartition


class Copies:
    """Second copies of joining heartbeats: what the coordinator had given the member by then.

    Who joins says that it has nothing. The first copy's answer may have given the member partitions when the
    second arrives, and Kafka's coordinator believes that, too: it gives them to others
    (`throwIfConsumerGroupMemberEpochIsInvalid` of 4.3.1 lets epoch 0 pass). The member hears so at its next
    heartbeat, which is fenced. No network of Kafka's delivers twice.
    """

    def __init__(self, name_of: Callable[[UUID], str | None]) -> None:
        self._name_of = name_of
        self._given: dict[tuple[str, str], tuple[int, frozenset[TopicPartition]]] = {}

    def taken(self, asked: ConsumerGroupHeartbeat, group: ConsumerGroup | None) -> None:
        """A coordinator is about to decide on a second copy; `group` is as it was before."""
        member = None if group is None else group.members.get(asked.member_id)
        if asked.member_epoch != JOINING or member is None:
            return
        given = frozenset(
            (name, partition)
            for owned in (member.assigned, member.revoking)
            for topic_id, partitions in owned.items()
            if (name := self._name_of(topic_id)) is not None
            for partition in partitions
        )
        self._given[asked.group_id, asked.member_id] = member.member_epoch, given

    def explain(
        self, group_id: str, member_id: str, epoch: int, partitions: Collection[TopicPartition]
    ) -> bool:
        """Whether a member at this epoch has these for that reason, although they are thought given up."""
        given_epoch, given = self._given.get((group_id, member_id), (JOINING, frozenset()))
        return epoch == given_epoch and given.issuperset(partitions)
