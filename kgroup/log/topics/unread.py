"""The first record a group has not read, from the segments of a data topic.

Of a segment only what follows the last index entry before the offset is read: some 64 KiB, or a batch.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.entries import decode_marker
from kgroup.log.files.index import read_offset_index
from kgroup.log.files.log_dir import PartitionFolder, SegmentFile
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch, Damage, LogRecord
from kgroup.log.format.batch_header import read_header
from kgroup.log.topics.short_log import ShortLog
from kgroup.protocol.log_listing import FirstUnread
from kgroup.protocol.records.entries import TransactionMarker, TransactionOutcome

_READ_BYTES: Final = 64 * 1024  # some batches, as a rule


def first_unread(folder: PartitionFolder | ShortLog, offset: int) -> FirstUnread | None:
    """The first data record at or after the committed `offset`; None if there is none up to the log's end.

    Control batches and the gaps of compaction are no data and passed over; so is what lies before the log's
    start (`DeleteRecords` leaves it in the segments). Of a record in a transaction the log is read on up to
    the transaction's marker. Raises SourceError, with the place, if a file cannot be read or damage may hide
    the record or the marker.
    """
    start = folder.log_start_offset()
    if start is None:
        return None
    batches = batches_from(folder, max(offset, start))
    first = first_data(batches, max(offset, start))
    if first is None:
        return None
    batch, record = first
    outcome = _outcome(batch, batches) if batch.transactional else None
    return FirstUnread(offset=record.offset, timestamp_ms=record.timestamp_ms, outcome=outcome)


class PlacedBatch(NamedTuple):
    """A batch and the name of what it was read from."""

    source: str
    batch: Batch


def first_data(batches: Iterator[PlacedBatch | Damage], offset: int) -> tuple[Batch, LogRecord] | None:
    """The first data record at or after `offset` and its batch, from the batches of a partition in log order.

    None at the end of the batches; those behind the record's are left to read. Raises SourceError if damage
    may hide the record.
    """
    hidden: Damage | None = None
    for item in batches:
        if isinstance(item, Damage):
            hidden = item
            continue
        batch = item.batch
        if hidden is not None and batch.base_offset > offset:
            raise _lost(hidden)
        hidden = None
        if batch.control or batch.last_offset < offset:
            continue
        record = next((record for record in records_of(item) if record.offset >= offset), None)
        if record is not None:
            return batch, record
    if hidden is not None:
        raise _lost(hidden)
    return None


def _outcome(batch: Batch, behind: Iterator[PlacedBatch | Damage]) -> TransactionOutcome:
    """The outcome of the batch's transaction: by the first marker of its producer `behind` it."""
    for item in behind:
        if isinstance(item, Damage):
            raise _lost(item)
        if not item.batch.control or item.batch.producer_id != batch.producer_id:
            continue
        for record in records_of(item):
            marker = decode_marker(item.batch, record)
            if isinstance(marker, TransactionMarker):
                return TransactionOutcome.COMMITTED if marker.committed else TransactionOutcome.ABORTED
    return TransactionOutcome.PENDING


def batches_from(folder: PartitionFolder | ShortLog, offset: int) -> Iterator[PlacedBatch | Damage]:
    """The batches from one at or before `offset` on, file after file as they are asked for."""
    if isinstance(folder, ShortLog):
        yield from map(PlacedBatch._make, folder.batches_from(offset))
        return
    segments = folder.segments
    before = [number for number, segment in enumerate(segments) if (segment.base_offset or 0) <= offset]
    for segment in segments[before[-1] if before else 0 :]:
        for item in _read_from(segment, offset):
            yield item if isinstance(item, Damage) else PlacedBatch(segment.path, item)


def _read_from(segment: SegmentFile, offset: int) -> Iterator[Batch | Damage]:
    position = _closer(segment, _position_before(segment, offset), offset)
    if position > 0:
        items = read_segment(segment.path, start=position, read_bytes=_READ_BYTES)
        first = next(items, None)
        # An index is a hint: where no batch begins there, or a later one, the segment is read from its start.
        if isinstance(first, Batch) and first.base_offset <= offset:
            return chain((first,), items)
    return read_segment(segment.path)


def _position_before(segment: SegmentFile, offset: int) -> int:
    path = Path(segment.path).with_suffix(".index")
    if segment.base_offset is None or offset <= segment.base_offset or not path.is_file():
        return 0
    return read_offset_index(path, segment.base_offset).position_before(offset)


def _closer(segment: SegmentFile, position: int, offset: int) -> int:
    """The last batch among those behind `position` that begins at `offset` or before.

    Passed over by their headers alone: what ends before the offset hides nothing that is asked for. Anything
    odd ends the search, and is met, and told, by who reads on from there.
    """
    if segment.base_offset is not None and offset <= segment.base_offset:
        return position
    try:
        with Path(segment.path).open("rb") as file:
            file.seek(position)
            raw = file.read(_READ_BYTES)
    except OSError:
        return position
    at = closest = 0
    with suppress(DecodeError):
        while (header := read_header(raw, at)).base_offset <= offset:
            closest = at
            if header.last_offset >= offset:
                break
            at += header.size
    return position + closest


def records_of(placed: PlacedBatch) -> Sequence[LogRecord]:
    """The records of a batch. Raises SourceError, with the place, if its payload is damaged."""
    try:
        return placed.batch.records()
    except DecodeError as error:
        position, size = placed.batch.position, placed.batch.size
        why = f"{error.field}: {error.why}"
        raise _lost(Damage(segment=placed.source, position=position, size=size, why=why)) from error


def ends_in_commit(placed: PlacedBatch) -> bool:
    """Whether it is the control batch that commits a transaction. Raises SourceError if it is damaged."""
    markers = [decode_marker(placed.batch, record) for record in records_of(placed)]
    return any(isinstance(marker, TransactionMarker) and marker.committed for marker in markers)


def _lost(damage: Damage) -> SourceError:
    return SourceError(
        f"{damage.segment}: byte {damage.position}: {damage.why}; the first unread record may be in there"
    )
