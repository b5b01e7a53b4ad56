"""`uniform` for groups whose members subscribe to different topics.

Source: the heterogeneous assignment of Kafka 4.3.1's UniformAssignor. Topics are taken one at a time,
those with most partitions per subscriber first: what is free goes to the subscribers with least, then
each topic is levelled out between its own subscribers.
"""

from kgroup.assignors.model import AssignorError, TargetAssignment
from kgroup.assignors.server.coordinator_view import CoordinatorView

_PASSES_MAX = 16


def assign_mixed(view: CoordinatorView) -> TargetAssignment:
    """Balance a group with different subscriptions; empty where no member wants a topic that exists."""
    group = _Group(view)
    if not group.subscribers:
        return {}
    group.keep_wanted()
    group.hand_out()
    group.balance()
    return group.assignment


class _Group:
    """Members are numbered in the coordinator's order; `owners[topic][partition]` is a number or None."""

    def __init__(self, view: CoordinatorView) -> None:
        self._view = view
        self.subscribers: dict[str, list[int]] = {}
        subscriptions = [view.subscribed(member) for member in view.members]
        self._subscribed = list(map(set, subscriptions))
        for number, names in enumerate(subscriptions):
            for name in names:
                self.subscribers.setdefault(name, []).append(number)
        self._owners: dict[str, list[int | None]] = {
            name: [None] * view.topics[name].partitions for name in self.subscribers
        }
        self._sizes = [0] * len(view.members)
        self.assignment: TargetAssignment = {member.member_id: {} for member in view.members}
        self._member_ids = [member.member_id for member in view.members]

    def keep_wanted(self) -> None:
        """Let members keep what they still subscribe to."""
        for number, member in enumerate(self._view.members):
            for name, partitions in member.assigned.items():
                if name not in self._subscribed[number]:
                    continue
                kept = list(dict.fromkeys(partitions))
                self.assignment[member.member_id][name] = kept
                self._sizes[number] += len(kept)
                owners = self._owners[name]
                for partition in kept:
                    if partition >= len(owners):
                        raise _out_of_bounds(name, partition, len(owners))
                    owners[partition] = number

    def hand_out(self) -> None:
        """Give the partitions that nobody has to the subscribers with least."""
        for name in self._by_density():
            level = None
            for partition, owner in enumerate(self._owners[name]):
                if owner is None:
                    level = level or _Level(self.subscribers[name], self._sizes)
                    self._give(name, partition, level.next_least())

    def balance(self) -> None:
        """Level out each topic that has more than one subscriber, until none changes.

        Ends after 16 passes, as Kafka's does: subscriptions that overlap can take many to settle.
        """
        topics = [name for name in self._by_density() if len(self.subscribers[name]) >= 2]
        last_changed = -1
        for _ in range(_PASSES_MAX if topics else 0):
            for index, name in enumerate(topics):
                if index == last_changed:
                    return
                if self._level_out(name) or last_changed == -1:
                    last_changed = index

    def _by_density(self) -> list[str]:
        """Most partitions per subscriber first, then fewest subscribers, then by topic id (signed)."""

        def key(name: str) -> tuple[float, int, int, int]:
            topic = self._view.topics[name]
            count = len(self.subscribers[name])
            assert topic.topic_id is not None
            high, low = divmod(topic.topic_id.int, 1 << 64)
            return -(topic.partitions / count), count, _signed(high), _signed(low)

        return sorted(self.subscribers, key=key)

    def _level_out(self, name: str) -> int:
        """Move partitions of a topic from its most to its least loaded subscribers; returns how many.

        Ends: each turn takes one partition of the topic, and none is taken twice.
        """
        level = _Level(self.subscribers[name], self._sizes)
        if level.imbalance() <= 1:
            return 0
        held: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[name]):
            if owner is not None:
                held.setdefault(owner, []).append(partition)
        moved = 0
        while True:
            source = level.next_most()
            while source is not None and not held.get(source):
                level.exclude_most()
                source = level.next_most()
            if source is None:
                return moved
            partition = held[source].pop()
            destination = level.next_least()
            if level.is_balanced():
                return moved
            self._give(name, partition, destination)
            moved += 1

    def _give(self, name: str, partition: int, number: int) -> None:
        owner = self._owners[name][partition]
        if owner is not None:
            topics = self.assignment[self._member_ids[owner]]
            topics[name].remove(partition)
            if not topics[name]:
                del topics[name]
            self._sizes[owner] -= 1
        self.assignment[self._member_ids[number]].setdefault(name, []).append(partition)
        self._owners[name][partition] = number
        self._sizes[number] += 1


def _out_of_bounds(name: str, partition: int, count: int) -> AssignorError:
    message = f"Index {partition} out of bounds for length {count}"
    why = f"{name}-{partition} is assigned, and does not exist"
    return AssignorError("java.lang.ArrayIndexOutOfBoundsException", message, why)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


class _Level:
    """Subscribers of one topic by load: the low end to give to, the high end to take from.

    Both ends are ranges of members with one size. When a range has been gone through once, its size
    changes by one and it takes in the neighbours that have that size. `members` come in ascending
    order, which those of one size keep.
    """

    def __init__(self, members: list[int], sizes: list[int]) -> None:
        self._sizes = sizes
        self._members = sorted(members, key=sizes.__getitem__)
        self._low_end = 0
        self._low_size = sizes[self._members[0]] - 1
        self._low_next = 0
        self._high_start = self._high_end = len(members)
        self._high_size = sizes[self._members[-1]] + 1
        self._high_next = len(members) - 1

    def imbalance(self) -> int:
        """Difference between the greatest and the smallest size at the start."""
        return self._high_size - self._low_size - 2

    def is_balanced(self) -> bool:
        """Whether the sizes of the two ranges differ by one at most."""
        return self._high_size - self._low_size <= 1

    def next_least(self) -> int:
        """The member to give the next partition to."""
        if self._low_next >= self._low_end:
            self._low_size += 1
            while self._low_end < len(self._members) and self._size_at(self._low_end) == self._low_size:
                self._low_end += 1
            self._low_next = 0
        member = self._members[self._low_next]
        self._low_next += 1
        return member

    def next_most(self) -> int | None:
        """The member to take the next partition from; None if all were excluded."""
        if self._high_next < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                # All of the range was excluded; continue with the next lower size.
                self._high_size = self._size_at(self._high_start - 1)
            else:
                self._high_size -= 1
            while self._high_start > 0 and self._size_at(self._high_start - 1) == self._high_size:
                self._high_start -= 1
            self._high_next = self._high_end - 1
        if self._high_next < 0:
            return None
        member = self._members[self._high_next]
        self._high_next -= 1
        return member

    def exclude_most(self) -> None:
        """Leave the member last answered by `next_most` out: it has nothing to give."""
        index, last = self._high_next + 1, self._high_end - 1
        self._members[index], self._members[last] = self._members[last], self._members[index]
        self._high_end -= 1

    def _size_at(self, index: int) -> int:
        return self._sizes[self._members[index]]
