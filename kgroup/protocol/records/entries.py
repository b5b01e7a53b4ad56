"""Records of `__consumer_offsets` as values: the types the rest of kgroup handles.

A record is a key and a value. Key classes are named as Kafka names its schemas, their fields are
Kafka's in snake case, and each value class holds the union of the fields of all its versions: a
field that a version does not have is at its schema default. Keys are hashable and equal when the
coordinator would hold one state for them, so a dict by key is what a coordinator keeps.

Sources: the record schemas of Kafka 0.10.1 to 4.4.0 (`schemas/*.json`).
"""

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import NamedTuple

from kgroup.protocol.records.keys import Key
from kgroup.protocol.records.values import Value


class RecordType(IntEnum):
    """The int16 in front of a key: Kafka's `CoordinatorRecordType` (0 and 1 are both commits)."""

    LEGACY_OFFSET_COMMIT = 0
    OFFSET_COMMIT = 1
    GROUP_METADATA = 2
    CONSUMER_GROUP_METADATA = 3
    CONSUMER_GROUP_PARTITION_METADATA = 4
    CONSUMER_GROUP_MEMBER_METADATA = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
    SHARE_GROUP_MEMBER_METADATA = 10
    SHARE_GROUP_METADATA = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14
    SHARE_GROUP_STATE_PARTITION_METADATA = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION = 16
    STREAMS_GROUP_METADATA = 17
    STREAMS_GROUP_MEMBER_METADATA = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22
    STREAMS_GROUP_TOPOLOGY = 23


class OffsetsEntry(NamedTuple):
    """One decoded record: `value` is None for a tombstone, and `value_version` with it.

    `trailing` are bytes left over behind the value's last field: Kafka ignores them, kgroup keeps
    and re-encodes them. `note` says in plain words what is odd about the record, if anything.
    `key_bytes` and `value_bytes` are the record's own, kept only where encoding the fields again would
    give other bytes (an unknown tagged field, bad UTF-8): `encode_entry` then writes them as they are.
    A tuple for its speed: one is made for every record of a log.
    """

    type: RecordType
    key: Key
    value: Value | None
    value_version: int | None
    trailing: bytes = b""
    note: str | None = None
    key_bytes: bytes | None = None
    value_bytes: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecodable:
    """A record kgroup cannot read as an entry: its bytes, whole, and why.

    `key_version` and `value_version` are the leading int16s where there are two bytes to read.
    """

    key: bytes | None
    value: bytes | None
    key_version: int | None
    value_version: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMarker:
    """The end of a producer's transaction, from a control batch (KIP-98)."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int


class TransactionOutcome(Enum):
    """The end of a record's transaction. `PENDING`: no marker follows the record in the input."""

    PENDING = "pending"
    COMMITTED = "committed"
    ABORTED = "aborted"


# Not frozen, which takes three times as long to make: there is one for every record. Nobody changes one.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class LoggedEntry:
    """An entry and where it stands in the log.

    `partition` is the offsets partition; `offset` the record's own; `timestamp_ms` is epoch ms, -1
    where the message format has none. `producer_id` is set when the record belongs to a transaction,
    whose outcome only a later `TransactionMarker` of that producer tells.
    """

    partition: int
    offset: int
    timestamp_ms: int
    leader_epoch: int | None
    producer_id: int | None
    entry: OffsetsEntry | Undecodable | TransactionMarker


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetGap:
    """Offsets `first` to `last` of an offsets partition that the log does not hold (any more).

    The cleaner removed them, retention did, or they are damaged. Code that tells a history from the
    records before and behind must not take an absent record for an event that did not happen.
    """

    partition: int
    first_offset: int
    last_offset: int
