"""The subscription a member sends, and the assignment a leader makes from everyone's."""

from collections.abc import Iterable, Sequence

from kgroup.assignors.model import Assignment as AssignedPartitions
from kgroup.assignors.model import ClientAssignor, GroupMember, Topic
from kgroup.assignors.registry import ASSIGNORS, CLIENT_ASSIGNORS, Protocol
from kgroup.errors import InputError
from kgroup.protocol.requests.coordinator import JoinGroupResponse
from kgroup.protocol.subscription import (
    Assignment,
    Subscription,
    decode_subscription,
    encode_assignment,
    encode_subscription,
    named_partitions,
    partitions_of,
)
from kgroup.protocol.topic_partition import TopicPartition


def find_assignors(names: Iterable[str]) -> tuple[ClientAssignor, ...]:
    """The assignors of the classic protocol by their names on the wire.

    Raises InputError for an unknown one, and if there is no protocol that all of them can do.
    """
    for name in names:
        if name not in CLIENT_ASSIGNORS:
            raise InputError(f"no client-side assignor {name!r}: there are {', '.join(CLIENT_ASSIGNORS)}")
    return tuple(CLIENT_ASSIGNORS[name] for name in names)


def rebalance_protocol(names: Iterable[str]) -> Protocol:
    """COOPERATIVE only if every assignor of the member can do it (KIP-429)."""
    if all(ASSIGNORS[name].protocol is Protocol.COOPERATIVE for name in names):
        return Protocol.COOPERATIVE
    return Protocol.EAGER


class Memory:
    """The last assignment of each assignor: the user data of the next subscription comes from it."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[tuple[TopicPartition, ...], int]] = {}

    def keep(self, assignor: str, assigned: Iterable[TopicPartition], generation: int) -> None:
        """Kafka: `onAssignment` of the assignor that the group chose."""
        self._last[assignor] = (tuple(assigned), generation)

    def user_data(self, assignor: ClientAssignor) -> bytes | None:
        """None from `sticky` before its first assignment; `cooperative-sticky` sends generation -1 then."""
        if assignor.name not in self._last and assignor.name == "sticky":
            return None
        return assignor.next_user_data(*self._last.get(assignor.name, ((), -1)))


def subscription_of(
    topics: Iterable[str],
    owned: Sequence[TopicPartition],
    generation: int,
    rack: str | None,
    user_data: bytes | None,
) -> bytes:
    """The metadata of one protocol in JoinGroup."""
    return encode_subscription(
        Subscription(
            topics=tuple(topics),
            user_data=user_data,
            owned_partitions=named_partitions(owned),
            generation_id=generation,
            rack_id=rack,
        )
    )


def group_members(answer: JoinGroupResponse) -> list[GroupMember]:
    """Everyone's subscription, as the leader gets them. Raises DecodeError."""
    members = []
    for member in answer.members:
        subscription = decode_subscription(member.metadata)
        members.append(
            GroupMember(
                member_id=member.member_id,
                topics=subscription.topics,
                group_instance_id=member.group_instance_id,
                owned_partitions=partitions_of(subscription.owned_partitions),
                generation=subscription.generation,
                rack_id=subscription.rack,
                user_data=subscription.user_data,
            )
        )
    return members


def make_assignment(
    protocol: str, members: Sequence[GroupMember], topics: Sequence[Topic]
) -> tuple[tuple[str, bytes], ...]:
    """The assignments for the leader's SyncGroup. Raises AssignorError where Kafka's assignor throws."""
    assigned: AssignedPartitions = CLIENT_ASSIGNORS[protocol].assign(members, topics)
    return tuple(
        (member_id, encode_assignment(Assignment(assigned_partitions=named_partitions(partitions))))
        for member_id, partitions in assigned.items()
    )
