"""The records inside a v2 batch. Format: Kafka documentation, "Record"."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kgroup.errors import DecodeError
from kgroup.log.format.varint import append_varint, read_varint, read_varlong

# As records are decoded batch by batch, a batch may not hold more of them than memory does. A million
# of the smallest take 7 MB packed as they are, and brokers refuse batches of over 1 MiB by default.
MAX_RECORDS: Final = 2_000_000

_INT62: Final = 2**62


class LogRecord(NamedTuple):
    """One record; `offset` is absolute, `timestamp_ms` is -1 where the format has none.

    A tuple, since one is made for every record of a log and a frozen dataclass takes three times as long.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def decode_records(
    payload: bytes,
    *,
    count: int,
    base_offset: int,
    base_timestamp_ms: int,
    append_time_ms: int | None = None,
) -> list[LogRecord]:
    """The `count` records that the unpacked payload of a batch holds, offsets and timestamps made absolute.

    With `append_time_ms` all records have that timestamp. Raises DecodeError if they are not exactly that
    many, or one is not well-formed; positions are those in `payload`.
    """
    if count > MAX_RECORDS:
        raise DecodeError("batch count", at=0, why=f"{count} records are more than {MAX_RECORDS}")
    records: list[LogRecord] = []
    append = records.append
    end = len(payload)
    at = 0
    wraps = not -_INT62 < base_timestamp_ms < _INT62 or base_offset > _INT62
    try:
        for _ in range(count):
            start = at
            # Most varints are one byte long. Reading those in place, field after field, is a measured choice:
            # it doubles the speed of the whole loop, which a call for each would lose again.
            byte = payload[at]
            if byte < 0x80:
                length = (byte >> 1) ^ -(byte & 1)
                at += 1
            else:
                length, at = read_varint(payload, at)
            record_end = at + length
            if length < 0 or record_end > end:
                raise DecodeError("record length", at=start, why=f"{length}, while {end - at} bytes are left")
            at += 1  # the record's attributes have no meaning yet
            byte = payload[at]
            if byte < 0x80:
                timestamp = base_timestamp_ms + ((byte >> 1) ^ -(byte & 1))
                at += 1
            else:
                delta, at = read_varlong(payload, at)
                timestamp = base_timestamp_ms + delta
                wraps = wraps or not -_INT62 < delta < _INT62
            byte = payload[at]
            if byte < 0x80:
                offset = base_offset + ((byte >> 1) ^ -(byte & 1))
                at += 1
            else:
                delta, at = read_varint(payload, at)
                offset = base_offset + delta
            byte = payload[at]
            if byte < 0x80:
                size = (byte >> 1) ^ -(byte & 1)
                at += 1
            else:
                size, at = read_varint(payload, at)
            key = None
            if size >= 0:
                key = payload[at : at + size]
                at += size
            byte = payload[at]
            if byte < 0x80:
                size = (byte >> 1) ^ -(byte & 1)
                at += 1
            else:
                size, at = read_varint(payload, at)
            value = None
            if size >= 0:
                value = payload[at : at + size]
                at += size
            headers: tuple[tuple[str, bytes | None], ...] = ()
            if payload[at] == 0:
                at += 1
            else:
                headers, at = _decode_headers(payload, at)
            if at != record_end:
                why = f"{length}, while its fields take {length + at - record_end}"
                raise DecodeError("record length", at=start, why=why)
            time_ms = timestamp if append_time_ms is None else append_time_ms
            append(LogRecord(offset, time_ms, key, value, headers))
    except IndexError:
        why = f"header says {count} records, the payload ends in number {len(records) + 1}"
        raise DecodeError("batch count", at=end, why=why) from None
    if at != end:
        why = f"{end - at} bytes left after the {count} records of the header"
        raise DecodeError("batch count", at=at, why=why)
    return [_wrapped(record) for record in records] if wraps else records


def encode_records(records: Iterable[LogRecord], base_offset: int, base_timestamp_ms: int) -> bytes:
    """The payload of a batch, not compressed; offsets and timestamps are stored against the given ones."""
    payload = bytearray()
    for record in records:
        body = _encode_record(record, base_offset, base_timestamp_ms)
        append_varint(payload, len(body))
        payload += body
    return bytes(payload)


def _wrapped(record: LogRecord) -> LogRecord:
    """The record as Java has it, where 64-bit offsets and timestamps wrap around."""
    return record._replace(
        offset=(record.offset + 2**63) % 2**64 - 2**63,
        timestamp_ms=(record.timestamp_ms + 2**63) % 2**64 - 2**63,
    )


def _decode_headers(payload: bytes, at: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    start = at
    count, at = read_varint(payload, at)
    if not 0 <= count <= len(payload) - at:
        raise DecodeError("record headers", at=start, why=f"impossible count {count}")
    headers = []
    for _ in range(count):
        name, at = _decode_sized(payload, at)
        if name is None:
            raise DecodeError("record header key", at=at, why="null")
        value, at = _decode_sized(payload, at)
        # As Kafka does, bytes that are no UTF-8 are replaced.
        headers.append((name.decode("utf-8", "replace"), value))
    return tuple(headers), at


def _decode_sized(payload: bytes, at: int) -> tuple[bytes | None, int]:
    size, at = read_varint(payload, at)
    if size < 0:
        return None, at
    if size > len(payload) - at:
        raise DecodeError("record header", at=at, why=f"{size} bytes, while {len(payload) - at} are left")
    return payload[at : at + size], at + size


def _encode_record(record: LogRecord, base_offset: int, base_timestamp_ms: int) -> bytes:
    body = bytearray(1)
    append_varint(body, record.timestamp_ms - base_timestamp_ms)
    append_varint(body, record.offset - base_offset)
    _append_sized(body, record.key)
    _append_sized(body, record.value)
    append_varint(body, len(record.headers))
    for name, value in record.headers:
        _append_sized(body, name.encode())
        _append_sized(body, value)
    return bytes(body)


def _append_sized(body: bytearray, field_bytes: bytes | None) -> None:
    if field_bytes is None:
        append_varint(body, -1)
        return
    append_varint(body, len(field_bytes))
    body += field_bytes
