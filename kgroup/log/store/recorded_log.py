"""A partition's copy on disk: batches with their leader's offsets, and older ones compacted.

A segment log as `segment_log` has it, with three differences: batches come with their offsets, so there may
be gaps; many come at once and are written at once; and opening it reads closed segments by their indexes.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import UUID

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.index import read_offset_index, read_time_index
from kgroup.log.format.batch import decode_batch
from kgroup.log.format.batch_header import BatchHeader, read_header
from kgroup.log.store.atomic_file import sync_folder
from kgroup.log.store.cleaner import Newest, Sweep
from kgroup.log.store.file_handles import FileHandles
from kgroup.log.store.opening import SWAP_SUFFIX, Opening, Warn, check_topic_id, segment_bases
from kgroup.log.store.segment_log import Segment, SegmentLog
from kgroup.log.store.survey import CLEANED_SUFFIX

_RELATIVE_MAX: Final = (1 << 31) - 1  # of offsets in a segment's indexes
_FOLDED_BYTES_MAX: Final = 1 << 30
_READ_BYTES: Final = 1 << 20
_INDEXES: Final = (".index", ".timeindex", ".txnindex")


class RecordedLog(SegmentLog):
    """The recording of one partition in `folder`, which is made or recovered on opening.

    A new one begins with `first_offset`. A tail that is no whole batch is cut off: it is fetched again. The
    methods raise SourceError as those of SegmentLog do, and leave the log as it was, or with whole batches
    of what was to be appended.
    """

    def __init__(
        self,
        folder: Path,
        topic_id: UUID | None,
        *,
        first_offset: int,
        segment_bytes: int,
        warn: Warn,
        handles: FileHandles,
    ) -> None:
        try:
            check_topic_id(folder, topic_id, warn)
            folder.mkdir(parents=True, exist_ok=True)
            if not segment_bases(folder) and not list(folder.glob(f"*{SWAP_SUFFIX}")):
                (folder / f"{first_offset:020}.log").touch()
        except OSError as error:
            raise SourceError(f"{error.filename or folder}: {error.strerror or error}") from error
        opening = Opening(has_gaps=True, warn=warn, handles=handles)
        super().__init__(folder, topic_id, segment_bytes, opening)
        self._names_unsynced = True

    @property
    def is_empty(self) -> bool:
        """Nothing has been appended yet."""
        return not any(segment.size for segment in self._segments)

    @property
    def open_segment(self) -> Segment:
        """The segment that is being written."""
        return self._segments[-1]

    @property
    def last_epoch(self) -> int:
        """The newest leader epoch of its batches, -1 without one."""
        return self._epochs[-1].leader_epoch if self._epochs else -1

    def append_run(self, batches: bytes, headers: Sequence[BatchHeader]) -> None:
        """Write whole batches that follow each other, at or behind `end_offset`, byte for byte."""
        position = 0
        while headers:
            segment = self._segments[-1]
            count, size = self._fitting(segment, headers)
            if count == 0:
                self.skip_to(headers[0].base_offset)
                continue
            self._write_run(segment, batches[position : position + size], headers[:count])
            position, headers = position + size, headers[count:]

    def _fitting(self, segment: Segment, headers: Sequence[BatchHeader]) -> tuple[int, int]:
        """The number of batches the segment has room for, at least one if it is empty; and their bytes."""
        count = size = 0
        for header in headers:
            is_much = segment.size + size + header.size > self._segment_bytes
            is_far = header.last_offset - segment.base_offset > _RELATIVE_MAX
            if (is_much or is_far) and (count or segment.size):
                break
            count, size = count + 1, size + header.size
        return count, size

    def _write_run(self, segment: Segment, run: bytes, headers: Sequence[BatchHeader]) -> None:
        try:
            for header in headers:
                self._note_epoch(header.leader_epoch, header.base_offset)
            self._write_all(self._file_to_append(segment), run, segment)
        except OSError as error:
            raise SourceError(f"{segment.path}: {error.strerror or error}") from error
        self._unsynced[segment.base_offset] = segment
        indexed = [segment.add(header, segment.size) for header in headers]
        if any(indexed):
            segment.append_to_indexes()
        self.end_offset = headers[-1].last_offset + 1

    def skip_to(self, offset: int) -> None:
        """Continue with a later offset, in a segment named after it; what lies before it cannot be had."""
        try:
            self._roll(offset)
        except OSError as error:
            raise SourceError(f"{error.filename or self._folder}: {error.strerror or error}") from error
        self.end_offset = offset

    def close_segment(self) -> None:
        """Begin a new segment, unless the last one is empty."""
        if self._segments[-1].size:
            self.skip_to(self.end_offset)

    def size_of_all(self) -> int:
        """The bytes of all segments, without their indexes."""
        return sum(segment.size for segment in self._segments)

    # ---- opening ------------------------------------------------------------------------------

    def _load(self, base_offset: int, below: int | None) -> Segment:
        if below is not None:
            segment = _by_indexes(self._folder, base_offset, below)
            if segment is not None:
                return segment
        return super()._load(base_offset, below)

    # ---- folding ------------------------------------------------------------------------------

    def fold(self, count: int, now_ms: int) -> Iterator[None]:
        """Keep of the oldest `count` closed segments the newest record of each key, in few segments.

        Yields after every batch, so that others get their turn; the log may be appended to meanwhile. A crash
        leaves the old segments, the new ones, or some of each that together hold all that counts.
        """
        segments = self._segments[: min(count, len(self._segments) - 1)]
        newest = Newest()
        for segment in segments:
            for raw in self.batches_of(segment):
                newest.add(decode_batch(raw))
                yield
        sweep = Sweep(newest, now_ms)
        drafts: list[tuple[Segment, list[Segment]]] = []
        try:
            for group in _grouped(segments):
                draft = Segment(self._folder, group[0].base_offset)
                with draft.path.with_name(draft.path.name + CLEANED_SUFFIX).open("wb") as file:
                    for segment in group:
                        for raw in self.batches_of(segment):
                            if cleaned := sweep.cleaned(raw):
                                draft.add(read_header(cleaned), draft.size)
                                file.write(cleaned)
                            yield
                    file.flush()
                    os.fsync(file.fileno())
                draft.end_offset = group[-1].end_offset
                drafts.append((draft, group))
            for draft, group in drafts:
                self._swap_in(draft, group)
        except (OSError, DecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise SourceError(f"{self._folder}: cannot be folded: {why}") from error

    def _swap_in(self, folded: Segment, group: Sequence[Segment]) -> None:
        """Put a folded segment in the place of others, as Kafka's cleaner does. Raises OSError."""
        draft = folded.path.with_name(folded.path.name + CLEANED_SUFFIX)
        swap = folded.path.with_name(folded.path.name + SWAP_SUFFIX)
        draft.replace(swap)
        sync_folder(self._folder)
        for segment in reversed(group):
            segment.is_gone = True
            self._handles.close(segment.path)
            self._unsynced.pop(segment.base_offset, None)
            for suffix in (*_INDEXES, *((".log",) if segment is not group[0] else ())):
                segment.path.with_suffix(suffix).unlink(missing_ok=True)
        folded.write_indexes()
        swap.replace(folded.path)
        sync_folder(self._folder)
        first = self._segments.index(group[0])
        self._segments[first : first + len(group)] = [folded]


def _grouped(segments: Sequence[Segment]) -> Iterator[list[Segment]]:
    """Segments that fit into one, as LogCleaner.groupSegmentsBySize makes them."""
    group: list[Segment] = []
    for segment in segments:
        if group and (
            sum(each.size for each in group) + segment.size > _FOLDED_BYTES_MAX
            or segment.end_offset - group[0].base_offset > _RELATIVE_MAX
        ):
            yield group
            group = []
        group.append(segment)
    if group:
        yield group


def _by_indexes(folder: Path, base_offset: int, below: int) -> Segment | None:
    """A closed segment by its indexes and what lies behind their last entries; None if they do not fit."""
    segment = Segment(folder, base_offset)
    try:
        offsets = read_offset_index(segment.path.with_suffix(".index"), base_offset)
        times = read_time_index(segment.path.with_suffix(".timeindex"), base_offset)
        size = segment.path.stat().st_size
        if offsets.problem(size) or times.problem() or not len(offsets):
            return None
        segment.entries, segment.times = list(offsets), list(times)
        last = segment.entries[-1]
        segment.size = last.position
        if segment.times:
            segment.max_timestamp_ms = segment.times[-1].timestamp_ms
        with segment.path.open("rb") as file:
            file.seek(last.position)
            rest = file.read(_READ_BYTES)
        first = read_header(rest)
        if first.last_offset != last.offset or last.position + len(rest) != size:
            return None
        position = 0
        while position < len(rest):
            header = read_header(rest, position)
            if position + header.size > len(rest) or header.last_offset >= below:
                return None
            segment.end_offset, position = header.last_offset + 1, position + header.size
            segment.max_timestamp_ms = max(segment.max_timestamp_ms, header.max_timestamp_ms)
    except (SourceError, OSError, DecodeError):
        return None
    segment.size = size
    return segment
