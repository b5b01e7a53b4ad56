"""Offset commits to bytes by hand: the one record that a busy broker writes by the thousand.

`encode_entry` of kgroup.protocol gives the same bytes for every entry, slower; a test holds the two equal.
"""

from functools import lru_cache
from struct import Struct
from typing import Final

from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue

_VERSION: Final = 4
_KEPT_KEYS: Final = 1 << 14
_PLAIN_METADATA_MAX: Final = 126  # longer strings have a length of more than one byte
_FRONT: Final = Struct(">hqi")
_TIMESTAMP: Final = Struct(">q")
_TOPIC_ID_TAG: Final = b"\x01\x00\x10"  # one tagged field: number 0, of 16 bytes
_NO_TAGS: Final = b"\x00"


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
