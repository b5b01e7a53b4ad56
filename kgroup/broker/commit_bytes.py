"""Encodes offset commits by hand: the record that a busy broker writes by the thousand.

`encode_entry` of kgroup.protocol gives the same bytes for every entry, slower, and `encode_batch` the same
records; tests hold them equal.
"""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import repeat
from operator import itemgetter
from struct import Struct, calcsize
from typing import Final
from uuid import UUID

from kgroup.group.coordinator.step import CommitRun
from kgroup.log.format.record import LogRecord, encode_records
from kgroup.log.format.varint import append_varint
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.requests.coordinator import CommitPartition

_VERSION: Final = 4
_KEPT_KEYS: Final = 1 << 14
_PLAIN_METADATA_MAX: Final = 126  # longer strings have a length of more than one byte
_FRONT: Final = Struct(">hqi")
_TIMESTAMP: Final = Struct(">q")
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"  # one tagged field: number 0, of 16 bytes
_NO_TAGS: Final = b"\x00"
_NO_METADATA: Final = b"\x01"
_PARTITION: Final = Struct(">i")
_METADATA: Final = itemgetter(CommitPartition._fields.index("committed_metadata"))
_NO_ATTRIBUTES: Final = b"\x00"
_NO_HEADERS: Final = b"\x00"
_DELTAS: Final = 1 << 13  # of one or two bytes
_ONE_BYTE_DELTAS: Final = 1 << 6


def encode_fast(entry: OffsetsEntry) -> tuple[bytes | None, bytes | None]:
    """The key and value of a record that says `entry`."""
    key, value = entry.key, entry.value
    if not isinstance(key, OffsetCommitKey) or not isinstance(value, OffsetCommitValue):
        return encode_entry(entry)
    metadata = value.metadata.encode()
    if entry.value_version != _VERSION or len(metadata) > _PLAIN_METADATA_MAX or entry.trailing:
        return encode_entry(entry)
    tags = _NO_TAGS if value.topic_id is None else _TOPIC_ID_TAG + value.topic_id.bytes
    body = (
        _FRONT.pack(_VERSION, value.offset, value.leader_epoch)
        + bytes((len(metadata) + 1,))
        + metadata
        + _TIMESTAMP.pack(value.commit_timestamp)
        + tags
    )
    return _key_bytes(key), body


@lru_cache(maxsize=_KEPT_KEYS)
def _key_bytes(key: OffsetCommitKey) -> bytes:
    tombstone = OffsetsEntry(type=RecordType.OFFSET_COMMIT, key=key, value=None, value_version=None)
    encoded, _ = encode_entry(tombstone)
    assert encoded is not None
    return encoded


def encode_run(run: CommitRun, first_delta: int, base_timestamp_ms: int) -> bytes:
    """The run's records as they lie in a batch, from this offset delta on and the batch's first timestamp.

    Commits without metadata, which is nearly all, differ in nothing but numbers in fixed places.
    """
    end_delta = first_delta + len(run.partitions)
    if run.expire_timestamp != -1 or end_delta > _DELTAS or any(map(_METADATA, run.partitions)):
        return _encode_each(run, first_delta, base_timestamp_ms)
    partitions, offsets, epochs, _ = zip(*run.partitions, strict=True)
    key_front, value_front, value_end = _around_numbers(run.group, run.topic, run.topic_id)
    front = _NO_ATTRIBUTES + _varint(run.timestamp_ms - base_timestamp_ms)
    end = _NO_METADATA + _TIMESTAMP.pack(run.timestamp_ms) + value_end
    encoded = b""
    for delta_size, start, stop in (
        (1, first_delta, min(end_delta, _ONE_BYTE_DELTAS)),
        (2, max(first_delta, _ONE_BYTE_DELTAS), end_delta),
    ):
        if start >= stop:
            continue
        pack, sized_front = _record_layout(front, delta_size, len(key_front), len(value_front), len(end))
        chosen = slice(start - first_delta, stop - first_delta)
        encoded += b"".join(
            map(
                pack,
                repeat(sized_front),
                _deltas()[start:stop],
                repeat(key_front),
                partitions[chosen],
                repeat(value_front),
                offsets[chosen],
                epochs[chosen],
                repeat(end),
            )
        )
    return encoded


@lru_cache(maxsize=_KEPT_KEYS)
def _around_numbers(group: str, topic: str, topic_id: UUID | None) -> tuple[bytes, bytes, bytes]:
    """A record's bytes before the partition, before the offset, and at its end."""
    key = _key_bytes(OffsetCommitKey(group=group, topic=topic, partition=0))
    tags = _NO_TAGS if topic_id is None else _TOPIC_ID_TAG + topic_id.bytes
    value_size = _FRONT.size + len(_NO_METADATA) + _TIMESTAMP.size + len(tags)
    key_front = _varint(len(key)) + key[: -_PARTITION.size]
    return key_front, _varint(value_size) + _VERSION.to_bytes(2, "big"), tags + _NO_HEADERS


@lru_cache(maxsize=1024)
def _record_layout(
    front: bytes, delta: int, key_front: int, value_front: int, end: int
) -> tuple[Callable[..., bytes], bytes]:
    """Packs a record with numbers between bytes of these sizes; and what it begins with, with its size."""
    rest = f"{delta}s{key_front}si{value_front}sqi{end}s"
    sized_front = _varint(len(front) + calcsize(f">{rest}")) + front
    return Struct(f">{len(sized_front)}s{rest}").pack, sized_front


@cache
def _deltas() -> Sequence[bytes]:
    """The offset deltas of one and two bytes, as varints."""
    return [_varint(number) for number in range(_DELTAS)]


@lru_cache(maxsize=1024)
def _varint(number: int) -> bytes:
    encoded = bytearray()
    append_varint(encoded, number)
    return bytes(encoded)


def _encode_each(run: CommitRun, first_delta: int, base_timestamp_ms: int) -> bytes:
    records = []
    for number, record in enumerate(run.records(), first_delta):
        assert isinstance(record.entry, OffsetsEntry)
        key, value = encode_fast(record.entry)
        records.append(LogRecord(offset=number, timestamp_ms=record.timestamp_ms, key=key, value=value))
    return encode_records(records, 0, base_timestamp_ms)
