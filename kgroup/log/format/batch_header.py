"""The header of a v2 batch, for code that moves whole batches without looking inside."""

from struct import Struct
from typing import Final, NamedTuple

import google_crc32c

from kgroup.errors import DecodeError

HEADER_SIZE: Final = 61
_LENGTH_FROM: Final = 12  # the length field counts what comes after it
_CRC_FROM: Final = 21
_HEADER: Final = Struct(">qiibIhiqqqhii")
_CONTROL_BIT: Final = 0x20
_TRANSACTIONAL_BIT: Final = 0x10


class BatchHeader(NamedTuple):
    """`size` is the whole batch in bytes; timestamps are epoch ms; -1 where there is no producer."""

    base_offset: int
    size: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records: int

    @property
    def last_offset(self) -> int:
        """The offset of the last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def control(self) -> bool:
        """Whether it holds a transaction marker."""
        return self.attributes & _CONTROL_BIT != 0

    @property
    def transactional(self) -> bool:
        """Whether it belongs to a transaction."""
        return self.attributes & _TRANSACTIONAL_BIT != 0


def read_header(raw: bytes | memoryview, position: int = 0) -> BatchHeader:
    """The header at `position`. Raises DecodeError if it is cut short or cannot be true."""
    if len(raw) - position < HEADER_SIZE:
        raise DecodeError("batch header", at=position, why=f"{len(raw) - position} of {HEADER_SIZE} bytes")
    base_offset, length, *rest = _HEADER.unpack_from(raw, position)
    header = BatchHeader(base_offset, length + _LENGTH_FROM, *rest)
    if header.magic != 2:
        raise DecodeError("batch magic", at=position + 16, why=f"{header.magic} is not 2")
    if header.size < HEADER_SIZE:
        raise DecodeError("batch length", at=position + 8, why=f"{length} is less than a batch header takes")
    if header.records < 0 or header.last_offset_delta < 0:
        raise DecodeError("batch header", at=position, why="impossible record count or offset delta")
    return header


def check_batch(raw: bytes | memoryview, position: int = 0) -> BatchHeader:
    """The header of a whole, healthy batch at `position`. Raises DecodeError for any other."""
    header = read_header(raw, position)
    end = position + header.size
    if end > len(raw):
        why = f"batch of {header.size} bytes is cut short after {len(raw) - position}"
        raise DecodeError("batch length", at=position + 8, why=why)
    if google_crc32c.value(bytes(raw[position + _CRC_FROM : end])) != header.crc:
        raise DecodeError("batch CRC-32C", at=position + 17, why="does not match the bytes")
    return header


def placed(raw: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """The batch as it lies in a log: with its offset and its leader's epoch, which no CRC covers."""
    batch = bytearray(raw)
    batch[0:8] = base_offset.to_bytes(8, "big", signed=True)
    batch[12:16] = leader_epoch.to_bytes(4, "big", signed=True)
    return bytes(batch)
