"""Where the log of a data topic ended at a time, found through `.timeindex` and `.index`."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path

from kgroup.errors import DecodeError
from kgroup.log.batch import Batch
from kgroup.log.index import OffsetIndex, TimeIndex, read_offset_index, read_time_index
from kgroup.log.partition import PartitionFolder, SegmentFile
from kgroup.log.segment import read_segment


def log_end_at(folder: PartitionFolder, time_ms: int) -> int | None:
    """The offset of the first record that is newer than `time_ms`, else the log's end; None if unknown.

    It is unknown without segments, and before the first record of a log whose start is deleted. Timestamps
    are the records' own, so this is as right as producers' clocks. Damage is passed over. Raises SourceError
    if a file cannot be read.
    """
    return log_ends_at(folder, [time_ms])[0]


def log_ends_at(folder: PartitionFolder, times_ms: Sequence[int]) -> list[int | None]:
    """The same for many times, which must rise."""
    segments = [
        _Segment(segment, is_last=number == len(folder.segments))
        for number, segment in enumerate(folder.segments, 1)
    ]
    end_now = folder.log_end_offset()
    ends: list[int | None] = []
    older = 0  # so many segments hold nothing newer
    for time_ms in times_ms:
        found: tuple[int, bool] | None = None
        while older < len(segments):
            found = segments[older].first_newer(time_ms)
            if found is not None:
                break
            older += 1
        if found is None:
            ends.append(end_now)
            continue
        newer, is_first = found
        ends.append(newer if older or newer == 0 or not is_first else None)
    return ends


class _Segment:
    """A segment and its indexes, which are read once."""

    def __init__(self, segment: SegmentFile, *, is_last: bool) -> None:
        self._segment = segment
        self._is_last = is_last

    def first_newer(self, time_ms: int) -> tuple[int, bool] | None:
        """The offset of its first record that is newer, and whether it is the first of all its records."""
        if not self._is_last and self._is_older(time_ms):
            return None
        for number, batch in enumerate(self._batches_from(time_ms)):
            newer = _first_newer(batch, time_ms)
            if newer is not None:
                return newer, number == 0 and newer == batch.base_offset and batch.position == 0
        return None

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

    def _batches_from(self, time_ms: int) -> Iterator[Batch]:
        """The batches from one at or before the first newer record on."""
        times, offsets = self._times, self._offsets
        if times is None or offsets is None:
            return self._healthy(0)
        offset = times.offset_before(time_ms + 1)
        position = offsets.position_before(offset)
        if position > 0:
            batches = self._healthy(position)
            first = next(batches, None)
            # Indexes are hints; what they name must be there.
            if first is not None and first.position == position and first.base_offset <= offset:
                return chain((first,), batches)
        return self._healthy(0)

    def _healthy(self, position: int) -> Iterator[Batch]:
        items = read_segment(self._segment.path, start=position)
        return (item for item in items if isinstance(item, Batch))


def _first_newer(batch: Batch, time_ms: int) -> int | None:
    if batch.max_timestamp_ms <= time_ms:
        return None
    try:
        records = batch.records()
    except DecodeError:
        return batch.base_offset
    return next((record.offset for record in records if record.timestamp_ms > time_ms), None)
