"""Converts a coordinator's records to batches of the offsets topic, and back."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from kgroup.broker.commit_bytes import encode_fast, encode_run
from kgroup.group.coordinator.step import NO_PRODUCER_ID, CommitRun, OffsetsRecord
from kgroup.log.format.batch import Batch, LogRecord, decode_batch, encode_batch, encode_payload
from kgroup.log.format.record import encode_records as encode_log_records
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker

ABORT_MARKER: Final = 0
COMMIT_MARKER: Final = 1
_BATCH_RECORDS_MAX: Final = 8_192  # some 600 kB of commits; brokers take batches of 1 MB


def encode_records(records: Iterable[OffsetsRecord | CommitRun]) -> Iterator[bytes]:
    """The batches of consecutive records: one per producer and stretch, markers by themselves."""
    for (producer_id, epoch, is_marker), run in groupby(records, _batch_key):
        if is_marker:
            for record in run:
                assert isinstance(record, OffsetsRecord)
                assert isinstance(record.entry, TransactionMarker)
                yield encode_marker(record.entry, record.timestamp_ms)
            continue
        for same_batch in _in_batches(run):
            first_ms = same_batch[0].timestamp_ms
            payload = bytearray()
            count = 0
            for record in same_batch:
                if isinstance(record, CommitRun):
                    payload += encode_run(record, count, first_ms)
                    count += len(record.partitions)
                else:
                    payload += encode_log_records([_log_record(count, record)], 0, first_ms)
                    count += 1
            yield encode_payload(
                payload,
                count,
                base_timestamp_ms=first_ms,
                max_timestamp_ms=max(record.timestamp_ms for record in same_batch),
                transactional=producer_id != NO_PRODUCER_ID,
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=0,  # as Kafka 4 writes it, though nobody checks it
            )


def _in_batches(
    records: Iterable[OffsetsRecord | CommitRun],
) -> Iterator[list[OffsetsRecord | CommitRun]]:
    """The records in parts that are not too many for a batch, unless one request alone has as many."""
    part: list[OffsetsRecord | CommitRun] = []
    count = 0
    for record in records:
        size = len(record.partitions) if isinstance(record, CommitRun) else 1
        if part and count + size > _BATCH_RECORDS_MAX:
            yield part
            part, count = [], 0
        part.append(record)
        count += size
    yield part


def encode_marker(marker: TransactionMarker, timestamp_ms: int) -> bytes:
    """A control batch with one transaction marker."""
    kind = COMMIT_MARKER if marker.committed else ABORT_MARKER
    record = LogRecord(
        offset=0,
        timestamp_ms=timestamp_ms,
        key=b"\0\0" + kind.to_bytes(2, "big"),
        value=b"\0\0" + marker.coordinator_epoch.to_bytes(4, "big", signed=True),
    )
    return encode_batch(
        [record],
        transactional=True,
        control=True,
        producer_id=marker.producer_id,
        producer_epoch=marker.producer_epoch,
    )


def is_commit_marker(batch: Batch) -> bool:
    """The one of the two markers that a control batch holds. Raises DecodeError if it does not decode."""
    key = batch.records()[0].key
    return key is not None and int.from_bytes(key[2:4], "big") == COMMIT_MARKER


def decode_records(raw: bytes, partition: int) -> Iterator[LoggedEntry]:
    """The entries of one batch as it lies in the log. Raises DecodeError if it is damaged."""
    batch = decode_batch(raw)
    producer_id = batch.producer_id if batch.transactional else None
    for record in batch.records():
        entry = _marker(batch, record) if batch.control else decode_entry(record.key, record.value)
        if entry is None:
            continue
        yield LoggedEntry(
            partition=partition,
            offset=record.offset,
            timestamp_ms=record.timestamp_ms,
            leader_epoch=batch.leader_epoch,
            producer_id=producer_id,
            entry=entry,
        )


def _marker(batch: Batch, record: LogRecord) -> TransactionMarker | None:
    """A control record that is no transaction marker says nothing to a coordinator."""
    kind = int.from_bytes((record.key or b"")[2:4], "big")
    if len(record.key or b"") < 4 or kind not in (ABORT_MARKER, COMMIT_MARKER):
        return None
    return TransactionMarker(
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        committed=kind == COMMIT_MARKER,
        coordinator_epoch=int.from_bytes((record.value or b"")[2:6], "big", signed=True),
    )


def _batch_key(record: OffsetsRecord | CommitRun) -> tuple[int, int, bool]:
    is_marker = isinstance(record, OffsetsRecord) and isinstance(record.entry, TransactionMarker)
    return record.producer_id, record.producer_epoch, is_marker


def _log_record(number: int, record: OffsetsRecord) -> LogRecord:
    assert isinstance(record.entry, OffsetsEntry)
    key, value = encode_fast(record.entry)
    return LogRecord(offset=number, timestamp_ms=record.timestamp_ms, key=key, value=value)
