"""The records inside a v2 batch. Format: Kafka documentation, "Record"."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import Final, NamedTuple, overload

from kgroup.errors import DecodeError
from kgroup.log.format.varint import append_varint, read_varint, read_varlong

# As records are decoded batch by batch, a batch may not hold more of them than memory does. A million
# of the smallest take 7 MB packed as they are, and brokers refuse batches of over 1 MiB by default.
MAX_RECORDS: Final = 2_000_000

# A batch with more of them is gone through a part at a time.
WHOLE_RECORDS: Final = 50_000
_PART_RECORDS: Final = 5_000
_VARINT_BYTES_MAX: Final = 5
_SMALLEST_LENGTH: Final = 6  # attributes and five varints
_LARGE_RECORD_BYTES: Final = 4 * 1024 * 1024

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


class RecordsInParts(Sequence[LogRecord]):
    """The records of a large batch: `read` unpacks and decodes them, again for each iteration.

    All of them are decoded once to begin with. Raises DecodeError if the batch does not hold what it should.
    """

    def __init__(self, count: int, read: Callable[[], Iterator[LogRecord]]) -> None:
        self._count = count
        self._read = read
        for _ in read():
            pass

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[LogRecord]:
        return self._read()

    @overload
    def __getitem__(self, index: int) -> LogRecord: ...
    @overload
    def __getitem__(self, index: slice) -> list[LogRecord]: ...
    def __getitem__(self, index: int | slice) -> LogRecord | list[LogRecord]:
        numbers = range(self._count)[index]
        if isinstance(numbers, int):
            return next(islice(self._read(), numbers, None))
        return [self[number] for number in numbers]


def decode_in_parts(
    pieces: Iterator[bytes],
    *,
    count: int,
    base_offset: int,
    base_timestamp_ms: int,
    append_time_ms: int | None = None,
) -> Iterator[LogRecord]:
    """The result of `decode_records` for a payload in pieces, which is never held as a whole.

    Raises DecodeError as that does, after the records in front of the one that is wrong.
    """
    if count > MAX_RECORDS:
        raise DecodeError("batch count", at=0, why=f"{count} records are more than {MAX_RECORDS}")
    buffer = bytearray()
    done = at = 0
    while done < count:
        number, size, wanted = _whole_records(buffer, min(count - done, _PART_RECORDS), at)
        if number:
            payload = bytes(memoryview(buffer)[:size])
            del buffer[:size]
        elif wanted > _LARGE_RECORD_BYTES:
            number, payload, buffer = 1, *_gathered(buffer, wanted, pieces)
            size = len(payload)
            if size < wanted:
                raise DecodeError(
                    "record length", at=at, why=f"{wanted} bytes with it, of which {size} are left"
                )
        else:
            piece = next(pieces, None)
            if piece is None:
                if wanted:
                    why = f"{wanted} bytes with it, of which {len(buffer)} are left"
                    raise DecodeError("record length", at=at, why=why)
                why = f"header says {count} records, the payload ends in number {done + 1}"
                raise DecodeError("batch count", at=at + len(buffer), why=why)
            buffer += piece
            continue
        try:
            records = decode_records(
                payload,
                count=number,
                base_offset=base_offset,
                base_timestamp_ms=base_timestamp_ms,
                append_time_ms=append_time_ms,
            )
        except DecodeError as error:
            raise DecodeError(error.field, at=at + error.at, why=error.why) from error
        payload = b""  # a large record is not kept twice
        records.reverse()
        while records:
            yield records.pop()
        done, at = done + number, at + size
    left_bytes = len(buffer) + sum(map(len, pieces))
    if left_bytes:
        why = f"{left_bytes} bytes left after the {count} records of the header"
        raise DecodeError("batch count", at=at, why=why)


def _gathered(buffer: bytearray, size: int, pieces: Iterator[bytes]) -> tuple[bytes, bytearray]:
    """A record of this size, which `buffer` begins with, or as much as there is, and what follows it."""
    record = BytesIO()  # gives its bytes without a copy
    record.write(buffer)
    buffer.clear()
    while record.tell() < size and (piece := next(pieces, None)) is not None:
        missing = size - record.tell()
        record.write(piece[:missing])
        buffer += piece[missing:]
    return record.getvalue(), buffer


def _whole_records(buffer: bytearray, count_max: int, at: int) -> tuple[int, int, int]:
    """The number of whole records `buffer` begins with, their size, and that of the next if it is cut off.

    `at` is where the buffer lies in its payload.
    """
    number = end = 0
    while number < count_max:
        ahead = buffer[end : end + _VARINT_BYTES_MAX]
        if len(ahead) < _VARINT_BYTES_MAX and all(byte >= 0x80 for byte in ahead):
            return number, end, 0
        length, size = read_varint(bytes(ahead), 0)
        start = end + size
        if length < _SMALLEST_LENGTH:
            why = f"{length}, which is less than a record's fields take"
            raise DecodeError("record length", at=at + end, why=why)
        if start + length > len(buffer):
            return number, end, start + length - end
        number, end = number + 1, start + length
    return number, end, 0


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
