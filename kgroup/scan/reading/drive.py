"""Drives the columnar scan: bytes of a segment in, blocks and places of damage out.

Bytes are read in chunks; what a chunk cuts off is carried over to the next. Uncompressed v2 batches go
through the kernel, thousands at a call. Compressed ones are unpacked into a second buffer, as the
uncompressed batches that they stand for, and go through the same kernel. Everything else goes batch by
batch through the plain path, `read_segment`, which decides what is a batch of an old format and what is
damage.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.resync import TrialBytes
from kgroup.log.files.segment import ReadBefore, read_among_others
from kgroup.log.format.batch import Batch, Damage
from kgroup.log.format.record import WHOLE_RECORDS
from kgroup.scan.kernels.batches import HEADER_SIZE, Stop, list_batches, read_batches
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.compile import TIER
from kgroup.scan.kernels.keys import Keys, grown, new_keys
from kgroup.scan.kernels.rows import new_rows
from kgroup.scan.reading.chunk import Window
from kgroup.scan.reading.unpack import Unpacked

CHUNK_BYTES = 4 * 1024 * 1024
ROWS = 16 * 1024
_LISTED_BATCHES = 4096

Block = TypeVar("Block")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Bytes `start` to `end` of a segment; each is where a batch begins, or the end of the file.

    `name` is what to call the segment in messages, if not by its path.
    """

    path: Path
    offsets_partition: int
    start: int
    end: int
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Batches of which the kernel has made rows: buffer[start:end], and their number.

    They came out of `window`, directly or `unpacked` from there.
    """

    buffer: Bytes
    start: int
    end: int
    batches: int
    window: Window
    unpacked: Unpacked | None


class SegmentReader(ABC, Generic[Block]):
    """Reads slices of one offsets partition, in log order, into blocks of rows with the key ids of `keys`.

    `batches` and `bytes` count what was read so far; damaged bytes count.
    """

    def __init__(self, *, check_crc: bool = True, chunk_bytes: int = CHUNK_BYTES, rows: int = ROWS) -> None:
        self.keys: Keys = new_keys()
        self.batches = 0
        self.bytes = 0
        self._check_crc = check_crc
        self._chunk_bytes = chunk_bytes
        self._rows = new_rows(rows)
        self._newest_offset = -1
        self._healthy_end = -1  # where the last healthy batch ends
        self._trials = TrialBytes()
        self._unpacked = Unpacked(chunk_bytes)

    def read(self, part: Slice) -> Iterator[Block | Damage]:
        """Read one slice. Raises SourceError if its file is gone; that it cannot be read on is damage."""
        self._newest_offset = self._healthy_end = -1
        self._trials = TrialBytes(part.start)
        self.bytes += part.end - part.start
        TIER.read_bytes += part.end - part.start
        for item in self._read_file(part):
            if isinstance(item, Damage) and part.name is not None:
                yield replace(item, segment=part.name)
            else:
                yield item

    def _read_file(self, part: Slice) -> Iterator[Block | Damage]:
        try:
            file = part.path.open("rb", buffering=0)
        except OSError as error:
            if part.end:
                raise SourceError(f"{part.name or part.path}: {error.strerror or error}") from error
            yield from (item for item in read_among_others(part.path, end=0) if isinstance(item, Damage))
            return
        with file:
            assert isinstance(file, FileIO)
            yield from self._read(part, Window(file, part.start, part.end, self._chunk_bytes))

    def _read(self, part: Slice, window: Window) -> Iterator[Block | Damage]:
        if part.end == 0:  # the plain path knows whether the file should be empty
            yield from self._read_plain(part, window)
        while window.position < part.end:
            stop = yield from self._read_columns(window)
            if stop == Stop.COMPRESSED:
                stop = yield from self._read_compressed(window)
            if stop == Stop.OFFSETS_BACK:
                yield self._offsets_back(part, window.position, window.base_offset())
            elif stop == Stop.ODD:
                yield from self._read_plain(part, window)
        if part.end < window.file_size():
            yield from self._read_boundary(part, window)

    def _read_boundary(self, part: Slice, window: Window) -> Iterator[Damage]:
        """Oddities of the next slice's first batch that only the batches of this slice show.

        Its reader takes a healthy batch there, and cannot know it.
        """
        for item in self._plain_items(part, window, None):
            if isinstance(item, Batch) or item.size:
                break
            yield item

    def _plain_items(self, part: Slice, window: Window, end: int | None) -> Iterator[Batch | Damage]:
        position = window.position
        before = ReadBefore(
            newest_offset=self._newest_offset,
            after_batch=self._healthy_end == position,
            trials=self._trials,
        )
        return read_among_others(part.path, start=position, end=end, before=before)

    def _read_columns(self, window: Window) -> Generator[Block, None, Stop]:
        """Take batches up to the first that is compressed or odd, or up to the window's end (INCOMPLETE)."""
        # What a compressed batch left in the window comes before more is read.
        while window.filled - window.at >= HEADER_SIZE or self._fill(window):
            start = window.at
            stop, window.at = yield from self._run(window)
            if window.at > start:
                self._healthy_end = window.position
            if stop != Stop.INCOMPLETE:
                return stop
            if not self._fill(window):
                break
        # What is left at the end of the slice, if anything, is no whole v2 batch.
        return Stop.ODD if window.position < window.end else Stop.INCOMPLETE

    def _fill(self, window: Window) -> bool:
        try:
            return window.fill()
        except OSError:  # the plain path meets and reports it at the same place
            return False

    def _run(
        self, window: Window, unpacked: Unpacked | None = None
    ) -> Generator[Block, None, tuple[Stop, int]]:
        """Run the kernel over what is in the window, or unpacked; return why and where it came to an end."""
        if unpacked is None:
            buffer, position, end, check_crc = window.buffer, window.at, window.filled, self._check_crc
        else:
            buffer, position, end, check_crc = unpacked.buffer, 0, unpacked.filled, False
            TIER.read_bytes += unpacked.filled
        row = taken = 0
        start = position
        while True:
            stop, position, row, batches, self._newest_offset = read_batches(
                buffer, position, end, check_crc, self._newest_offset, self._rows, row, self.keys
            )
            taken += batches
            if stop == Stop.KEYS_FULL:
                self.keys = grown(self.keys)
                continue
            self.batches += taken
            if taken:
                where = Taken(
                    buffer=buffer,
                    start=start,
                    end=position,
                    batches=taken,
                    window=window,
                    unpacked=unpacked,
                )
                yield from self._taken(row, where)
            if not row and stop == Stop.ROWS_FULL:
                raw_count = buffer[position + HEADER_SIZE - 4 : position + HEADER_SIZE].tobytes()
                count = int.from_bytes(raw_count, "big")
                if count > WHOLE_RECORDS:  # the plain path goes through them a part at a time
                    return Stop.ODD, position
                self._rows = new_rows(count)
            row = taken = 0
            start = position
            if stop != Stop.ROWS_FULL:
                return Stop(stop), position

    def _read_compressed(self, window: Window) -> Generator[Block, None, Stop]:
        """Take batches from a compressed one on; leave the window in front of the first not taken."""
        positions = np.empty(_LISTED_BATCHES, np.int64)
        count = list_batches(
            window.buffer, window.at, window.filled, self._check_crc, self._newest_offset, positions
        )
        # None if the offsets of the first go back, which the plain path tells.
        unpacked, undone = self._unpacked, count == 0
        unpacked.clear()
        for position in positions[:count].tolist():
            try:
                unpacked.append(window.buffer, position)
            except DecodeError:
                undone = True
                break
            if unpacked.filled >= self._chunk_bytes:
                break
        stop, at = yield from self._run(window, unpacked)
        start, window.at = window.at, unpacked.source_of(at, window.at)
        if window.at > start:
            self._healthy_end = window.position
        return Stop.ODD if undone else stop

    def _read_plain(self, part: Slice, window: Window) -> Iterator[Block | Damage]:
        """Take the batch at the window by the plain path, and what follows up to the next v2 batch."""
        position, after_first = window.position, False
        for item in self._plain_items(part, window, part.end):
            position = item.position
            if isinstance(item, Damage):
                position += item.size
                yield from self._plain_ends()
                yield item
                if item.size == 0:  # about the batch that comes next, which need not be reported again
                    self._newest_offset = -1
                continue
            if after_first and item.magic == 2:
                break
            yield from self._plain(part, item)
            position, after_first = item.position + item.size, True
            self._newest_offset, self._healthy_end = item.last_offset, position
        else:
            position = max(position, part.end)  # before it only if the file has shrunk
        yield from self._plain_ends()
        window.seek(position)

    @abstractmethod
    def _taken(self, count: int, taken: Taken) -> Iterator[Block]:
        """Blocks of what the kernel has made of batches; there are no rows if all of them are empty."""

    @abstractmethod
    def _plain(self, part: Slice, batch: Batch) -> Iterator[Block | Damage]:
        """Blocks of a batch that the plain path has taken; it may be kept until `_plain_ends`."""

    @abstractmethod
    def _plain_ends(self) -> Iterator[Block]:
        """Blocks of what was kept: something else comes next."""

    def _offsets_back(self, part: Slice, position: int, base_offset: int) -> Damage:
        why = f"offsets go back: {base_offset} after {self._newest_offset}"
        self._newest_offset = -1
        return Damage(segment=str(part.path), position=position, size=0, why=why)
