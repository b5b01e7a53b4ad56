"""A consumer group as its coordinator holds it. No rules about requests.

All of it but the deadline of the next look at the metadata comes from records, live and when loading.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final
from uuid import UUID

from kgroup.assignors.java_order import (
    DEFAULT_TABLE,
    computed_order,
    computed_order_in,
    spread_all,
    string_hash,
    table_for,
    timeline_order,
)
from kgroup.group.coordinator.consumer.member import ConsumerMember, Target
from kgroup.group.coordinator.consumer.metadata_hash import group_hash
from kgroup.group.coordinator.consumer.reconciliation import FREE
from kgroup.group.coordinator.consumer.regexes import ResolvedRegex
from kgroup.group.coordinator.metadata_image import MetadataImage

FIRST_EPOCH: Final = 1
"""A group is founded at epoch 1, and so the first member's subscription makes it 2 (Kafka 4.3)."""
NO_ASSIGNMENT: Final = -1


class GroupState(StrEnum):
    """The states of a consumer group; `Dead` is that of one that is not there."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ConsumerGroup:
    """Members, their targets, the topics behind their regular expressions, and the epochs of it all.

    `refresh_ms` is when the topics are looked at again, as long as the epoch is at least `refresh_epoch`.
    """

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assignment_timestamp_ms = 0  # 0: not known
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}  # instance id -> member id
        self.targets: dict[str, Target] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.has_partition_metadata = False  # a record of 4.0 and before, to be deleted
        self.refresh_ms = 0
        self.refresh_epoch = 0
        self._partition_epochs: dict[UUID, dict[int, int]] = {}
        # Kept up to date, as every heartbeat asks.
        self._subscribers: Counter[str] = Counter()
        self._names: frozenset[str] | None = None

    # ---- state --------------------------------------------------------------------------------

    @property
    def state(self) -> GroupState:
        """Computed from the members and their progress, each time."""
        if not self.members:
            return GroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return GroupState.ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return GroupState.STABLE
        return GroupState.RECONCILING

    def metadata_is_old(self, now_ms: int) -> bool:
        """Whether it is time to look at the topics again."""
        return now_ms >= self.refresh_ms or self.epoch < self.refresh_epoch

    def epoch_of(self, topic_id: UUID, partition: int) -> int:
        """The epoch of a partition's owner, who may be giving it up; FREE if it has none."""
        return self._partition_epochs.get(topic_id, {}).get(partition, FREE)

    def target(self, member_id: str) -> Target:
        """The target of a member; empty if none is recorded."""
        return self.targets.get(member_id, {})

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """The member that has an instance id."""
        member_id = self.static_members.get(instance_id) if instance_id is not None else None
        return None if member_id is None else self.members.get(member_id)

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Whether a partition of its target still has another owner."""
        return any(
            partition not in member.assigned.get(topic_id, {}) and self.epoch_of(topic_id, partition) != FREE
            for topic_id, partitions in self.target(member.member_id).items()
            for partition in partitions
        )

    # ---- what the members want ----------------------------------------------------------------

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The names a member subscribes to: its own, and what its expression is known to match."""
        resolved = self.regexes.get(member.regex) if member.regex else None
        return member.topics if resolved is None else member.topics | resolved.topics

    def subscribed_names(self) -> frozenset[str]:
        """All names that the group subscribes to."""
        if self._names is None:
            self._names = names_of(self.members.values(), self.regexes)
        return self._names

    @property
    def has_regexes(self) -> bool:
        """Whether some member has an expression."""
        return bool(self._subscribers)

    def subscribers_of(self, regex: str) -> int:
        """The number of members with this expression."""
        return self._subscribers[regex]

    def wanted_regexes(self, member: ConsumerMember, updated: ConsumerMember) -> set[str]:
        """The expressions of all members, when `member` has become `updated`."""
        wanted = set(self._subscribers)
        if member.regex != updated.regex:
            if member.regex and self._subscribers[member.regex] == 1:
                wanted.discard(member.regex)
            if updated.regex:
                wanted.add(updated.regex)
        return wanted

    def assignor(self, default: str) -> str:
        """The one that most members ask for, as it is described."""
        counts = _asked(self.members.values())
        names = timeline_order(counts, string_hash)
        return max(names, key=counts.__getitem__) if names else default

    def next_assignor(self, old: ConsumerMember | None, new: ConsumerMember, default: str) -> str:
        """The one that most members ask for once `new` stands for `old`, which is None if it is one more.

        Of those with as many it is the first in the HashMap that Kafka counts them in, which need not be the
        one described: that comes from another map. `new HashMap(map)` keeps the order of those in one place;
        then the old member's vote is taken out and the new one's counted, be it the same, and a name that
        nobody else has asked for comes to the front of its place.
        """
        counts = _asked(self.members.values())
        order = timeline_order(counts, string_hash)
        table = table_for(int(len(order) / 0.75 + 1)) if order else DEFAULT_TABLE
        if old is not None and old.assignor is not None:
            counts[old.assignor] -= 1
            order = [name for name in order if counts[name]]
        if new.assignor is not None:
            counts[new.assignor] += 1
            order = [new.assignor, *order] if new.assignor not in order else order
        names = computed_order_in(order[::-1], spread_all(map(string_hash, order[::-1])), table)
        return max(names, key=counts.__getitem__) if names else default

    def is_homogeneous(self, members: Mapping[str, ConsumerMember]) -> bool:
        """Whether all members subscribe to the same names, or all by the same expression.

        Kafka says so to its assignors (`ConsumerGroup.subscriptionType`), also where names and an expression
        come to the same topics.
        """
        by_name = Counter(name for member in members.values() for name in member.topics)
        by_regex = Counter(member.regex for member in members.values() if member.regex)
        if not by_regex:
            return all(count == len(members) for count in by_name.values())
        if by_regex[computed_order(list(by_regex), string_hash)[0]] != len(members):
            return False
        matches = Counter(name for each in self.kept_regexes(members).values() for name in each.topics)
        return not by_name and all(count == 1 for count in matches.values())

    def kept_regexes(self, members: Mapping[str, ConsumerMember]) -> dict[str, ResolvedRegex]:
        """The resolved expressions, without those that none of `members` has any more."""
        wanted = {member.regex for member in members.values()}
        dropped = {member.regex for member in self.members.values()} - wanted
        return {regex: resolved for regex, resolved in self.regexes.items() if regex not in dropped}

    # ---- classic members ----------------------------------------------------------------------

    def supports(self, protocols: Iterable[str]) -> bool:
        """Whether a classic member with these protocols fits in with the other classic ones."""
        names = list(protocols)
        if not self.members:
            return bool(names)
        others = [member.classic for member in self.members.values() if member.classic is not None]
        return any(
            all(any(each.name == name for each in other.supported_protocols) for other in others)
            for name in names
        )

    def is_classic_without(self, leaving: Iterable[ConsumerMember]) -> bool:
        """Whether all who stay speak the classic protocol."""
        gone = {member.member_id for member in leaving}
        return all(member.classic is not None for id_, member in self.members.items() if id_ not in gone)

    # ---- taking over records ------------------------------------------------------------------

    def put(self, member: ConsumerMember) -> None:
        """Take a member in, or over an earlier state of it."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._release(old)
        if old is None or (old.topics, old.regex) != (member.topics, member.regex):
            self._count_regex(old, member)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                self._partition_epochs.setdefault(topic_id, {}).update(
                    dict.fromkeys(partitions, member.member_epoch)
                )

    def remove(self, member_id: str) -> None:
        """Take a member out, if it is there."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._release(member)
        self._count_regex(member, None)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]

    def resolve(self, regex: str, resolved: ResolvedRegex | None) -> None:
        """Take over what an expression matches; None: it is no member's any more."""
        self._names = None
        if resolved is None:
            self.regexes.pop(regex, None)
        else:
            self.regexes[regex] = resolved

    def _count_regex(self, old: ConsumerMember | None, new: ConsumerMember | None) -> None:
        self._names = None
        if old is not None and old.regex:
            self._subscribers[old.regex] -= 1
            if not self._subscribers[old.regex]:
                del self._subscribers[old.regex]
        if new is not None and new.regex:
            self._subscribers[new.regex] += 1

    def _release(self, member: ConsumerMember) -> None:
        """Free what the member had, unless it was taken since at another epoch."""
        for owned in (member.assigned, member.revoking):
            for topic_id, partitions in owned.items():
                epochs = self._partition_epochs.get(topic_id)
                if epochs is None:
                    continue
                for partition in partitions:
                    if epochs.get(partition) == member.member_epoch:
                        del epochs[partition]
                if not epochs:
                    del self._partition_epochs[topic_id]


def _asked(members: Iterable[ConsumerMember]) -> Counter[str]:
    return Counter(member.assignor for member in members if member.assignor is not None)


def names_of(members: Iterable[ConsumerMember], regexes: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """The topics that these members ask for by name, and those that the expressions match."""
    names: set[str] = set()
    for member in members:
        names |= member.topics
    for resolved in regexes.values():
        names |= resolved.topics
    return frozenset(names)


def hash_of(names: Iterable[str], image: MetadataImage) -> int:
    """The hash of the topics that exist among `names`."""
    topics = (image.topic(name) for name in names)
    return group_hash(topic for topic in topics if topic is not None)


def ids_of(names: Iterable[str], image: MetadataImage) -> frozenset[UUID]:
    """The ids of the topics that exist among `names`."""
    topics = (image.topic(name) for name in names)
    return frozenset(topic.topic_id for topic in topics if topic is not None)
