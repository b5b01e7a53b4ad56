"""Record batches of message format 2, and the values that every format decodes to.

Format: Kafka documentation, "Record Batch"; KIP-98 (transactions), KIP-534 (delete horizon).
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import Final

import google_crc32c

from kgroup.errors import DecodeError
from kgroup.log.format.compression import (
    Codec,
    compress,
    decompress_small,
    unpack_in_pieces,
)
from kgroup.log.format.record import (
    WHOLE_RECORDS,
    LogRecord,
    RecordsInParts,
    decode_in_parts,
    decode_records,
    encode_records,
)

__all__ = [
    "HEADER",
    "HEADER_SIZE",
    "NO_TIMESTAMP",
    "Batch",
    "Codec",
    "Damage",
    "LogRecord",
    "TimestampType",
    "decode_batch",
    "encode_batch",
    "encode_payload",
]

# Offset, length, leader epoch, magic, CRC, attributes, last offset delta, base and max timestamp,
# producer id and epoch, base sequence, count. Length and CRC are of what follows them.
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_CRC_FROM: Final = 21
_LENGTH_FROM: Final = 12

_CODEC_BITS: Final = 0x07
_LOG_APPEND_TIME_BIT: Final = 0x08
_TRANSACTIONAL_BIT: Final = 0x10
_CONTROL_BIT: Final = 0x20
_DELETE_HORIZON_BIT: Final = 0x40

_INT64_MAX: Final = 2**63 - 1

HEADER_SIZE: Final = HEADER.size
NO_TIMESTAMP: Final = -1


class TimestampType(IntEnum):
    """The origin of the timestamps: attribute bit 3. Format 0 has no timestamps (`NO_TIMESTAMP_TYPE`)."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


# Not frozen, which takes three times as long to make: most records have one of their own. Nobody changes one.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Batch:
    """One batch as it lies in a segment: a v2 batch, or one message (or wrapper) of format 0 or 1.

    `position` and `size` are bytes in the segment. For formats 0 and 1 `count` is None (a wrapper does not
    say how many messages it holds) and the v2-only fields are at their defaults. `base_timestamp_ms` is what
    the records' timestamps are stored against: the delete horizon where there is one. `records()` decodes
    what is inside, again at each call; it raises DecodeError if the payload is not what the header says.
    Those of a large batch are decoded as one goes through them.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    count: int | None
    codec: Codec
    timestamp_type: TimestampType
    max_timestamp_ms: int
    crc: int
    transactional: bool = False
    control: bool = False
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    leader_epoch: int = -1
    delete_horizon_ms: int | None = None
    base_timestamp_ms: int = NO_TIMESTAMP
    records: Callable[[], Sequence[LogRecord]] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """Bytes of a segment that are no healthy batch: where, how many, and why.

    The scan continues at `position + size`. `segment` is the path as the user gave it. A `size` of 0 says
    that something is odd at `position` while the batch there is healthy and comes next.
    """

    segment: str
    position: int
    size: int
    why: str


def decode_batch(raw: bytes, position: int = 0) -> Batch:
    """Decode the v2 batch that `raw` starts with; the next one follows after `size` bytes.

    `position` is where `raw` lies in its segment. Offsets are absolute, timestamps are ms. Raises
    DecodeError if the batch is cut short, its CRC-32C is wrong, or its header cannot be true. The payload is
    decoded only when `records()` is called.
    """
    if len(raw) < HEADER_SIZE:
        raise DecodeError("batch header", at=0, why=f"{len(raw)} of {HEADER_SIZE} bytes")
    (
        base_offset,
        length,
        leader_epoch,
        magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = HEADER.unpack_from(raw)
    size = _LENGTH_FROM + length
    if magic != 2:
        raise DecodeError("batch magic", at=16, why=f"{magic} is not 2")
    if size < HEADER_SIZE:
        raise DecodeError("batch length", at=8, why=f"{length} is less than a batch header takes")
    if len(raw) != size:
        if len(raw) < size:
            raise DecodeError(
                "batch length", at=8, why=f"batch of {size} bytes is cut short after {len(raw)}"
            )
        raw = raw[:size]
    computed_crc = google_crc32c.value(raw[_CRC_FROM:])
    if computed_crc != crc:
        raise DecodeError(
            "batch CRC-32C", at=17, why=f"header says {crc:#010x}, the bytes give {computed_crc:#010x}"
        )
    if attributes & _CODEC_BITS > Codec.ZSTD:
        raise DecodeError(
            "batch attributes", at=21, why=f"unknown compression codec {attributes & _CODEC_BITS}"
        )
    if count < 0 or last_offset_delta < 0 or not 0 <= base_offset <= _INT64_MAX - last_offset_delta:
        why = f"base offset {base_offset}, last offset delta {last_offset_delta} and count {count} cannot be"
        raise DecodeError("batch header", at=0, why=why)
    log_append_time = attributes & _LOG_APPEND_TIME_BIT != 0
    return Batch(
        position=position,
        size=size,
        magic=2,
        base_offset=base_offset,
        last_offset=base_offset + last_offset_delta,
        count=count,
        codec=_CODECS[attributes & _CODEC_BITS],
        timestamp_type=TimestampType.LOG_APPEND_TIME if log_append_time else TimestampType.CREATE_TIME,
        max_timestamp_ms=max_timestamp,
        crc=crc,
        transactional=attributes & _TRANSACTIONAL_BIT != 0,
        control=attributes & _CONTROL_BIT != 0,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        leader_epoch=leader_epoch,
        delete_horizon_ms=base_timestamp if attributes & _DELETE_HORIZON_BIT else None,
        base_timestamp_ms=base_timestamp,
        records=partial(
            _unpack_records,
            raw,
            codec=_CODECS[attributes & _CODEC_BITS],
            count=count,
            base_offset=base_offset,
            base_timestamp_ms=base_timestamp,
            append_time_ms=max_timestamp if log_append_time else None,
        ),
    )


def encode_batch(
    records: Sequence[LogRecord],
    *,
    codec: Codec = Codec.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    base_offset: int | None = None,
    last_offset: int | None = None,
    base_timestamp_ms: int | None = None,
    max_timestamp_ms: int | None = None,
    transactional: bool = False,
    control: bool = False,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = -1,
    delete_horizon_ms: int | None = None,
) -> bytes:
    """The bytes of a v2 batch of `records`, whose offsets and timestamps are absolute.

    Arguments that are None are taken from the records: the offsets of the first and the last, the timestamp
    of the first, the largest timestamp. A cleaned batch (offsets with gaps, or no records) needs the offsets
    given. The fields of a decoded batch give its bytes again, unless it is compressed, or its records' own
    times are lost because the log's replace them.
    """
    first = base_offset if base_offset is not None else records[0].offset
    last = last_offset if last_offset is not None else records[-1].offset if records else first
    if delete_horizon_ms is not None:
        base_timestamp = delete_horizon_ms
    elif base_timestamp_ms is not None:
        base_timestamp = base_timestamp_ms
    else:
        base_timestamp = records[0].timestamp_ms if records else NO_TIMESTAMP
    if max_timestamp_ms is None:
        max_timestamp_ms = max((record.timestamp_ms for record in records), default=NO_TIMESTAMP)
    payload = encode_records(records, first, base_timestamp)
    if payload:
        payload = compress(codec, payload)
    return _framed(
        payload,
        len(records),
        codec
        | (_LOG_APPEND_TIME_BIT if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (_TRANSACTIONAL_BIT if transactional else 0)
        | (_CONTROL_BIT if control else 0)
        | (_DELETE_HORIZON_BIT if delete_horizon_ms is not None else 0),
        first,
        last,
        base_timestamp,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
        leader_epoch,
    )


def encode_payload(
    payload: bytes | bytearray,
    count: int,
    *,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
    transactional: bool = False,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """A v2 batch of `count` records, at offsets from 0 on, that are bytes already and stay uncompressed."""
    return _framed(
        payload,
        count,
        _TRANSACTIONAL_BIT if transactional else 0,
        0,
        count - 1,
        base_timestamp_ms,
        max_timestamp_ms,
        producer_id,
        producer_epoch,
        base_sequence,
    )


def _framed(
    payload: bytes | bytearray,
    count: int,
    attributes: int,
    first: int,
    last: int,
    base_timestamp_ms: int,
    max_timestamp_ms: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    leader_epoch: int = -1,
) -> bytes:
    raw = bytearray(
        HEADER.pack(
            first,
            HEADER_SIZE - _LENGTH_FROM + len(payload),
            leader_epoch,
            2,
            0,
            attributes,
            last - first,
            base_timestamp_ms,
            max_timestamp_ms,
            producer_id,
            producer_epoch,
            base_sequence,
            count,
        )
    )
    raw += payload
    raw[_CRC_FROM - 4 : _CRC_FROM] = google_crc32c.value(bytes(raw[_CRC_FROM:])).to_bytes(4, "big")
    return bytes(raw)


# Looking a member up by calling the enum costs more than decoding a record.
_CODECS: Final = tuple(Codec)


def _unpack_records(
    raw: bytes,
    *,
    codec: Codec,
    count: int,
    base_offset: int,
    base_timestamp_ms: int,
    append_time_ms: int | None,
) -> Sequence[LogRecord]:
    payload = raw[HEADER_SIZE:]
    if count <= WHOLE_RECORDS:
        unpacked = decompress_small(codec, payload) if payload else payload
        if unpacked is not None:
            return decode_records(
                unpacked,
                count=count,
                base_offset=base_offset,
                base_timestamp_ms=base_timestamp_ms,
                append_time_ms=append_time_ms,
            )

    def read() -> Iterator[LogRecord]:
        return decode_in_parts(
            unpack_in_pieces(codec, payload),
            count=count,
            base_offset=base_offset,
            base_timestamp_ms=base_timestamp_ms,
            append_time_ms=append_time_ms,
        )

    return RecordsInParts(count, read)
