"""Data topics of a played life: what was written, when, by whom, and what a reader gets of it."""

import base64
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from kgroup.log.files.index import OffsetEntry, TimeEntry, encode_offset_index, encode_time_index
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.log.store.segment_log import INDEX_INTERVAL_BYTES


@dataclass(frozen=True)
class Written:
    """A batch. `kept` are its records' offsets; `producer_id` is that of a transaction or its marker."""

    first: int
    last: int
    at_ms: int
    kept: tuple[int, ...]
    producer_id: int | None = None
    ends: bool | None = None
    """Whether a marker commits; None for records."""


@dataclass
class PartitionLog:
    """One partition. `per_s` is the rate at which producers write to it."""

    per_s: float
    start: int = 0
    end: int = 0
    owing: float = 0.0
    batches: list[Written] = field(default_factory=list)
    copied_to: int = 0
    """Of a mirror: offset in the source."""
    open: dict[int, int] = field(default_factory=dict)
    """First offset of each open transaction, by producer."""

    @property
    def last_stable(self) -> int:
        return min(self.open.values(), default=self.end)

    def append(self, at_ms: int, records: int, producer_id: int | None = None) -> None:
        kept = tuple(range(self.end, self.end + records))
        if producer_id is not None:
            self.open.setdefault(producer_id, self.end)
        self._add(Written(self.end, kept[-1], at_ms, kept, producer_id))

    def append_compacted(self, at_ms: int, offsets: int, *kept: int) -> None:
        """A batch of so many offsets of which the cleaner left those `kept`, counted from its first."""
        left = tuple(self.end + each for each in kept)
        self._add(Written(self.end, self.end + offsets - 1, at_ms, left))

    def end_transaction(self, at_ms: int, producer_id: int, *, committed: bool) -> None:
        del self.open[producer_id]
        self._add(Written(self.end, self.end, at_ms, (self.end,), producer_id, committed))

    def copy(self, source: "PartitionLog") -> None:
        """Append the source's records that are not here yet, from its log start on, at offsets of its own."""
        for batch in source.batches:
            if batch.first >= max(self.copied_to, source.start):
                self.append(batch.at_ms, len(batch.kept))
                self.copied_to = batch.last + 1

    def _add(self, batch: Written) -> None:
        self.batches.append(batch)
        self.end = batch.last + 1

    def read(self, position: int, records: int, limit: int) -> tuple[int, int]:
        """The position after at most so many records from `position` on, below `limit`; and their number."""
        index = max(0, bisect_right(self.batches, position, key=lambda batch: batch.first) - 1)
        count = 0
        for batch in self.batches[index:]:
            if batch.first >= limit:
                break
            if batch.last < position:
                continue
            for offset in batch.kept if batch.ends is None else ():
                if offset < position:
                    continue
                if count == records or offset >= limit:
                    return position, count
                position, count = offset + 1, count + 1
            position = max(position, min(batch.last + 1, limit))
        return position, count

    def write(self, folder: Path) -> None:
        """Write the segment that retention has left, with its indexes."""
        left = [batch for batch in self.batches if batch.last >= self.start]
        base = left[0].first if left else self.start
        raw, entries, times = bytearray(), list[OffsetEntry](), list[TimeEntry]()
        indexed, newest = 0, None
        for batch in left:
            newest = batch if newest is None or batch.at_ms > newest.at_ms else newest
            if len(raw) - indexed > INDEX_INTERVAL_BYTES:
                entries.append(OffsetEntry(batch.last, len(raw)))
                if not times or newest.at_ms > times[-1].timestamp_ms:
                    times.append(TimeEntry(newest.at_ms, newest.last))
                indexed = len(raw)
            raw += _encoded(batch)
        segment = folder / f"{base:020}.log"
        segment.write_bytes(raw)
        segment.with_suffix(".index").write_bytes(encode_offset_index(entries, base))
        segment.with_suffix(".timeindex").write_bytes(encode_time_index(times, base))


def _encoded(batch: Written) -> bytes:
    if batch.ends is not None:
        key, value = bytes([0, 0, 0, batch.ends]), bytes(6)
        records = [LogRecord(offset=batch.first, timestamp_ms=batch.at_ms, key=key, value=value)]
    else:
        records = [
            LogRecord(offset=offset, timestamp_ms=batch.at_ms, key=None, value=b"x") for offset in batch.kept
        ]
    return encode_batch(
        records,
        base_offset=batch.first,
        last_offset=batch.last,
        base_timestamp_ms=batch.at_ms,
        max_timestamp_ms=batch.at_ms,
        transactional=batch.producer_id is not None,
        control=batch.ends is not None,
        producer_id=-1 if batch.producer_id is None else batch.producer_id,
        producer_epoch=-1 if batch.producer_id is None else 0,
        leader_epoch=0,
    )


@dataclass
class Topic:
    """A topic; `partitions` by number."""

    name: str
    topic_id: UUID
    partitions: list[PartitionLog]
    writes: bool = True

    def write(self, rates: float | list[float]) -> None:
        """Go on at so many records a second per partition."""
        each = rates if isinstance(rates, list) else [rates] * len(self.partitions)
        for partition, per_s in zip(self.partitions, each, strict=True):
            partition.per_s = per_s

    def grow(self, partitions: int, per_s: float) -> None:
        self.partitions += [PartitionLog(per_s) for _ in range(partitions - len(self.partitions))]

    def recreate(self, topic_id: UUID) -> None:
        """Delete it and make it again, empty, at the rates it had."""
        self.topic_id = topic_id
        self.partitions = [PartitionLog(partition.per_s) for partition in self.partitions]

    def produce(self, at_ms: int, seconds: float) -> None:
        for partition in self.partitions if self.writes else ():
            partition.owing += partition.per_s * seconds
            if (records := int(partition.owing)) > 0:
                partition.owing -= records
                partition.append(at_ms, records)

    def files(self, folder: Path) -> Iterator[tuple[int, PartitionLog]]:
        """Write the partitions' folders, and give the partitions for the checkpoints."""
        for number, partition in enumerate(self.partitions):
            place = folder / f"{self.name}-{number}"
            place.mkdir()
            partition.write(place)
            write_topic_id(place, self.topic_id)
            yield number, partition


def write_topic_id(folder: Path, topic_id: UUID) -> None:
    text = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {text}", encoding="utf-8")
