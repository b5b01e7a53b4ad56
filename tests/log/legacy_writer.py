"""Messages and wrappers of the formats 0 and 1, which kgroup reads and does not write."""

import struct
import zlib
from collections.abc import Sequence

from kgroup.log.format.batch import Codec, LogRecord, TimestampType
from kgroup.log.format.compression import compress

_LOG_APPEND_TIME_BIT = 0x08


def encode_message(
    record: LogRecord,
    *,
    magic: int,
    codec: Codec = Codec.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> bytes:
    """The bytes of one message of format 0 or 1, with its offset in front."""
    attributes = codec | (_LOG_APPEND_TIME_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
    covered = bytearray(struct.pack(">bb", magic, attributes))
    if magic == 1:
        covered += record.timestamp_ms.to_bytes(8, "big", signed=True)
    for sized in (record.key, record.value):
        covered += (-1 if sized is None else len(sized)).to_bytes(4, "big", signed=True) + (sized or b"")
    crc = zlib.crc32(covered)
    return struct.pack(">qiI", record.offset, 4 + len(covered), crc) + covered


def encode_wrapper(
    records: Sequence[LogRecord],
    *,
    magic: int,
    codec: Codec,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> bytes:
    """The bytes of one compressed wrapper of `records` (at least one), whose offsets are absolute."""
    base = records[0].offset if magic == 1 else 0
    inner = b"".join(
        encode_message(record._replace(offset=record.offset - base), magic=magic) for record in records
    )
    wrapper = LogRecord(
        offset=records[-1].offset,
        timestamp_ms=max(record.timestamp_ms for record in records),
        key=None,
        value=compress(codec, inner),
    )
    return encode_message(wrapper, magic=magic, codec=codec, timestamp_type=timestamp_type)
