"""The sticky assignment of a group whose members subscribe to different topics.

Source: the general assignment of Kafka 4.3.1's AbstractStickyAssignor. What members own and still may
own stays; the rest goes to the member that has least; then partitions move from members with more to members
with less until no move helps.
"""

from collections import Counter

from kgroup.assignors.client.leader_view import LeaderView
from kgroup.assignors.client.sticky_claims import Ownership, left_over
from kgroup.assignors.client.sticky_moves import Moves
from kgroup.assignors.client.sticky_racks import StickyRacks
from kgroup.assignors.java_order import string_order, string_ranks, table_for
from kgroup.assignors.model import Assignment, AssignorError, EndlessError
from kgroup.protocol.topic_partition import TopicPartition


def assign_general(view: LeaderView, ownership: Ownership, racks: StickyRacks) -> Assignment:
    """Balance a group with different subscriptions; members in the order of Kafka's map.

    Raises AssignorError where partition ids with gaps, or claims of partitions that do not exist,
    make Kafka look up a partition that nobody has.
    """
    return balance_general(GeneralGroup(view, ownership, racks), tolerance=1)


def balance_general(group: "GeneralGroup", *, tolerance: int) -> Assignment:
    """Hand out what is free and balance; sizes that differ by `tolerance` count as balanced for a topic."""
    waiting = group.drop_unwanted()
    nothing_owned = not any(group.held.values())
    group.hand_out(waiting)
    group.set_fixed_aside()
    before = {member_id: list(partitions) for member_id, partitions in group.held.items()}
    balancer = Balancer(group, tolerance)
    try:
        if not group.had_unwanted:
            balancer.balance(group.movable(waiting))
        moved = balancer.balance(group.movable(group.everything))
    except KeyError as missing:
        why = f"it looks up {missing.args[0]!r}, which it has set aside or which nobody has"
        raise AssignorError("java.lang.NullPointerException", None, why) from None
    if moved and not nothing_owned and _unevenness(group.held) >= _unevenness(before):
        group.held = before
    return group.result()


def _unevenness(held: dict[str, list[TopicPartition]]) -> int:
    """Sum of the differences in size over all pairs of members: 0 is perfect balance."""
    sizes = sorted(map(len, held.values()))
    return sum(size * (2 * rank - len(sizes) + 1) for rank, size in enumerate(sizes))


class GeneralGroup:
    """The members, what they may have and what they hold."""

    def __init__(self, view: LeaderView, ownership: Ownership, racks: StickyRacks) -> None:
        self.view = view
        self.racks = racks
        self.previous = ownership.previous
        self.had_unwanted = False
        # A topic named twice in a subscription counts twice, here as in Kafka.
        self.takers: dict[str, list[str]] = {name: [] for name in view.topics}
        self.wanted: dict[str, list[str]] = {}
        for member in view.members:
            self.wanted[member.member_id] = [name for name in member.topics if name in view.topics]
            for name in self.wanted[member.member_id]:
                self.takers[name].append(member.member_id)
        self.ranks = string_ranks(self.wanted)
        self.held = {member_id: ownership.owned[member_id] for member_id in string_order(ownership.owned)}
        self.owner = {partition: m for m, partitions in self.held.items() for partition in partitions}
        self._fixed: dict[str, list[TopicPartition]] = {}
        places = string_ranks(view.topics)
        topics = sorted(view.topics, key=lambda name: (len(self.takers[name]), places[name]))
        self._topic_places = {name: rank for rank, name in enumerate(topics)}
        self.everything = [(name, number) for name in topics for number in view.topics[name].ids()]
        total = sum(topic.partitions for topic in view.topics.values())
        self.most = {
            member_id: total
            if len(names) == len(view.topics)
            else sum(view.topics[name].partitions for name in names)
            for member_id, names in self.wanted.items()
        }

    def drop_unwanted(self) -> list[TopicPartition]:
        """Take from members what they no longer want or is too far; return what is to be handed out."""
        kept: list[TopicPartition] = []
        for member_id, partitions in self.held.items():
            wanted_topics = set(self.wanted[member_id])
            mine = [p for p in partitions if p[0] in wanted_topics and not self.racks.mismatch(member_id, p)]
            self.had_unwanted |= len(mine) < len(partitions)
            self.held[member_id] = mine
            kept += mine
        if not kept:
            return list(self.everything)
        places = self._topic_places
        return left_over(self.everything, kept, lambda partition: (places[partition[0]], partition[1]))

    def hand_out(self, waiting: list[TopicPartition]) -> None:
        """Give each partition to the member with least that wants it, near ones first."""
        if self.racks.of_member:
            waiting = [partition for partition in waiting if not self._give(partition, near=True)]
        for partition in waiting:
            self._give(partition, near=False)

    def _give(self, partition: TopicPartition, *, near: bool) -> bool:
        takers = self.takers[partition[0]]
        if near:
            takers = [member_id for member_id in takers if not self.racks.mismatch(member_id, partition)]
        if not takers:
            return False
        member_id = self.least_loaded(takers)
        self.held[member_id].append(partition)
        self.owner[partition] = member_id
        return True

    def least_loaded(self, member_ids: list[str]) -> str:
        """The member holding least, of equal ones the first by id."""
        held, ranks = self.held, self.ranks
        return min(member_ids, key=lambda member_id: (len(held[member_id]), ranks[member_id]))

    def near_takers(self, owner: str, partition: TopicPartition) -> list[str]:
        """Members in the partition's racks that want it, if its owner is in one of them too."""
        racks = self.racks.of_partition.get(partition)
        if not racks or self.racks.of_member.get(owner) not in racks:
            return []
        return [m for m in self.takers[partition[0]] if self.racks.of_member.get(m) in racks]

    def set_fixed_aside(self) -> None:
        """Take members out whose partitions nobody else could have and who could have no others."""
        for member_id in string_order(self.wanted, table_for(len(self.wanted))):
            mine = self.held[member_id]
            if len(mine) < self.most[member_id]:
                continue
            if not any(self._can_move(topic) for topic, _ in mine):
                self._fixed[member_id] = self.held.pop(member_id)

    def _can_move(self, topic: str) -> bool:
        return len(self.takers[topic]) >= 2

    def movable(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Partitions of topics with more than one taker; ids beyond the count stay in, as in Kafka."""
        stuck = {
            name: topic.partitions for name, topic in self.view.topics.items() if not self._can_move(name)
        }
        return [(name, number) for name, number in partitions if number >= stuck.get(name, 0)]

    def result(self) -> Assignment:
        """All members' partitions, in the order of Kafka's map after those set aside came back."""
        self.held.update((m, self._fixed[m]) for m in string_order(self._fixed))
        return {member_id: self.held[member_id] for member_id in string_order(self.held)}


class Balancer:
    """Moves partitions until no move helps."""

    def __init__(self, group: GeneralGroup, tolerance: int = 1) -> None:
        self._group = group
        self._tolerance = tolerance
        self._moves = Moves()
        self._is_balanced: bool | None = None
        everything = {partition for partitions in group.held.values() for partition in partitions}
        topics = group.view.topics.values()
        # Where every partition has one owner and ids have no gaps, a look at each topic is enough.
        self._regular = (
            len(everything) == sum(map(len, group.held.values()))
            and everything <= set(group.everything)
            and all(topic.partition_ids is None for topic in topics)
        )
        self._owners = {topic.name: Counter[str]() for topic in topics}
        for member_id, partitions in group.held.items():
            for topic, _ in partitions:
                self._owners[topic][member_id] += 1

    def balance(self, partitions: list[TopicPartition]) -> bool:
        """Go through the partitions, again and again while anything moves. Returns whether anything did.

        Ends: a pass is finite. A move goes from a member to one with at least two fewer, which lowers
        the sum of squared sizes; only the undoing of another member's move may not. So a pass
        could in principle bring back an earlier state, and then Kafka would never return: that is an
        EndlessError here. There are finitely many states.
        """
        moved = False
        seen = []
        while self._pass(partitions):
            moved = True
            state = (self._moves.state(), dict(self._group.owner))
            if state in seen:
                raise EndlessError
            seen.append(state)
        return moved

    def _pass(self, partitions: list[TopicPartition]) -> bool:
        group = self._group
        held, takers = group.held, group.takers
        modified = False
        for partition in partitions:
            if self.is_balanced():
                break
            owner = group.owner[partition]
            stale_owner = group.previous.get(partition)
            if stale_owner is not None and len(held[owner]) > len(held[stale_owner]) + 1:
                self._move(partition, stale_owner)
                modified = True
                continue
            limit = len(held[owner]) - 1
            near = group.near_takers(owner, partition)
            if any(len(held[m]) < limit for m in near) or any(
                len(held[m]) < limit for m in takers[partition[0]]
            ):
                present = [taker for taker in takers[partition[0]] if taker in held]
                self._move(partition, group.least_loaded(present))
                modified = True
        return modified

    def _move(self, partition: TopicPartition, destination: str) -> None:
        group = self._group
        partition = self._moves.better_choice(partition, group.owner[partition], destination)
        source = group.owner[partition]
        self._moves.record(partition, source, destination)
        if partition in group.held[source]:
            group.held[source].remove(partition)
        group.held[destination].append(partition)
        group.owner[partition] = destination
        owners = self._owners[partition[0]]
        owners[source] -= 1
        owners[destination] += 1
        self._is_balanced = None

    def is_balanced(self) -> bool:
        """Whether no member could take a partition from one that has too much more."""
        if self._is_balanced is None:
            self._is_balanced = self._find_balanced()
        return self._is_balanced

    def _find_balanced(self) -> bool:
        held = self._group.held
        if not held:
            raise AssignorError(
                "java.util.NoSuchElementException", None, "nobody takes part in its balancing"
            )
        sizes = list(map(len, held.values()))
        if min(sizes) >= max(sizes) - 1:
            return True
        if not self._regular:
            return self._find_balanced_one_by_one()
        return not self._has_better_taker()

    def _has_better_taker(self) -> bool:
        """Whether some topic has an owner that has too much more than a taker that could have more."""
        group = self._group
        sizes = {member_id: len(partitions) for member_id, partitions in group.held.items()}
        hungry = {member_id for member_id, size in sizes.items() if size != group.most[member_id]}
        for topic, owners in self._owners.items():
            most = max((sizes[m] for m, count in owners.items() if count), default=0)
            if any(sizes[taker] + self._tolerance < most for taker in group.takers[topic] if taker in hungry):
                return True
        return False

    def _find_balanced_one_by_one(self) -> bool:
        """The same for irregular input, in Kafka's order: what nobody has is looked up, and missed."""
        group = self._group
        held = group.held
        owner = {partition: m for m, partitions in held.items() for partition in partitions}
        for member_id in sorted(held, key=lambda m: (len(held[m]), group.ranks[m])):
            mine = held[member_id]
            if len(mine) == group.most[member_id]:
                continue
            own = set(mine)
            for name in group.wanted[member_id]:
                for number in range(group.view.topics[name].partitions):
                    partition = (name, number)
                    if partition not in own and len(mine) + self._tolerance < len(held[owner[partition]]):
                        return False
        return True
