"""Records of `__share_group_state`: how far share groups are (KIP-932, and KIP-1226 since Kafka 4.2).

A key's int16 says what the value is: 0 a snapshot, 1 an update of the snapshot before. A snapshot without a
value deletes the partition's state.
"""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.protocol.payload import PREFIX_BYTES, Payload

SHARE_STATE_TOPIC: Final = "__share_group_state"
_SNAPSHOT, _UPDATE = 0, 1


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
_KEY: Final = Payload(ShareStateKey)
_VALUES: Final[dict[int, Payload[ShareSnapshotValue] | Payload[ShareUpdateValue]]] = {
    _SNAPSHOT: Payload(ShareSnapshotValue),
    _UPDATE: Payload(ShareUpdateValue),
}


def decode_share_state(key: bytes, value: bytes | None) -> tuple[ShareStateKey, ShareStateValue | None]:
    """A record's key and value. Raises DecodeError for what is none of the two, or cut short."""
    kind = _prefix(key, "ShareStateKey")
    codec = _VALUES.get(kind)
    if codec is None:
        raise DecodeError("ShareStateKey", at=0, why=f"a record of type {kind}")
    read = _KEY.decode(key, 0).value
    if value is None:
        return read, None
    version = _prefix(value, codec.name)
    if version != 0:
        raise DecodeError(codec.name, at=0, why=f"version {version}, and 0 is known")
    return read, codec.decode(value, version).value


def _prefix(data: bytes, name: str) -> int:
    if len(data) < PREFIX_BYTES:
        raise DecodeError(name, at=0, why="the bytes end early")
    return int.from_bytes(data[:PREFIX_BYTES], "big", signed=True)
