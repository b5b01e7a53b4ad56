"""Partitions that a coordinator gives away in an answer nobody waits for, as the request came twice."""

from collections.abc import Iterable, Mapping
from uuid import UUID

from kgroup.group.coordinator.consumer.member import JOINING, ConsumerMember
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import (
    AssignedTopic,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)


class Unheard:
    """One process's assignment in the answer to the second copy of its joining heartbeat.

    Kafka's coordinator (`GroupMetadataManager.consumerGroupHeartbeat` of 4.3.1) sends an assignment to who
    joins, to who says everything of itself, and when what the member may own has changed. To a heartbeat that
    arrives twice it sends the assignment of then twice: if there was more to give by the second time, the
    member has not heard of that, and will not before something changes. No network of Kafka's delivers twice.
    This tells that case from every other one in which a member lacks what its coordinator gave it.
    """

    def __init__(self) -> None:
        self._member_id: str | None = None
        self._given: dict[UUID, frozenset[int]] | None = None

    def answered_again(self, asked: object, answer: object) -> None:
        """An answer reaches the process to a request that it has an answer to already."""
        if not isinstance(asked, ConsumerGroupHeartbeat) or asked.member_epoch != JOINING:
            return
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        if answer.error_code is ErrorCode.NONE and answer.assignment is not None:
            self._member_id = asked.member_id
            self._given = _partitions(answer.assignment.topic_partitions)

    def heard(self, answer: object) -> None:
        """An answer that the process waited for: an assignment in it makes up for the unheard one."""
        if isinstance(answer, ConsumerGroupHeartbeatResponse) and answer.assignment is not None:
            self._given = None

    def explains(self, member: ConsumerMember) -> bool:
        """Whether all that the coordinator gives this member is what it did not hear."""
        return self._member_id == member.member_id and self._given == _owned(member.assigned)


def _partitions(topics: Iterable[AssignedTopic]) -> dict[UUID, frozenset[int]]:
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics if topic.partitions}


def _owned(assigned: Mapping[UUID, Iterable[int]]) -> dict[UUID, frozenset[int]]:
    every = {topic_id: frozenset(partitions) for topic_id, partitions in assigned.items()}
    return {topic_id: partitions for topic_id, partitions in every.items() if partitions}
