"""`range`: every topic by itself, cut into consecutive runs, one per subscriber.

Source: RangeAssignor of Kafka 4.3.1; rack matching is KIP-881. Members come in the order "static by
group.instance.id, then by member id"; the first ones get one partition more where a topic does not
divide. Uneven, and with every further topic more so: the same members are first each time.
"""

from collections.abc import Callable, Sequence

from kgroup.assignors.client.leader_view import (
    LeaderView,
    by_instance_then_id,
    leader_view,
    needs_racks,
    rack_of,
    racks_of_partitions,
)
from kgroup.assignors.java_order import string_ranks
from kgroup.assignors.model import Assignment, GroupMember, Topic
from kgroup.protocol.topic_partition import TopicPartition

# A filter of a topic's partition ids, for one member.
Match = Callable[[int], bool]


class RangeAssignor:
    """Kafka's RangeAssignor."""

    name = "range"

    def assign(self, members: Sequence[GroupMember], topics: Sequence[Topic]) -> Assignment:
        """See `ClientAssignor.assign`. Answers an empty group with an empty assignment."""
        view = leader_view(members, topics)
        states = [_TopicState(topic, subscribers) for topic, subscribers in _subscribers(view)]
        assignment: Assignment = {member.member_id: [] for member in view.members}
        if not any(state.needs_racks for state in states):
            for state in states:
                state.assign_whole(assignment)
            return assignment
        _match_racks(states, assignment)
        for state in states:
            state.assign_rest(assignment)
        ranks = string_ranks(view.topics)
        for partitions in assignment.values():
            partitions.sort(key=lambda partition: (ranks[partition[0]], partition[1]))
        return assignment

    def next_user_data(self, assigned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """Always None: `range` remembers nothing."""
        return None


def _subscribers(view: LeaderView) -> list[tuple[Topic, list[GroupMember]]]:
    ordered = by_instance_then_id(view.members)
    if view.same_topics():
        return [(topic, ordered) for topic in view.topics.values()]
    by_topic: dict[str, list[GroupMember]] = {name: [] for name in view.topics}
    for member in ordered:
        for name in dict.fromkeys(member.topics):
            if name in by_topic:
                by_topic[name].append(member)
    return [(view.topics[name], subscribers) for name, subscribers in by_topic.items()]


class _TopicState:
    """The rest of one topic, and the number of partitions each subscriber may still take."""

    def __init__(self, topic: Topic, subscribers: list[GroupMember]) -> None:
        self.topic = topic
        self.subscribers = subscribers
        self.quota, self._extra = divmod(topic.partitions, len(subscribers))
        racks = {rack for rack in map(rack_of, subscribers) if rack}
        self.racks = dict(zip(topic.ids(), racks_of_partitions(topic), strict=True)) if racks else {}
        self.needs_racks = needs_racks(racks, self.racks.values())
        self._taken: dict[str, int] = {}
        self._given: set[int] = set()

    def assign_whole(self, assignment: Assignment) -> None:
        """Cut the topic, of which nothing has been given, into runs."""
        name = self.topic.name
        partitions = [(name, number) for number in self.topic.ids()]
        start = 0
        for index, member in enumerate(self.subscribers):
            if start == len(partitions):
                return
            stop = start + self.quota + (index < self._extra)
            assignment[member.member_id].extend(partitions[start:stop])
            start = stop

    def room(self, member_id: str) -> int:
        """The number of partitions the member may still take."""
        return max(0, self.quota + (self._extra > 0) - self._taken.get(member_id, 0))

    def matches(self, rack: str | None, number: int) -> bool:
        """Whether a member in `rack` has a replica of the partition near; without a rack it always has."""
        return rack is None or rack in self.racks.get(number, ())

    def give(self, member_id: str, numbers: Sequence[int], assignment: Assignment) -> None:
        """Hand partitions to a member, which may use up one of the topic's places for one more."""
        name = self.topic.name
        assignment[member_id].extend((name, number) for number in numbers)
        self._taken[member_id] = self._taken.get(member_id, 0) + len(numbers)
        if self._taken[member_id] > self.quota:
            self._extra -= 1
        self._given.update(numbers)

    def assign_matching(self, assignment: Assignment) -> None:
        """Each subscriber in turn takes the first free partitions that its rack has."""
        # Members of one rack take from the same list: what lies before a stop is given already.
        waiting: dict[str | None, list[int]] = {}
        for member in self.subscribers:
            rack = rack_of(member)
            if rack not in waiting:
                waiting[rack] = [number for number in self.topic.ids() if self.matches(rack, number)][::-1]
            self._take_from(waiting[rack], member.member_id, assignment)

    def assign_rest(self, assignment: Assignment) -> None:
        """Each subscriber in turn takes the first free partitions, whatever the racks."""
        waiting = list(self.topic.ids())[::-1]
        for member in self.subscribers:
            self._take_from(waiting, member.member_id, assignment)

    def _take_from(self, waiting: list[int], member_id: str, assignment: Assignment) -> None:
        room = self.room(member_id)
        numbers: list[int] = []
        # Ends: each turn takes one from `waiting`.
        while waiting and len(numbers) < room:
            number = waiting.pop()
            if number not in self._given:
                numbers.append(number)
        if numbers:
            self.give(member_id, numbers, assignment)


def _match_racks(states: list[_TopicState], assignment: Assignment) -> None:
    """Hand out what can be near, topics with equal subscribers and equal counts together.

    Co-partitioning goes before racks: partition p of all such topics goes to one member or to none.
    """
    together: dict[tuple[frozenset[tuple[str, str | None]], int], list[_TopicState]] = {}
    for state in states:
        subscribers = frozenset((member.member_id, rack_of(member)) for member in state.subscribers)
        together.setdefault((subscribers, len(state.racks)), []).append(state)
    for (_, partitions), group in together.items():
        if len(group) > 1:
            _match_together(group, partitions, assignment)
        elif group[0].needs_racks:
            group[0].assign_matching(assignment)


def _match_together(states: list[_TopicState], partitions: int, assignment: Assignment) -> None:
    # All states have taken the same steps, so the room in the first is the room in each.
    first = states[0]
    remaining = first.subscribers
    for number in range(partitions):
        shared = frozenset.intersection(*(state.racks.get(number, frozenset()) for state in states))
        member = next(
            (
                member
                for member in remaining
                if ((rack := rack_of(member)) is None or rack in shared) and first.room(member.member_id)
            ),
            None,
        )
        if member is None:
            continue
        for state in states:
            state.give(member.member_id, [number], assignment)
        if not first.room(member.member_id):
            remaining = [other for other in remaining if other is not member]
            if not remaining:
                return
