"""Rebalances started by a change back to the classic protocol and lost with their coordinator."""

from collections.abc import Collection
from dataclasses import dataclass

from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.group.coordinator.classic.group import ClassicGroup, Member
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.consumer.migration import LAST_ONE_GONE
from kgroup.group.coordinator.events import (
    GenerationFormed,
    GroupDeleted,
    GroupEvent,
    GroupStable,
    RebalanceStarted,
)
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.protocol.requests.coordinator import JoinGroup
from kgroup.protocol.subscription import assigned_partitions
from kgroup.protocol.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """A downgrade's rebalance: the coordinator that began it, if it lives, and the log's generation."""

    hosted: HostedCoordinator | None
    generation: int


class Downgrades:
    """The rebalances that groups' downgrades began, while nothing has ended them or begun another.

    Kafka writes the classic group as it is Stable, each member with its target (`fromConsumerGroup` of Kafka
    4.3.1), and begins the rebalance afterwards, which no record tells of. A coordinator that loads
    the group then (`GroupMetadataManager.onLoaded`) begins none, unless the group is too large. So nobody has
    what the last members of the consumer protocol had, until a member comes, goes, or joins again: what is
    nobody's target, and what is the target of a member that was still to hear of it, as others had not given
    it up. A heartbeat in the group's generation tells it nothing. Nor does the answer to a follower that
    joins again and says what it said before: that is the generation that is there.

    Power may fail between the record and the word of what was begun. Then the log tells it: of a classic
    group that was not there, in a generation that no coordinator has formed.
    """

    def __init__(self) -> None:
        self._begun: dict[str, _Begun] = {}
        self._formed: dict[str, int] = {}  # the last generation by group
        self._told: dict[tuple[str, str], frozenset[TopicPartition]] = {}  # by group and member

    def heard(self, hosted: HostedCoordinator, event: GroupEvent) -> None:
        """A coordinator says what it did."""
        group_id, begun = event.group_id, self._begun.get(event.group_id)
        if isinstance(event, GenerationFormed):
            self._formed[group_id] = event.generation_id
        if isinstance(event, RebalanceStarted) and event.why == LAST_ONE_GONE:
            self._begun[group_id] = _Begun(hosted=hosted, generation=event.generation_id)
        elif begun is not None:
            is_over = isinstance(event, GenerationFormed | GroupStable | GroupDeleted)
            if is_over or hosted is not begun.hosted:
                del self._begun[group_id]

    def found(self, group_id: str, value: GroupMetadataValue) -> None:
        """Power is back, and the log has a classic group that was not there: nobody says who wrote it."""
        if value.members and self._formed.get(group_id) != value.generation:
            self._begun[group_id] = _Begun(hosted=None, generation=value.generation)

    def joins(self, hosted: HostedCoordinator, group: ClassicGroup | None, asked: JoinGroup) -> None:
        """A member joins at this coordinator: it is for that one now to begin a rebalance, if it has to."""
        begun = self._begun.get(asked.group_id)
        if begun is not None and hosted is not begun.hosted and not _hears_the_same(group, asked):
            del self._begun[asked.group_id]

    def synced(self, group_id: str, member_id: str, assignment: bytes) -> None:
        """A member hears what it has, from whichever coordinator."""
        self._told[group_id, member_id] = frozenset(assigned_partitions(assignment))

    def explain(
        self,
        hosted: HostedCoordinator,
        group: ClassicGroup,
        partition: TopicPartition,
        members: Collection[str],
    ) -> bool:
        """Whether this partition of a group has no reader for that reason; `members` ought to be in it."""
        begun = self._begun.get(group.group_id)
        return (
            begun is not None
            and hosted is not begun.hosted
            and group.state is GroupState.STABLE
            and group.generation_id == begun.generation
            and group.members.keys() == set(members)
            and not any(self._has_heard(group.group_id, each, partition) for each in group.members.values())
        )

    def _has_heard(self, group_id: str, member: Member, partition: TopicPartition) -> bool:
        """Whether this is the member's, and it knows that."""
        share = assigned_partitions(member.assignment)
        return partition in share and partition in self._told.get((group_id, member.member_id), share)


def _hears_the_same(group: ClassicGroup | None, asked: JoinGroup) -> bool:
    """Whether the answer to this JoinGroup begins no rebalance, and changes nobody's share.

    So it is for a follower that says what it said before, for a static member that has come back and does
    so, and for a newcomer, which is given an id to come back with (`classicGroupJoinNewMember`,
    `classicGroupJoinExistingMember` and `updateStaticMemberThenRebalanceOrCompleteJoin` of Kafka 4.3.1).
    """
    if group is None or group.state is not GroupState.STABLE:
        return False
    member_id = asked.member_id
    if not member_id and asked.group_instance_id is None:
        return asked.needs_known_id
    if not member_id:
        member_id = group.static_members.get(asked.group_instance_id or "", "")
    elif member_id == group.leader_id:
        return False
    member = group.members.get(member_id)
    return member is not None and member.protocols == asked.protocols
