"""Records of `__share_group_state`: how far share groups are (KIP-932, and KIP-1226 since Kafka 4.2).

A key's int16 says what the value is: 0 a snapshot, 1 an update of the snapshot before. A snapshot without a
value deletes the partition's state.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.protocol.payload import PREFIX_BYTES, Decoded, JsonField, Payload

SHARE_STATE_TOPIC: Final = "__share_group_state"
VALUE_VERSION: Final = 0
_KEY_VERSION: Final = 0


class ShareStateType(IntEnum):
    """What a key's int16 says of the record."""

    SHARE_SNAPSHOT = 0
    SHARE_UPDATE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareStateKey:
    """A partition that a share group reads."""

    group_id: str
    topic_id: UUID | None
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBatch:
    """Records from one offset to another with their delivery count. State 0: available, 2: acknowledged,
    3: is being archived, 4: archived."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSnapshotValue:
    """The whole state. Times are epoch ms.

    `start_offset` is -1 before the first fetch; `delivery_complete_count` counts the offsets from there on
    that are done with, -1 where a version before 4.2 wrote it.
    """

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    create_timestamp: int
    write_timestamp: int
    state_batches: tuple[StateBatch, ...]
    delivery_complete_count: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareUpdateValue:
    """The changes since the snapshot; `start_offset` is -1 where it has not changed."""

    snapshot_epoch: int
    leader_epoch: int
    start_offset: int
    state_batches: tuple[StateBatch, ...]
    delivery_complete_count: int = -1


ShareStateValue = ShareSnapshotValue | ShareUpdateValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareStateEntry:
    """A record; without a value it deletes. `notes` say what is odd about its bytes."""

    type: ShareStateType
    key: ShareStateKey
    value: ShareStateValue | None
    notes: tuple[str, ...] = ()


_KEY: Final = Payload(ShareStateKey)
_VALUES: Final[dict[int, Payload[ShareSnapshotValue] | Payload[ShareUpdateValue]]] = {
    ShareStateType.SHARE_SNAPSHOT: Payload(ShareSnapshotValue),
    ShareStateType.SHARE_UPDATE: Payload(ShareUpdateValue),
}


def decode_share_state(key: bytes, value: bytes | None) -> ShareStateEntry:
    """A record. Raises DecodeError for what is none of the two types, or cut short."""
    kind = _prefix(key, "ShareStateKey")
    codec = _VALUES.get(kind)
    if codec is None:
        raise DecodeError("ShareStateKey", at=0, why=f"a record of type {kind}")
    about = _KEY.decode(key, _KEY_VERSION)
    entry = ShareStateType(kind)
    notes = _notes(about, key, "ShareStateKey")
    if value is None:
        return ShareStateEntry(type=entry, key=about.value, value=None, notes=notes)
    version = _prefix(value, codec.name)
    if version != VALUE_VERSION:
        raise DecodeError(codec.name, at=0, why=f"version {version}, and {VALUE_VERSION} is known")
    read = codec.decode(value, version)
    notes += _notes(read, value, codec.name)
    return ShareStateEntry(type=entry, key=about.value, value=read.value, notes=notes)


def _notes(read: Decoded[Any], data: bytes, name: str) -> tuple[str, ...]:
    left = len(data) - read.end
    return (*read.notes, f"{left} bytes more than {name} has") if left else read.notes


def key_fields() -> tuple[JsonField, ...]:
    """The fields of a key, in wire order."""
    return _KEY.json_fields(_KEY_VERSION)


def value_fields(kind: ShareStateType) -> tuple[JsonField, ...]:
    """The fields of a value of this type."""
    return _VALUES[kind].json_fields(VALUE_VERSION)


def _prefix(data: bytes, name: str) -> int:
    if len(data) < PREFIX_BYTES:
        raise DecodeError(name, at=0, why="the bytes end early")
    return int.from_bytes(data[:PREFIX_BYTES], "big", signed=True)
