"""The records a claim may be derived from: a part of a log, and nothing else."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import UUID

from kgroup.api.incident.live_batches import LiveBatches
from kgroup.api.opened import OpenedLogs, open_logs
from kgroup.api.replay import Item, slices_of
from kgroup.broker.offsets_log import encode_marker
from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import PARTITION_METADATA
from kgroup.log.files.log_dir import OFFSETS_TOPIC
from kgroup.log.format.batch import Batch, LogRecord, encode_batch
from kgroup.log.format.batch_header import placed
from kgroup.log.topics.log_ends import LogDirEndsReader
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.log.topics.unread import PlacedBatch
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap, OffsetsEntry, TransactionMarker
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.topic_id import topic_id_text
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.incident.claims import Cited, folded
from kgroup.scan.reductions.select import select


@dataclass(frozen=True, slots=True, kw_only=True)
class DataBatch:
    """A batch of a data topic as it lies in its segment; `is_end` says that nothing stood behind it.

    `content` are its bytes, if it does not lie in a file.
    """

    topic: str
    partition: int
    placed: PlacedBatch
    is_end: bool = False
    content: bytes | None = field(default=None, repr=False)

    @property
    def batch(self) -> Batch:
        """The batch itself."""
        return self.placed.batch

    def raw(self) -> bytes:
        """The batch's bytes. Raises SourceError if the segment cannot be read any more."""
        if self.content is not None:
            return self.content
        try:
            with Path(self.placed.source).open("rb") as file:
                file.seek(self.batch.position)
                return file.read(self.batch.size)
        except OSError as error:
            raise SourceError(f"cannot read {self.placed.source}: {error.strerror or error}") from error


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
                raw = (each.raw() for each in batches)
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
        return placed(encode_marker(entry, logged.timestamp_ms), offset, epoch)
    record = LogRecord(offset, logged.timestamp_ms, *encode_entry(entry))
    return encode_batch(
        [record],
        transactional=logged.producer_id is not None,
        producer_id=-1 if logged.producer_id is None else logged.producer_id,
        producer_epoch=-1 if logged.producer_id is None else 0,
        leader_epoch=epoch,
    )


def commit_key(item: Item) -> OffsetCommitKey | None:
    """The group, topic and partition of a commit; None for anything else."""
    if isinstance(item, LoggedEntry) and isinstance(item.entry, OffsetsEntry):
        key = item.entry.key
        return key if isinstance(key, OffsetCommitKey) else None
    return None


def place_of(item: Item) -> tuple[int, int]:
    """Offsets partition and offset, of a hole its last: the order of a log."""
    return item.partition, item.last_offset if isinstance(item, OffsetGap) else item.offset


def among(items: Iterable[Item], cited: Iterable[Cited]) -> Iterator[Item]:
    """The records and holes of the offsets topic that are cited."""
    places = {
        (each.partition, offset, each.missing)
        for each in cited
        if each.topic == OFFSETS_TOPIC
        for offset in ((each.last,) if each.missing else range(each.first, each.last + 1))
    }
    return (item for item in items if (*place_of(item), isinstance(item, OffsetGap)) in places)


class BatchPlace(NamedTuple):
    """The offset at which a batch begins, and its largest timestamp (epoch ms)."""

    base_offset: int
    max_timestamp_ms: int


class EvidenceReader:
    """Takes records and batches out of opened logs, records only of these `partitions` of the offsets topic.

    `live` are the batches of a cluster, which are fetched when they are needed: `look` and `sample` there say
    which. Without them an outline has none.
    """

    def __init__(self, logs: OpenedLogs, partitions: Container[int] | None = None) -> None:
        self.live = None if logs.cluster is None else LiveBatches(logs.cluster)
        self._slices = [
            part
            for part in slices_of(logs.sources)
            if partitions is None or part.offsets_partition in partitions
        ]
        self._data_logs = DataLogs(logs.sources.log_dirs)
        self._outlines: dict[TopicPartition, Sequence[BatchPlace]] = {}
        self.topic_names = {
            **LogDirEndsReader(logs.sources.log_dirs).topic_names(),
            **logs.topic_names(),
        }

    def items(
        self, wanted: Callable[[str], bool], advance: Callable[[int], None] | None = None
    ) -> Iterator[Item]:
        """The entries of groups, the ends of their transactions, and holes, in log order."""
        for item in select(self._slices, wanted, advance=advance):
            if isinstance(item, OffsetGap) or (
                isinstance(item, LoggedEntry) and isinstance(item.entry, OffsetsEntry | TransactionMarker)
            ):
                yield item

    @property
    def total_bytes(self) -> int:
        """The bytes that `items` reads."""
        return sum(part.end - part.start for part in self._slices)

    def outline(self, place: TopicPartition) -> Sequence[BatchPlace]:
        """All batches of a partition's log, in order; it is read once. Raises SourceError.

        Of a cluster, those that were fetched.
        """
        if self.live is not None:
            return [
                BatchPlace(batch.base_offset, batch.max_timestamp_ms) for batch, _ in self.live.all(place)
            ]
        if place not in self._outlines:
            batches = self._data_logs.batches_from(*place, 0)
            self._outlines[place] = [
                BatchPlace(item.batch.base_offset, item.batch.max_timestamp_ms)
                for item in batches
                if isinstance(item, PlacedBatch)
            ]
        return self._outlines[place]

    def batch(self, place: TopicPartition, offset: int, *, is_end: bool = False) -> DataBatch | None:
        """The batch that holds `offset`, or the first behind it; None if there is none."""
        if self.live is not None:
            held = self.live.at(place, offset)
            if held is None:
                return None
            placed = PlacedBatch("", held[0])
            return DataBatch(
                topic=place[0], partition=place[1], placed=placed, is_end=is_end, content=held[1]
            )
        for item in self._data_logs.batches_from(*place, offset):
            if isinstance(item, PlacedBatch):
                return DataBatch(topic=place[0], partition=place[1], placed=item, is_end=is_end)
        return None
