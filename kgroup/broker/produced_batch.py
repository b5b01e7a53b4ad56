"""Checks a batch that a client produces, and sets what a broker sets before it is appended.

Kafka 4.3's: `ProduceRequest.validateRecords` of the request, then `UnifiedLog` and `LogValidator` of the
batch; error codes and messages are those of a broker of 4.3.1. Two cases that no client sends differ: offset
deltas that do not count up from 0 are refused, where Kafka takes them or writes the batch again, and
INVALID_RECORD stands where an exception of Kafka's decoders becomes UNKNOWN_SERVER_ERROR.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

import google_crc32c

from kgroup.broker.record_walk import walk
from kgroup.errors import DecodeError
from kgroup.log.format.batch import NO_TIMESTAMP, Codec, LogRecord, decode_batch
from kgroup.log.format.batch_header import HEADER_SIZE, BatchHeader, read_header
from kgroup.protocol.error_codes import ErrorCode

E = ErrorCode
_LENGTH_FROM: Final = 12
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
_CRC_FROM: Final = 21
_ATTRIBUTES_AT: Final = 21
_MAX_TIMESTAMP_AT: Final = 35
_SMALLEST_LENGTH: Final = 14  # a message of format 0, all of whose fields are empty
_NEWEST_MAGIC: Final = 2
_CODEC_BITS: Final = 0x07
_LOG_APPEND_TIME_BIT: Final = 0x08
_ZSTD_SINCE: Final = 7
_SHOWN_ERRORS: Final = 3
_ATTRIBUTES: Final = Struct(">h")
_TIMESTAMP: Final = Struct(">q")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordError:
    """The error of one record; `index` is its place in the batch."""

    index: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A batch that is not taken. `by_log`: the answer says where the log starts, as Kafka's does then."""

    error: ErrorCode
    message: str | None = None
    records: tuple[RecordError, ...] = ()
    by_log: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRules:
    """A topic's settings for what is produced to it, named after Kafka's; times in ms."""

    name: str
    """The partition as messages name it: topic-number."""
    max_message_bytes: int
    compacted: bool = False
    log_append_time: bool = False
    timestamp_before_max_ms: int = (1 << 63) - 1
    timestamp_after_max_ms: int = (1 << 63) - 1


def only_batch(records: bytes | None, produce_version: int) -> bytes | Refusal:
    """The one batch in a produce request for a partition; what is too short to be another is cut off."""
    batch = _next_batch(records or b"")
    if isinstance(batch, Refusal):
        return batch
    if not batch or batch[_MAGIC_AT] != _NEWEST_MAGIC:
        return Refusal(error=E.INVALID_RECORD)
    if len(batch) < HEADER_SIZE:
        return Refusal(error=E.CORRUPT_MESSAGE)
    assert records is not None
    another = _next_batch(records[len(batch) :])
    if another:
        return another if isinstance(another, Refusal) else Refusal(error=E.INVALID_RECORD)
    codec = _ATTRIBUTES.unpack_from(batch, _ATTRIBUTES_AT)[0] & _CODEC_BITS
    if codec == Codec.ZSTD and produce_version < _ZSTD_SINCE:
        return Refusal(error=E.UNSUPPORTED_COMPRESSION_TYPE)
    return batch


def _next_batch(records: bytes) -> bytes | Refusal:
    """The first whole batch, nothing if there is none, or why it is none (`ByteBufferLogInputStream`)."""
    if len(records) <= _MAGIC_AT:
        return b""
    length = int.from_bytes(records[8:_LENGTH_FROM], "big", signed=True)
    if length < _SMALLEST_LENGTH:
        why = f"Record size {length} is less than the minimum record overhead ({_SMALLEST_LENGTH})"
        return Refusal(error=E.CORRUPT_MESSAGE, message=why)
    magic = int.from_bytes(records[_MAGIC_AT : _MAGIC_AT + 1], "big", signed=True)
    if not 0 <= magic <= _NEWEST_MAGIC:
        return Refusal(error=E.CORRUPT_MESSAGE, message=f"Invalid magic found in record: {magic}")
    size = _LENGTH_FROM + length
    return b"" if len(records) < size else bytes(records[:size])


def checked_batch(batch: bytes, rules: BatchRules, now_ms: int) -> bytes | Refusal:
    """The batch as it may be appended: its timestamp type and largest timestamp are set."""
    error = _check_frame(batch, rules)
    if error:
        return Refusal(error=error, by_log=error is E.INVALID_RECORD)
    try:
        header = read_header(batch)
        newest_ms = _newest_of_plain(batch, header, rules, now_ms)
        if newest_ms is not None:
            _check_header(header)
            return _with_times(
                batch, header, now_ms if rules.log_append_time else newest_ms, rules.log_append_time
            )
        records = decode_batch(batch).records()
        _check_header(header)
    except DecodeError as error:
        return Refusal(error=E.INVALID_RECORD, message=str(error), by_log=True)
    for number, record in enumerate(records):
        if record.offset != number:
            why = f"record {number} has the offset delta {record.offset}"
            return Refusal(error=E.INVALID_RECORD, message=why, by_log=True)
    refusal = _check_records(header, records, rules, now_ms)
    if refusal is not None:
        return refusal
    newest_ms = max(record.timestamp_ms for record in records)
    return _with_times(batch, header, now_ms if rules.log_append_time else newest_ms, rules.log_append_time)


def _newest_of_plain(batch: bytes, header: BatchHeader, rules: BatchRules, now_ms: int) -> int | None:
    """The largest timestamp, if nothing is to be said against any record; None: that takes a closer look."""
    if header.attributes & (_CODEC_BITS | _LOG_APPEND_TIME_BIT):
        return None
    walked = walk(batch, HEADER_SIZE, header.records, header.base_timestamp_ms)
    if walked is None or (rules.compacted and not walked.keyed):
        return None
    earliest_ms, latest_ms = now_ms - rules.timestamp_before_max_ms, now_ms + rules.timestamp_after_max_ms
    in_time = rules.log_append_time or earliest_ms <= walked.oldest_ms <= walked.newest_ms <= latest_ms
    return walked.newest_ms if in_time else None


def _check_frame(batch: bytes, rules: BatchRules) -> ErrorCode:
    if any(batch[:8]):
        return E.INVALID_RECORD  # the first offset of a batch that has not been appended is 0
    if len(batch) > rules.max_message_bytes:
        return E.MESSAGE_TOO_LARGE
    stored = int.from_bytes(batch[_CRC_AT:_CRC_FROM], "big")
    return E.NONE if google_crc32c.value(batch[_CRC_FROM:]) == stored else E.CORRUPT_MESSAGE


def _check_header(header: BatchHeader) -> None:
    """`LogValidator.validateBatch`. Raises DecodeError."""
    if header.records == 0 or header.records != header.last_offset_delta + 1:
        why = f"{header.records} records with offsets up to {header.last_offset_delta}"
        raise DecodeError("batch count", at=57, why=why)
    if header.control:
        raise DecodeError("batch attributes", at=_ATTRIBUTES_AT, why="clients write no control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise DecodeError("batch sequence", at=53, why=f"producer {header.producer_id} gives none")


def _check_records(
    header: BatchHeader, records: Sequence[LogRecord], rules: BatchRules, now_ms: int
) -> Refusal | None:
    """`LogValidator.validateRecord` of each: keys where a topic is compacted, timestamps where they count."""
    errors: list[RecordError] = []
    by_time = False
    says_append_time = header.attributes & _LOG_APPEND_TIME_BIT != 0
    earliest_ms, latest_ms = now_ms - rules.timestamp_before_max_ms, now_ms + rules.timestamp_after_max_ms
    for number, record in enumerate(records):
        if rules.compacted and record.key is None:
            why = f"Compacted topic cannot accept message without key in topic partition {rules.name}"
        elif not rules.log_append_time and record.timestamp_ms != NO_TIMESTAMP:
            if earliest_ms <= record.timestamp_ms <= latest_ms:
                continue
            by_time = True
            why = (
                f"Timestamp {record.timestamp_ms} of message with offset {number} is out of range. "
                f"The timestamp should be within [{earliest_ms}, {latest_ms}]"
            )
        elif says_append_time:
            by_time = True
            why = (
                f"Invalid timestamp type in message {_shown(record)}. "
                "Producer should not set timestamp type to LogAppendTime."
            )
        else:
            continue
        errors.append(RecordError(index=number, message=why))
    if not errors:
        return None
    if by_time:
        message = "One or more records have been rejected due to invalid timestamp"
        return Refusal(error=E.INVALID_TIMESTAMP, message=message, records=tuple(errors), by_log=True)
    shown = ", ".join(
        f"RecordError(batchIndex={error.index}, message='{error.message}')"
        for error in errors[:_SHOWN_ERRORS]
    )
    message = (
        f"One or more records have been rejected due to {len(errors)} record errors in total, "
        f"and only showing the first three errors at most: [{shown}]"
    )
    return Refusal(error=E.INVALID_RECORD, message=message, records=tuple(errors), by_log=True)


def _shown(record: LogRecord) -> str:
    """A record as Java prints it."""
    return (
        f"DefaultRecord(offset={record.offset}, timestamp={record.timestamp_ms}, "
        f"key={len(record.key or b'')} bytes, value={len(record.value or b'')} bytes)"
    )


def _with_times(batch: bytes, header: BatchHeader, max_timestamp_ms: int, log_append_time: bool) -> bytes:
    """The batch with the type and the largest of its timestamps as they are (`setMaxTimestamp`)."""
    bit = _LOG_APPEND_TIME_BIT if log_append_time else 0
    attributes = header.attributes & ~_LOG_APPEND_TIME_BIT | bit
    if attributes == header.attributes and max_timestamp_ms == header.max_timestamp_ms:
        return batch
    changed = bytearray(batch)
    _ATTRIBUTES.pack_into(changed, _ATTRIBUTES_AT, attributes)
    _TIMESTAMP.pack_into(changed, _MAX_TIMESTAMP_AT, max_timestamp_ms)
    changed[_CRC_AT:_CRC_FROM] = google_crc32c.value(bytes(changed[_CRC_FROM:])).to_bytes(4, "big")
    return bytes(changed)
