"""A log of a few kilobytes, held in memory: many groups ask about it, each at several offsets.

Files are read and checked once. What a batch's header says stays as numbers, and a batch is decoded again
when it is asked for. Only healthy logs of format 2 are held: damage is explained by who reads files.
"""

import struct
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import google_crc32c

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import PartitionFolder, SegmentFile
from kgroup.log.format.batch import HEADER, HEADER_SIZE, Batch, decode_batch
from kgroup.log.format.compression import Codec

_LONGEST_BYTES: Final = 64 * 1024
_KEPT_BYTES: Final = 64 * 1024 * 1024
_NUMBERS_BYTES: Final = 32  # of each batch
_CRC_FROM: Final = 21
_LENGTH_FROM: Final = 12
_CODEC_BITS: Final = 0x07
_INT64_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortLog:
    """The batches of a partition by offset. `positions` are those in `raw`, which is all segments in a row.

    `begins` has for each segment its base offset by name, where it begins in `raw`, and the number of
    batches before it. `is_rising` says that every batch is newer than the one before it, and has a time.
    """

    folder: PartitionFolder
    log_start: int
    raw: bytes
    begins: tuple[tuple[int, int, int], ...]
    positions: "array[int]"
    base_offsets: "array[int]"
    last_offsets: "array[int]"
    max_timestamps_ms: "array[int]"
    is_rising: bool

    @property
    def size(self) -> int:
        """The bytes that holding it takes, about."""
        return len(self.raw) + _NUMBERS_BYTES * len(self.positions)

    @property
    def segments(self) -> tuple[SegmentFile, ...]:
        """The folder's."""
        return self.folder.segments

    def log_start_offset(self) -> int:
        """The log's start, as a folder has it."""
        return self.log_start

    def log_end_offset(self) -> int:
        """The log's end, as a folder has it."""
        return self.last_offsets[-1] + 1

    def batch(self, number: int) -> tuple[str, Batch]:
        """The batch of that number from 0, and the path of its segment."""
        segment = self.segment_of(number)
        start, at = self.begins[segment][1], self.positions[number]
        (length,) = struct.unpack_from(">i", self.raw, at + 8)
        batch = decode_batch(self.raw[at : at + length + _LENGTH_FROM], at - start)
        return self.folder.segments[segment].path, batch

    def batches_from(self, offset: int) -> Iterator[tuple[str, Batch]]:
        """The batches from the last one that begins at `offset` or before, in the segment of that offset."""
        segment = bisect_right(self.begins, (offset, len(self.raw), 0)) - 1
        first = max(bisect_right(self.base_offsets, offset) - 1, self.begins[max(segment, 0)][2])
        return map(self.batch, range(first, len(self.positions)))

    def segment_of(self, number: int) -> int:
        """The number from 0 of the segment that holds the batch of that number."""
        segment = len(self.begins) - 1
        while self.begins[segment][2] > number:
            segment -= 1
        return segment


class ShortLogs:
    """The logs asked about last, as many as some megabytes hold."""

    def __init__(self, kept_bytes: int = _KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._held: OrderedDict[Path, ShortLog] = OrderedDict()
        self._size = 0
        self._others: set[Path] = set()

    def held(self, folder: PartitionFolder) -> PartitionFolder | ShortLog:
        """The folder's log, held if it is short; the folder itself if it is not."""
        if folder.path in self._others:
            return folder
        log = self._held.get(folder.path)
        if log is not None:
            self._held.move_to_end(folder.path)
            return log
        log = short_log(folder)
        if log is None:
            self._others.add(folder.path)
            return folder
        self._held[folder.path] = log
        self._size += log.size
        while self._size > self._kept_bytes and len(self._held) > 1:
            self._size -= self._held.popitem(last=False)[1].size
        return log


def short_log(folder: PartitionFolder) -> ShortLog | None:
    """The folder's log if it is short, healthy and of format 2 throughout.

    Else None, if a file cannot be read: reading the folder itself raises the reason.
    """
    try:
        log_start = folder.log_start_offset()
    except SourceError:
        return None
    raw, begins = bytearray(), list[tuple[int, int, int]]()
    columns = [array("q") for _ in range(4)]
    newest = -1
    for segment in folder.segments:
        part = _short_file(Path(segment.path), _LONGEST_BYTES - len(raw))
        if not part or segment.base_offset is None or segment.base_offset <= newest:
            return None
        begins.append((segment.base_offset, len(raw), len(columns[0])))
        if not _take(part, len(raw), max(newest, segment.base_offset - 1), columns):
            return None
        newest = columns[2][-1]
        raw += part
    if not begins or log_start is None:
        return None
    times = columns[3]
    return ShortLog(
        folder=folder,
        log_start=log_start,
        raw=bytes(raw),
        begins=tuple(begins),
        positions=columns[0],
        base_offsets=columns[1],
        last_offsets=columns[2],
        max_timestamps_ms=times,
        is_rising=times[0] >= 0 and all(before < after for before, after in pairwise(times)),
    )


def _short_file(path: Path, bytes_max: int) -> bytes | None:
    """The file's contents; None if they are longer, or cannot be read."""
    try:
        with path.open("rb", buffering=0) as file:
            raw = file.read(bytes_max + 1)
    except OSError:
        return None
    return raw if len(raw) <= bytes_max else None


def _take(raw: bytes, start: int, newest: int, columns: "Sequence[array[int]]") -> bool:
    """Note the batches of a segment that begins at `start` of all; False if one of them is not healthy."""
    at, end = 0, len(raw)
    positions, base_offsets, last_offsets, times = columns
    while at < end:
        if end - at < HEADER_SIZE:
            return False
        base, length, _, magic, crc, attributes, delta, _, time_ms, _, _, _, count = HEADER.unpack_from(
            raw, at
        )
        size = length + _LENGTH_FROM
        if magic != 2 or not HEADER_SIZE <= size <= end - at or attributes & _CODEC_BITS > Codec.ZSTD:
            return False
        if count < 0 or delta < 0 or not newest < base <= _INT64_MAX - delta:
            return False
        if google_crc32c.value(raw[at + _CRC_FROM : at + size]) != crc:
            return False
        newest = base + delta
        positions.append(start + at)
        base_offsets.append(base)
        last_offsets.append(newest)
        times.append(time_ms)
        at += size
    return True
