"""Some records of a log, and nothing else: what a claim may be derived from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from tempfile import TemporaryDirectory
from typing import Final
from uuid import UUID

from kgroup.api.opened import OpenedLogs, open_logs
from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import PARTITION_METADATA
from kgroup.log.files.log_dir import OFFSETS_TOPIC, LogDir, PartitionFolder
from kgroup.log.files.sources import Sources
from kgroup.log.format.batch import Batch, LogRecord, encode_batch
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.log.topics.unread import PlacedBatch, batches_from
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap, OffsetsEntry, TransactionMarker
from kgroup.protocol.topic_id import topic_id_text
from kgroup.report.incident.claims import Cited, folded
from kgroup.scan.reductions.scan import split_among_others
from kgroup.scan.reductions.select import select

Item = LoggedEntry | OffsetGap

_SLICE_BYTES: Final = 64 * 1024 * 1024
_CONTROL_KEY: Final = Struct(">hh")
_CONTROL_VALUE: Final = Struct(">hi")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataBatch:
    """A batch of a data topic as it lies in its segment; `is_end` says that nothing stood behind it."""

    topic: str
    partition: int
    batch: Batch
    raw: bytes
    is_end: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Records and holes of the offsets topic in log order, and batches of data topics by place.

    `topic_names` are what topic ids are called, which no record says.
    """

    items: tuple[Item, ...] = ()
    batches: tuple[DataBatch, ...] = ()
    topic_names: Mapping[UUID, str]

    def cited(self) -> tuple[Cited, ...]:
        """The places of all of it."""
        places = [
            (OFFSETS_TOPIC, item.partition, item.offset, False)
            for item in self.items
            if isinstance(item, LoggedEntry)
        ]
        of_data = [
            Cited(each.topic, each.partition, each.batch.base_offset, each.batch.last_offset)
            for each in self.batches
        ]
        behind = [
            Cited(each.topic, each.partition, each.batch.last_offset + 1, each.batch.last_offset + 1, True)
            for each in self.batches
            if each.is_end
        ]
        holes = [
            Cited(OFFSETS_TOPIC, item.partition, item.first_offset, item.last_offset, True)
            for item in self.items
            if isinstance(item, OffsetGap)
        ]
        return tuple(sorted((*folded(places), *holes, *of_data, *behind)))

    @contextmanager
    def opened(self) -> Iterator[OpenedLogs]:
        """The same as a log directory of its own, to put any question to.

        Records of the offsets topic follow each other there with nothing between them; a hole is one offset.
        """
        with TemporaryDirectory(prefix="kgroup-") as name:
            folder = Path(name)
            offsets: dict[int, list[Item]] = {}
            for item in self.items:
                offsets.setdefault(item.partition, []).append(item)
            for partition, items in offsets.items():
                _write(folder, OFFSETS_TOPIC, partition, 0, _encoded(items))
            ids = {name: topic_id for topic_id, name in self.topic_names.items()}
            by_partition: dict[tuple[str, int], list[DataBatch]] = {}
            for each in self.batches:
                by_partition.setdefault((each.topic, each.partition), []).append(each)
            for (topic, partition), batches in by_partition.items():
                raw = (each.raw for each in batches)
                where = _write(folder, topic, partition, batches[0].batch.base_offset, raw)
                if topic in ids:
                    text = f"version: 0\ntopic_id: {topic_id_text(ids[topic])}\n"
                    (where / PARTITION_METADATA).write_text(text)
            with open_logs(folder) as logs:
                yield logs


def _write(folder: Path, topic: str, partition: int, base_offset: int, batches: Iterable[bytes]) -> Path:
    where = folder / f"{topic}-{partition}"
    where.mkdir()
    (where / f"{base_offset:020}.log").write_bytes(b"".join(batches))
    return where


def _encoded(items: Iterable[Item]) -> Iterator[bytes]:
    offset = 0
    for item in items:
        if isinstance(item, OffsetGap):
            offset += 1
            continue
        yield _encoded_record(item, offset)
        offset += 1


def _encoded_record(logged: LoggedEntry, offset: int) -> bytes:
    entry = logged.entry
    epoch = -1 if logged.leader_epoch is None else logged.leader_epoch
    if isinstance(entry, TransactionMarker):
        key = _CONTROL_KEY.pack(0, int(entry.committed))
        value = _CONTROL_VALUE.pack(0, entry.coordinator_epoch)
        record = LogRecord(offset, logged.timestamp_ms, key, value)
        return encode_batch(
            [record],
            transactional=True,
            control=True,
            producer_id=entry.producer_id,
            producer_epoch=entry.producer_epoch,
            leader_epoch=epoch,
        )
    record = LogRecord(offset, logged.timestamp_ms, *encode_entry(entry))
    return encode_batch(
        [record],
        transactional=logged.producer_id is not None,
        producer_id=-1 if logged.producer_id is None else logged.producer_id,
        producer_epoch=-1 if logged.producer_id is None else 0,
        leader_epoch=epoch,
    )


def place_of(item: Item) -> tuple[int, int]:
    """Offsets partition and offset, of a hole its last: the order of a log."""
    return item.partition, item.last_offset if isinstance(item, OffsetGap) else item.offset


class EvidenceReader:
    """Takes records and batches out of opened logs."""

    def __init__(self, logs: OpenedLogs) -> None:
        self._sources: Sources = logs.sources
        self.topic_names = {
            **LogDirEndsReader(self._sources.log_dirs).topic_names(),
            **logs.topic_names(),
        }

    def items(
        self, wanted: Callable[[str], bool], advance: Callable[[int], None] | None = None
    ) -> Iterator[Item]:
        """The entries of groups, the ends of their transactions, and holes, in log order."""
        slices = (
            part
            for segment in self._sources
            for part in split_among_others(segment.path, segment.partition, _SLICE_BYTES)
        )
        for item in select(slices, wanted, advance=advance):
            if isinstance(item, OffsetGap) or (
                isinstance(item, LoggedEntry) and isinstance(item.entry, OffsetsEntry | TransactionMarker)
            ):
                yield item

    @property
    def total_bytes(self) -> int:
        """The bytes that `items` reads."""
        return sum(Path(segment.path).stat().st_size for segment in self._sources)

    def batches_around(self, topic: str, partition: int, offset: int) -> list[DataBatch]:
        """The batch that holds `offset`, or the first behind it, and the one before, as far as there are any.

        Raises SourceError if a file cannot be read.
        """
        before: DataBatch | None = None
        for each in self._batches(topic, partition, max(offset - 1, 0)):
            if each.batch.last_offset >= offset:
                return [*([before] if before else []), each]
            before = each
        return [before] if before else []

    def first_batch(self, topic: str, partition: int) -> DataBatch | None:
        """The first of a partition's log; None if there is none."""
        return next(self._batches(topic, partition, 0), None)

    def batches_from(self, topic: str, partition: int, offset: int) -> Iterator[DataBatch]:
        """The batches from the one that holds `offset` on."""
        return (each for each in self._batches(topic, partition, offset) if each.batch.last_offset >= offset)

    def _batches(self, topic: str, partition: int, offset: int) -> Iterator[DataBatch]:
        for folder in _folders(self._sources.log_dirs, topic, partition):
            start = folder.log_start_offset() or 0
            for placed in batches_from(folder.segments, max(offset, start)):
                if isinstance(placed, PlacedBatch) and placed.batch.last_offset >= start:
                    yield DataBatch(topic=topic, partition=partition, batch=placed.batch, raw=_raw(placed))
            return


def _folders(log_dirs: Sequence[LogDir], topic: str, partition: int) -> Iterator[PartitionFolder]:
    there = [
        folder
        for log_dir in log_dirs
        for folder in log_dir.partitions
        if (folder.topic, folder.partition) == (topic, partition) and not folder.retired and folder.segments
    ]
    # Of replicas the longest, as everywhere.
    yield from sorted(there, key=lambda folder: folder.log_end_offset() or 0, reverse=True)


def _raw(placed: PlacedBatch) -> bytes:
    try:
        with Path(placed.source).open("rb") as file:
            file.seek(placed.batch.position)
            return file.read(placed.batch.size)
    except OSError as error:
        raise SourceError(f"cannot read {placed.source}: {error.strerror or error}") from error
