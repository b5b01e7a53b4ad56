"""Where a data log ended at given times, from its time indexes and batch headers.

A batch counts as written at its largest timestamp: the producer's clock or the broker's, as the topic has it.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from kgroup.log.batch import Batch
from kgroup.log.index import OffsetIndex, TimeIndex, read_offset_index, read_time_index
from kgroup.log.partition import PartitionFolder, SegmentFile
from kgroup.log.segment import read_segment


def log_ends_at(folder: PartitionFolder, times_ms: Sequence[int]) -> list[int | None]:
    """The log end offset at each of the times, which must rise: where the first later batch begins.

    None before the first batch that is kept, unless that is the first there ever was. Of each segment only
    what lies around the times is read. Raises SourceError if a file cannot be read.
    """
    start, end_now = folder.log_start_offset(), folder.log_end_offset()
    segments = (_Segment(segment) for segment in folder.segments if segment.base_offset is not None)
    segment = next(segments, None)
    ends: list[int | None] = []
    for time_ms in times_ms:
        first: Batch | None = None
        while segment is not None:
            first = segment.first_as_new_as(time_ms)
            if first is not None:
                break
            segment = next(segments, None)
        if first is None:
            ends.append(end_now)
        else:
            ends.append(first.base_offset if not start or first.base_offset > start else None)
    return ends


class _Segment:
    """One segment with its indexes, which are read once."""

    def __init__(self, segment: SegmentFile) -> None:
        self._segment = segment
        self._indexes = _indexes(segment)

    def first_as_new_as(self, time_ms: int) -> Batch | None:
        return next((batch for batch in self._batches(time_ms) if batch.max_timestamp_ms >= time_ms), None)

    def _batches(self, time_ms: int) -> Iterator[Batch]:
        position = 0
        if self._indexes is not None:
            times, offsets = self._indexes
            position = offsets.position_before(times.offset_before(time_ms))
        items = read_segment(self._segment.path, start=position)
        return (item for item in items if isinstance(item, Batch))


def _indexes(segment: SegmentFile) -> tuple[TimeIndex, OffsetIndex] | None:
    """Both indexes of a segment; None where one is not there or cannot be right, as they are only hints."""
    log = Path(segment.path)
    time_path, offset_path = log.with_suffix(".timeindex"), log.with_suffix(".index")
    if segment.base_offset is None or not time_path.is_file() or not offset_path.is_file():
        return None
    times = read_time_index(time_path, segment.base_offset)
    offsets = read_offset_index(offset_path, segment.base_offset)
    return None if times.problem() or offsets.problem(log.stat().st_size) else (times, offsets)
