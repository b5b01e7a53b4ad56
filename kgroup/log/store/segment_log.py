"""A partition on disk as Kafka keeps it: segments, `.index` and `.timeindex`; appending and reading."""

import os
import shutil
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.checkpoints import (
    LEADER_EPOCHS,
    PARTITION_METADATA,
    EpochStart,
    encode_leader_epochs,
)
from kgroup.log.files.index import (
    OffsetEntry,
    TimeEntry,
    encode_aborted_index,
    encode_offset_index,
    encode_time_index,
)
from kgroup.log.format.batch_header import HEADER_SIZE, BatchHeader, placed, read_header
from kgroup.log.store.atomic_file import replace_text, sync_folder, sync_path
from kgroup.log.store.opening import Opening, check_epochs, check_topic_id, segment_bases, settle_leftovers
from kgroup.log.store.record_log import TimedOffset
from kgroup.log.store.retired_folder import retire
from kgroup.log.store.stretch import PIECE_BYTES, Stretch
from kgroup.log.store.survey import (
    CLEANED_SUFFIX,
    READ_BYTES,
    Bounds,
    Findings,
    healthy_batches,
    search,
    take_out,
)

INDEX_INTERVAL_BYTES: Final = 4096
_HEADERS_BYTES: Final = 1 << 16  # looked at together


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
        self.is_gone = False
        """Removed, or replaced by another object for the same file."""
        self._bytes_since_entry = 0
        self._indexes_lag = False
        self._written = 0, 0
        """How many entries of both indexes are in their files."""

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
            # As Kafka's TimeIndex.maybeAppend: an entry that says nothing new is left out.
            if not self.times or self.max_timestamp_ms > self.times[-1].timestamp_ms:
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
        """Write both indexes again, as after a recovery."""
        self.path.with_suffix(".index").write_bytes(encode_offset_index(self.entries, self.base_offset))
        self.path.with_suffix(".timeindex").write_bytes(encode_time_index(self.times, self.base_offset))
        self._written = len(self.entries), len(self.times)

    def refresh_indexes(self) -> None:
        """Write the indexes if they are not this segment's: a crash came between it and them."""
        for suffix, encoded in (
            (".index", encode_offset_index(self.entries, self.base_offset)),
            (".timeindex", encode_time_index(self.times, self.base_offset)),
        ):
            index = self.path.with_suffix(suffix)
            if not index.exists() or index.read_bytes() != encoded:
                index.write_bytes(encoded)
        self._written = len(self.entries), len(self.times)

    def append_to_indexes(self) -> None:
        """Add the new entries to both files; if that fails, both are written again with a later entry.

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
        entries, times = self.entries[self._written[0] :], self.times[self._written[1] :]
        with self.path.with_suffix(".index").open("ab") as index:
            index.write(encode_offset_index(entries, self.base_offset))
        if times:
            with self.path.with_suffix(".timeindex").open("ab") as index:
                index.write(encode_time_index(times, self.base_offset))
        self._written = len(self.entries), len(self.times)


class SegmentLog:
    """The durable log of one partition, in `folder`, which is made or recovered on opening.

    A tail that is no whole batch, as a crash leaves it, is cut off. Other damage is taken out of its segment,
    and the file as it was kept next to it, if `opening.warn` is there to report it; else it raises
    SourceError. After an append that failed the log is as it was before. Every method that reads or writes
    raises SourceError, naming the file, for a disk that does not do it and for bytes that are no batch.
    """

    def __init__(
        self,
        folder: Path,
        topic_id: UUID | None,
        segment_bytes: int = 1 << 30,
        opening: Opening | None = None,
    ) -> None:
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._opening = opening = opening or Opening()
        self._handles = opening.handles
        self._has_torn_bytes = False  # the file is longer than what was acknowledged of it
        self._must_revert = False
        self._told_of_end = False
        self._unsynced: dict[int, Segment] = {}  # by base offset
        self._names_unsynced = False
        self.truncated_bytes = 0
        try:
            check_topic_id(folder, topic_id, opening.warn)
            is_new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            check_topic_id(folder, topic_id, opening.warn)
            settle_leftovers(folder)
            bases = segment_bases(folder)
            nexts: list[int | None] = [*bases[1:], None]
            self._segments = [self._load(base, below) for base, below in zip(bases, nexts, strict=False)]
            if not self._segments:
                self._roll(0)
            self._names_unsynced |= is_new
            self._epochs = check_epochs(folder, self._first_of_epochs(), opening.warn)
        except OSError as error:
            raise SourceError(f"{error.filename or folder}: {error.strerror or error}") from error
        self.end_offset = self._segments[-1].end_offset
        self._tell_missing()
        start_offset = self._noted_start()
        self.start_offset = max(
            self._segments[0].base_offset, start_offset if start_offset <= self.end_offset else 0
        )
        self.cleaned_to = self.start_offset
        self.recovery_point = (
            self.end_offset if opening.clean else min(opening.recovery_point, self.end_offset)
        )
        for segment in self._segments:
            if segment.end_offset > self.recovery_point:
                self._unsynced[segment.base_offset] = segment
        self._kept_to = self.end_offset

    # ---- opening ------------------------------------------------------------------------------

    def _load(self, base_offset: int, below: int | None) -> Segment:
        """A segment that holds nothing but healthy batches, whatever there was."""
        opening = self._opening
        from_offset = self._end_of_checked()
        bounds = Bounds(base_offset=base_offset, below=below, check_from=from_offset)
        segment = Segment(self._folder, base_offset)
        try:
            for position, header in healthy_batches(segment.path, bounds):
                segment.add(header, position)
        except DecodeError:
            findings = search(segment.path, bounds)
            if not findings.bad:  # pragma: no cover  # the two look for the same
                raise
            if (
                findings.is_torn_tail
                and below is None
                and not (opening.clean or findings.bad[0].offset < opening.recovery_point)
            ):
                self.truncated_bytes = findings.bad[0].size
                os.truncate(segment.path, findings.bad[0].position)
            else:
                self._take_out(segment.path, findings, is_last=below is None)
            segment = Segment(self._folder, base_offset)
            for position, header in healthy_batches(segment.path, Bounds(base_offset=base_offset)):
                segment.add(header, position)
        segment.refresh_indexes()
        return segment

    def _end_of_checked(self) -> int:
        opening = self._opening
        if opening.check_all:
            return 0
        return 1 << 63 if opening.clean else opening.recovery_point

    def _take_out(self, path: Path, findings: Findings, *, is_last: bool) -> None:
        first = findings.bad[0]
        behind = sum(position > first.position for position, _ in findings.batches)
        if self._opening.warn is None and (behind or not is_last):
            raise SourceError(f"{path} at byte {first.position}: no batch, {first.why}")
        kept = take_out(path, findings)
        self._told_of_end = is_last and not behind
        if self._opening.warn is not None:
            others = f" and at {len(findings.bad) - 1} more places" if len(findings.bad) > 1 else ""
            self._opening.warn(
                f"{path} at byte {first.position}{others}: {sum(each.size for each in findings.bad)} "
                f"bytes are no batch ({first.why}): taken out with {findings.offsets_lost}; {behind} "
                f"batches behind stay, and the file as it was is kept as {kept.name}"
            )

    def _noted_start(self) -> int:
        """The log start of the checkpoint, and a warning if it lies past the end.

        Somebody has changed it then, or has taken segments away: nothing is hidden on its word. A broker of
        4.3.1 that was started on such a checkpoint deleted every segment and went on at that offset.
        """
        start_offset, warn = self._opening.start_offset or 0, self._opening.warn
        if start_offset > self.end_offset and warn is not None:
            warn(
                f"{self._folder}: its log is said to start at {start_offset}, past its end,"
                f" {self.end_offset}: all that is there is kept, where a broker of Kafka would delete it"
            )
        return start_offset

    def _tell_missing(self) -> None:
        """Compare with what was known to be on the disk; offsets that are gone are not given again."""
        opening, warn = self._opening, self._opening.warn
        first = self._segments[0].base_offset
        if warn is not None and opening.start_offset is not None and first > opening.start_offset:
            warn(
                f"{self._folder}: offsets {opening.start_offset} to {first - 1} are missing: no such segment"
            )
        if warn is not None and not opening.has_gaps:
            for segment, following in zip(self._segments, self._segments[1:], strict=False):
                if segment.end_offset < following.base_offset:
                    missing = f"offsets {segment.end_offset} to {following.base_offset - 1} are missing"
                    warn(f"{self._folder}: {missing} before {following.path.name}")
        if self.end_offset < opening.end_offset:
            if warn is not None and not self._told_of_end:
                warn(
                    f"{self._folder}: offsets {self.end_offset} to {opening.end_offset - 1} are missing at "
                    "its end, though they were on the disk; new records go behind them"
                )
            self.end_offset = opening.end_offset
            try:
                self._roll(self.end_offset)
            except OSError as error:
                raise SourceError(f"{error.filename or self._folder}: {error.strerror or error}") from error

    def _first_of_epochs(self) -> Iterator[EpochStart]:
        """The epochs that the batches have, for when no file says them."""
        epoch = -1
        for segment in self._segments:
            for _, header in healthy_batches(segment.path, Bounds(base_offset=0, check_from=1 << 63)):
                if header.leader_epoch > epoch:
                    epoch = header.leader_epoch
                    yield EpochStart(epoch, header.base_offset)

    # ---- writing ------------------------------------------------------------------------------

    def append(self, batch: bytes, leader_epoch: int) -> BatchHeader:
        """Add a batch at the end and write it to the file; returns its header with the offset it got.

        Raises SourceError if it cannot be written; the log is then as it was.
        """
        if self._must_revert:
            self.revert()
        stored = placed(batch, self.end_offset, leader_epoch)
        header = read_header(stored)
        segment = self._segments[-1]
        try:
            self._note_epoch(leader_epoch, header.base_offset)
            if segment.size and segment.size + header.size > self._segment_bytes:
                segment = self._roll(self.end_offset)
            self._write_all(self._file_to_append(segment), stored, segment)
        except OSError as error:
            raise SourceError(f"{segment.path}: {error.strerror or error}") from error
        self._unsynced[segment.base_offset] = segment
        if segment.add(header, segment.size):
            segment.append_to_indexes()
        self.end_offset = header.last_offset + 1
        return header

    def _file_to_append(self, segment: Segment) -> int:
        """The open file, which holds what this log has acknowledged and nothing else. Raises OSError."""
        file = self._handles.appending(segment.path)
        status = os.fstat(file)
        if self._has_torn_bytes and status.st_size > segment.size:
            os.ftruncate(file, segment.size)
        elif status.st_size != segment.size or not status.st_nlink:
            # To append to it would acknowledge what no restart finds again.
            was = f"made {status.st_size} bytes long, after {segment.size}" if status.st_nlink else "removed"
            raise OSError(0, f"was {was}, by something else")
        self._has_torn_bytes = False
        return file

    def _write_all(self, file: int, data: bytes, segment: Segment) -> None:
        """Write everything, or cut the file back to where it was: half a batch must not be left behind."""
        try:
            written = os.write(file, data)
            while written < len(data):
                written += os.write(file, data[written:])
        except OSError:
            self._has_torn_bytes = True
            with suppress(OSError):  # the next append tries again, and does nothing else until it can
                os.truncate(segment.path, segment.size)
            raise

    def _note_epoch(self, leader_epoch: int, offset: int) -> None:
        """Note an epoch before its first batch: one without batches does no harm, a refused batch would."""
        if self._epochs and self._epochs[-1].leader_epoch >= leader_epoch:
            return
        epochs = [*self._epochs, EpochStart(leader_epoch, offset)]
        replace_text(self._folder / LEADER_EPOCHS, encode_leader_epochs(epochs))
        self._epochs = epochs

    def _roll(self, base_offset: int) -> Segment:
        segment = Segment(self._folder, base_offset)
        segment.path.touch()
        segment.write_indexes()
        self._names_unsynced = True
        self._segments.append(segment)
        return segment

    def sync(self) -> None:
        """fsync what was appended, and the names of files that are new; moves `recovery_point` to the end."""
        path = self._folder
        try:
            for base_offset, segment in list(self._unsynced.items()):
                path = segment.path
                os.fsync(self._handles.appending(path))
                del self._unsynced[base_offset]
            # A folder without records is made again if it is lost, and costs a start nothing.
            if self._names_unsynced and self.end_offset:
                path = self._folder / PARTITION_METADATA
                if path.exists():  # a topic of before Kafka 2.8 has none
                    sync_path(path)
                path = self._folder
                sync_folder(path)
                sync_folder(path.parent)
                self._names_unsynced = False
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        self.recovery_point = self._kept_to = self.end_offset

    def revert(self) -> None:
        """Take back what was appended since the last `sync`, or since the log was opened.

        For those who acknowledge nothing before it is synced: after an fsync that failed nobody knows what
        is on the disk, and a second one would say that all is well.
        """
        self._must_revert = True  # until it has worked: nothing is appended meanwhile
        offset = max(self._kept_to, self._segments[0].base_offset)
        kept_segments = [each for each in self._segments if each.base_offset < offset] or self._segments[:1]
        last = kept_segments[-1]
        kept = Segment(self._folder, last.base_offset)
        try:
            for position, header in healthy_batches(last.path, Bounds(base_offset=0, check_from=1 << 63)):
                if position >= last.size or header.base_offset >= offset:
                    break
                kept.add(header, position)
            for segment in self._segments[len(kept_segments) :]:
                self._remove(segment)
            os.truncate(kept.path, kept.size)
            kept.write_indexes()
        except (OSError, DecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise SourceError(f"{last.path}: cannot be taken back to offset {offset}: {why}") from error
        last.is_gone = True
        self._segments = [*kept_segments[:-1], kept]
        self._unsynced.clear()
        self.end_offset = max(kept.end_offset, self._kept_to)
        self._must_revert = self._has_torn_bytes = False

    def closed_unsynced(self) -> list[Segment]:
        """Segments that are not written any more and may not be on the disk yet, oldest first."""
        return [
            segment
            for base, segment in sorted(self._unsynced.items())
            if base < self._segments[-1].base_offset
        ]

    def synced(self, segment: Segment) -> None:
        """A segment of `closed_unsynced` is on the disk now."""
        self._unsynced.pop(segment.base_offset, None)
        if not self.closed_unsynced():
            self.recovery_point = max(self.recovery_point, self._segments[-1].base_offset)

    def note_aborted(self, aborted: Sequence[tuple[int, int, int]]) -> None:
        """Write each segment's `.txnindex`: Kafka believes it after a clean stop, kgroup reads batches."""
        for segment in self._segments:
            ended_here = [each for each in aborted if segment.base_offset <= each[2] < segment.end_offset]
            path = segment.path.with_suffix(".txnindex")
            try:
                if ended_here:
                    path.write_bytes(encode_aborted_index(ended_here))
                else:
                    path.unlink(missing_ok=True)
            except OSError as error:
                raise SourceError(f"{path}: {error.strerror or error}") from error

    def close(self) -> None:
        """Let go of the files; a later call opens them again."""
        for segment in self._segments:
            self._handles.close(segment.path)

    def delete(self) -> None:
        """Remove the folder, under a name first by which a start knows that it was to be removed."""
        self.close()
        with suppress(OSError):
            shutil.rmtree(retire(self._folder, "delete"), ignore_errors=True)

    def delete_before(self, offset: int) -> None:
        """Move `start_offset` up and remove the segments that end before it."""
        self.start_offset = max(self.start_offset, offset)
        while len(self._segments) > 1 and self._segments[0].end_offset <= self.start_offset:
            try:
                self._remove(self._segments[0])
            except OSError as error:
                raise SourceError(f"{self._segments[0].path}: {error.strerror or error}") from error
            del self._segments[0]

    def _remove(self, segment: Segment) -> None:
        segment.is_gone = True
        self._handles.close(segment.path)
        self._unsynced.pop(segment.base_offset, None)
        for suffix in (".log", ".index", ".timeindex", ".txnindex"):
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
        draft = cleaned.path.with_name(cleaned.path.name + CLEANED_SUFFIX)
        try:
            with draft.open("wb") as file:
                for batch in batches:
                    cleaned.add(read_header(batch), cleaned.size)
                    file.write(batch)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(cleaned.path)
            segment.is_gone = True
            self._handles.close(cleaned.path)
            self._unsynced.pop(cleaned.base_offset, None)
            self._names_unsynced = True
            cleaned.end_offset = segment.end_offset
            self._segments[number] = cleaned
            cleaned.write_indexes()
        except OSError as error:
            raise SourceError(f"{draft}: {error.strerror or error}") from error

    # ---- reading ------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, end_offset: int) -> bytes:
        """Whole batches from the one that holds `offset`, below `end_offset`; at least one."""
        return self.stretch(offset, max_bytes, end_offset).whole()

    def stretch(
        self, offset: int, max_bytes: int, end_offset: int, batches_max: int = sys.maxsize
    ) -> Stretch:
        """The same to be read bit by bit; it must not outlive what is cleaned, deleted or reverted."""
        spans: list[tuple[Segment, int, int]] = []  # from a position to another
        size = count = 0
        try:
            for segment, position, header in self._headers(offset):
                if header.last_offset >= end_offset:
                    break
                if count and (size + header.size > max_bytes or count == batches_max):
                    break
                if spans and spans[-1][0] is segment and spans[-1][2] == position:
                    spans[-1] = segment, spans[-1][1], position + header.size
                else:
                    spans.append((segment, position, position + header.size))
                size += header.size
                count += 1
        except SourceError:
            if not count:  # else what lies before the damage is read; the next read tells of it
                raise
        return Stretch(size=size, batches=count, pieces=lambda: self._pieces(spans))

    def _pieces(self, spans: Sequence[tuple[Segment, int, int]]) -> Iterator[bytes]:
        for segment, begin, end in spans:
            for position in range(begin, end, PIECE_BYTES):
                size = min(PIECE_BYTES, end - position)
                if segment.is_gone:
                    raise SourceError(f"{segment.path}: was removed or replaced while it was sent")
                piece = self._read(segment, position, size)
                if len(piece) < size:
                    raise SourceError(f"{segment.path} at byte {position}: the batch there is cut short")
                yield piece

    def _headers(self, offset: int) -> Iterator[tuple[Segment, int, BatchHeader]]:
        """The place of every batch from the one that holds `offset`; nothing else of them is read."""
        number = max(self._count_up_to(offset) - 1, 0)
        while number < len(self._segments):
            segment = self._segments[number]
            position = segment.position_before(offset)
            buffer, start = b"", position
            file_bytes = 0
            while position < segment.size:
                if position - start + HEADER_SIZE > len(buffer):
                    buffer, start = self._read(segment, position, _HEADERS_BYTES), position
                header = _header_at(segment, buffer, start, position)
                if position + header.size > file_bytes:
                    file_bytes = self._file_bytes(segment)
                    if position + header.size > file_bytes:
                        raise SourceError(f"{segment.path} at byte {position}: the batch there is cut short")
                if header.last_offset >= offset:
                    yield segment, position, header
                position += header.size
            number += 1

    def batches(self, offset: int) -> Iterator[bytes]:
        """Every batch from the one that holds `offset`."""
        number = max(self._count_up_to(offset) - 1, 0)
        while number < len(self._segments):
            segment = self._segments[number]
            for batch in self._batches_of(segment, offset):
                offset = read_header(batch).last_offset + 1
                yield batch
            # Looked up again: a segment may have been replaced or removed since.
            number = (
                max(self._count_up_to(offset) - 1, 0)
                if segment.is_gone
                else self._count_up_to(segment.base_offset)
            )

    def _count_up_to(self, offset: int) -> int:
        """The number of segments that begin at or before `offset`."""
        return bisect_right(self._segments, offset, key=lambda segment: segment.base_offset)

    def _batches_of(self, segment: Segment, offset: int) -> Iterator[bytes]:
        position = segment.position_before(offset)
        buffer, start = b"", position
        while position < segment.size and not segment.is_gone:
            if position - start + HEADER_SIZE > len(buffer):
                buffer, start = self._read(segment, position, READ_BYTES), position
            header = _header_at(segment, buffer, start, position)
            if position - start + header.size > len(buffer):
                buffer, start = self._read(segment, position, max(header.size, READ_BYTES)), position
                if header.size > len(buffer):
                    raise SourceError(f"{segment.path} at byte {position}: the batch there is cut short")
            if header.last_offset >= offset:
                yield buffer[position - start : position - start + header.size]
            position += header.size

    def _read(self, segment: Segment, position: int, size: int) -> bytes:
        try:
            return os.pread(self._handles.reading(segment.path), size, position)
        except OSError as error:
            raise SourceError(f"{segment.path}: {error.strerror or error}") from error

    def _file_bytes(self, segment: Segment) -> int:
        try:
            return os.fstat(self._handles.reading(segment.path)).st_size
        except OSError as error:
            raise SourceError(f"{segment.path}: {error.strerror or error}") from error

    def first_at_or_after(self, timestamp_ms: int) -> TimedOffset | None:
        """The first batch with a record at or after `timestamp_ms`."""
        for segment in list(self._segments):
            if segment.max_timestamp_ms < timestamp_ms:
                continue
            for batch in self._batches_of(segment, segment.base_offset):
                header = read_header(batch)
                if header.max_timestamp_ms >= timestamp_ms:
                    return TimedOffset(header.base_offset, batch)
        return None


def _header_at(segment: Segment, buffer: bytes, start: int, position: int) -> BatchHeader:
    try:
        header = read_header(buffer, position - start)
    except DecodeError as error:
        raise SourceError(f"{segment.path} at byte {position}: {error.field}: {error.why}") from error
    if header.size > segment.size - position:
        raise SourceError(
            f"{segment.path} at byte {position}: a batch of {header.size} bytes, beyond the end"
        )
    return header
