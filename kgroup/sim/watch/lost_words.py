"""What a coordinator told a member of its share and does not know any more, as its log has lost its end."""

from uuid import UUID

from kgroup.group.coordinator.consumer.member import ConsumerMember
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeatResponse


class LostWord:
    """One process's last assignment, once what was decided with it is lost.

    A member that is told to give partitions up stays at its epoch until it has. If every copy of the log
    loses its end in between (`lose-writes`, which no acknowledgement outlives), the next coordinator has the
    member at that epoch with all of them, and takes no notice when it says that it has less: Kafka's
    `CurrentAssignmentBuilder` of 4.3.1 reads what a member has only while it waits for that member to give
    partitions up. Nor is an assignment repeated that has not changed. So nobody reads them before something
    changes, or the member says everything of itself.
    """

    def __init__(self) -> None:
        self._told: ConsumerGroupHeartbeatResponse | None = None
        self._is_lost = False

    def heard(self, answer: object) -> None:
        """An answer that the process waited for."""
        if isinstance(answer, ConsumerGroupHeartbeatResponse) and answer.assignment is not None:
            self._told, self._is_lost = answer, False

    def log_cut(self) -> None:
        """The log of its group has lost its end."""
        self._is_lost = True

    def explains(self, member: ConsumerMember, topic_id: UUID, partition: int) -> bool:
        """Whether the coordinator thinks that this is the member's, which it was told to give up before."""
        told = self._told
        if told is None or told.assignment is None or not self._is_lost or told.member_id != member.member_id:
            return False
        given = {topic.topic_id: topic.partitions for topic in told.assignment.topic_partitions}
        since_epoch = member.assigned.get(topic_id, {}).get(partition)
        return (
            since_epoch is not None
            and since_epoch <= told.member_epoch
            and partition not in given.get(topic_id, ())
        )
