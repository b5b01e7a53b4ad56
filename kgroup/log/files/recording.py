"""The files `kgroup record` writes besides the batches: notes on the recording, and samples of log ends.

Both are logs of a topic of kgroup's own, in folders that no Kafka topic may have in a cluster, as Kafka keeps
any other: partition 0 has the notes, partition 1 the samples. A record's key is the kind, its value JSON.

A sample says what has changed since the one before it; the first of a segment says everything, so the oldest
segments can go. Offsets: `starts` and `ends` as ListOffsets answers, `stable` the last stable offset (KIP-98)
where it is below the end.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from kgroup.errors import DecodeError, SourceError
from kgroup.log.files.log_dir import OFFSETS_TOPIC, LogDir, PartitionFolder, SegmentFile
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.topic_id import TopicId, parse_topic_id, topic_id_text

RECORDING_TOPIC: Final = "__kgroup_recording"
RECORDING_TOPIC_ID: Final = UUID("92811324-6c13-539a-acd4-f206ebadbdad")
"""That of the name by RFC 9562, version 5, in the namespace of URLs; to compute it imports hashlib."""
NOTES: Final = 0
SAMPLES: Final = 1

_SAMPLE_KEY: Final = b"sample"
_HOLES_SHOWN: Final = 5
_READ_BYTES: Final = 64 * 1024
_NEVER: Final = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """The recording of a partition of the offsets topic began: its log had these offsets then.

    What its cleaner had taken out of them before is no hole of the recording.
    """

    partition: int
    first_offset: int
    end_offset: int
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """Records between two offsets, both included, that could not be fetched any more; `why` in words."""

    partition: int
    first_offset: int
    last_offset: int
    at_ms: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """A compacted stretch: of the offsets before `end_offset` only the newest record of each key is kept.

    `newest_ms` is the largest timestamp among them: history is whole after it. Until it `is_done` more may
    be there.
    """

    partition: int
    end_offset: int
    newest_ms: int
    is_done: bool
    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retired:
    """The partition's log was no more what had been recorded: that was put aside in `folder`."""

    partition: int
    folder: str
    at_ms: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Something whole went to keep the disk bounded: a retired folder, or samples older than a time."""

    name: str
    dropped_bytes: int
    at_ms: int


Note = Began | Hole | Folded | Retired | Dropped
_KINDS: Final[Mapping[str, type[Note]]] = {
    "began": Began,
    "hole": Hole,
    "folded": Folded,
    "retired": Retired,
    "dropped": Dropped,
}
_KEYS: Final = {kind: key for key, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSample:
    """A sample of a topic, by partition; `unknown` are partitions that gave no answer."""

    topic_id: TopicId
    partitions: int
    starts: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)
    stable: Mapping[int, int] = field(default_factory=dict)
    unknown: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The cluster at one moment, or what of it has changed.

    `at_ms` is when the ends were asked for; `every_ms` how often that happens. `gone` are topics that there
    are no more. `brokers` (address by node id) and `leaders` (of the offsets topic) are None if unchanged.
    """

    at_ms: int
    every_ms: int
    is_full: bool
    topics: Mapping[str, TopicSample]
    gone: tuple[str, ...] = ()
    brokers: Mapping[int, str] | None = None
    leaders: Mapping[int, int] | None = None


def note_record(note: Note, offset: int = 0) -> LogRecord:
    """A note as a record."""
    fields = {name: getattr(note, name) for name in type(note).__slots__}
    return LogRecord(offset, note.at_ms, _KEYS[type(note)].encode(), _json(fields))


def sample_record(sample: Sample, offset: int = 0) -> LogRecord:
    """A sample as a record."""
    document: dict[str, object] = {
        "every_ms": sample.every_ms,
        "topics": {name: _topic_document(topic) for name, topic in sorted(sample.topics.items())},
    }
    if sample.is_full:
        document["full"] = True
    if sample.gone:
        document["gone"] = sorted(sample.gone)
    if sample.brokers is not None:
        document["brokers"] = {str(node): address for node, address in sorted(sample.brokers.items())}
    if sample.leaders is not None:
        document["leaders"] = _by_partition(sample.leaders)
    return LogRecord(offset, sample.at_ms, _SAMPLE_KEY, _json(document))


def read_notes(log_dir: LogDir) -> Iterator[Note]:
    """The notes of a recording, oldest first; none if the folder is no recording's. Damage is passed over.

    Raises SourceError if a file cannot be read.
    """
    for record in _records(log_dir, NOTES):
        kind = _KINDS.get((record.key or b"").decode("utf-8", "replace"))
        if kind is None:
            continue  # of a later version
        try:
            fields = _document(record)
            yield kind(**{name: fields[name] for name in kind.__slots__})
        except (ValueError, KeyError):
            continue


def read_samples(log_dir: LogDir, from_ms: int = 0) -> Iterator[Sample]:
    """The samples, oldest first, as they were written; the same conditions.

    Segments that end before `from_ms` (epoch ms) are left out; each begins with a sample that says all.
    """
    for folder in recording_folders(log_dir, SAMPLES):
        segments = folder.segments
        while len(segments) > 1 and _first_ms(segments[1]) <= from_ms:
            segments = segments[1:]
        for segment in segments:
            yield from _samples_of(segment)


def read_newest_samples(log_dir: LogDir) -> Iterator[Sample]:
    """The samples of the last segment that has any."""
    for folder in recording_folders(log_dir, SAMPLES):
        for segment in reversed(folder.segments):
            samples = list(_samples_of(segment))
            if samples:
                yield from samples
                break


def recording_remarks(log_dir: LogDir, partitions: Collection[int]) -> Iterator[tuple[str, str]]:
    """The parts of these offsets partitions that a recording lacks: path, and why.

    Raises SourceError if a file cannot be read.
    """
    notes = list(dict.fromkeys(read_notes(log_dir)))
    folded = {
        note.partition: note for note in notes if isinstance(note, Folded) and note.partition in partitions
    }
    if folded:
        newest = datetime.fromtimestamp(max(note.newest_ms for note in folded.values()) / 1000, UTC)
        count = f"{len(folded)} partition{'' if len(folded) == 1 else 's'}"
        yield (
            str(log_dir.path),
            f"history is cut: before {newest:%Y-%m-%dT%H:%M:%SZ} only the newest record of each key was kept,"
            f" in {count}",
        )
    holes = [
        note
        for note in notes
        if isinstance(note, Hole)
        and note.partition in partitions
        and (note.partition not in folded or note.last_offset >= folded[note.partition].end_offset)
    ]
    for hole in holes[:_HOLES_SHOWN]:
        yield (
            str(log_dir.path / f"{OFFSETS_TOPIC}-{hole.partition}"),
            f"records between offsets {hole.first_offset} and {hole.last_offset} were not recorded:"
            f" {hole.why}",
        )
    if len(holes) > _HOLES_SHOWN:
        yield str(log_dir.path), f"and {len(holes) - _HOLES_SHOWN} more holes like these"


def recording_folders(log_dir: LogDir, partition: int) -> list[PartitionFolder]:
    """The folder with one of the two logs, if there is one."""
    return [
        folder
        for folder in log_dir.partitions
        if folder.topic == RECORDING_TOPIC and folder.partition == partition and folder.retired is None
    ]


def _first_ms(segment: SegmentFile) -> int:
    """The time of a segment's first sample; far in the future if there is none."""
    return next((sample.at_ms for sample in _samples_of(segment)), _NEVER)


def _samples_of(segment: SegmentFile) -> Iterator[Sample]:
    for record in _records_of(segment):
        if record.key == _SAMPLE_KEY:
            try:
                yield _sample(record, _document(record))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue


def _records(log_dir: LogDir, partition: int) -> Iterator[LogRecord]:
    for folder in recording_folders(log_dir, partition):
        for segment in folder.segments:
            yield from _records_of(segment)


def _records_of(segment: SegmentFile) -> Iterator[LogRecord]:
    try:
        for item in read_segment(segment.path, read_bytes=_READ_BYTES):
            if isinstance(item, Batch):
                yield from _decoded(item)
    except SourceError:
        return  # it was dropped a moment ago; what follows repeats everything


def _decoded(batch: Batch) -> Iterable[LogRecord]:
    try:
        return batch.records()
    except DecodeError:
        return ()


def _sample(record: LogRecord, document: Mapping[str, Any]) -> Sample:
    brokers, leaders = document.get("brokers"), document.get("leaders")
    return Sample(
        at_ms=record.timestamp_ms,
        every_ms=int(document["every_ms"]),
        is_full=bool(document.get("full", False)),
        topics={name: _topic(topic) for name, topic in document["topics"].items()},
        gone=tuple(document.get("gone", ())),
        brokers=None if brokers is None else {int(node): str(address) for node, address in brokers.items()},
        leaders=None if leaders is None else _offsets(leaders),
    )


def _topic_document(topic: TopicSample) -> dict[str, object]:
    document: dict[str, object] = {"partitions": topic.partitions}
    if topic.topic_id is not None:
        document["id"] = topic_id_text(topic.topic_id)
    for name, offsets in (("starts", topic.starts), ("ends", topic.ends), ("stable", topic.stable)):
        if offsets:
            document[name] = _by_partition(offsets)
    if topic.unknown:
        document["unknown"] = sorted(topic.unknown)
    return document


def _topic(document: Mapping[str, Any]) -> TopicSample:
    return TopicSample(
        topic_id=parse_topic_id(document["id"]) if "id" in document else None,
        partitions=int(document["partitions"]),
        starts=_offsets(document.get("starts", {})),
        ends=_offsets(document.get("ends", {})),
        stable=_offsets(document.get("stable", {})),
        unknown=frozenset(document.get("unknown", ())),
    )


def _by_partition(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(offsets.items())}


def _offsets(document: Mapping[str, Any]) -> dict[int, int]:
    return {int(partition): int(offset) for partition, offset in document.items()}


def _document(record: LogRecord) -> dict[str, Any]:
    document = json.loads(record.value or b"")
    if not isinstance(document, dict):
        raise ValueError("no object")
    return document


def _json(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
