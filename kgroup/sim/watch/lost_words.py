"""What a coordinator told a member of its share and does not know any more, as its log has lost its end."""

from uuid import UUID

from kgroup.group.coordinator.consumer.member import ConsumerMember
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse


class LostWords:
    """Assignments that coordinators gave in answers, once what was decided with them is lost.

    A member that is told to give partitions up stays at its epoch until it has. If every copy of the log
    loses its end in between (`lose-writes`, which no acknowledgement outlives), the next coordinator has the
    member at that epoch with all of them, and takes no notice when it says that it has less: Kafka's
    `CurrentAssignmentBuilder` of 4.3.1 reads what a member has only while it waits for that member to give
    partitions up. Nor is an assignment repeated that has not changed. So nobody reads them before something
    changes, or the member says everything of itself.
    """

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], ConsumerGroupHeartbeatResponse] = {}
        self._lost: set[tuple[str, str]] = set()  # those of them that were given before the last loss

    def answered(self, asked: ConsumerGroupHeartbeat, answer: ConsumerGroupHeartbeatResponse) -> None:
        """A coordinator answers, and may say what its member has from now on."""
        if answer.error_code is ErrorCode.NONE and answer.assignment is not None:
            key = (asked.group_id, asked.member_id)
            self._told[key] = answer
            self._lost.discard(key)

    def log_cut(self) -> None:
        """A log has lost its end, and coordinators what they had decided."""
        self._lost = set(self._told)

    def explain(self, group_id: str, member: ConsumerMember, topic_id: UUID, partition: int) -> bool:
        """Whether the coordinator thinks that this is the member's, which it was told to give up before."""
        key = (group_id, member.member_id)
        if key not in self._lost:
            return False
        told = self._told[key]
        assert told.assignment is not None
        given = {topic.topic_id: topic.partitions for topic in told.assignment.topic_partitions}
        since_epoch = member.assigned.get(topic_id, {}).get(partition)
        return (
            since_epoch is not None
            and since_epoch <= told.member_epoch
            and partition not in given.get(topic_id, ())
        )
