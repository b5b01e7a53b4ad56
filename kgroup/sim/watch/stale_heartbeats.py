"""Partitions that a coordinator thinks given up because a heartbeat came twice, or too late."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import JOINING, ConsumerMember
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.protocol.topic_partition import TopicPartition


@dataclass(slots=True)
class _Given:
    """The partitions that a member keeps from its coordinator, in these epochs, both included."""

    first_epoch: int
    last_epoch: int
    partitions: frozenset[TopicPartition]


class StaleHeartbeats:
    """Stale heartbeats that name what their members have: what the coordinator had given by then.

    Who joins says that it has nothing. The first copy's answer may have given the member partitions when the
    second arrives, and Kafka's coordinator believes that, too: it gives them to others. The same goes for any
    heartbeat that names partitions: `throwIfConsumerGroupMemberEpochIsInvalid` of 4.3.1 lets epoch 0 pass,
    the member's own epoch, and the one before it if all that is named is assigned to the member, as the
    answer may have been lost. The member hears so at its next heartbeat, which is fenced, unless it is at the
    epoch of before: then it goes on, and so does what it has, until it is given another assignment.

    No network of Kafka's delivers twice. But it delivers late: what a cut has held back comes through when it
    is mended, on a connection that the member has hung up and replaced, and a broker handles all that it
    reads before the end of a stream.
    """

    def __init__(self, name_of: Callable[[UUID], str | None]) -> None:
        self._name_of = name_of
        self._given: dict[tuple[str, str], _Given] = {}

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
            more = held(member, self._name_of) - claimed
            epoch = member.member_epoch
            self._given[asked.group_id, asked.member_id] = _Given(epoch, epoch, more)

    def answered(self, asked: ConsumerGroupHeartbeat, answer: ConsumerGroupHeartbeatResponse) -> None:
        """A coordinator answers a heartbeat that is not stale: its member may go on to another epoch."""
        given = self._given.get((asked.group_id, asked.member_id))
        if given is None or answer.error_code is not ErrorCode.NONE or answer.assignment is not None:
            return
        if given.first_epoch <= asked.member_epoch <= given.last_epoch:
            given.last_epoch = max(given.last_epoch, answer.member_epoch)

    def explain(
        self, group_id: str, member_id: str, epoch: int, partitions: Collection[TopicPartition]
    ) -> bool:
        """Whether a member at this epoch has these for that reason, although they are thought given up."""
        given = self._given.get((group_id, member_id))
        return (
            given is not None
            and given.first_epoch <= epoch <= given.last_epoch
            and given.partitions.issuperset(partitions)
        )

    def explain_readers(
        self, group_id: str, readers: Iterable[tuple[str, int]], partition: TopicPartition
    ) -> bool:
        """Whether all of these members, at these epochs, but one have a partition for that reason."""
        unexplained = [
            member_id
            for member_id, epoch in readers
            if not self.explain(group_id, member_id, epoch, (partition,))
        ]
        return len(unexplained) <= 1


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
