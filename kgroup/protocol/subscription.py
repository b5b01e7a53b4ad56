"""Subscriptions and assignments of consumer group members: the bytes in JoinGroup and SyncGroup.

They begin with an int16 version. A newer version is read as version 3, which is all that Kafka 4.3
knows, since fields are only ever added at the end. Source: `ConsumerProtocol` of Kafka 4.3.1.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from kgroup.errors import DecodeError
from kgroup.protocol.payload import PREFIX_BYTES, Payload

LATEST_VERSION = 3
V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTopicPartitions:
    """Partitions of a topic known by its name."""

    topic: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """A member's message to the leader.

    `owned_partitions` are since version 1, `generation_id` (of those partitions) since 2, `rack_id`
    since 3; what the last two mean to an assignor say `generation` and `rack`. `version` is the one in
    the bytes and `trailing` what lies behind the last field; neither is encoded.
    """

    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: tuple[NamedTopicPartitions, ...] = ()
    generation_id: int = -1
    rack_id: str | None = None
    version: int = LATEST_VERSION
    trailing: bytes = b""

    @property
    def generation(self) -> int:
        """The generation for an assignor: Kafka takes every negative one for none, which is -1."""
        return max(self.generation_id, -1)

    @property
    def rack(self) -> str | None:
        """The rack for an assignor: Kafka takes an empty one for none."""
        return self.rack_id or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The leader's assignment for a member. `version` and `trailing` are as in Subscription."""

    assigned_partitions: tuple[NamedTopicPartitions, ...]
    user_data: bytes | None = None
    version: int = LATEST_VERSION
    trailing: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberBlobs:
    """The two blobs that a GroupMetadata record has of a member, each read as far as it can be read.

    `subscription` is None where its error says why, and `owned`, which are topics and numbers in the order of
    the bytes, empty.
    """

    subscription: Subscription | None
    owned: tuple[tuple[str, int], ...]
    subscription_error: DecodeError | None = None
    assignment_error: DecodeError | None = None

    @property
    def error(self) -> DecodeError | None:
        """The first of the two errors."""
        return self.subscription_error or self.assignment_error


_SUBSCRIPTION = Payload(Subscription, "ConsumerProtocolSubscription")
_ASSIGNMENT = Payload(Assignment, "ConsumerProtocolAssignment")


def decode_subscription(data: bytes) -> Subscription:
    """Read a subscription in the order of its bytes.

    Raises DecodeError with the position in `data`, also for a version below 0.
    """
    version = _version(data, "Subscription.version")
    decoded = _SUBSCRIPTION.decode(data, min(version, LATEST_VERSION))
    return replace(decoded.value, version=version, trailing=data[decoded.end :])


def decode_assignment(data: bytes) -> Assignment:
    """Read an assignment; a topic that stands twice in the bytes stands twice in the result.

    Raises DecodeError with the position in `data`, also for a version below 0. No bytes at all are no
    assignment: Kafka keeps them for a member that the leader left out.
    """
    version = _version(data, "Assignment.version")
    decoded = _ASSIGNMENT.decode(data, min(version, LATEST_VERSION))
    return replace(decoded.value, version=version, trailing=data[decoded.end :])


def assigned_partitions(data: bytes) -> tuple[tuple[str, int], ...]:
    """The partitions, as topic and number, of an assignment in the order of its bytes. Raises DecodeError.

    No bytes mean no partitions, as Kafka's own tools read them: the leader left the member out.
    """
    return partitions_of(decode_assignment(data).assigned_partitions) if data else ()


def decode_member(subscription: bytes, assignment: bytes) -> MemberBlobs:
    """Read a member's subscription and assignment; one that cannot be read does not hide the other."""
    subscription_error = assignment_error = decoded = None
    owned: tuple[tuple[str, int], ...] = ()
    try:
        decoded = decode_subscription(subscription)
    except DecodeError as error:
        subscription_error = error
    try:
        owned = assigned_partitions(assignment)
    except DecodeError as error:
        assignment_error = error
    return MemberBlobs(
        subscription=decoded,
        owned=owned,
        subscription_error=subscription_error,
        assignment_error=assignment_error,
    )


def partitions_of(named: Iterable[NamedTopicPartitions]) -> tuple[tuple[str, int], ...]:
    """Partitions, as topic and number, in their order."""
    return tuple((each.topic, number) for each in named for number in each.partitions)


def encode_subscription(subscription: Subscription, version: int = LATEST_VERSION) -> bytes:
    """The bytes as Kafka's consumers write them: topics sorted, owned partitions by topic and sorted."""
    canonical = replace(
        subscription,
        topics=tuple(sorted(subscription.topics, key=_java_order)),
        owned_partitions=named_partitions(
            sorted(
                partitions_of(subscription.owned_partitions),
                key=lambda owned: (_java_order(owned[0]), owned[1]),
            )
        ),
    )
    return _with_version(_SUBSCRIPTION, canonical, version)


def encode_assignment(assignment: Assignment, version: int = LATEST_VERSION) -> bytes:
    """The bytes as Kafka's leaders write them: partitions by topic, topics in order of first appearance."""
    merged = named_partitions(partitions_of(assignment.assigned_partitions))
    return _with_version(_ASSIGNMENT, replace(assignment, assigned_partitions=merged), version)


def _with_version(payload: Payload[V], value: V, version: int) -> bytes:
    written_version = min(version, LATEST_VERSION)
    return written_version.to_bytes(PREFIX_BYTES, signed=True) + payload.encode(value, written_version)


def _version(data: bytes, field: str) -> int:
    if len(data) < PREFIX_BYTES:
        raise DecodeError(field, at=0, why=f"needs {PREFIX_BYTES} bytes and there are {len(data)}")
    version = int.from_bytes(data[:PREFIX_BYTES], signed=True)
    if version < 0:
        raise DecodeError(field, at=0, why=f"unsupported version {version}")
    return version


def named_partitions(partitions: Iterable[tuple[str, int]]) -> tuple[NamedTopicPartitions, ...]:
    """Partitions, as topic and number, by topic: topics and numbers in the order of first appearance."""
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for topic, partition in partitions:
        by_topic[topic].append(partition)
    return tuple(
        NamedTopicPartitions(topic=topic, partitions=tuple(numbers)) for topic, numbers in by_topic.items()
    )


def _java_order(text: str) -> bytes:
    """Java compares strings by UTF-16 code units: U+1F600 comes before U+FF5E."""
    return text.encode("utf-16-be", "surrogatepass")
