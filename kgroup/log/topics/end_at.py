"""A data topic's log end at a past time, found through `.timeindex` and `.index`."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from kgroup.errors import DecodeError
from kgroup.log.files.index import OffsetIndex, TimeIndex, read_offset_index, read_time_index
from kgroup.log.files.log_dir import PartitionFolder, SegmentFile
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.log.topics.short_log import ShortLog


def log_end_at(folder: PartitionFolder | ShortLog, time_ms: int) -> int | None:
    """The offset of the first record that is newer than `time_ms`, else the log's end; None if unknown.

    It is unknown without segments, and before the first record of a log whose start is deleted. Timestamps
    are the records' own, so this is as right as producers' clocks. Damage is passed over. Raises SourceError
    if a file cannot be read.
    """
    return log_ends_at(folder, [time_ms])[0]


def log_ends_at(
    folder: PartitionFolder | ShortLog, times_ms: Sequence[int], end_now: int | None = None
) -> list[int | None]:
    """The same for many times, which must rise; `end_now` is the log's end, if it is known already."""
    if isinstance(folder, ShortLog):
        return [_end_of_short(folder, time_ms) for time_ms in times_ms]
    segments = [
        _Segment(segment, is_last=number == len(folder.segments))
        for number, segment in enumerate(folder.segments, 1)
    ]
    end_now = end_now or folder.log_end_offset()
    ends: list[int | None] = []
    older = 0  # this many segments hold nothing newer
    for time_ms in times_ms:
        first_newer: tuple[int, bool] | None = None
        while older < len(segments):
            first_newer = segments[older].first_newer(time_ms)
            if first_newer is not None:
                break
            older += 1
        if first_newer is None:
            ends.append(end_now)
            continue
        newer, is_first = first_newer
        ends.append(newer if older or newer == 0 or not is_first else None)
    return ends


def _end_of_short(log: ShortLog, time_ms: int) -> int | None:
    times_ms = log.max_timestamps_ms
    for number in range(bisect_right(times_ms, time_ms) if log.is_rising else 0, len(times_ms)):
        if times_ms[number] > time_ms:
            newer = _newer_in(log.batch(number)[1], time_ms)
            if newer is not None:
                return newer if number or newer == 0 or newer != log.base_offsets[0] else None
    return log.log_end_offset()


def _newer_in(batch: Batch, time_ms: int) -> int | None:
    """The first record in it that is newer; the batch's first offset if nobody can read what is in it."""
    try:
        records = batch.records()
    except DecodeError:
        return batch.base_offset
    return next((record.offset for record in records if record.timestamp_ms > time_ms), None)


class _Segment:
    """A segment and its indexes, which are read once. The times that it is asked about rise: it reads on."""

    def __init__(self, segment: SegmentFile, *, is_last: bool) -> None:
        self._segment = segment
        self._is_last = is_last
        self._behind: Iterator[Batch] | None = None
        self._batch: Batch | None = None  # all before it is no newer than what was asked about
        self._records: list[tuple[int, int]] | None = None

    def first_newer(self, time_ms: int) -> tuple[int, bool] | None:
        """The offset of its first record that is newer, and whether it is the first of all its records."""
        if not self._is_last and self._is_older(time_ms):
            return None
        if self._behind is None:
            self._read_from(self._position_before(time_ms))
        elif self._batch is not None and self._batch.max_timestamp_ms <= time_ms:
            position, offset = self._position_before(time_ms)
            if position > self._batch.position:
                self._read_from((position, offset))
        while self._batch is not None:
            newer = self._newer_in(self._batch, time_ms)
            if newer is not None:
                return newer, newer == self._batch.base_offset and self._batch.position == 0
            self._next()
        return None

    def _newer_in(self, batch: Batch, time_ms: int) -> int | None:
        if batch.max_timestamp_ms <= time_ms:
            return None
        if self._records is None:
            try:
                self._records = [(record.offset, record.timestamp_ms) for record in batch.records()]
            except DecodeError:
                return batch.base_offset
        return next((offset for offset, timestamp_ms in self._records if timestamp_ms > time_ms), None)

    def _next(self) -> None:
        assert self._behind is not None
        self._batch, self._records = next(self._behind, None), None

    @cached_property
    def _times(self) -> TimeIndex | None:
        path = Path(self._segment.path).with_suffix(".timeindex")
        if self._segment.base_offset is None or not path.is_file():
            return None
        return read_time_index(path, self._segment.base_offset)

    @cached_property
    def _offsets(self) -> OffsetIndex | None:
        path = Path(self._segment.path).with_suffix(".index")
        if self._segment.base_offset is None or not path.is_file():
            return None
        return read_offset_index(path, self._segment.base_offset)

    def _is_older(self, time_ms: int) -> bool:
        """Whether nothing in it is newer, by its index, which Kafka ends with the largest timestamp."""
        times = self._times
        if times is None or not len(times) or self._segment.base_offset is None:
            return False
        last = times[len(times) - 1]
        # Kafka's own check of an index: its last entry is not before its first, nor before the segment.
        is_sane = self._segment.base_offset <= last.offset and times[0].timestamp_ms <= last.timestamp_ms
        return is_sane and last.timestamp_ms <= time_ms

    def _position_before(self, time_ms: int) -> tuple[int, int]:
        """A batch's position at or before the first newer record, by the indexes, and an offset there."""
        times, offsets = self._times, self._offsets
        if times is None or offsets is None:
            return 0, 0
        offset = times.offset_before(time_ms + 1)
        return max(offsets.position_before(offset), 0), offset

    def _read_from(self, hint: tuple[int, int]) -> None:
        """Read on from there. Indexes are hints; if what they name is not there, from the beginning."""
        position, offset = hint
        self._behind = self._healthy(position)
        self._next()
        batch = self._batch
        if position > 0 and (batch is None or batch.position != position or batch.base_offset > offset):
            self._behind = self._healthy(0)
            self._next()

    def _healthy(self, position: int) -> Iterator[Batch]:
        items = read_segment(self._segment.path, start=position)
        return (item for item in items if isinstance(item, Batch))
