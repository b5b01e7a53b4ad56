"""Cleans a compacted log: the newest record of every key stays, in segments no longer written to.

As Kafka's LogCleaner: offsets stay as they are, with gaps; records of aborted transactions go; what an
open transaction has written stays until its marker says what it is; deletions go a day after they
were made, so that readers on their way see them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from kgroup.log.format.batch import Batch, decode_batch, encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.log.store.record_log import MemoryLog
from kgroup.log.store.segment_log import SegmentLog

DELETE_RETENTION_MS: Final = 24 * 3_600_000
DIRTY_RATIO_MIN: Final = 0.5
_ABORT_MARKER: Final = b"\0\0\0\0"


@dataclass(slots=True)
class Newest:
    """Offset of the record that counts for each key, and the records that no marker has settled yet."""

    offsets: dict[bytes, int] = field(default_factory=dict)
    open: dict[int, dict[bytes, int]] = field(default_factory=dict)

    def add(self, batch: Batch) -> None:
        """Take note of the next batch."""
        records = batch.records()
        if batch.control:
            self._settle(batch.producer_id, committed=records[0].key != _ABORT_MARKER)
            return
        for record in records:
            if record.key is None:
                continue
            if batch.transactional:
                self.open.setdefault(batch.producer_id, {})[record.key] = record.offset
            else:
                self._put(record.key, record.offset)

    def _settle(self, producer_id: int, *, committed: bool) -> None:
        for key, offset in self.open.pop(producer_id, {}).items():
            if committed:
                self._put(key, offset)

    def _put(self, key: bytes, offset: int) -> None:
        if offset > self.offsets.get(key, -1):
            self.offsets[key] = offset

    def counts(self, batch: Batch, record: LogRecord, now_ms: int) -> bool:
        """Whether a record has to stay."""
        if record.key is None:
            return False
        if self.open.get(batch.producer_id, {}).get(record.key) == record.offset and batch.transactional:
            return True
        if self.offsets.get(record.key) != record.offset:
            return False
        return record.value is not None or now_ms - record.timestamp_ms < DELETE_RETENTION_MS


def is_dirty(log: SegmentLog) -> bool:
    """Whether enough has been written since the last cleaning to clean again."""
    closed = log.closed_segments()
    dirty_bytes = sum(segment.size for segment in closed if segment.base_offset >= log.cleaned_to)
    total_bytes = sum(segment.size for segment in closed)
    return dirty_bytes > 0 and dirty_bytes >= total_bytes * DIRTY_RATIO_MIN


def clean(log: SegmentLog, now_ms: int) -> Iterator[None]:
    """Clean the closed segments; yields after every batch, so that others get their turn meanwhile.

    The log may be read and appended to between the steps. A segment is replaced as a whole, so a crash
    leaves the old one or the new one. Raises DecodeError for damage, which is left as it is.
    """
    segments = log.closed_segments()
    newest = Newest()
    for segment in segments:
        for raw in log.batches_of(segment):
            newest.add(decode_batch(raw))
            yield
    sweep = Sweep(newest, now_ms)
    for segment in segments:
        kept: list[bytes] = []
        for raw in log.batches_of(segment):
            cleaned = sweep.cleaned(raw)
            if cleaned:
                kept.append(cleaned)
            yield
        log.replace(segment, kept)
    log.cleaned_to = segments[-1].end_offset if segments else log.cleaned_to


def clean_memory(log: MemoryLog, now_ms: int) -> None:
    """Clean all of a log that lies in memory. Raises DecodeError for damage, and leaves it as it is."""
    batches = list(log.batches(log.start_offset))
    newest = Newest()
    for raw in batches:
        newest.add(decode_batch(raw))
    sweep = Sweep(newest, now_ms)
    log.replace([cleaned for raw in batches if (cleaned := sweep.cleaned(raw))])


class Sweep:
    """Goes over the batches in their order and says what is left of each."""

    def __init__(self, newest: Newest, now_ms: int) -> None:
        self._newest = newest
        self._now_ms = now_ms
        self._marked: set[int] = set()  # producers with records that need their marker

    def cleaned(self, raw: bytes) -> bytes:
        """The batch without what does not count any more; empty if nothing is left of it."""
        batch = decode_batch(raw)
        cleaned = raw
        if not batch.control:
            cleaned = _cleaned(batch, raw, self._newest, self._now_ms)
        elif (
            batch.producer_id not in self._marked
            and self._now_ms - batch.max_timestamp_ms >= DELETE_RETENTION_MS
        ):
            cleaned = b""
        if batch.control:
            self._marked.discard(batch.producer_id)
        elif batch.transactional and cleaned:
            self._marked.add(batch.producer_id)
        return cleaned


def _cleaned(batch: Batch, raw: bytes, newest: Newest, now_ms: int) -> bytes:
    """The batch without what does not count any more; empty if nothing is left of it."""
    records = batch.records()
    kept = [record for record in records if newest.counts(batch, record, now_ms)]
    if len(kept) == len(records):
        return raw
    if not kept:
        return b""
    return encode_batch(
        kept,
        codec=batch.codec,
        timestamp_type=batch.timestamp_type,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        transactional=batch.transactional,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        leader_epoch=batch.leader_epoch,
    )
