"""Reads keys and values of ordinary commits in a tenth of the codec's time.

Nearly all records of an offsets topic are commits. The layouts are those of `schemas/OffsetCommit*.json`;
whatever is not exactly like them is left to the codec (`protocol/payload.py`), which knows and explains
the rest.
"""

from functools import lru_cache
from struct import Struct
from typing import Final
from uuid import UUID

from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue

# What stands in front of the metadata, the version and the metadata's length included, and what behind it.
_FRONT: Final = Struct(">xxqH")
_FRONT_WITH_EPOCH: Final = Struct(">xxqiH")
_FLEXIBLE_FRONT: Final = Struct(">xxqiB")
_COMMITTED: Final = Struct(">q")
_COMMITTED_AND_EXPIRY: Final = Struct(">qq")
_COMMITTED_AND_TAGS: Final = Struct(">qB")
_FLEXIBLE_FRONT_SIZE: Final = _FLEXIBLE_FRONT.size
_COMMITTED_AND_TAGS_SIZE: Final = _COMMITTED_AND_TAGS.size
_LAYOUTS: Final = {
    0: (_FRONT, _COMMITTED),
    1: (_FRONT, _COMMITTED_AND_EXPIRY),
    2: (_FRONT, _COMMITTED),
    3: (_FRONT_WITH_EPOCH, _COMMITTED),
}

_STRING_MAX: Final = 0x7FFF
_KEY_GROUP_AT: Final = 4  # behind the record type and the length of the group
_KEY_PARTITION_SIZE: Final = 4
_ONE_BYTE_VARINT_MAX: Final = 0x7F
_TOPIC_ID_TAG: Final = b"\x00\x10"  # tag 0, 16 bytes
_TOPIC_ID_BYTES: Final = 16


def read_plain_commit(value: bytes, version: int) -> OffsetCommitValue | None:
    """The commit in `value`, which begins with its version; None unless Kafka would write it so."""
    if version == 4:
        return _read_flexible(value)
    if version not in _LAYOUTS:
        return None
    front, back = _LAYOUTS[version]
    start = front.size
    if len(value) < start:
        return None
    offset, *epoch, size = front.unpack_from(value)
    end = start + size
    if size > _STRING_MAX or len(value) != end + back.size:
        return None
    metadata = _text(value[start:end])
    if metadata is None:
        return None
    committed, *expiry = back.unpack_from(value, end)
    return OffsetCommitValue(
        offset=offset,
        leader_epoch=epoch[0] if epoch else -1,
        metadata=metadata,
        commit_timestamp=committed,
        expire_timestamp=expiry[0] if expiry else -1,
    )


def read_plain_commit_key(key: bytes) -> OffsetCommitKey | None:
    """The same for a key, which begins with its record type."""
    group_end = _KEY_GROUP_AT + int.from_bytes(key[_KEY_GROUP_AT - 2 : _KEY_GROUP_AT])
    topic_at = group_end + 2
    topic_end = topic_at + int.from_bytes(key[group_end:topic_at])
    if len(key) != topic_end + _KEY_PARTITION_SIZE or max(group_end, topic_end - topic_at) > _STRING_MAX:
        return None
    group, topic = _text(key[_KEY_GROUP_AT:group_end]), _text(key[topic_at:topic_end])
    if group is None or topic is None:
        return None
    return OffsetCommitKey(group=group, topic=topic, partition=int.from_bytes(key[topic_end:], signed=True))


def _read_flexible(value: bytes) -> OffsetCommitValue | None:
    if len(value) < _FLEXIBLE_FRONT_SIZE:
        return None
    offset, epoch, size_and_one = _FLEXIBLE_FRONT.unpack_from(value)
    end = _FLEXIBLE_FRONT_SIZE + size_and_one - 1
    tags_at = end + _COMMITTED_AND_TAGS_SIZE
    if not 0 < size_and_one <= _ONE_BYTE_VARINT_MAX or len(value) < tags_at:
        return None
    metadata = _text(value[_FLEXIBLE_FRONT_SIZE:end])
    committed, tags = _COMMITTED_AND_TAGS.unpack_from(value, end)
    topic_id = _tagged_topic_id(value[tags_at:]) if tags == 1 else None
    if metadata is None or (topic_id is None and (tags or len(value) > tags_at)):
        return None
    return OffsetCommitValue(
        offset=offset,
        leader_epoch=epoch,
        metadata=metadata,
        commit_timestamp=committed,
        topic_id=topic_id,
    )


def _text(encoded: bytes) -> str | None:
    if not encoded:
        return ""
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        return None


@lru_cache(maxsize=4096)
def _tagged_topic_id(tag: bytes) -> UUID | None:
    """The id in the tagged field; None for other fields, and for no id, which Kafka does not write."""
    if len(tag) != len(_TOPIC_ID_TAG) + _TOPIC_ID_BYTES or not tag.startswith(_TOPIC_ID_TAG):
        return None
    bits = int.from_bytes(tag[len(_TOPIC_ID_TAG) :])
    return UUID(int=bits) if bits else None
