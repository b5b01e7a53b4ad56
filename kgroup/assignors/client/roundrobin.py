"""`roundrobin`: all partitions in one sequence, dealt out in turn.

Source: RoundRobinAssignor of Kafka 4.3.1. Topics come by name, partitions by number, members in the
order "static by group.instance.id, then by member id"; a member that does not want the topic is
passed over, which is why unequal subscriptions can end far from balanced.
"""

from bisect import bisect_left
from collections.abc import Sequence

from kgroup.assignors.client.leader_view import by_instance_then_id, leader_view
from kgroup.assignors.java_order import sorted_strings
from kgroup.assignors.model import Assignment, AssignorError, GroupMember, Topic
from kgroup.protocol.topic_partition import TopicPartition


class RoundRobinAssignor:
    """Kafka's RoundRobinAssignor."""

    name = "roundrobin"

    def assign(self, members: Sequence[GroupMember], topics: Sequence[Topic]) -> Assignment:
        """See `ClientAssignor.assign`.

        Partitions are counted 0..n-1 even where the ids have gaps, as Kafka does. Raises
        AssignorError for an empty group.
        """
        if not members:
            raise AssignorError(
                "java.lang.IllegalArgumentException",
                "CircularIterator can only be used on non-empty lists",
                "the group has no members",
            )
        view = leader_view(members, topics)
        ordered = by_instance_then_id(view.members)
        everyone = range(len(ordered))
        same_topics = view.same_topics()
        assignment: Assignment = {member.member_id: [] for member in view.members}
        hands = [assignment[member.member_id] for member in ordered]
        turn = 0
        for name in sorted_strings(view.topics):
            takers = everyone if same_topics else [i for i in everyone if name in ordered[i].topics]
            start = bisect_left(takers, turn) % len(takers)
            count = view.topics[name].partitions
            partitions = [(name, number) for number in range(count)]
            for index in range(min(count, len(takers))):
                hands[takers[(start + index) % len(takers)]].extend(partitions[index :: len(takers)])
            turn = (takers[(start + count - 1) % len(takers)] + 1) % len(ordered)
        return assignment

    def next_user_data(self, assigned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """Always None: `roundrobin` remembers nothing."""
        return None
