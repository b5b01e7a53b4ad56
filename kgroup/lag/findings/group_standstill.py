"""A group's standstills as a whole; both its findings and its partitions' statuses use them.

A partition by itself can only be silent. Whether that is a fault depends on the rest: its member may be busy
with another partition that is as far behind, or all of the group may stand still.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.lag.findings.commit_habits import last_offset_places
from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.findings.standstill import How, Standstill, is_behind, standstill
from kgroup.protocol.topic_partition import TopicPartition


# Not frozen, which takes three times as long to make: there are as many as rows. Nobody changes one.
@dataclass(slots=True, unsafe_hash=True)
class Standing:
    """A partition on which nothing moves."""

    facts: PartitionFacts
    still: Standstill


@dataclass(slots=True)
class Standings:
    """All that stands still, as widely as it holds: `group` if all does, else by member, else by partition.

    `in_turn` are those of members that are busy elsewhere, which is no fault. `blocked` are partitions that
    wait for a transaction's end, at least one of them for long; they are in none of the others.
    """

    group: tuple[Standing, ...] = ()
    members: dict[str, list[Standing]] = field(default_factory=dict)
    partitions: list[Standing] = field(default_factory=list)
    in_turn: list[Standing] = field(default_factory=list)
    blocked: tuple[PartitionFacts, ...] = ()

    def accused(self) -> Iterator[Standing]:
        """All that a finding is about."""
        yield from self.group
        for of_member in self.members.values():
            yield from of_member
        yield from self.partitions

    def of_reader(self, partition: PartitionFacts) -> Sequence[Standing]:
        """The standstills of the group, or else of the partition's owner, if all of it stands still."""
        return self.group or self.members.get(partition.row.member_id or "", ())

    def without(self, places: Container[TopicPartition]) -> "Standings":
        """Less what something else explains of single partitions."""

        def left(standing: Iterable[Standing]) -> list[Standing]:
            return [stopped for stopped in standing if stopped.facts.topic_partition not in places]

        return replace(
            self,
            group=tuple(left(self.group)),
            members={member: rest for member, of in self.members.items() if (rest := left(of))},
            partitions=left(self.partitions),
        )

    def explained(self, partitions: Sequence[PartitionFacts]) -> set[TopicPartition]:
        """The partitions whose trouble these standstills explain."""
        of_readers = {partition.topic_partition for partition in partitions if self.of_reader(partition)}
        at_transactions = {one.topic_partition for one in partitions if one.open_transaction is not None}
        return of_readers | at_transactions | {stopped.facts.topic_partition for stopped in self.partitions}


def standings(facts: GroupFacts) -> Standings:
    """Classify what stands still in a group with members."""
    step, last_read = facts.usual_step, last_offset_places(facts)
    standing = [
        Standing(partition, still)
        for partition in read_partitions(facts)
        if partition.topic_partition not in last_read
        and (still := standstill(partition, step, facts.now_ms)) is not None
    ]
    blocked = _blocked(facts, standing)
    standing = [stopped for stopped in standing if stopped.facts.open_transaction is None]
    if not standing:
        return Standings(blocked=blocked)
    if len(standing) == len(facts.partitions) or not _goes_on(facts.partitions, standing):
        return Standings(group=tuple(standing), blocked=blocked)
    return replace(_members_and_partitions(facts, standing, step), blocked=blocked)


def transaction_of(partition: PartitionFacts) -> tuple[object, ...] | None:
    """The identity of the open transaction at a partition: its producer, else the partition."""
    transaction = partition.open_transaction
    if transaction is None:
        return None
    if transaction.producer_id is None:
        return partition.topic_partition
    return transaction.producer_id, transaction.producer_epoch


def _blocked(facts: GroupFacts, standing: Sequence[Standing]) -> tuple[PartitionFacts, ...]:
    """All partitions that wait for a transaction at which the group stands still somewhere."""
    waited_for = {transaction_of(stopped.facts) for stopped in standing} - {None}
    if not waited_for:
        return ()
    return tuple(one for one in read_partitions(facts) if transaction_of(one) in waited_for)


def are_read(facts: GroupFacts) -> list[bool]:
    """Whether each partition has a reader, as far as known; those without an owner have none."""
    if facts.group.kind is GroupKind.SIMPLE:
        return [True] * len(facts.partitions)
    if facts.group.state is GroupState.EMPTY:
        return [False] * len(facts.partitions)
    return [partition.row.member_id is not None for partition in facts.partitions]


def read_partitions(facts: GroupFacts) -> list[PartitionFacts]:
    """Partitions that have a reader."""
    return list(compress(facts.partitions, are_read(facts)))


def _goes_on(partitions: Sequence[PartitionFacts], standing: Sequence[Standing]) -> bool:
    """Whether other partitions were committed clearly after the last commit of those that stand still."""
    places = {stopped.facts.topic_partition for stopped in standing}
    others = [
        partition.last_ms
        for partition in partitions
        if partition.commits and partition.topic_partition not in places
    ]
    if any(stopped.still.repeats for stopped in standing):
        return bool(others)
    silent_ms = max(stopped.facts.last_ms for stopped in standing)
    longest_ms = max((_usual_interval_ms(stopped.facts) for stopped in standing), default=0)
    return any(at_ms > silent_ms + 2 * longest_ms for at_ms in others)


def _usual_interval_ms(facts: PartitionFacts) -> int:
    return (facts.last_ms - facts.first_ms) // max(facts.commits - 1, 1)


def _members_and_partitions(facts: GroupFacts, standing: Sequence[Standing], step: int) -> Standings:
    divided = Standings()
    by_member: dict[str | None, list[Standing]] = {}
    for stopped in standing:
        by_member.setdefault(stopped.facts.row.member_id, []).append(stopped)
    for member_id, of_member in by_member.items():
        places = {stopped.facts.topic_partition for stopped in of_member}
        others = [
            partition
            for partition in facts.partitions
            if partition.row.member_id == member_id and partition.topic_partition not in places
        ]
        if member_id is not None and not _goes_on(others, of_member):
            divided.members[member_id] = of_member
            continue
        # A slow member that reads one partition after the other lets the rest wait meanwhile.
        is_busy = any(
            is_behind(partition, step) and _moved(partition) and _goes_on([partition], of_member)
            for partition in others
        )
        for stopped in of_member:
            is_sure = stopped.still.how is How.PATIENCE and not stopped.still.repeats
            (divided.partitions if is_sure or not is_busy else divided.in_turn).append(stopped)
    return divided


def _moved(partition: PartitionFacts) -> bool:
    return partition.last_offset > partition.first_offset
