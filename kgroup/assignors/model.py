"""The questions put to assignors and their answers, as plain values.

Two families ask different questions. *Client-side* assignors (`range`, `roundrobin`, `sticky`,
`cooperative-sticky`) run in the group's leader: they see subscriptions and what members claim to
own, and the order of each answered list is part of the answer. *Server-side* assignors of KIP-848
and KIP-932 (`uniform`, `range`, `simple`) run in the coordinator: they see the present target
assignment and answer sets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from kgroup.errors import InputError, KgroupError
from kgroup.protocol.topic_partition import TopicPartition

# Member id -> partitions, in the order in which Kafka's own list holds them.
Assignment = dict[str, list[TopicPartition]]

# Member id -> topic name -> partition ids in ascending order. A topic may be left with none.
TargetAssignment = dict[str, dict[str, list[int]]]

NO_GENERATION = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic in the metadata.

    `partition_ids` is None for the usual ids 0..partitions-1. `replica_racks[i]` are the racks of
    the i-th partition's replicas, None for a broker without one; empty where no racks are known.
    Server-side assignors need `topic_id`; a `deleted` topic has only that and no partitions, and
    members may still be assigned it.
    """

    name: str
    partitions: int
    partition_ids: tuple[int, ...] | None = None
    replica_racks: tuple[tuple[str | None, ...], ...] = ()
    topic_id: UUID | None = None
    deleted: bool = False

    def ids(self) -> Sequence[int]:
        """The partition ids in ascending order."""
        return range(self.partitions) if self.partition_ids is None else sorted(self.partition_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """A member as the leader of a classic group sees it in its JoinGroup answer.

    `owned_partitions`, `generation` (-1: not sent) and `rack_id` are fields of the subscription
    from its versions 1, 2 and 3; `user_data` is what the assignor itself put there.
    """

    member_id: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None
    owned_partitions: Sequence[TopicPartition] = ()
    generation: int = NO_GENERATION
    rack_id: str | None = None
    user_data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetMember:
    """A member as the coordinator sees it. `assigned` is its present target: topic -> partitions.

    The order of `assigned` and of its lists is that in which the coordinator's maps were filled.
    """

    member_id: str
    topics: tuple[str, ...]
    group_instance_id: str | None = None
    assigned: Mapping[str, Sequence[int]]


class AssignorError(KgroupError):
    """Kafka's assignor throws on this input: `java_class` is what, `java_message` its message.

    In production the group then stays without a new assignment until its input changes.
    """

    def __init__(self, java_class: str, java_message: str | None, why: str) -> None:
        thrown = java_class.rpartition(".")[2] + (f": {java_message}" if java_message else "")
        super().__init__(f"Kafka's assignor throws {thrown} ({why})")
        self.java_class = java_class
        self.java_message = java_message


class EndlessError(AssignorError):
    """Kafka's assignor would move partitions in a circle and never return."""

    def __init__(self) -> None:
        super().__init__("", None, "its balancing comes back to where it was")
        self.args = ("Kafka's assignor would never return: its balancing comes back to where it was",)


class ClientAssignor(Protocol):
    """An assignor of the classic protocol.

    `members` come in the order in which the leader puts them into its map, that of the JoinGroup
    answer; where Kafka's answer depends on that order, so does ours. Raises AssignorError where
    Kafka throws.
    """

    name: str

    def assign(self, members: Sequence[GroupMember], topics: Sequence[Topic]) -> Assignment:
        """The partitions of each member, for every member."""
        ...

    def next_user_data(self, assigned: Sequence[TopicPartition], generation: int) -> bytes | None:
        """The user data of a member's next subscription, after it was assigned in `generation`."""
        ...


class ServerAssignor(Protocol):
    """An assignor of the consumer (KIP-848) or share (KIP-932) group protocol."""

    name: str

    def assign(
        self,
        members: Sequence[TargetMember],
        topics: Sequence[Topic],
        assignable: Mapping[str, Sequence[int]] | None = None,
        *,
        homogeneous: bool | None = None,
    ) -> TargetAssignment:
        """The new target assignment.

        Members come in the order in which the coordinator put them into its map. `assignable`
        limits the partitions of a share group that may be given out; None is all of them. `homogeneous`
        is whether the coordinator takes all for subscribed to the same topics; None: see whether they are.
        """
        ...


def require_distinct(members: Sequence[GroupMember] | Sequence[TargetMember]) -> None:
    """Raise InputError if two members have the same id: a map of members cannot hold both."""
    seen: set[str] = set()
    for member in members:
        if member.member_id in seen:
            raise InputError(f"member {member.member_id!r} is given twice")
        seen.add(member.member_id)
