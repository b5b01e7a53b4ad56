"""Offsets logs drawn at random: names, numbers and times of any size, in and out of transactions."""

import random
from typing import Final
from uuid import UUID

from kgroup.log.format.batch import encode_batch
from kgroup.log.format.compression import Codec
from kgroup.log.format.record import LogRecord
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue

_NAMES: Final = (
    "",
    "g",
    "orders",
    "-1+1",
    "a b ",
    "back\\slash",
    'quo"te',
    "日本",
    "umläut",
    "\u202e",
    "x" * 90,
)
_LAST_OF_CALENDAR_MS: Final = 253_402_300_799_999
_LEAP_DAY_MS: Final = 951_782_400_000
_TIMES: Final = (-1, 0, _LEAP_DAY_MS - 1, _LEAP_DAY_MS, _LAST_OF_CALENDAR_MS, _LAST_OF_CALENDAR_MS + 1)
_FIRST_WITH_LEADER_EPOCH: Final = 3


def drawn_log(rng: random.Random, *, batches: int) -> bytes:
    """The bytes of a segment: commits of any version, tombstones, and markers of transactions."""
    raw, offset = b"", 0
    for _ in range(batches):
        records = [_record(rng) for _ in range(rng.choice((1, 3, 100)))]
        producer_id = rng.choice((-1, 5, 2**62))
        is_marker = producer_id >= 0 and rng.random() < 0.4
        if is_marker:
            key = bytes([0, 0, 0, rng.randrange(2)])
            records = [(key, bytes(2) + rng.getrandbits(rng.randint(1, 31)).to_bytes(4))]
        raw += encode_batch(
            [
                LogRecord(offset=at, timestamp_ms=_time(rng), key=key, value=value)
                for at, (key, value) in enumerate(records, offset)
            ],
            base_offset=offset,
            producer_id=producer_id,
            producer_epoch=-1 if producer_id < 0 else rng.randrange(3),
            transactional=producer_id >= 0,
            control=is_marker,
            leader_epoch=_number(rng, 31),
            codec=Codec.NONE if is_marker else rng.choice((Codec.NONE, Codec.NONE, Codec.LZ4)),
        )
        offset += len(records) + rng.choice((0, 0, 1, _number(rng, 40)))
    return raw


def _record(rng: random.Random) -> tuple[bytes | None, bytes | None]:
    key = OffsetCommitKey(group=_name(rng), topic=_name(rng), partition=_number(rng, 31))
    if rng.random() < 0.1:
        return encode_entry(OffsetsEntry(RecordType.OFFSET_COMMIT, key, None, None))
    version = rng.choice((0, 1, 2, 3, 4, 4))
    value = OffsetCommitValue(
        offset=_number(rng, 63),
        leader_epoch=rng.choice((-1, 0, _number(rng, 31))) if version >= _FIRST_WITH_LEADER_EPOCH else -1,
        metadata=rng.choice(("", _name(rng), _name(rng) * 40)),
        commit_timestamp=_time(rng),
        expire_timestamp=_time(rng) if version == 1 else -1,
        topic_id=UUID(int=rng.getrandbits(128)) if version == 4 and rng.random() < 0.7 else None,
    )
    return encode_entry(OffsetsEntry(RecordType.OFFSET_COMMIT, key, value, version))


def _name(rng: random.Random) -> str:
    return f"{rng.choice(_NAMES)}{_number(rng, 6)}{rng.choice(('', '', ' '))}"


def _number(rng: random.Random, bits: int) -> int:
    return rng.getrandbits(rng.randint(1, bits))


def _time(rng: random.Random) -> int:
    return rng.choice((*_TIMES, *(rng.getrandbits(bits) for bits in (40, 41, 42, 48))))
