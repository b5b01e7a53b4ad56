"""The folder of a recording: a log directory of the offsets topic's partitions, with notes and samples.

Nothing but the batches says how far the recording has got, so after a death it continues where they end. A
note on a hole is written before what lies behind the hole: after a death it may be written again, not lost.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import META_PROPERTIES, read_cluster_id
from kgroup.log.files.log_dir import OFFSETS_TOPIC, parse_folder_name
from kgroup.log.files.recording import (
    NOTES,
    RECORDING_TOPIC,
    RECORDING_TOPIC_ID,
    SAMPLES,
    Began,
    Dropped,
    Folded,
    Hole,
    Note,
    Retired,
    Sample,
    note_record,
    read_notes,
    sample_record,
)
from kgroup.log.files.sample_changes import changes
from kgroup.log.files.sources import read_log_dir
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.batch_header import read_header
from kgroup.log.format.compression import Codec
from kgroup.log.format.record import LogRecord
from kgroup.log.recorder.fetched import DELETED, Fetched, Gap, behind
from kgroup.log.recorder.retention import KeptLog, KeptSegment, Retention
from kgroup.log.store.atomic_file import replace_text
from kgroup.log.store.file_handles import FileHandles
from kgroup.log.store.folder_lock import FolderLock
from kgroup.log.store.recorded_log import RecordedLog
from kgroup.log.store.retired_folder import retire
from kgroup.protocol.topic_id import TopicId

_Kind = TypeVar("_Kind", Began, Hole, Folded, Retired, Dropped)

_COMPRESSED_FROM: Final = 256
_NOTES_BYTES_MAX: Final = 1 << 20
_HOLES_KEPT: Final = 100  # of a partition; more become one from the first to the last
_DROPPED_KEPT: Final = 100


@dataclass(slots=True)
class Tally:
    """Counts since the start, for metrics."""

    batches: int = 0
    bytes: int = 0
    holes: int = 0
    missing_offsets: int = 0
    samples: int = 0
    folded_bytes: int = 0
    dropped_bytes: int = 0


class RecordingFolder:
    """A recording in `path`, which is made if it is not there, and held until `close`.

    Raises SourceError if it cannot be written, if another process records there, and if there are logs in
    it that no recorder has made. So do its methods if the disk refuses.
    """

    def __init__(self, path: Path, retention: Retention, warn: Callable[[str], None]) -> None:
        self.path = path
        self.tally = Tally()
        self._retention = retention
        self._warn = warn
        self._handles = FileHandles()
        self._logs: dict[int, RecordedLog] = {}
        self._began_ms: dict[Path, int] = {}  # of open segments, when they were first written
        self._sampled: Sample | None = None
        try:
            path.mkdir(parents=True, exist_ok=True)
            _refuse_foreign(path)
        except FileExistsError as error:
            raise SourceError(f"{path}: not a folder") from error
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        self._lock = FolderLock(path)
        self._notes = list(dict.fromkeys(read_notes(read_log_dir(path))))
        self._notes_log = self._own_log(NOTES)
        self._samples_log = self._own_log(SAMPLES)

    # ---- what is recorded ---------------------------------------------------------------------

    def require_cluster(self, cluster_id: str | None) -> None:
        """Raises SourceError if the recording is of another cluster; notes the cluster of a new one."""
        properties = self.path / META_PROPERTIES
        there = read_cluster_id(properties) if properties.is_file() else None
        if cluster_id is None or there == cluster_id:
            return
        if there is not None:
            raise SourceError(
                f"{self.path}: holds a recording of the cluster {there}, and this is the cluster {cluster_id}"
            )
        try:
            replace_text(properties, f"version=1\ncluster.id={cluster_id}\n", durable=True)
        except OSError as error:
            raise SourceError(f"{properties}: {error.strerror or error}") from error

    @property
    def partitions(self) -> list[int]:
        """The partitions that are being recorded."""
        return sorted(self._logs)

    @property
    def notes(self) -> list[Note]:
        """All notes, oldest first."""
        return list(self._notes)

    def position(self, partition: int) -> int:
        """The offset to fetch from."""
        return self._logs[partition].end_offset

    def begin(self, partition: int, topic_id: TopicId, span: tuple[int, int], now_ms: int) -> None:
        """Open the recording of a partition, or begin one; `span` is where its log starts and ends now.

        A recording of another topic of that name, as of a log that ends before the recording does, is put
        aside under a name that says so.
        """
        start, end = span
        folder = self._folder_of(partition)
        aside = self._retired()
        goes_on = folder.exists()
        log = self._opened(folder, topic_id, start)
        for retired in self._retired():
            if retired not in aside:
                why = "the topic is another one of that name"
                self._note(Retired(partition=partition, folder=retired.name, at_ms=now_ms, why=why))
                goes_on = False
        if goes_on and log.end_offset > end:
            log.close()
            self._retire(partition, f"the log ends at {end}, before {log.end_offset}", now_ms)
            log, goes_on = self._opened(folder, topic_id, start), False
        self._logs[partition] = log
        if not goes_on or self._began(partition) is None:
            self._note(Began(partition=partition, first_offset=start, end_offset=end, at_ms=now_ms))

    def retire(self, partition: int, why: str, now_ms: int) -> None:
        """Put the recording of a partition aside; it is not recorded any more until `begin`."""
        self._logs.pop(partition).close()
        self._retire(partition, why, now_ms)

    def add(self, partition: int, fetched: Fetched, now_ms: int) -> None:
        """Append what was fetched from `position` on."""
        log = self._logs[partition]
        self._note_gaps(partition, fetched.gaps, now_ms)
        for batches, headers in fetched.runs:
            log.append_run(batches, headers)
            self.tally.batches += len(headers)
            self.tally.bytes += len(batches)
        if fetched.next_offset > log.end_offset:
            log.skip_to(fetched.next_offset)
        self._roll_if_old(log, now_ms)

    def skip_deleted(self, partition: int, to_offset: int, now_ms: int) -> None:
        """Continue at the log's new start: what lay before it was deleted before it was fetched."""
        log = self._logs[partition]
        self._note_gaps(partition, [Gap(log.end_offset, to_offset - 1, DELETED)], now_ms)
        log.skip_to(to_offset)

    def add_sample(self, sample: Sample) -> None:
        """Append a sample of the whole cluster, as far as it says anything new."""
        log = self._samples_log
        if log.open_segment.size >= self._retention.segment_bytes:
            log.close_segment()
        self._roll_if_old(log, sample.at_ms)
        before = self._sampled if log.open_segment.size else None
        self._append(log, sample_record(changes(before, sample), log.end_offset))
        self._sampled = sample
        self.tally.samples += 1

    def sync(self) -> None:
        """Bring to the disk what was appended."""
        for log in (self._notes_log, self._samples_log, *self._logs.values()):
            log.sync()

    def close(self) -> None:
        """Bring all to the disk and let go of the folder."""
        try:
            self.sync()
        finally:
            for log in (self._notes_log, self._samples_log, *self._logs.values()):
                log.close()
            self._lock.release()

    # ---- what is kept -------------------------------------------------------------------------

    def size(self) -> int:
        """The bytes of everything, with indexes and what was put aside."""
        return self._other_bytes() + sum(_kept(log, 0).size for log in self._logs.values())

    def keep_bounded(self, now_ms: int) -> Iterator[None]:
        """Fold and drop what is too old or too much; yields now and then, so that others get their turn."""
        self._drop_samples(now_ms)
        self._drop_retired(now_ms)
        for partition, count in self._retention.to_fold(
            self._kept_logs(), now_ms, self._other_bytes()
        ).items():
            yield from self._fold(partition, count, now_ms)
        if self._notes_log.size_of_all() > _NOTES_BYTES_MAX:
            self._rewrite_notes()

    def _fold(self, partition: int, count: int, now_ms: int) -> Iterator[None]:
        log = self._logs[partition]
        closed = log.closed_segments()[:count]
        before = log.size_of_all()
        note = Folded(
            partition=partition,
            end_offset=closed[-1].end_offset,
            newest_ms=max(segment.max_timestamp_ms for segment in closed),
            is_done=False,
            at_ms=now_ms,
        )
        self._note(note)  # a death from here on leaves more than it says, never less
        yield from log.fold(count, now_ms)
        self._note(replace(note, is_done=True))
        self.tally.folded_bytes += max(before - log.size_of_all(), 0)

    def _drop_samples(self, now_ms: int) -> None:
        log = self._samples_log
        count = self._retention.samples_to_drop(_kept(log, 0), now_ms)
        if count:
            closed = log.closed_segments()[:count]
            size = sum(segment.size for segment in closed)
            self._note(Dropped(name="samples", dropped_bytes=size, at_ms=now_ms))
            log.delete_before(closed[-1].end_offset)
            self.tally.dropped_bytes += size

    def _drop_retired(self, now_ms: int) -> None:
        """Drop recordings that were put aside long ago, or all of them if there is too much."""
        retention = self._retention
        much = retention.bytes_max is not None and self.size() > retention.bytes_max
        for folder in self._retired():
            is_old = retention.retain_ms is not None and _newest_ms(folder) < now_ms - retention.retain_ms
            if is_old or much:
                size = _size(folder)
                self._note(Dropped(name=folder.name, dropped_bytes=size, at_ms=now_ms))
                shutil.rmtree(folder, ignore_errors=True)
                self.tally.dropped_bytes += size

    def _retired(self) -> list[Path]:
        try:
            return sorted(
                child
                for child in self.path.iterdir()
                if parse_folder_name(child.name)[0] == OFFSETS_TOPIC and parse_folder_name(child.name)[2]
            )
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror or error}") from error

    def _kept_logs(self) -> Mapping[int, KeptLog]:
        folded = {note.partition: note.end_offset for note in self._of(Folded) if note.is_done}
        return {partition: _kept(log, folded.get(partition, 0)) for partition, log in self._logs.items()}

    def _other_bytes(self) -> int:
        return (
            self._notes_log.size_of_all()
            + self._samples_log.size_of_all()
            + sum(_size(folder) for folder in self._retired())
        )

    def _roll_if_old(self, log: RecordedLog, now_ms: int) -> None:
        """Close a segment that has been written for long, so that its records can go in time."""
        segment = log.open_segment
        if self._retention.segment_ms is None or not segment.size:
            return
        if self._began_ms.get(segment.path) is None:
            first = read_header(next(log.batches_of(segment)))
            self._began_ms[segment.path] = first.base_timestamp_ms
        if now_ms - self._began_ms[segment.path] >= self._retention.segment_ms:
            log.close_segment()
            del self._began_ms[segment.path]

    # ---- notes --------------------------------------------------------------------------------

    def _note_gaps(self, partition: int, gaps: Sequence[Gap], now_ms: int) -> None:
        began = self._began(partition)
        known = {
            (note.first_offset, note.last_offset) for note in self._of(Hole) if note.partition == partition
        }
        for gap in behind(gaps, began.end_offset if began is not None else 0):
            if (gap.first_offset, gap.last_offset) in known:
                continue
            self._note(
                Hole(
                    partition=partition,
                    first_offset=gap.first_offset,
                    last_offset=gap.last_offset,
                    at_ms=now_ms,
                    why=gap.why,
                )
            )
            self.tally.holes += 1
            self.tally.missing_offsets += gap.last_offset - gap.first_offset + 1

    def _began(self, partition: int) -> Began | None:
        return next((note for note in reversed(self._of(Began)) if note.partition == partition), None)

    def _of(self, kind: type[_Kind]) -> list[_Kind]:
        return [note for note in self._notes if isinstance(note, kind)]

    def _note(self, note: Note) -> None:
        self._append(self._notes_log, note_record(note, self._notes_log.end_offset))
        self._notes_log.sync()
        self._notes.append(note)

    def _rewrite_notes(self) -> None:
        self._notes = list(notes_to_keep(self._notes))
        self._notes_log.close_segment()
        first = self._notes_log.end_offset
        for note in self._notes:
            self._append(self._notes_log, note_record(note, self._notes_log.end_offset))
        self._notes_log.sync()
        self._notes_log.delete_before(first)

    # ---- logs ---------------------------------------------------------------------------------

    def _folder_of(self, partition: int) -> Path:
        return self.path / f"{OFFSETS_TOPIC}-{partition}"

    def _opened(self, folder: Path, topic_id: TopicId, first_offset: int) -> RecordedLog:
        return RecordedLog(
            folder,
            topic_id,
            first_offset=first_offset,
            segment_bytes=self._retention.segment_bytes,
            warn=self._warn,
            handles=self._handles,
        )

    def _own_log(self, partition: int) -> RecordedLog:
        return self._opened(self.path / f"{RECORDING_TOPIC}-{partition}", RECORDING_TOPIC_ID, 0)

    def _retire(self, partition: int, why: str, now_ms: int) -> None:
        try:
            aside = retire(self._folder_of(partition), "stray")
        except OSError as error:
            raise SourceError(f"{self._folder_of(partition)}: {error.strerror or error}") from error
        self._note(Retired(partition=partition, folder=aside.name, at_ms=now_ms, why=why))
        self._warn(f"{OFFSETS_TOPIC} partition {partition}: {why}; what was recorded is kept as {aside.name}")

    @staticmethod
    def _append(log: RecordedLog, record: LogRecord) -> None:
        codec = Codec.ZSTD if len(record.value or b"") >= _COMPRESSED_FROM else Codec.NONE
        batch = encode_batch([record], codec=codec, leader_epoch=0)
        log.append_run(batch, [read_header(batch)])


def notes_to_keep(notes: list[Note]) -> Iterator[Note]:
    """The notes that later readers need: the last one on each partition, and the holes that matter."""
    began = {note.partition: note for note in notes if isinstance(note, Began)}
    folded = {note.partition: note for note in notes if isinstance(note, Folded)}
    yield from began.values()
    yield from folded.values()
    for partition in began:
        holes = [note for note in notes if isinstance(note, Hole) and note.partition == partition]
        bound = folded[partition].end_offset if partition in folded else 0
        holes = [hole for hole in holes if hole.last_offset >= bound]
        if len(holes) > _HOLES_KEPT:
            joined = holes[: len(holes) - _HOLES_KEPT + 1]
            last = joined[-1]
            holes = [
                Hole(
                    partition=partition,
                    first_offset=joined[0].first_offset,
                    last_offset=last.last_offset,
                    at_ms=last.at_ms,
                    why=last.why,
                ),
                *holes[len(joined) :],
            ]
        yield from holes
    yield from [note for note in notes if isinstance(note, Retired | Dropped)][-_DROPPED_KEPT:]


def _kept(log: RecordedLog, folded_to: int) -> KeptLog:
    segments = [
        KeptSegment(
            size=segment.size + 8 * len(segment.entries) + 12 * len(segment.times),
            end_offset=segment.end_offset,
            newest_ms=segment.max_timestamp_ms,
        )
        for segment in (*log.closed_segments(), log.open_segment)
    ]
    return KeptLog(closed=segments[:-1], open_bytes=segments[-1].size, folded_to=folded_to)


def _refuse_foreign(path: Path) -> None:
    """Raises SourceError if logs lie here that are no recording: a broker's, which must not be written."""
    names = {child.name for child in path.iterdir()}
    if f"{RECORDING_TOPIC}-{NOTES}" in names:
        return
    logs = sorted(name for name in names if parse_folder_name(name)[0] is not None)
    if logs or META_PROPERTIES in names:
        raise SourceError(
            f"{path}: holds {logs[0] if logs else META_PROPERTIES}, which kgroup record did not"
            " write; give the recording its own folder"
        )


def _newest_ms(folder: Path) -> int:
    """The last write to a folder's segments, by the file system: they are not written any more."""
    try:
        return max((int(path.stat().st_mtime * 1000) for path in folder.glob("*.log")), default=0)
    except OSError:
        return 0


def _size(folder: Path) -> int:
    try:
        return sum(path.stat().st_size for path in folder.iterdir())
    except OSError:
        return 0
