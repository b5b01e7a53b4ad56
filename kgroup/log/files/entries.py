"""Turns segments of the offsets topic into the entries of their records: the plain path's last step."""

import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple, Protocol

from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.segment import read_among_others, read_records, read_stream
from kgroup.log.files.sources import STDIN
from kgroup.log.format.batch import Batch, Damage, LogRecord
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable

# KIP-98: a control record's key is version and type, the value of the end of a transaction version and epoch.
_CONTROL_KEY: Final = struct.Struct(">hh")
_CONTROL_VALUE: Final = struct.Struct(">hi")
_ABORT: Final = 0
_COMMIT: Final = 1


class ReadRecord(NamedTuple):
    """A record with all that is known of it: its file, its batch, its bytes and their meaning.

    `record` and `entry` are None for a batch without records: the cleaner keeps it for its producer's state.
    """

    segment: SegmentFile
    batch: Batch
    record: LogRecord | None
    entry: OffsetsEntry | Undecodable | TransactionMarker | None


class Selection(Protocol):
    """Leaves out what nobody asked for, before time is spent on it."""

    def wants_batch(self, batch: Batch) -> bool:
        """Whether to look into the batch at all; asked of every batch in the order of the log."""

    def choose(self, batch: Batch, records: Sequence[LogRecord]) -> Iterable[LogRecord]:
        """The batch's records to decode."""


def read_entries(
    sources: Iterable[SegmentFile], *, stdin: BinaryIO | None = None
) -> Iterator[LoggedEntry | Damage]:
    """The entries of all segments in the order given, and the damage between them; also a file that cannot
    be read.
    """
    for item in read_decoded(sources, stdin=stdin):
        if isinstance(item, Damage):
            yield item
        elif item.record is not None and item.entry is not None:
            yield to_logged_entry(item.segment.partition, item.batch, item.record, item.entry)


def read_decoded(
    sources: Iterable[SegmentFile], *, stdin: BinaryIO | None = None, selection: Selection | None = None
) -> Iterator[ReadRecord | Damage]:
    """The same with each record's file, batch and bytes, and with empty batches.

    `stdin` is read for the source "-", by default the process's. Without `selection` all records come.
    """
    for segment in sources:
        if segment.path == STDIN:
            items = read_stream(stdin or sys.stdin.buffer, STDIN)
        else:
            items = read_among_others(segment.path)
        yield from decoded_batches(items, segment, selection)


def decoded_batches(
    items: Iterator[Batch | Damage], segment: SegmentFile, selection: Selection | None
) -> Iterator[ReadRecord | Damage]:
    """The records of batches that were read of a segment."""
    if selection is not None:
        items = _wanted_batches(items, selection)
    for item in read_records(items, segment.path):
        if isinstance(item, Damage):
            yield item
            continue
        batch, records = item
        if not records:
            yield ReadRecord(segment=segment, batch=batch, record=None, entry=None)
        for record in records if selection is None else selection.choose(batch, records):
            yield ReadRecord(segment, batch, record, decode_record(batch, record))


def _wanted_batches(items: Iterator[Batch | Damage], selection: Selection) -> Iterator[Batch | Damage]:
    return (item for item in items if isinstance(item, Damage) or selection.wants_batch(item))


def decode_record(batch: Batch, record: LogRecord) -> OffsetsEntry | Undecodable | TransactionMarker:
    """The meaning of a record of the offsets topic: a transaction's end in a control batch, else an entry."""
    if batch.control:
        return decode_marker(batch, record)
    return decode_entry(record.key, record.value)


def decode_marker(batch: Batch, record: LogRecord) -> TransactionMarker | Undecodable:
    """The marker in a control batch. Control records of other types and of no known type are Undecodable."""
    key, value = record.key or b"", record.value or b""
    if len(key) < _CONTROL_KEY.size or len(value) < _CONTROL_VALUE.size:
        return undecodable(record, "control record that is too short")
    _, kind = _CONTROL_KEY.unpack_from(key)
    if kind not in (_ABORT, _COMMIT):
        return undecodable(record, f"control record of type {kind}, which ends no transaction")
    _, coordinator_epoch = _CONTROL_VALUE.unpack_from(value)
    return TransactionMarker(
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        committed=kind == _COMMIT,
        coordinator_epoch=coordinator_epoch,
    )


def to_logged_entry(
    partition: int, batch: Batch, record: LogRecord, entry: OffsetsEntry | Undecodable | TransactionMarker
) -> LoggedEntry:
    """The entry with its place in the log of offsets partition `partition`.

    A transaction without a producer (RecordBatch.NO_PRODUCER_ID, -1) is none, as for Kafka 4's coordinator
    when it loads (OffsetMetadataManager.replay).
    """
    return LoggedEntry(
        partition=partition,
        offset=record.offset,
        timestamp_ms=record.timestamp_ms,
        leader_epoch=batch.leader_epoch if batch.leader_epoch >= 0 else None,
        producer_id=batch.producer_id if batch.transactional and batch.producer_id >= 0 else None,
        entry=entry,
    )


def undecodable(record: LogRecord, why: str) -> Undecodable:
    """A record that cannot be decoded, with its bytes and the int16 that each of them begins with."""

    def version(field: bytes | None) -> int | None:
        return None if field is None or len(field) < 2 else int.from_bytes(field[:2], "big", signed=True)

    return Undecodable(
        key=record.key,
        value=record.value,
        key_version=version(record.key),
        value_version=version(record.value),
        why=why,
    )
