"""A data topic's past log ends, by the timestamps of its own records.

A record's timestamp is when its producer made it, or when the broker took it (`message.timestamp.type`): the
log ended right behind it then, as far as those clocks are right.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.index import read_offset_index
from kgroup.log.files.log_dir import PartitionFolder, SegmentFile
from kgroup.log.files.segment import read_segment
from kgroup.log.format.any_format import MAX_BATCH_BYTES
from kgroup.log.format.batch import Batch, decode_batch
from kgroup.log.format.header_guess import HEADER_BYTES, SMALLEST_BATCH, batch_size
from kgroup.log.format.legacy import decode_message
from kgroup.log.topics.short_log import ShortLog
from kgroup.protocol.log_listing import LogEndAt

_MAGIC_AT: Final = 16
_WHOLE_BYTES: Final = 64 * 1024  # for each point: a log of less is read whole, which shows every batch

_Item = TypeVar("_Item")


class _Anchor(NamedTuple):
    """A place where a batch begins."""

    segment: SegmentFile
    position: int


def log_end_history(folder: PartitionFolder | ShortLog, points_max: int) -> tuple[LogEndAt, ...]:
    """Up to `points_max` log ends, at least 3, evenly over the log, the last of them that of now.

    Offsets and times rise from one to the next: batches that are no newer than one before them came at its
    time or later, and are added to it. A long log is looked at only at places that its indexes name. Damaged
    batches are left out. Raises SourceError if a file cannot be read.
    """
    if isinstance(folder, ShortLog):
        return _of_short(folder, points_max)
    segments = [segment for segment in folder.segments if segment.base_offset is not None]
    if not segments:
        return ()
    if sum(_size(segment) for segment in segments) <= points_max * _WHOLE_BYTES:
        batches = (batch for segment in segments for batch in _batches(segment, 0))
        return _thinned(list(_rising(map(_end_of, batches))), points_max)
    anchors = _thinned([anchor for segment in segments for anchor in _anchors(segment)], points_max - 1)
    looked_at = [batch for anchor in anchors if (batch := _batch_at(anchor)) is not None]
    last = _last(_batches(*anchors[-1]))
    return tuple(_rising(map(_end_of, [*looked_at, *last])))


def _of_short(log: ShortLog, points_max: int) -> tuple[LogEndAt, ...]:
    offsets, times_ms = log.last_offsets, log.max_timestamps_ms
    if log.is_rising:
        chosen = _thinned(range(len(offsets)), points_max)
        return tuple(LogEndAt(offsets[number] + 1, times_ms[number]) for number in chosen)
    ends = (LogEndAt(offset + 1, time_ms) for offset, time_ms in zip(offsets, times_ms, strict=True))
    return _thinned(list(_rising(ends)), points_max)


def _end_of(batch: Batch) -> LogEndAt:
    return LogEndAt(batch.last_offset + 1, batch.max_timestamp_ms)


def _rising(ends: Iterable[LogEndAt]) -> Iterator[LogEndAt]:
    newest: LogEndAt | None = None
    for end in ends:
        if newest is not None and end.offset > newest.offset:
            if end.timestamp_ms > newest.timestamp_ms:
                yield newest
            newest = LogEndAt(end.offset, max(end.timestamp_ms, newest.timestamp_ms))
        elif newest is None and end.timestamp_ms >= 0:
            newest = end
    if newest is not None:
        yield newest


def _thinned(items: Sequence[_Item], most: int) -> tuple[_Item, ...]:
    """At most that many of the items, evenly chosen, with the first and the last."""
    if len(items) <= most:
        return tuple(items)
    return tuple(items[number * (len(items) - 1) // (most - 1)] for number in range(most))


def _anchors(segment: SegmentFile) -> Iterator[_Anchor]:
    yield _Anchor(segment, 0)
    path = Path(segment.path).with_suffix(".index")
    if segment.base_offset is None or not path.is_file():
        return
    size = _size(segment)
    index = [_Anchor(segment, 0), *(_Anchor(segment, entry.position) for entry in read_offset_index(path, 0))]
    for before, anchor in pairwise(index):
        if before.position < anchor.position < size:
            yield anchor


def _batch_at(anchor: _Anchor) -> Batch | None:
    """The batch there, by reading no more than it; None if there is none, as an index may be wrong."""
    try:
        with Path(anchor.segment.path).open("rb") as file:
            file.seek(anchor.position)
            front = file.read(HEADER_BYTES)
            if len(front) < SMALLEST_BATCH or not SMALLEST_BATCH <= batch_size(front) <= MAX_BATCH_BYTES:
                return None
            raw = (front + file.read(max(batch_size(front) - len(front), 0)))[: batch_size(front)]
    except OSError as error:
        raise SourceError(f"{anchor.segment.path}: {error.strerror or error}") from error
    decode = decode_batch if front[_MAGIC_AT] >= 2 else decode_message
    try:
        return decode(raw, anchor.position)
    except DecodeError:
        return None


def _batches(segment: SegmentFile, position: int) -> Iterator[Batch]:
    return (item for item in read_segment(segment.path, start=position) if isinstance(item, Batch))


def _last(batches: Iterator[Batch]) -> list[Batch]:
    last: list[Batch] = []
    for batch in batches:
        last = [batch]
    return last


def _size(segment: SegmentFile) -> int:
    try:
        return Path(segment.path).stat().st_size
    except OSError as error:
        raise SourceError(f"{segment.path}: {error.strerror or error}") from error
