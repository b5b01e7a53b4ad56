"""A group as a log shows it: kind, state, members and their partitions. Values only."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from kgroup.history.groups.topology import Tasks, Topology
from kgroup.protocol.records.consumer_group import AWAY_EPOCH
from kgroup.protocol.topic_id import TopicId


class GroupKind(StrEnum):
    """The protocol that the members speak. `SIMPLE`: offsets only, committed without membership."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"
    SIMPLE = "simple"


class GroupState(StrEnum):
    """Kafka's names of the states of groups.

    A rebalance under way (PREPARING_REBALANCE, COMPLETING_REBALANCE) is never logged: in a log a classic
    group with members reads as Stable until the round ends. DEAD and UNKNOWN are answers of coordinators.
    """

    EMPTY = "Empty"
    STABLE = "Stable"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    DEAD = "Dead"
    UNKNOWN = "Unknown"


class OwnedPartition(NamedTuple):
    """`topic` is the id's text if the partition was logged by an id that no source names."""

    topic: str
    partition: int
    topic_id: TopicId = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member. `epoch` is None in classic groups, `subscribed` None if it could not be read.

    `target` is what the coordinator wants it to own; None where it has no such plan, or that is not known.
    `is_classic` says of a member of a consumer group whether it still speaks the classic protocol; None where
    that is not said. `tasks` are of a member of a streams group.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    epoch: int | None = None
    subscribed: tuple[str, ...] | None = ()
    subscribed_regex: str | None = None
    owned: tuple[OwnedPartition, ...] = ()
    target: tuple[OwnedPartition, ...] | None = None
    is_classic: bool | None = None
    tasks: Tasks | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_away(self) -> bool:
        """Whether it is a static member that has left to come back: nobody reads what it owns until then."""
        return self.epoch == AWAY_EPOCH


class ReconciliationState(StrEnum):
    """The state of a consumer-group member on the way to its target: Kafka's MemberState (KIP-848)."""

    STABLE = "STABLE"
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """A member's way to its target in a consumer group, as a log has it.

    `revoking` is what it has been told to give up and has not yet. `since_ms` (epoch ms) is when its state
    was logged, None if that record has no time; `rebalance_timeout_ms` is None if it is not recorded.
    """

    member_id: str
    state: ReconciliationState
    revoking: tuple[OwnedPartition, ...] = ()
    since_ms: int | None = None
    rebalance_timeout_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One group. `epoch` is the generation of a classic group and the group epoch of the others.

    `protocol` is the assignor: the one agreed on in a classic group, the one that members ask for in a
    consumer group; None where the broker's default applies, which no log knows. `target_epoch` is the epoch
    that members are to reach, of groups whose assignments the broker makes. `since_ms` is when its
    present state was logged: its generation or epoch, or that it has become empty (epoch ms).
    `reconciliations` are of a consumer group that was read from its records, by member, and `target_ms`
    (epoch ms) is when its target epoch was logged. `topology` is a streams group's. A share group of a log
    has as `shared` the partitions whose state is set up, and as `share_waiting` those where it is being set
    up and which nobody gets before; None and none where that is not said.
    """

    group_id: str
    kind: GroupKind
    state: GroupState
    epoch: int | None = None
    target_epoch: int | None = None
    protocol_type: str = ""
    protocol: str | None = None
    leader: str | None = None
    members: tuple[Member, ...] = ()
    since_ms: int | None = None
    reconciliations: tuple[Reconciliation, ...] = ()
    target_ms: int | None = None
    topology: Topology | None = None
    shared: tuple[OwnedPartition, ...] | None = None
    share_waiting: tuple[OwnedPartition, ...] = ()
    notes: tuple[str, ...] = ()


def simple_group(group_id: str) -> Group:
    """The group that a coordinator makes up for offsets without any group record."""
    return Group(group_id=group_id, kind=GroupKind.SIMPLE, state=GroupState.EMPTY)
