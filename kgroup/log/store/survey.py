"""Surveys the batches of a segment being opened, and decides about bytes that are no batch.

Kafka's LogSegment.recover cuts at the first damage. Here only bytes that no batch lies behind are cut: others
are taken out, so that what is healthy behind them stays, and the file as it was is kept too.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import google_crc32c

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.log.format.batch_header import HEADER_SIZE, BatchHeader, read_header
from kgroup.log.store.atomic_file import sync_folder

READ_BYTES: Final = 1 << 20
CLEANED_SUFFIX: Final = ".cleaned"
DAMAGED_SUFFIX: Final = ".damaged"
_CRC_FROM: Final = 21
_FORMAT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The offsets a segment may hold, and the one from which its batches are checked by their CRC."""

    base_offset: int
    below: int | None = None
    """The base offset of the next segment, None for the last."""
    check_from: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BadBytes:
    """`size` bytes at `position` that are no batch of this log, where `offset` was the next.

    A `size` of 0: bytes are missing there. `torn`: the file ends before the batch does, as a crash leaves it.
    """

    position: int
    size: int
    why: str
    offset: int
    torn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The healthy batches of a damaged segment as (position, header), and what lies between them."""

    batches: list[tuple[int, BatchHeader]]
    bad: list[BadBytes]

    @property
    def is_torn_tail(self) -> bool:
        """Nothing but the end of the file is bad, which is no whole batch."""
        return len(self.bad) == 1 and self.bad[0].torn

    @property
    def offsets_lost(self) -> str:
        """The offsets gone with the bad bytes, in words, as far as they can be known."""
        first = self.bad[0].offset
        behind = [header for position, header in self.batches if position > self.bad[-1].position]
        if not behind:
            return f"offsets from {first} on"
        last = behind[0].base_offset - 1
        return f"offset {first}" if last <= first else f"offsets {first} to {last}"


def healthy_batches(path: Path, bounds: Bounds) -> Iterator[tuple[int, BatchHeader]]:
    """The batches of a segment by their headers, up to its end.

    Raises DecodeError at the first that cannot be one of this log, OSError if the file cannot be read.
    """
    with path.open("rb", buffering=0) as file:
        number = file.fileno()
        size = os.fstat(number).st_size
        position, offset = 0, bounds.base_offset
        buffer, start = b"", 0
        while position < size:
            if position - start + HEADER_SIZE > len(buffer):
                buffer, start = os.pread(number, READ_BYTES, position), position
            header = read_header(buffer, position - start)
            if header.size > size - position:
                raise DecodeError("batch length", at=position + 8, why="longer than the file")
            if header.base_offset < offset or (
                bounds.below is not None and header.last_offset >= bounds.below
            ):
                raise DecodeError("batch offset", at=position, why=f"{header.base_offset} after {offset - 1}")
            if header.last_offset >= bounds.check_from or header.control:
                _check(os.pread(number, header.size - _CRC_FROM, position + _CRC_FROM), header, position)
            yield position, header
            offset = header.last_offset + 1
            position += header.size


def search(path: Path, bounds: Bounds) -> Findings:
    """Every batch of a damaged segment whose CRC is right and whose offset fits, and the bytes between them.

    Raises SourceError if the file cannot be read, or holds messages in a format that is not written any more.
    """
    batches: list[tuple[int, BatchHeader]] = []
    bad: list[BadBytes] = []
    for item in read_segment(path):
        offset = batches[-1][1].last_offset + 1 if batches else bounds.base_offset
        if not isinstance(item, Batch):
            if not item.why.startswith("offsets go back"):  # that is looked at below
                bad.append(BadBytes(position=item.position, size=item.size, why=item.why, offset=offset))
            continue
        if item.magic != _FORMAT:
            raise SourceError(f"{path} at byte {item.position}: a message of format {item.magic}")
        _add(batches, bad, item, bounds)
    size = path.stat().st_size
    if bad and bad[-1].position + bad[-1].size == size:
        bad[-1] = _as_tail(path, bad[-1], size)
    return Findings(batches=batches, bad=sorted(bad, key=lambda each: each.position))


def take_out(path: Path, findings: Findings) -> Path:
    """Leave nothing but the healthy batches in the segment; returns where the file as it was is kept.

    A crash leaves the old file or the new one. Raises OSError.
    """
    draft = path.with_name(path.name + CLEANED_SUFFIX)
    with path.open("rb", buffering=0) as file, draft.open("wb") as cleaned:
        for position, header in findings.batches:
            cleaned.write(os.pread(file.fileno(), header.size, position))
        cleaned.flush()
        os.fsync(cleaned.fileno())
    kept = _free_name(path)
    try:
        kept.hardlink_to(path)
    except OSError:  # not every file system has links
        shutil.copyfile(path, kept)
    draft.replace(path)
    sync_folder(path.parent)
    return kept


def _check(body: bytes, header: BatchHeader, position: int) -> None:
    if google_crc32c.value(body) != header.crc:
        raise DecodeError("batch CRC-32C", at=position + 17, why="does not match the bytes")


def _add(batches: list[tuple[int, BatchHeader]], bad: list[BadBytes], batch: Batch, bounds: Bounds) -> None:
    """Take a batch whose CRC is right; its offset, which no CRC covers, must fit those around it."""
    if bounds.below is not None and batch.last_offset >= bounds.below:
        bad.append(_misplaced(batch.position, batch.size, batch.base_offset, batches, bounds))
        return
    while batches and batch.base_offset <= batches[-1][1].last_offset:  # ends: each turn takes one away
        before = batches[-2][1].last_offset + 1 if len(batches) > 1 else bounds.base_offset
        position, header = batches[-1]
        if header.base_offset == before or batch.base_offset < before:
            break
        # The one before jumped ahead, and this one continues where the log was: the jump is the error.
        batches.pop()
        bad.append(_misplaced(position, header.size, header.base_offset, batches, bounds))
    expected = batches[-1][1].last_offset + 1 if batches else bounds.base_offset
    if batch.base_offset < expected:
        bad.append(_misplaced(batch.position, batch.size, batch.base_offset, batches, bounds))
        return
    batches.append((batch.position, _header(batch)))


def _misplaced(
    position: int, size: int, base_offset: int, batches: list[tuple[int, BatchHeader]], bounds: Bounds
) -> BadBytes:
    expected = batches[-1][1].last_offset + 1 if batches else bounds.base_offset
    why = f"its offset {base_offset} does not fit behind {expected - 1}"
    return BadBytes(position=position, size=size, why=why, offset=expected)


def _header(batch: Batch) -> BatchHeader:
    """The part of the header needed to copy the batch."""
    return BatchHeader(
        base_offset=batch.base_offset,
        size=batch.size,
        leader_epoch=batch.leader_epoch,
        magic=batch.magic,
        crc=batch.crc,
        attributes=0,
        last_offset_delta=batch.last_offset - batch.base_offset,
        base_timestamp_ms=batch.base_timestamp_ms,
        max_timestamp_ms=batch.max_timestamp_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        records=batch.count or 0,
    )


def _as_tail(path: Path, last: BadBytes, size: int) -> BadBytes:
    """Say of bad bytes at the end of a file whether they are a batch that was being written."""
    with path.open("rb", buffering=0) as file:
        front = os.pread(file.fileno(), HEADER_SIZE, last.position)
        zeros = not any(os.pread(file.fileno(), last.size, last.position)) if not any(front) else False
        body = os.pread(file.fileno(), last.size, last.position)[_CRC_FROM:]
    try:
        header = read_header(front)
        # No CRC covers the length: a batch that is whole but for that was not being written.
        torn = header.size > size - last.position and google_crc32c.value(body) != header.crc
    except DecodeError:
        torn = len(front) < HEADER_SIZE or zeros
    return BadBytes(position=last.position, size=last.size, why=last.why, offset=last.offset, torn=torn)


def _free_name(path: Path) -> Path:
    for number in count(1):  # ends: no folder has all names
        kept = path.with_name(path.name + DAMAGED_SUFFIX + (f"-{number}" if number > 1 else ""))
        if not kept.exists():
            return kept
    raise AssertionError("counted to the end")  # pragma: no cover
