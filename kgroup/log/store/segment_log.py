"""A partition on disk as Kafka keeps it: segments, `.index` and `.timeindex`, a torn tail cut off."""

import os
import shutil
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import UUID

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.checkpoints import (
    LEADER_EPOCHS,
    PARTITION_METADATA,
    EpochStart,
    encode_leader_epochs,
    read_leader_epochs,
    read_topic_id,
)
from kgroup.log.files.index import OffsetEntry, TimeEntry, encode_offset_index, encode_time_index
from kgroup.log.format.batch_header import HEADER_SIZE, BatchHeader, check_batch, placed, read_header
from kgroup.log.store.atomic_file import replace_text
from kgroup.log.store.record_log import TimedOffset
from kgroup.protocol.topic_id import topic_id_text

INDEX_INTERVAL_BYTES: Final = 4096
_READ_BYTES: Final = 1 << 20


class Segment:
    """One `.log` file and its sparse index, which is also held in memory."""

    def __init__(self, folder: Path, base_offset: int) -> None:
        self.path = folder / f"{base_offset:020d}.log"
        self.base_offset = base_offset
        self.end_offset = base_offset
        self.size = 0
        self.max_timestamp_ms = -1
        self._offset_of_max = base_offset
        self.entries: list[OffsetEntry] = []  # in Kafka's terms: last offset of the batch at position
        self.times: list[TimeEntry] = []
        self._bytes_since_entry = 0
        self._indexes_lag = False

    def add(self, header: BatchHeader, position: int) -> bool:
        """Take note of a batch; True when it is worth an index entry."""
        if header.max_timestamp_ms > self.max_timestamp_ms:
            self.max_timestamp_ms = header.max_timestamp_ms
            self._offset_of_max = header.last_offset
        self.end_offset = header.last_offset + 1
        self.size = position + header.size
        indexed = self._bytes_since_entry > INDEX_INTERVAL_BYTES
        if indexed:
            self.entries.append(OffsetEntry(header.last_offset, position))
            self.times.append(TimeEntry(self.max_timestamp_ms, self._offset_of_max))
            self._bytes_since_entry = 0
        self._bytes_since_entry += header.size
        return indexed

    def position_before(self, offset: int) -> int:
        """A batch boundary at or before the batch that holds `offset`."""
        number = bisect_right(self.entries, offset, key=lambda entry: entry.offset) - 1
        # The entry's own batch ends with its offset, so it may hold what is asked for or come before it.
        return self.entries[number].position if number >= 0 else 0

    def write_indexes(self) -> None:
        """Write both indexes anew, as after a recovery."""
        self.path.with_suffix(".index").write_bytes(encode_offset_index(self.entries, self.base_offset))
        self.path.with_suffix(".timeindex").write_bytes(encode_time_index(self.times, self.base_offset))

    def refresh_indexes(self) -> None:
        """Write the indexes if they are not this segment's: a crash came between it and them."""
        index = self.path.with_suffix(".index")
        encoded = encode_offset_index(self.entries, self.base_offset)
        if not index.exists() or index.read_bytes() != encoded:
            self.write_indexes()

    def append_to_indexes(self) -> None:
        """Add the newest entries to both files; if that fails, both are written anew with a later entry.

        It is no failure of the batch, which is in the log: to refuse it now would give its offset twice.
        """
        try:
            if self._indexes_lag:
                self.write_indexes()
            else:
                self._add_to_indexes()
        except OSError:
            self._indexes_lag = True
        else:
            self._indexes_lag = False

    def _add_to_indexes(self) -> None:
        with self.path.with_suffix(".index").open("ab") as index:
            index.write(encode_offset_index(self.entries[-1:], self.base_offset))
        with self.path.with_suffix(".timeindex").open("ab") as index:
            index.write(encode_time_index(self.times[-1:], self.base_offset))


class SegmentLog:
    """The durable log of one partition, in `folder`, which is made or recovered on opening.

    A tail that is no whole batch with the right CRC, as a crash leaves it, is cut off; damage before
    the last segment raises SourceError, since cutting there would lose acknowledged records silently.
    """

    def __init__(self, folder: Path, topic_id: UUID, segment_bytes: int = 1 << 30) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._file: int | None = None
        try:
            if _is_of_other_topic(folder, topic_id):
                shutil.rmtree(folder)  # left behind by a topic of the same name that was being deleted
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / PARTITION_METADATA).exists():
                _write_topic_id(folder, topic_id)
            self._epochs = _epochs(folder)
            self._segments = [self._load(base) for base in _base_offsets(folder)]
            if not self._segments:
                self._roll(0)
        except OSError as error:
            raise SourceError(f"{error.filename or folder}: {error.strerror or error}") from error
        self.start_offset = self._segments[0].base_offset
        self.end_offset = self._segments[-1].end_offset
        self.truncated_bytes = self._cut_tail()
        self.cleaned_to = self.start_offset

    # ---- opening ------------------------------------------------------------------------------

    def _load(self, base_offset: int) -> Segment:
        """Read the headers of a segment; the check of its last batches is `_cut_tail`'s."""
        segment = Segment(self._folder, base_offset)
        with segment.path.open("rb") as file:
            for position, header in _headers(file.fileno()):
                segment.add(header, position)
        segment.refresh_indexes()
        return segment

    def _cut_tail(self) -> int:
        """Cut the last segment after its last healthy batch; returns the bytes that went."""
        last = self._segments[-1]
        size = last.path.stat().st_size
        for segment in self._segments[:-1]:
            if segment.path.stat().st_size != segment.size:
                raise SourceError(
                    f"{segment.path} at byte {segment.size}: no batch, in a segment that is not the last"
                )
        checked = Segment(self._folder, last.base_offset)
        with last.path.open("rb") as file:
            for position, header in _headers(file.fileno()):
                try:
                    check_batch(os.pread(file.fileno(), header.size, position))
                except DecodeError:
                    break
                checked.add(header, position)
        self._segments[-1] = checked
        self.end_offset = checked.end_offset
        if checked.size < size:
            os.truncate(checked.path, checked.size)
        checked.write_indexes()
        return size - checked.size

    # ---- writing ------------------------------------------------------------------------------

    def append(self, batch: bytes, leader_epoch: int) -> BatchHeader:
        """Add a batch at the end and write it to the file; returns its header with the offset it got.

        Raises SourceError if it cannot be written; the log is then as it was.
        """
        stored = placed(batch, self.end_offset, leader_epoch)
        header = read_header(stored)
        segment = self._segments[-1]
        try:
            if segment.size and segment.size + header.size > self._segment_bytes:
                segment = self._roll(self.end_offset)
            if self._file is None:
                self._file = os.open(segment.path, os.O_WRONLY | os.O_APPEND)
            self._note_epoch(leader_epoch, header.base_offset)
            _write_all(self._file, stored, segment)
        except OSError as error:
            raise SourceError(f"{segment.path}: {error.strerror or error}") from error
        if segment.add(header, segment.size):
            segment.append_to_indexes()
        self.end_offset = header.last_offset + 1
        return header

    def _note_epoch(self, leader_epoch: int, offset: int) -> None:
        """Before its first batch: an epoch without one does no harm, but a batch that was refused would."""
        if self._epochs and self._epochs[-1].leader_epoch >= leader_epoch:
            return
        epochs = [*self._epochs, EpochStart(leader_epoch, offset)]
        replace_text(self._folder / LEADER_EPOCHS, encode_leader_epochs(epochs))
        self._epochs = epochs

    def _roll(self, base_offset: int) -> Segment:
        self.close()
        segment = Segment(self._folder, base_offset)
        segment.path.touch()
        segment.write_indexes()
        self._segments.append(segment)
        return segment

    def sync(self) -> None:
        """fsync the segment being written."""
        if self._file is not None:
            try:
                os.fsync(self._file)
            except OSError as error:
                raise SourceError(f"{self._segments[-1].path}: {error.strerror or error}") from error

    def close(self) -> None:
        """Close the segment being written; a later append opens it again."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def delete(self) -> None:
        """Remove the folder."""
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def delete_before(self, offset: int) -> None:
        """Move `start_offset` up and remove the segments that end before it."""
        self.start_offset = max(self.start_offset, offset)
        while len(self._segments) > 1 and self._segments[0].end_offset <= self.start_offset:
            self._remove(self._segments.pop(0))

    def _remove(self, segment: Segment) -> None:
        for suffix in (".log", ".index", ".timeindex"):
            segment.path.with_suffix(suffix).unlink(missing_ok=True)

    # ---- cleaning -----------------------------------------------------------------------------

    def closed_segments(self) -> list[Segment]:
        """All segments but the one being written."""
        return self._segments[:-1]

    def batches_of(self, segment: Segment) -> Iterator[bytes]:
        """Every batch of one segment."""
        return self._batches_of(segment, segment.base_offset)

    def replace(self, segment: Segment, batches: list[bytes]) -> None:
        """Put these batches, which keep their offsets, in the place of a closed segment's."""
        number = self._segments.index(segment)
        cleaned = Segment(self._folder, segment.base_offset)
        draft = cleaned.path.with_suffix(".cleaned")
        try:
            with draft.open("wb") as file:
                for batch in batches:
                    cleaned.add(read_header(batch), cleaned.size)
                    file.write(batch)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(cleaned.path)
            cleaned.end_offset = segment.end_offset
            cleaned.write_indexes()
        except OSError as error:
            raise SourceError(f"{draft}: {error.strerror or error}") from error
        self._segments[number] = cleaned

    # ---- reading ------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, end_offset: int) -> bytes:
        """Whole batches from the one that holds `offset`, below `end_offset`; at least one."""
        chosen: list[bytes] = []
        size = 0
        for batch in self.batches(offset):
            if read_header(batch).last_offset >= end_offset or (chosen and size + len(batch) > max_bytes):
                break
            chosen.append(batch)
            size += len(batch)
        return b"".join(chosen)

    def batches(self, offset: int) -> Iterator[bytes]:
        """Every batch from the one that holds `offset`."""
        number = max(self._count_up_to(offset) - 1, 0)
        while number < len(self._segments):
            segment = self._segments[number]
            yield from self._batches_of(segment, offset)
            # Looked up anew: a segment may have been replaced or removed since.
            number = self._count_up_to(segment.base_offset)

    def _count_up_to(self, offset: int) -> int:
        """The number of segments that begin at or before `offset`."""
        return bisect_right(self._segments, offset, key=lambda segment: segment.base_offset)

    def _batches_of(self, segment: Segment, offset: int) -> Iterator[bytes]:
        position = segment.position_before(offset)
        with segment.path.open("rb") as file:
            buffer, start = b"", position
            while position < segment.size:
                if position - start + HEADER_SIZE > len(buffer):
                    buffer, start = os.pread(file.fileno(), _READ_BYTES, position), position
                header = read_header(buffer, position - start)
                if position - start + header.size > len(buffer):
                    read_size = max(header.size, _READ_BYTES)
                    buffer, start = os.pread(file.fileno(), read_size, position), position
                if header.last_offset >= offset:
                    yield buffer[position - start : position - start + header.size]
                position += header.size

    def first_at_or_after(self, timestamp_ms: int) -> TimedOffset | None:
        """The first batch with a record at or after `timestamp_ms`."""
        for segment in self._segments:
            if segment.max_timestamp_ms < timestamp_ms:
                continue
            for batch in self._batches_of(segment, segment.base_offset):
                header = read_header(batch)
                if header.max_timestamp_ms >= timestamp_ms:
                    return TimedOffset(header.base_offset, batch)
        return None


def _headers(file: int) -> Iterator[tuple[int, BatchHeader]]:
    """The batches of a file by their headers alone, up to the first that cannot be one."""
    size = os.fstat(file).st_size
    position = 0
    buffer, start = b"", 0
    while position + HEADER_SIZE <= size:
        if position - start + HEADER_SIZE > len(buffer):
            buffer, start = os.pread(file, _READ_BYTES, position), position
        try:
            header = read_header(buffer, position - start)
        except DecodeError:
            return
        if position + header.size > size:
            return
        yield position, header
        position += header.size


def _write_all(file: int, data: bytes, segment: Segment) -> None:
    """Write everything, or cut the file back to where it was: half a batch must not be left behind."""
    try:
        written = os.write(file, data)
        while written < len(data):
            written += os.write(file, data[written:])
    except OSError:
        os.truncate(segment.path, segment.size)
        raise


def _base_offsets(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("*.log") if path.stem.isdigit())


def _epochs(folder: Path) -> list[EpochStart]:
    path = folder / LEADER_EPOCHS
    return read_leader_epochs(path) if path.exists() else []


def _write_topic_id(folder: Path, topic_id: UUID) -> None:
    text = topic_id_text(topic_id)
    replace_text(folder / PARTITION_METADATA, f"version: 0\ntopic_id: {text}")


def _is_of_other_topic(folder: Path, topic_id: UUID) -> bool:
    metadata = folder / PARTITION_METADATA
    return metadata.exists() and read_topic_id(metadata) != topic_id
