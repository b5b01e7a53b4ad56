"""Message sets of the formats 0 and 1 (Kafka before 0.11): one message, or one compressed wrapper, at a time.

A wrapper is a message whose value is a compressed message set. In format 0 the messages inside carry
absolute offsets; in format 1 they are relative, and the wrapper's own offset is that of the last one
(KIP-31). Formats: Kafka documentation, "Message sets"; KIP-32 (timestamps).
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from kgroup.errors import DecodeError
from kgroup.log.format.batch import NO_TIMESTAMP, Batch, Codec, LogRecord, TimestampType
from kgroup.log.format.compression import decompress
from kgroup.log.format.record import MAX_RECORDS

# Offset, size of what follows, CRC of what follows, magic, attributes. Then in format 1 a timestamp,
# then the key and the value, each behind its size.
_FRONT: Final = struct.Struct(">qiIbb")
_LENGTH_FROM: Final = 12
_CRC_FROM: Final = 16
_CODEC_BITS: Final = 0x07
_LOG_APPEND_TIME_BIT: Final = 0x08
_INT64_MAX: Final = 2**63 - 1

MIN_SIZE: Final = _FRONT.size + 8


def decode_message(raw: bytes, position: int = 0) -> Batch:
    """Decode the message or wrapper that `raw` starts with; the next one follows after `size` bytes.

    `position` is where `raw` lies in its segment. A wrapper is unpacked at once, since only its messages
    say its base offset. Raises DecodeError if it is cut short, a CRC-32 is wrong (the wrapper's or of a
    message inside), the payload is damaged, or a wrapper holds no messages, or wrappers.
    """
    batch, record = _decode_one(raw, 0, position)
    if batch.codec is Codec.NONE:
        return replace(batch, records=lambda: [record])
    records = _decode_wrapped(batch, record)
    return replace(batch, base_offset=records[0].offset, records=lambda: list(records))


def _decode_one(raw: bytes, at: int, position: int) -> tuple[Batch, LogRecord]:
    """The message at byte `at`: as a batch without records, and as the one record that it is."""
    left = len(raw) - at
    if left < MIN_SIZE:
        raise DecodeError("message", at=at, why=f"{left} bytes, while the smallest message has {MIN_SIZE}")
    offset, length, crc, magic, attributes = _FRONT.unpack_from(raw, at)
    size = _LENGTH_FROM + length
    if magic not in (0, 1):
        raise DecodeError("message magic", at=at + 16, why=f"{magic} is not 0 or 1")
    if size < MIN_SIZE + 8 * magic:
        raise DecodeError("message size", at=at + 8, why=f"{length} is less than an empty message takes")
    if size > left:
        raise DecodeError("message size", at=at + 8, why=f"message of {size} bytes is cut short after {left}")
    computed_crc = zlib.crc32(raw[at + _CRC_FROM : at + size])
    if computed_crc != crc:
        raise DecodeError(
            "message CRC-32", at=at + 12, why=f"header says {crc:#010x}, the bytes give {computed_crc:#010x}"
        )
    if attributes & _CODEC_BITS > Codec.ZSTD:
        raise DecodeError(
            "message attributes", at=at + 17, why=f"unknown compression codec {attributes & _CODEC_BITS}"
        )
    if offset < 0:
        raise DecodeError("message offset", at=at, why=f"{offset}")
    timestamp_ms, timestamp_type = NO_TIMESTAMP, TimestampType.NO_TIMESTAMP_TYPE
    key_at = at + _FRONT.size
    if magic == 1:
        timestamp_ms = int.from_bytes(raw[key_at : key_at + 8], "big", signed=True)
        timestamp_type = TimestampType(attributes & _LOG_APPEND_TIME_BIT != 0)
        key_at += 8
    key, value_at = _decode_sized(raw, key_at, at + size, "message key")
    value, value_end = _decode_sized(raw, value_at, at + size, "message value")
    if value_end != at + size:
        raise DecodeError(
            "message size", at=at + 8, why=f"{at + size - value_end} bytes left after the value"
        )
    record = LogRecord(offset=offset, timestamp_ms=timestamp_ms, key=key, value=value)
    batch = Batch(
        position=position,
        size=size,
        magic=magic,
        base_offset=offset,
        last_offset=offset,
        count=None,
        codec=Codec(attributes & _CODEC_BITS),
        timestamp_type=timestamp_type,
        max_timestamp_ms=timestamp_ms,
        crc=crc,
        records=list,
    )
    return batch, record


def _decode_sized(raw: bytes, at: int, end: int, field: str) -> tuple[bytes | None, int]:
    size = int.from_bytes(raw[at : at + 4], "big", signed=True)
    if size < 0:
        return None, at + 4
    if size > end - at - 4:
        raise DecodeError(
            field, at=at, why=f"{size} bytes, while the message has {max(end - at - 4, 0)} left"
        )
    return raw[at + 4 : at + 4 + size], at + 4 + size


def _decode_wrapped(wrapper: Batch, record: LogRecord) -> list[LogRecord]:
    if record.value is None:
        raise DecodeError("wrapper value", at=0, why="null")
    inner = decompress(wrapper.codec, record.value, any_lz4_checksum=True)
    records = list(islice(_decode_set(inner, wrapper.magic), MAX_RECORDS + 1))
    if len(records) > MAX_RECORDS:
        raise DecodeError("wrapper value", at=0, why=f"more than {MAX_RECORDS} messages inside")
    if not records:
        raise DecodeError("wrapper value", at=0, why="no messages inside")
    # Also where a cleaner has dropped inner messages: what is left still ends at the wrapper's offset.
    # Absolute offsets in format 1, which brokers of 0.10 let through, come out as they are.
    base = wrapper.last_offset - records[-1].offset if wrapper.magic == 1 else 0
    if not 0 <= base <= _INT64_MAX - max(inner_record.offset for inner_record in records):
        raise DecodeError("wrapper offset", at=0, why=f"{wrapper.last_offset} is before the messages inside")
    # KIP-32: a broker that stamps on append stamps the wrapper only.
    stamped = wrapper.timestamp_type is TimestampType.LOG_APPEND_TIME
    return [
        inner_record._replace(
            offset=base + inner_record.offset,
            timestamp_ms=wrapper.max_timestamp_ms if stamped else inner_record.timestamp_ms,
        )
        for inner_record in records
    ]


def _decode_set(inner: bytes, magic: int) -> Iterator[LogRecord]:
    at = 0
    while at < len(inner):
        message, record = _decode_one(inner, at, at)
        if message.codec is not Codec.NONE:
            raise DecodeError("wrapper value", at=at, why="a compressed message inside a compressed message")
        if message.magic != magic:
            raise DecodeError(
                "wrapper value", at=at, why=f"message of magic {message.magic} in one of {magic}"
            )
        yield record
        at += message.size
