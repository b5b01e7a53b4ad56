"""The record types of the offsets topic: the key and value of each, and both directions to bytes.

Kafka: `CoordinatorRecordType` and `GroupCoordinatorRecordSerde` (4.3.1).
"""

from dataclasses import dataclass
from functools import cache, lru_cache

from kgroup.errors import DecodeError
from kgroup.protocol.payload import PREFIX_BYTES, Payload
from kgroup.protocol.records import keys, values
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, Undecodable
from kgroup.protocol.records.keys import Key
from kgroup.protocol.records.plain_commit import read_plain_commit, read_plain_commit_key
from kgroup.protocol.records.values import Value

_T = RecordType
_CLASSES: dict[RecordType, tuple[type[Key], type[Value]]] = {
    _T.LEGACY_OFFSET_COMMIT: (keys.OffsetCommitKey, values.OffsetCommitValue),
    _T.OFFSET_COMMIT: (keys.OffsetCommitKey, values.OffsetCommitValue),
    _T.GROUP_METADATA: (keys.GroupMetadataKey, values.GroupMetadataValue),
    _T.CONSUMER_GROUP_METADATA: (keys.ConsumerGroupMetadataKey, values.ConsumerGroupMetadataValue),
    _T.CONSUMER_GROUP_PARTITION_METADATA: (
        keys.ConsumerGroupPartitionMetadataKey,
        values.ConsumerGroupPartitionMetadataValue,
    ),
    _T.CONSUMER_GROUP_MEMBER_METADATA: (
        keys.ConsumerGroupMemberMetadataKey,
        values.ConsumerGroupMemberMetadataValue,
    ),
    _T.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: (
        keys.ConsumerGroupTargetAssignmentMetadataKey,
        values.ConsumerGroupTargetAssignmentMetadataValue,
    ),
    _T.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: (
        keys.ConsumerGroupTargetAssignmentMemberKey,
        values.ConsumerGroupTargetAssignmentMemberValue,
    ),
    _T.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: (
        keys.ConsumerGroupCurrentMemberAssignmentKey,
        values.ConsumerGroupCurrentMemberAssignmentValue,
    ),
    _T.CONSUMER_GROUP_REGULAR_EXPRESSION: (
        keys.ConsumerGroupRegularExpressionKey,
        values.ConsumerGroupRegularExpressionValue,
    ),
    _T.SHARE_GROUP_MEMBER_METADATA: (keys.ShareGroupMemberMetadataKey, values.ShareGroupMemberMetadataValue),
    _T.SHARE_GROUP_METADATA: (keys.ShareGroupMetadataKey, values.ShareGroupMetadataValue),
    _T.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: (
        keys.ShareGroupTargetAssignmentMetadataKey,
        values.ShareGroupTargetAssignmentMetadataValue,
    ),
    _T.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: (
        keys.ShareGroupTargetAssignmentMemberKey,
        values.ShareGroupTargetAssignmentMemberValue,
    ),
    _T.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: (
        keys.ShareGroupCurrentMemberAssignmentKey,
        values.ShareGroupCurrentMemberAssignmentValue,
    ),
    _T.SHARE_GROUP_STATE_PARTITION_METADATA: (
        keys.ShareGroupStatePartitionMetadataKey,
        values.ShareGroupStatePartitionMetadataValue,
    ),
    _T.STREAMS_GROUP_METADATA: (keys.StreamsGroupMetadataKey, values.StreamsGroupMetadataValue),
    _T.STREAMS_GROUP_MEMBER_METADATA: (
        keys.StreamsGroupMemberMetadataKey,
        values.StreamsGroupMemberMetadataValue,
    ),
    _T.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: (
        keys.StreamsGroupTargetAssignmentMetadataKey,
        values.StreamsGroupTargetAssignmentMetadataValue,
    ),
    _T.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: (
        keys.StreamsGroupTargetAssignmentMemberKey,
        values.StreamsGroupTargetAssignmentMemberValue,
    ),
    _T.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: (
        keys.StreamsGroupCurrentMemberAssignmentKey,
        values.StreamsGroupCurrentMemberAssignmentValue,
    ),
    _T.STREAMS_GROUP_TOPOLOGY: (keys.StreamsGroupTopologyKey, values.StreamsGroupTopologyValue),
}
# Types that Kafka has had schemas for and has none any more.
_RETIRED = {9: "ShareGroupPartitionMetadata", 18: "StreamsGroupPartitionMetadata"}

_KEY_SCHEMA_VERSION = 0  # the int16 in front of a key is its type; a key has one version only
# A log repeats few keys many times; 65536 of them take about 30 MB.
_CACHED_KEYS = 1 << 16


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """The codecs of one record type."""

    type: RecordType
    key: Payload[Key]
    value: Payload[Value]

    @property
    def latest_value_version(self) -> int:
        """The highest version that the value can have."""
        # Commits under key type 0 ended before their value had a version 1.
        return 0 if self.type is RecordType.LEGACY_OFFSET_COMMIT else self.value.latest_version


@cache
def record_schema(record_type: RecordType) -> RecordSchema:
    """The schema of `record_type`, loaded when it is first asked for."""
    key_class, value_class = _CLASSES[record_type]
    return RecordSchema(record_type, Payload[Key](key_class), Payload[Value](value_class))


def decode_entry(key: bytes | None, value: bytes | None) -> OffsetsEntry | Undecodable:
    """The entry of a record of the offsets topic; a null value is a tombstone.

    Never raises: what Kafka's own code refuses comes back Undecodable, with its bytes and the reason.
    """
    if key is None:
        return _undecodable(key, value, "the record has no key")
    decoded = _decode_key(key)
    if isinstance(decoded, str):
        return _undecodable(key, value, decoded)
    if value is None:
        return decoded.tombstone
    if len(value) < PREFIX_BYTES:
        return _undecodable(key, value, f"a value of {len(value)} bytes has no version")
    version = int.from_bytes(value[:PREFIX_BYTES], signed=True)
    tombstone = decoded.tombstone
    if tombstone.type is _T.OFFSET_COMMIT and tombstone.note is None:
        commit = read_plain_commit(value, version)
        if commit is not None:
            return OffsetsEntry(tombstone.type, tombstone.key, commit, version)
    schema = decoded.schema
    if not 0 <= version <= schema.latest_value_version:
        versions = f"kgroup knows 0 to {schema.latest_value_version}"
        return _undecodable(key, value, f"{schema.value.name} of unknown version {version}; {versions}")
    try:
        body = schema.value.decode(value, version)
    except DecodeError as error:
        return _undecodable(key, value, str(error))
    if body.canonical and tombstone.note is None and body.end == len(value):
        return OffsetsEntry(type=tombstone.type, key=tombstone.key, value=body.value, value_version=version)
    trailing = value[body.end :]
    notes = [tombstone.note] if tombstone.note else []
    notes += body.notes
    if trailing:
        notes.append(f"{len(trailing)} bytes more than {schema.value.name} version {version} has")
    return OffsetsEntry(
        type=tombstone.type,
        key=tombstone.key,
        value=body.value,
        value_version=version,
        trailing=trailing,
        note="; ".join(notes),
        key_bytes=tombstone.key_bytes,
        value_bytes=None if body.canonical else value,
    )


def decode_key(key: bytes) -> tuple[RecordType, Key] | None:
    """The subject of a record with this key; None if that cannot be read. Most keys come from a cache."""
    decoded = _decode_key(key)
    return None if isinstance(decoded, str) else (decoded.tombstone.type, decoded.tombstone.key)


def encode_entry(entry: OffsetsEntry | Undecodable) -> tuple[bytes | None, bytes | None]:
    """The key and value of a record that says `entry`; those of a decoded one are the bytes it came from.

    Only an Undecodable can have a null key. Raises InputError if a field does not fit its type.
    """
    if isinstance(entry, Undecodable):
        return entry.key, entry.value
    schema = record_schema(entry.type)
    key = entry.key_bytes
    if key is None:
        key = _int16(entry.type) + schema.key.encode(entry.key, _KEY_SCHEMA_VERSION)
    if entry.value is None or entry.value_bytes is not None:
        return key, entry.value_bytes
    version = schema.latest_value_version if entry.value_version is None else entry.value_version
    return key, _int16(version) + schema.value.encode(entry.value, version) + entry.trailing


@dataclass(frozen=True, slots=True)
class _DecodedKey:
    """A key as its tombstone would be, and what a value next to it must be like."""

    schema: RecordSchema
    tombstone: OffsetsEntry


@lru_cache(maxsize=_CACHED_KEYS)
def _decode_key(key: bytes) -> _DecodedKey | str:
    """The decoded key, or the reason why it cannot be read."""
    if len(key) < PREFIX_BYTES:
        return f"a key of {len(key)} bytes has no record type"
    number = int.from_bytes(key[:PREFIX_BYTES], signed=True)
    if number in _RETIRED:
        return f"record type {number} ({_RETIRED[number]}) is retired: Kafka has no schema for it any more"
    try:
        record_type = RecordType(number)
    except ValueError:
        return f"unknown record type {number}"
    schema = record_schema(record_type)
    if record_type is RecordType.OFFSET_COMMIT:
        plain_key = read_plain_commit_key(key)
        if plain_key is not None:
            return _DecodedKey(schema, OffsetsEntry(record_type, plain_key, None, None))
    try:
        decoded = schema.key.decode(key, _KEY_SCHEMA_VERSION)
    except DecodeError as error:
        return str(error)
    notes = list(decoded.notes)
    if decoded.end < len(key):
        notes.append(f"{len(key) - decoded.end} bytes more than {schema.key.name} has")
    plain = decoded.canonical and decoded.end == len(key)
    tombstone = OffsetsEntry(
        type=record_type,
        key=decoded.value,
        value=None,
        value_version=None,
        note="; ".join(notes) or None,
        key_bytes=None if plain else key,
    )
    return _DecodedKey(schema, tombstone)


def _undecodable(key: bytes | None, value: bytes | None, why: str) -> Undecodable:
    return Undecodable(
        key=key, value=value, key_version=_leading_int16(key), value_version=_leading_int16(value), why=why
    )


def _leading_int16(data: bytes | None) -> int | None:
    if data is None or len(data) < PREFIX_BYTES:
        return None
    return int.from_bytes(data[:PREFIX_BYTES], signed=True)


def _int16(number: int) -> bytes:
    return number.to_bytes(PREFIX_BYTES, signed=True)
