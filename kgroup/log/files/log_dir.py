"""A partition folder and the log directory around it: what a broker's files say without a full scan."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kgroup.errors import SourceError
from kgroup.input_files import endless
from kgroup.log.files.checkpoints import (
    CLEANED,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
    read_cluster_id,
    read_offset_checkpoint,
    read_topic_id,
)
from kgroup.log.files.index import OffsetEntry, read_offset_index
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch, Damage
from kgroup.protocol.topic_id import TopicId
from kgroup.protocol.topic_partition import TopicPartition

OFFSETS_TOPIC: Final = "__consumer_offsets"
UNKNOWN_PARTITION: Final = -1

_SEGMENT_NAME: Final = re.compile(r"(\d{20})\.log")
_INDEX_NAME: Final = re.compile(r"\d{20}\.(index|timeindex|txnindex|snapshot)")
# Kafka's UnifiedLog.parseTopicPartitionName. A topic may hold dashes: the partition is after the last.
_FOLDER_NAME: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)")
_RETIRED_NAME: Final = re.compile(r"(?P<folder>.+-\d+)\.[0-9a-zA-Z_-]+-(?P<fate>delete|future|stray)")
_FATES: Final = {
    "delete": "the broker was deleting it",
    "future": "a copy that was moving here from another log directory",
    "stray": "not a partition of this broker any more",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFile:
    """One `.log` file, or standard input (`path` is "-").

    `path` is as the user gave it. `partition` is -1 and `topic` None where no folder name says them,
    `base_offset` None where the file's name does not.
    """

    path: str
    topic: str | None
    partition: int
    base_offset: int | None

    @property
    def folder(self) -> Path:
        """The folder it lies in."""
        return Path(self.path).absolute().parent


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFolder:
    """A folder `<topic>-<partition>` with its segments in order; there may be none.

    `retired` says why Kafka no longer serves it from here (a suffix of its name), None if it does.
    `swaps` are segments that a broker was about to put in the place of others when it stopped; it goes
    on with that when it starts (Kafka's LogLoader). `no_files` are named like segments, with what they are.
    """

    path: Path
    topic: str | None
    partition: int
    segments: tuple[SegmentFile, ...]
    retired: str | None = None
    swaps: tuple[str, ...] = ()
    no_files: tuple[tuple[str, str], ...] = ()

    def absolute(self) -> "PartitionFolder":
        """The same by paths that do not depend on a working folder."""
        segments = tuple(replace(one, path=str(Path(one.path).absolute())) for one in self.segments)
        return replace(self, path=self.path.absolute(), segments=segments)

    @property
    def topic_id(self) -> TopicId:
        """The id in `partition.metadata` (Kafka 2.8 on); raises SourceError if that is damaged."""
        metadata = self.path / PARTITION_METADATA
        return read_topic_id(metadata) if metadata.is_file() else None

    def log_start_offset(self) -> int | None:
        """The first offset there can be; a log-start checkpoint, which knows of deleted records, wins."""
        starts = [segment.base_offset for segment in self.segments if segment.base_offset is not None]
        if not starts:
            return None
        checkpoint = self.path.parent / LOG_STARTS
        if self.topic is None or not checkpoint.is_file():
            return starts[0]
        raised = read_offset_checkpoint(checkpoint).get((self.topic, self.partition), 0)
        return max(starts[0], raised)

    def log_end_offset(self) -> int | None:
        """The offset of the next record: behind the last healthy batch. None without segments."""
        return log_end_offset(self.segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """A broker's log directory: its partition folders by topic and partition, and its own small files."""

    path: Path
    partitions: tuple[PartitionFolder, ...]

    @property
    def cluster_id(self) -> str | None:
        """The id in `meta.properties`; None without the file, or if its Kafka was too old to write the id."""
        properties = self.path / META_PROPERTIES
        return read_cluster_id(properties) if properties.is_file() else None

    def elsewhere(self, keeps: Callable[[PartitionFolder], bool]) -> "LogDir":
        """The same for a process in another working folder: absolute paths, and the folders that it needs."""
        return LogDir(
            path=self.path.absolute(),
            partitions=tuple(folder.absolute() for folder in self.partitions if keeps(folder)),
        )

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """The last checkpointed high watermarks: every 5 s and at a clean stop. Empty without any."""
        return self._checkpoint(HIGH_WATERMARKS)

    def log_starts(self) -> dict[TopicPartition, int]:
        """Log starts of partitions whose log starts after their first segment's first offset."""
        return self._checkpoint(LOG_STARTS)

    def cleaned(self) -> dict[TopicPartition, int]:
        """The offsets up to which the log cleaner has compacted partitions; others are not in it."""
        return self._checkpoint(CLEANED)

    def _checkpoint(self, name: str) -> dict[TopicPartition, int]:
        checkpoint = self.path / name
        return read_offset_checkpoint(checkpoint) if checkpoint.is_file() else {}


def log_end_offset(segments: Sequence[SegmentFile]) -> int | None:
    """The offset after the last healthy batch of a partition's segments, given in order."""
    for segment in reversed(segments):
        last = _last_batch(segment)
        if last is not None:
            return last.last_offset + 1
        if segment.base_offset is not None:
            # A segment is named after the next offset when it is begun, so an empty one says it, too.
            return segment.base_offset
    return None


def read_partition_folder(path: Path, *, given: str | None = None) -> PartitionFolder | None:
    """The partition folder at `path`, None if it is something else; `given` is how the user wrote it.

    A folder that holds segments under a name that says no partition is taken, too. Raises SourceError
    if it cannot be listed.
    """
    names = _names(path)
    segments = sorted(name for name in names if _SEGMENT_NAME.fullmatch(name))
    if not segments and not any(_is_partition_file(name) for name in names):
        return None
    topic, partition, retired = parse_folder_name(path.absolute().name)
    prefix = Path(given if given is not None else path)
    no_files = [(name, kind) for name in segments if (kind := _kind_of_no_file(path / name)) is not None]
    for name, _ in no_files:
        segments.remove(name)
    return PartitionFolder(
        path=path,
        topic=topic,
        partition=partition,
        segments=tuple(
            SegmentFile(path=str(prefix / name), topic=topic, partition=partition, base_offset=int(name[:20]))
            for name in segments
        ),
        retired=retired,
        swaps=tuple(str(prefix / name) for name in names if name.endswith(".log.swap")),
        no_files=tuple((str(prefix / name), kind) for name, kind in no_files),
    )


def parse_folder_name(name: str) -> tuple[str | None, int, str | None]:
    """Topic, partition, and why Kafka retired the folder; None, -1 for a name that says no partition."""
    retired = _RETIRED_NAME.fullmatch(name)
    matched = _FOLDER_NAME.fullmatch(retired["folder"] if retired else name)
    if matched is None:
        return None, UNKNOWN_PARTITION, None
    return matched["topic"], int(matched["partition"]), _FATES[retired["fate"]] if retired else None


def parse_segment_name(name: str) -> int | None:
    """The base offset that a segment is named after, None for any other file."""
    matched = _SEGMENT_NAME.fullmatch(name)
    return int(matched[1]) if matched else None


def _is_partition_file(name: str) -> bool:
    return name in (PARTITION_METADATA, LEADER_EPOCHS) or _INDEX_NAME.fullmatch(name) is not None


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208  a Path for each file costs more than the list
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror or error}") from error


def _kind_of_no_file(path: Path) -> str | None:
    try:
        mode = path.stat().st_mode
    except OSError:
        return None  # reading it reports why it cannot be read
    return "a folder, not a file" if stat.S_ISDIR(mode) else endless(path, mode)


def _last_batch(segment: SegmentFile) -> Batch | None:
    """The last healthy batch, found from the last index entry on if that fits, else by reading it all."""
    entry = _last_index_entry(segment)
    if entry is not None:
        items = read_segment(segment.path, start=entry.position)
        first = next(items, None)
        if isinstance(first, Batch) and first.base_offset <= entry.offset:
            return _last(items, first)
    return _last(read_segment(segment.path), None)


def _last_index_entry(segment: SegmentFile) -> OffsetEntry | None:
    index_path = Path(segment.path).with_suffix(".index")
    if segment.base_offset is None or not index_path.is_file():
        return None
    index = read_offset_index(index_path, segment.base_offset)
    last = index[len(index) - 1] if len(index) else None
    return last if last is not None and last.position > 0 else None


def _last(items: Iterable[Batch | Damage], default: Batch | None) -> Batch | None:
    last = default
    for item in items:
        if isinstance(item, Batch):
            last = item
    return last
