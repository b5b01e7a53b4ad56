"""Where the logs of data topics begin and end, from what a broker keeps in its log directories.

Two listings, in order of precedence:

1. The partition folders' own segments: log end offset of this replica, log start as the first segment's base
   offset or, if later, as `log-start-offset-checkpoint` says.
2. `replication-offset-checkpoint`: the high watermark when the broker wrote it down last (every 5 s, and when
   it stops). This is what consumers and Kafka's tools see as log end, but it may be older than the segments.

Topic ids are from `partition.metadata` (Kafka 2.8 on).
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kgroup.errors import SourceError
from kgroup.log.batch import Batch
from kgroup.log.checkpoints import (
    HIGH_WATERMARKS,
    LOG_STARTS,
    PARTITION_METADATA,
    TopicPartition,
    read_offset_checkpoint,
    read_topic_id,
)
from kgroup.log.index import read_offset_index
from kgroup.log.segment import read_segment
from kgroup.protocol.entries import TopicId
from kgroup.protocol.log_ends import LogEndSource, LogListing, PartitionLog

# Folders on their way out or in ("orders-0.<uuid>-delete", "-future", "-stray") do not end in a number.
_FOLDER = re.compile(r"(?P<topic>.+)-(?P<partition>[0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirEnds:
    """What log directories say of log ends: `segments` before `checkpoints`, and what could not be read."""

    segments: LogListing
    checkpoints: LogListing
    problems: tuple[str, ...]


def read_log_ends(log_dirs: Sequence[Path], topics: Collection[str]) -> LogDirEnds:
    """The log ends of all partitions in `log_dirs`; segments are opened for `topics` only."""
    problems: list[str] = []
    watermarks: list[PartitionLog] = []
    segments: list[PartitionLog] = []
    for log_dir in log_dirs:
        starts = _offsets(log_dir / LOG_STARTS, problems)
        folders = sorted(_folders(log_dir))
        topic_ids = _topic_ids(log_dir, folders, problems)
        watermarks += (
            PartitionLog(
                topic=topic,
                partition=partition,
                source=LogEndSource.CHECKPOINT,
                log_start_offset=starts.get(TopicPartition(topic, partition)),
                log_end_offset=offset,
                topic_id=topic_ids.get(topic),
            )
            for (topic, partition), offset in _offsets(log_dir / HIGH_WATERMARKS, problems).items()
        )
        for folder in folders:
            ends = _ends(log_dir, folder, problems) if folder.topic in topics else None
            start, end = ends or (None, None)
            if start is not None:
                start = max(start, starts.get(folder, start))
            segments.append(
                PartitionLog(
                    topic=folder.topic,
                    partition=folder.partition,
                    source=LogEndSource.SEGMENTS,
                    log_start_offset=start,
                    log_end_offset=end,
                    topic_id=topic_ids.get(folder.topic),
                )
            )
    return LogDirEnds(
        segments=LogListing(logs=tuple(segments)),
        checkpoints=LogListing(logs=tuple(watermarks), complete=_lists_every_partition(watermarks)),
        problems=tuple(problems),
    )


def _lists_every_partition(logs: Sequence[PartitionLog]) -> bool:
    """Whether these are the log directories of brokers that hold everything, so that what is absent is gone.

    No file says so. It is inferred from every topic's partitions being there from 0 on without a gap, the
    offsets topic's among them: a broker that shares a cluster's partitions with others has gaps.
    """
    partitions: dict[str, set[int]] = {}
    for log in logs:
        partitions.setdefault(log.topic, set()).add(log.partition)
    return "__consumer_offsets" in partitions and all(
        max(listed) == len(listed) - 1 for listed in partitions.values()
    )


def _offsets(path: Path, problems: list[str]) -> dict[TopicPartition, int]:
    if not path.exists():
        return {}
    try:
        return read_offset_checkpoint(path)
    except SourceError as error:
        problems.append(str(error))
        return {}


def _folders(log_dir: Path) -> Iterator[TopicPartition]:
    for entry in _scan(log_dir):
        match = _FOLDER.fullmatch(entry.name)
        if match and entry.is_dir():
            yield TopicPartition(match["topic"], int(match["partition"]))


def _scan(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise SourceError(f"{folder}: {error.strerror or error}") from error


def _topic_ids(log_dir: Path, folders: Sequence[TopicPartition], problems: list[str]) -> dict[str, TopicId]:
    """The id of each topic, from the first of its folders that has one."""
    topic_ids: dict[str, TopicId] = {}
    for topic, partition in folders:
        path = log_dir / f"{topic}-{partition}" / PARTITION_METADATA
        if topic_ids.get(topic) is None and path.exists():
            try:
                topic_ids[topic] = read_topic_id(path)
            except SourceError as error:
                problems.append(str(error))
    return topic_ids


def _ends(log_dir: Path, folder: TopicPartition, problems: list[str]) -> tuple[int, int] | None:
    """Log start and log end offset of a partition folder, None if it has no segment."""
    path = log_dir / f"{folder.topic}-{folder.partition}"
    bases = sorted(
        int(entry.name[:-4]) for entry in _scan(path) if re.fullmatch(r"[0-9]{20}\.log", entry.name)
    )
    if not bases:
        return None
    last = path / f"{bases[-1]:020}.log"
    try:
        return bases[0], _end_offset(last, bases[-1], problems.append)
    except SourceError as error:
        problems.append(str(error))
        return None


def _end_offset(segment: Path, base_offset: int, report: Callable[[str], None]) -> int:
    """The offset after the last healthy batch, which is where Kafka itself would truncate to and go on."""
    position = _last_indexed(segment, base_offset)
    items = read_segment(segment, start=position)
    first = next(items, None)
    if position and not isinstance(first, Batch):
        items = read_segment(segment)  # the index is wrong, and a segment can be read without one
        first = next(items, None)
    end_offset = base_offset
    while first is not None:
        if isinstance(first, Batch):
            end_offset = first.last_offset + 1
        elif first.size:
            report(f"{first.segment}: byte {first.position}: {first.why}")
        first = next(items, None)
    return end_offset


def _last_indexed(segment: Path, base_offset: int) -> int:
    """The byte position of the last batch that the segment's index knows, 0 without one."""
    path = segment.with_suffix(".index")
    index = read_offset_index(path, base_offset) if path.exists() else ()
    position = index[len(index) - 1].position if index else 0
    return position if 0 < position < segment.stat().st_size else 0
