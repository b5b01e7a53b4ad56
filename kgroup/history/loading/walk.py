"""A broker's walk over the bytes of a segment; it trusts them more than kgroup's own reader does.

A broker that starts after a clean shutdown checks no CRC: it goes from batch to batch by their lengths, and
decodes what it finds. Only after a crash, or without its index, a segment is checked, and cut off at the
first batch that is not as it should be. Sources: `LogSegment.recover` and `readNextOffset`,
`FileLogInputStream`, `ByteBufferLogInputStream`, `DefaultRecordBatch` of Kafka 3.7 to 4.4.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import google_crc32c

from kgroup.errors import DecodeError
from kgroup.log.format.batch import HEADER_SIZE, Batch, decode_batch
from kgroup.log.format.legacy import decode_message

_LENGTH: Final = struct.Struct(">qi")
_CRC_FROM: Final = 21
_UP_TO_MAGIC: Final = 17
_LOG_OVERHEAD: Final = 12
_LENGTH_MIN: Final = 14
"""LegacyRecord.RECORD_OVERHEAD_V0, which the broker holds lengths against whatever the format."""
_MAGIC_MAX: Final = 2


class Stop(Enum):
    """The reason a walk ends before the end of the file."""

    TOO_SMALL = auto()
    """A length that no batch can have: CorruptRecordException wherever a broker meets it."""
    UNKNOWN_MAGIC = auto()
    """CorruptRecordException when it loads; a walk from file does not look at it."""
    INCOMPLETE = auto()
    """The batch would end behind the file's end: taken for the end of the segment."""
    INCOMPLETE_UNKNOWN = auto()
    """The same of an unknown format, which ends a walk from file, and a load with CorruptRecordException."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A batch as its length has it, or where and why there is no next one.

    `is_valid`: its CRC is right. `fault` says why its records cannot be decoded, CRC or not.
    """

    position: int
    size: int
    batch: Batch | None = None
    is_valid: bool = False
    fault: str | None = None
    stop: Stop | None = None


def walk(raw: bytes | memoryview, start: int = 0) -> Iterator[Step]:
    """The batches of a segment's bytes from `start` on, up to where a broker goes no further.

    A step with UNKNOWN_MAGIC is not the last one, since a walk that only looks for offsets goes on.
    """
    position, end = start, len(raw)
    while position < end:  # ends: each step is 26 bytes or more
        left = end - position
        if left < _UP_TO_MAGIC:
            yield Step(position=position, size=left, stop=Stop.INCOMPLETE)
            return
        _, length = _LENGTH.unpack_from(raw, position)
        if length < _LENGTH_MIN:
            yield Step(position=position, size=left, stop=Stop.TOO_SMALL)
            return
        size = _LOG_OVERHEAD + length
        if size > left:
            is_known = raw[position + _UP_TO_MAGIC - 1] <= _MAGIC_MAX
            stop = Stop.INCOMPLETE if is_known else Stop.INCOMPLETE_UNKNOWN
            yield Step(position=position, size=left, stop=stop)
            return
        yield _step(bytes(raw[position : position + size]), position)
        position += size


def _step(raw: bytes, position: int) -> Step:
    magic = raw[_UP_TO_MAGIC - 1]
    if magic > _MAGIC_MAX:
        return Step(position=position, size=len(raw), stop=Stop.UNKNOWN_MAGIC, is_valid=_has_right_crc(raw))
    if magic < _MAGIC_MAX:
        try:
            return Step(position=position, size=len(raw), batch=decode_message(raw, position), is_valid=True)
        except DecodeError as error:
            return Step(position=position, size=len(raw), fault=f"{error.field}: {error.why}")
    is_valid = _has_right_crc(raw)
    try:
        batch = decode_batch(raw if is_valid else _with_right_crc(raw), position)
    except DecodeError as error:
        return Step(position=position, size=len(raw), is_valid=is_valid, fault=f"{error.field}: {error.why}")
    if batch.count == 0:
        return Step(position=position, size=len(raw), batch=batch, is_valid=is_valid)
    try:
        for _ in batch.records():
            pass
    except DecodeError as error:
        fault = f"{error.field}: {error.why}"
        return Step(position=position, size=len(raw), batch=batch, is_valid=is_valid, fault=fault)
    return Step(position=position, size=len(raw), batch=batch, is_valid=is_valid)


def _has_right_crc(raw: bytes) -> bool:
    if len(raw) < HEADER_SIZE:
        return False
    return bool(google_crc32c.value(raw[_CRC_FROM:]) == int.from_bytes(raw[_CRC_FROM - 4 : _CRC_FROM]))


def _with_right_crc(raw: bytes) -> bytes:
    if len(raw) < HEADER_SIZE:
        return raw
    crc = int(google_crc32c.value(raw[_CRC_FROM:])).to_bytes(4)
    return raw[: _CRC_FROM - 4] + crc + raw[_CRC_FROM:]
