"""An invented fleet of consumer groups: who they are, what they read, and the records that they make.

Everything follows from a seed. The records come as *tails*: the bytes of a record from its key on, which
the log writer copies and patches.
"""

import base64
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from kgroup.protocol.group_hash import partition_for
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata, OffsetCommitValue
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    encode_assignment,
    encode_subscription,
)

_DOMAINS = (
    "orders",
    "payments",
    "inventory",
    "shipping",
    "billing",
    "fraud",
    "audit",
    "clicks",
    "search",
    "users",
)
_THINGS = ("events", "commands", "changes", "snapshots", "errors", "retries", "metrics", "joined")
_ROLES = ("consumer", "enricher", "indexer", "archiver", "notifier", "streams", "sink", "exporter")
_SITES = ("eu-west", "eu-north", "us-east", "ap-south")
_PARTITION_COUNTS = (1, 3, 6, 12, 12, 24, 48)
# A number that no other bytes of a record are likely to spell, to find where a field lies.
_MARK = 0x5AC3_96F0_1234_8765


@dataclass(frozen=True, slots=True)
class Topic:
    """A data topic."""

    name: str
    partitions: int
    topic_id: UUID


@dataclass(frozen=True, slots=True)
class Tail:
    """The bytes of a record from its key on, and where the numbers lie that change: -1 if it has none.

    `first_at` is the offset of a commit (8 bytes), or the generation of a group (4); `time_at` a
    timestamp (8).
    """

    raw: bytes
    first_at: int = -1
    first_size: int = 8
    time_at: int = -1


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group; each member commits its own partitions together, and `weight` says how often."""

    name: str
    members: tuple[tuple[tuple[Topic, int], ...], ...]
    weight: float
    metadata: str

    def offsets_partition(self, partitions: int) -> int:
        """The offsets partition in which Kafka keeps the group."""
        return partition_for(self.name, partitions)


@dataclass(frozen=True, slots=True)
class Fleet:
    """All topics and groups."""

    topics: tuple[Topic, ...]
    groups: tuple[Group, ...]


def invent(groups: int, seed: int) -> Fleet:
    """A fleet of so many groups."""
    rng = random.Random(seed)
    topics = tuple(_invent_topics(max(groups // 4, 4), rng))
    return Fleet(topics, tuple(_invent_group(number, topics, rng) for number in range(groups)))


def commit_tail(group: Group, topic: Topic, partition: int, value_version: int) -> Tail:
    """A commit, with the offset and the commit time to be filled in."""
    value = OffsetCommitValue(
        offset=_MARK,
        leader_epoch=3,
        metadata=group.metadata,
        commit_timestamp=_MARK,
        topic_id=topic.topic_id if value_version >= 4 else None,
    )
    return _tail(
        OffsetsEntry(
            type=RecordType.OFFSET_COMMIT,
            key=OffsetCommitKey(group=group.name, topic=topic.name, partition=partition),
            value=value,
            value_version=value_version,
        )
    )


def tombstone_tail(group: Group, topic: Topic, partition: int) -> Tail:
    """The tombstone of a commit, as expiry or a deletion writes it."""
    return _tail(
        OffsetsEntry(
            type=RecordType.OFFSET_COMMIT,
            key=OffsetCommitKey(group=group.name, topic=topic.name, partition=partition),
            value=None,
            value_version=None,
        )
    )


def group_metadata_tail(group: Group) -> Tail:
    """A Stable classic group with all its members, with generation and time to be filled in."""
    members = tuple(_member(group, number) for number in range(len(group.members)))
    value = GroupMetadataValue(
        protocol_type="consumer",
        generation=_MARK & 0x7FFFFFFF,
        protocol="range",
        leader=members[0].member_id,
        current_state_timestamp=_MARK,
        members=members,
    )
    tail = _tail(
        OffsetsEntry(
            type=RecordType.GROUP_METADATA,
            key=GroupMetadataKey(group=group.name),
            value=value,
            value_version=3,
        )
    )
    generation_at = tail.raw.index(struct.pack(">i", value.generation))
    return Tail(tail.raw, first_at=generation_at, first_size=4, time_at=tail.time_at)


def _invent_topics(count: int, rng: random.Random) -> Iterator[Topic]:
    for number in range(count):
        name = f"{rng.choice(_DOMAINS)}.{rng.choice(_THINGS)}-{number}"
        yield Topic(name, rng.choice(_PARTITION_COUNTS), UUID(int=rng.getrandbits(128), version=4))


def _invent_group(number: int, topics: tuple[Topic, ...], rng: random.Random) -> Group:
    name = f"{rng.choice(_DOMAINS)}-{rng.choice(_ROLES)}-{rng.choice(_SITES)}-{number}"
    read = rng.sample(topics, rng.choice((1, 1, 1, 2, 3)))
    owned = [(topic, partition) for topic in read for partition in range(topic.partitions)]
    member_count = rng.randint(1, max(1, min(8, len(owned) // 3)))
    members = tuple(tuple(owned[start::member_count]) for start in range(member_count))
    # A few groups commit much more often than most.
    weight = rng.paretovariate(1.2)
    metadata = base64.b64encode(rng.randbytes(12)).decode() if rng.random() < 0.1 else ""
    return Group(name, members, min(weight, 50.0), metadata)


def _member(group: Group, number: int) -> MemberMetadata:
    owned: dict[str, list[int]] = {}
    for topic, partition in group.members[number]:
        owned.setdefault(topic.name, []).append(partition)
    partitions = tuple(
        NamedTopicPartitions(topic=topic, partitions=tuple(numbers))
        for topic, numbers in sorted(owned.items())
    )
    client_id = f"{group.name}-{number}"
    unique = UUID(bytes=random.Random(client_id).randbytes(16), version=4)
    return MemberMetadata(
        member_id=f"{client_id}-{unique}",
        client_id=client_id,
        client_host=f"/10.{number % 250}.0.17",
        rebalance_timeout=300_000,
        session_timeout=45_000,
        subscription=encode_subscription(Subscription(topics=tuple(sorted(owned))), 1),
        assignment=encode_assignment(Assignment(assigned_partitions=partitions), 1),
    )


def _tail(entry: OffsetsEntry) -> Tail:
    key, value = encode_entry(entry)
    assert key is not None
    raw = _varint(len(key)) + key
    raw += _varint(-1) if value is None else _varint(len(value)) + value
    raw += _varint(0)  # headers
    mark = struct.pack(">q", _MARK)
    if value is None:
        return Tail(raw)
    return Tail(raw, first_at=raw.find(mark), time_at=raw.rfind(mark))


def _varint(number: int) -> bytes:
    raw = number << 1 if number >= 0 else (-number << 1) - 1
    out = bytearray()
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)
