"""Odd records of a block, judged by the plain path: commits become rows, others are passed on as they are.

A record is odd if its key is no plain commit key, or if the kernel does not read its commit value: cut
short, of an unknown version, with unknown tagged fields, with text that is not UTF-8. `decode_entry`
knows which of them Kafka accepts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, Undecodable
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.scan.kernels.batches import BUFFER_SLACK
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.keys import NO_ROOM, Keys, grown, intern_key
from kgroup.scan.kernels.rows import (
    COMMIT,
    COMMIT_TIMESTAMP,
    DROPPED,
    EXPIRE_TIMESTAMP,
    KEY_ID,
    KIND,
    LEADER_EPOCH,
    ODD,
    ODD_KEY_POSITION,
    ODD_KEY_SIZE,
    OFFSET,
    TEXT_POSITION,
    TEXT_SIZE,
    TOPIC_ID_POSITION,
    VALUE_VERSION,
    Rows,
    write_tombstone,
)

_STRING_MAX_BYTES = 32767


@dataclass(frozen=True, slots=True)
class Judged:
    """The buffer the rows now point into, the keys, and what each non-commit row is."""

    buffer: Bytes
    keys: Keys
    others: tuple[tuple[int, OffsetsEntry | Undecodable], ...]


def judge_odd(rows: Rows, count: int, buffer: Bytes, keys: Keys) -> Judged:
    """Decode the odd rows; no row among the first `count` is odd afterwards."""
    others: list[tuple[int, OffsetsEntry | Undecodable]] = []
    text = bytearray()
    for row in np.flatnonzero(rows[KIND, :count] == ODD).tolist():
        raw_key, raw_value = _record(rows, row, buffer)
        entry = decode_entry(raw_key, raw_value)
        key = _commit_key(entry)
        if key is None:
            rows[KIND, row] = DROPPED
            others.append((row, entry))
            continue
        keys, rows[KEY_ID, row] = _interned(keys, key)
        assert isinstance(entry, OffsetsEntry)
        if isinstance(entry.value, OffsetCommitValue):
            value_position = int(rows[TEXT_POSITION, row])
            for column, part in _parts(entry.value):
                # The value itself has it, unless it was no UTF-8; copying a large buffer costs.
                at = (raw_value or b"").find(part)
                rows[column, row] = value_position + at if at >= 0 else len(buffer) + len(text)
                text += part if at < 0 else b""
            _write_commit(rows, row, entry.value, entry.value_version or 0)
        else:
            write_tombstone(rows, row)
    if text:
        buffer = np.concatenate([buffer, np.frombuffer(bytes(text) + bytes(BUFFER_SLACK), np.uint8)])
    return Judged(buffer, keys, tuple(others))


def _record(rows: Rows, row: int, buffer: Bytes) -> tuple[bytes | None, bytes | None]:
    key = int(rows[ODD_KEY_POSITION, row]), int(rows[ODD_KEY_SIZE, row])
    value = int(rows[TEXT_POSITION, row]), int(rows[TEXT_SIZE, row])
    return _bytes_at(buffer, *key), _bytes_at(buffer, *value)


def _bytes_at(buffer: Bytes, position: int, size: int) -> bytes | None:
    return None if size < 0 else buffer[position : position + size].tobytes()


def _commit_key(entry: OffsetsEntry | Undecodable) -> bytes | None:
    """The key as Kafka would have written it, None if the entry is no commit."""
    if not isinstance(entry, OffsetsEntry) or not isinstance(entry.key, OffsetCommitKey):
        return None
    key = bytearray(int(RecordType.OFFSET_COMMIT).to_bytes(2, "big"))
    for string in (entry.key.group, entry.key.topic):
        name = string.encode()
        if len(name) > _STRING_MAX_BYTES:
            # Only a string of bytes that were no UTF-8 grows so long, by what stands in for them.
            return None
        key += len(name).to_bytes(2, "big") + name
    return bytes(key + entry.key.partition.to_bytes(4, "big", signed=True))


def _interned(keys: Keys, key: bytes) -> tuple[Keys, int]:
    buffer = np.frombuffer(key + bytes(BUFFER_SLACK), np.uint8).copy()
    string_id = intern_key(keys, buffer, 0, len(key))
    while string_id == NO_ROOM:
        keys = grown(keys)
        string_id = intern_key(keys, buffer, 0, len(key))
    assert string_id >= 0, key
    return keys, string_id


def _write_commit(rows: Rows, row: int, commit: OffsetCommitValue, version: int) -> None:
    """Fill the columns but the positions of `_parts`."""
    rows[KIND, row] = COMMIT
    rows[OFFSET, row] = commit.offset
    rows[LEADER_EPOCH, row] = commit.leader_epoch
    rows[COMMIT_TIMESTAMP, row] = commit.commit_timestamp
    rows[EXPIRE_TIMESTAMP, row] = commit.expire_timestamp
    rows[VALUE_VERSION, row] = version
    rows[TEXT_SIZE, row] = len(commit.metadata.encode())
    if commit.topic_id is None:
        rows[TOPIC_ID_POSITION, row] = -1


def _parts(commit: OffsetCommitValue) -> Iterator[tuple[int, bytes]]:
    yield TEXT_POSITION, commit.metadata.encode()
    if commit.topic_id is not None:
        yield TOPIC_ID_POSITION, commit.topic_id.bytes
