"""Where the log of a data topic ended at a time, found through `.timeindex` and `.index`."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from kgroup.errors import DecodeError
from kgroup.log.batch import Batch
from kgroup.log.index import read_offset_index, read_time_index
from kgroup.log.partition import PartitionFolder, SegmentFile
from kgroup.log.segment import read_segment


def log_end_at(folder: PartitionFolder, time_ms: int) -> int | None:
    """The offset of the first record that is newer than `time_ms`, else the log's end; None if unknown.

    It is unknown without segments, and before the first record of a log whose start is deleted. Timestamps
    are the records' own, so this is as right as producers' clocks. Damage is passed over. Raises SourceError
    if a file cannot be read.
    """
    saw_older = False
    for segment in folder.segments:
        if segment is not folder.segments[-1] and _is_older(segment, time_ms):
            saw_older = True
            continue
        for batch in _batches_from(segment, time_ms):
            newer = _first_newer(batch, time_ms)
            if newer is not None:
                is_known = saw_older or newer == 0 or newer > batch.base_offset or batch.position > 0
                return newer if is_known else None
            saw_older = True
    return folder.log_end_offset()


def _first_newer(batch: Batch, time_ms: int) -> int | None:
    if batch.max_timestamp_ms <= time_ms:
        return None
    try:
        records = batch.records()
    except DecodeError:
        return batch.base_offset
    return next((record.offset for record in records if record.timestamp_ms > time_ms), None)


def _is_older(segment: SegmentFile, time_ms: int) -> bool:
    """Whether nothing in it is newer, by its index: Kafka ends one with the segment's largest timestamp."""
    path = Path(segment.path).with_suffix(".timeindex")
    if segment.base_offset is None or not path.is_file():
        return False
    index = read_time_index(path, segment.base_offset)
    if not len(index):
        return False
    last = index[len(index) - 1]
    # Kafka's own check of an index: its last entry is not before its first, nor before the segment.
    return segment.base_offset <= last.offset and index[0].timestamp_ms <= last.timestamp_ms <= time_ms


def _batches_from(segment: SegmentFile, time_ms: int) -> Iterator[Batch]:
    """The batches from one at or before the first newer record on."""
    path = Path(segment.path)
    if segment.base_offset is None or not (
        path.with_suffix(".index").is_file() and path.with_suffix(".timeindex").is_file()
    ):
        return _healthy(segment, 0)
    times = read_time_index(path.with_suffix(".timeindex"), segment.base_offset)
    offset = times.offset_before(time_ms + 1)
    position = read_offset_index(path.with_suffix(".index"), segment.base_offset).position_before(offset)
    if position > 0:
        batches = _healthy(segment, position)
        first = next(batches, None)
        # Indexes are hints; what they name must be there.
        if first is not None and first.position == position and first.base_offset <= offset:
            return chain((first,), batches)
    return _healthy(segment, 0)


def _healthy(segment: SegmentFile, position: int) -> Iterator[Batch]:
    return (item for item in read_segment(segment.path, start=position) if isinstance(item, Batch))
