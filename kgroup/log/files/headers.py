"""Batch headers of a segment, for questions that need no records: payloads are skipped unread."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.any_format import MAX_BATCH_BYTES
from kgroup.log.format.batch import Batch, Damage
from kgroup.log.format.batch_header import HEADER_SIZE, BatchHeader, read_header

_READ_BYTES: Final = 256 * 1024
_FAR: Final = 64 * 1024  # a batch that reaches further is passed over by seeking


class HeaderAt(NamedTuple):
    """A batch's header and where in the segment the batch begins."""

    position: int
    header: BatchHeader


def read_headers(path: Path | str) -> Iterator[HeaderAt | Damage]:
    """The headers of a segment's batches of format 2, in order; older formats have no place here.

    No CRC is looked at, as that takes the payload. From the first header on that cannot be true the segment
    is read as `read_segment` reads it, which finds the next healthy batch. Raises SourceError if the file
    cannot be opened or read.
    """
    try:
        with Path(path).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            position, start, raw = 0, 0, b""
            while size - position >= HEADER_SIZE:
                if position + HEADER_SIZE > start + len(raw):
                    file.seek(position)
                    start, raw = position, file.read(_READ_BYTES)
                    if len(raw) < HEADER_SIZE:
                        break  # the file has become shorter
                try:
                    header = read_header(raw, position - start)
                except DecodeError:
                    break
                if header.size > MAX_BATCH_BYTES or position + header.size > size:
                    break
                yield HeaderAt(position, header)
                position += header.size
                if position - start > _READ_BYTES - HEADER_SIZE or header.size > _FAR:
                    start, raw = position, b""
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
    if position < size:
        yield from _searched(path, position)


def _searched(path: Path | str, position: int) -> Iterator[HeaderAt | Damage]:
    for item in read_segment(path, start=position):
        if isinstance(item, Damage):
            yield item
        elif item.magic == 2:
            yield HeaderAt(item.position, _header_of(item))


def _header_of(batch: Batch) -> BatchHeader:
    attributes = (0x10 if batch.transactional else 0) | (0x20 if batch.control else 0)
    return BatchHeader(
        base_offset=batch.base_offset,
        size=batch.size,
        leader_epoch=batch.leader_epoch,
        magic=batch.magic,
        crc=batch.crc,
        attributes=attributes,
        last_offset_delta=batch.last_offset - batch.base_offset,
        base_timestamp_ms=batch.base_timestamp_ms,
        max_timestamp_ms=batch.max_timestamp_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        records=batch.count or 0,
    )


def batch_bytes(path: Path | str, at: HeaderAt) -> bytes:
    """The whole batch behind a header. Raises SourceError if the file cannot be read."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            file.seek(at.position)
            return file.read(at.header.size)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
