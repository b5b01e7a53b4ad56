"""The offsets partition of a group: by the hash rule, as logs have it, and as a live cluster reports it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from kgroup.errors import InputError
from kgroup.protocol.group_hash import OFFSETS_TOPIC, HashRule, java_hash_code, partition_for

if TYPE_CHECKING:
    from kgroup.api.opened import OpenedLogs
    from kgroup.history.groups.newest import NewestEntries
    from kgroup.net.admin.cluster import Broker, Cluster, Coordinator


def coordinator_partition(
    group: str, partitions: int | None = None, *, rule: HashRule | str = HashRule.KAFKA
) -> int:
    """The partition of the offsets topic that keeps a group; its leader is the group's coordinator.

    `partitions` is how many the topic has: by default 50, or 16 by the rule of redpanda.
    """
    by = _rule(rule)
    count = by.default_partitions if partitions is None else partitions
    if count < 1:
        raise InputError(f"{count} partitions: the offsets topic has at least 1")
    return partition_for(group, count, by)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedGroup:
    """A group by the rule. `hash` is Java's, None under a rule that has another.

    `found_in` is the partition in which the logs have it, None if they do not.
    """

    group: str
    partition: int
    partitions: int
    hash: int | None
    found_in: int | None = None


def place_groups(
    groups: Sequence[str],
    partitions: int,
    rule: HashRule,
    *,
    found_in: Mapping[str, int] | None = None,
    reverse: int | None = None,
) -> list[PlacedGroup]:
    """The partition that the rule gives to each group; with `reverse` only those on that one.

    Raises InputError for a `reverse` that is not a partition.
    """
    _check_reverse(reverse, partitions)
    logged = found_in or {}
    placed = (
        PlacedGroup(
            group=group,
            partition=partition_for(group, partitions, rule),
            partitions=partitions,
            hash=java_hash_code(group) if rule is HashRule.KAFKA else None,
            found_in=logged.get(group),
        )
        for group in groups
    )
    return [each for each in placed if reverse in (None, each.partition)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveCoordinator:
    """The broker that coordinates a group now, None where the cluster names none, and `error` says why.

    `leader` leads the partition that the rule gives, and `rule_agrees` says whether that is the broker; None
    where either is not known.
    """

    group: str
    partition: int | None
    partitions: int | None
    broker: int | None
    host: str | None
    port: int | None
    rack: str | None
    leader: int | None
    rule_agrees: bool | None
    error: str | None

    @property
    def is_leaderless(self) -> bool:
        """Whether no broker leads the partition: no group of it has a coordinator until one does."""
        return self.partition is not None and self.leader is None


def live_coordinators(
    cluster: "Cluster", groups: Sequence[str], rule: HashRule, *, reverse: int | None = None
) -> list[LiveCoordinator]:
    """Ask the cluster for the coordinators of these groups, or of all its groups if none is named.

    With `reverse` only of those that the rule puts on that partition; InputError if there is no such one.
    """
    groups = groups or cluster.group_ids()
    topic = cluster.topics([OFFSETS_TOPIC]).get(OFFSETS_TOPIC)
    leaders = topic.leaders if topic is not None else {}
    partitions: dict[str, int] = {}
    if leaders:
        _check_reverse(reverse, len(leaders))
        partitions = {group: partition_for(group, len(leaders), rule) for group in groups}
    wanted = [group for group in groups if reverse in (None, partitions.get(group))]
    brokers = cluster.brokers()
    return [
        _live(coordinator, partitions.get(coordinator.group), leaders, brokers)
        for coordinator in cluster.find_coordinators(wanted)
    ]


class GroupedBy(StrEnum):
    """The ways to list groups: by the offsets partition that keeps them, or by coordinator."""

    PARTITION = "partition"
    BROKER = "broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsOfPartition:
    """The groups on one offsets partition. Of a cluster `broker` is its leader, None if it has none."""

    partition: int
    groups: tuple[str, ...]
    broker: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsOfBroker:
    """Groups that a broker coordinates and their offsets partitions; `broker` is None for those without."""

    broker: int | None
    host: str | None
    port: int | None
    rack: str | None
    partitions: tuple[int, ...]
    groups: tuple[str, ...]


def by_partition(placed: Iterable[PlacedGroup | LiveCoordinator]) -> list[GroupsOfPartition]:
    """Groups by partition number, without those whose partition is unknown (a cluster without the topic)."""
    groups: dict[int, list[PlacedGroup | LiveCoordinator]] = {}
    for each in placed:
        if each.partition is not None:
            groups.setdefault(each.partition, []).append(each)
    return [
        GroupsOfPartition(
            partition=partition,
            groups=tuple(sorted(each.group for each in there)),
            broker=next((each.leader for each in there if isinstance(each, LiveCoordinator)), None),
        )
        for partition, there in sorted(groups.items())
    ]


def by_broker(coordinators: Iterable[LiveCoordinator]) -> list[GroupsOfBroker]:
    """Groups by broker id, those without a coordinator first."""
    groups: dict[int | None, list[LiveCoordinator]] = {}
    for each in coordinators:
        groups.setdefault(each.broker, []).append(each)
    return [
        GroupsOfBroker(
            broker=broker,
            host=there[0].host,
            port=there[0].port,
            rack=there[0].rack,
            partitions=tuple(sorted({each.partition for each in there if each.partition is not None})),
            groups=tuple(sorted(each.group for each in there)),
        )
        for broker, there in sorted(groups.items(), key=lambda item: (item[0] is not None, item[0] or 0))
    ]


def _live(
    coordinator: "Coordinator",
    partition: int | None,
    leaders: Mapping[int, int | None],
    brokers: "Mapping[int, Broker]",
) -> LiveCoordinator:
    leader = leaders.get(partition) if partition is not None else None
    broker = brokers.get(coordinator.node_id) if coordinator.node_id is not None else None
    known = leader is not None and coordinator.node_id is not None
    return LiveCoordinator(
        group=coordinator.group,
        partition=partition,
        partitions=len(leaders) or None,
        broker=coordinator.node_id,
        host=coordinator.host,
        port=coordinator.port,
        rack=broker.rack if broker is not None else None,
        leader=leader,
        rule_agrees=leader == coordinator.node_id if known else None,
        error=coordinator.error,
    )


@dataclass(frozen=True, slots=True)
class LoggedGroups:
    """The offsets partition of each group; what was skipped, and what could not be read."""

    partitions: Mapping[str, int] = field(default_factory=dict)
    skipped: Sequence[str] = ()
    problems: Sequence[str] = ()


def groups_in_logs(logs: "OpenedLogs") -> LoggedGroups:
    """Every group that still has state in these logs, sorted."""
    from kgroup.api.opened import failed, left_out
    from kgroup.history.groups.newest import NewestEntries
    from kgroup.log.files.damage_text import damage_text, undecodable_text
    from kgroup.log.files.entries import read_entries
    from kgroup.log.format.batch import Damage
    from kgroup.protocol.records.entries import Undecodable

    problems = failed(logs.sources)
    newest = NewestEntries()
    for item in read_entries(logs.sources, stdin=logs.stdin.open() if logs.stdin else None):
        if isinstance(item, Damage):
            problems.append(damage_text(item))
            continue
        if isinstance(item.entry, Undecodable):
            problems.append(undecodable_text(item, item.entry))
        newest.add(item)
    return LoggedGroups(dict(sorted(_partitions_of(newest))), left_out(logs.sources), problems)


def _partitions_of(newest: "NewestEntries") -> Iterator[tuple[str, int]]:
    from kgroup.protocol.records.entries import OffsetsEntry
    from kgroup.protocol.records.keys import group_of

    for entries in (newest.commits(), newest.others()):
        for logged in entries:
            if isinstance(logged.entry, OffsetsEntry):
                yield group_of(logged.entry.key), logged.partition


def _check_reverse(reverse: int | None, count: int) -> None:
    if reverse is not None and reverse >= count:
        raise InputError(f"--reverse {reverse}: the offsets topic has partitions 0 to {count - 1}")


def _rule(rule: HashRule | str) -> HashRule:
    try:
        return HashRule(rule)
    except ValueError:
        known = " and ".join(each.value for each in HashRule)
        raise InputError(f"there is no rule {rule!r}: {known}") from None
