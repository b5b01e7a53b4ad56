"""From the paths a user gives to the segments to read."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kgroup.errors import SourceError
from kgroup.log.partition import (
    OFFSETS_TOPIC,
    UNKNOWN_PARTITION,
    LogDir,
    PartitionFolder,
    SegmentFile,
    log_end_offset,
    parse_folder_name,
    parse_segment_name,
    read_partition_folder,
)

STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something under the given paths that is not read, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the given paths hold: `segments` by partition, folder and base offset; iterates over them.

    `log_dirs` are the log directories that the paths are, hold or lie in: the place of checkpoints and
    of other topics' folders.
    """

    segments: tuple[SegmentFile, ...]
    log_dirs: tuple[LogDir, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def __iter__(self) -> Iterator[SegmentFile]:
        return iter(self.segments)

    def __len__(self) -> int:
        return len(self.segments)


def open_sources(paths: Iterable[str | Path], *, topic: str = OFFSETS_TOPIC) -> Sources:
    """Find the segments of `topic` in segment files, partition folders, log directories, or above them.

    "-" is standard input. Directories are searched to any depth. Raises SourceError, naming the path, for
    one that cannot be read or holds no segment of the topic. Replicas are all there: see `one_replica_each`.
    """
    found = _Found(topic)
    for path in paths:
        found.add(str(path))
    return found.sources()


def one_replica_each(sources: Sources) -> Sources:
    """Of several folders with the same partition, keep the one whose log ends last; the others are skipped.

    For whoever wants the state of a cluster rather than every record. Raises SourceError if two folders of a
    partition are of different topics or clusters by their ids: those are no replicas.
    """
    replicas: dict[int, dict[Path, list[SegmentFile]]] = {}
    for segment in sources.segments:
        replicas.setdefault(segment.partition, {}).setdefault(segment.folder, []).append(segment)
    kept: list[SegmentFile] = []
    skipped = list(sources.skipped)
    for partition, by_folder in sorted(replicas.items()):
        if len(by_folder) == 1 or partition == UNKNOWN_PARTITION:
            kept += [segment for segments in by_folder.values() for segment in segments]
            continue
        _check_replicas(sources, partition, by_folder)
        ends = {folder: log_end_offset(segments) or 0 for folder, segments in by_folder.items()}
        longest = max(sorted(ends), key=lambda folder: ends[folder])
        kept += by_folder[longest]
        for folder in sorted(ends):
            if folder != longest:
                why = f"replica of {longest} that ends at {ends[folder]}, not {ends[longest]}"
                skipped.append(Skipped(path=str(folder), why=why))
    return replace(sources, segments=tuple(kept), skipped=tuple(skipped))


class _Found:
    """What has been found so far; a file or folder that is reached twice counts once."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._segments: dict[str, SegmentFile] = {}
        self._log_dirs: dict[str, LogDir] = {}
        self._skipped: list[Skipped] = []
        self._visited: set[str] = set()
        self._other_topics: set[str] = set()

    def sources(self) -> Sources:
        segments = sorted(
            self._segments.values(),
            key=lambda segment: (
                segment.partition,
                str(segment.folder),
                segment.base_offset or 0,
                segment.path,
            ),
        )
        log_dirs = sorted(self._log_dirs.values(), key=lambda log_dir: str(log_dir.path))
        return Sources(segments=tuple(segments), log_dirs=tuple(log_dirs), skipped=tuple(self._skipped))

    def add(self, given: str) -> None:
        """Add what one path holds. Raises SourceError if that is nothing of the topic."""
        if given == STDIN:
            self._segments[STDIN] = SegmentFile(
                path=STDIN, topic=None, partition=UNKNOWN_PARTITION, base_offset=None
            )
            return
        path = Path(given)
        try:
            is_folder = path.is_dir()
            path.stat()
        except OSError as error:
            raise SourceError(f"{given}: {error.strerror or error}") from error
        if not is_folder:
            self._add_file(given)
            return
        self._other_topics.clear()
        if not self._add_folder(path, given, named=True):
            raise SourceError(f"{given}: {self._nothing_found()}")

    def _add_file(self, given: str) -> None:
        path = Path(given)
        folder = path.absolute().parent
        topic, partition, _ = parse_folder_name(folder.name)
        if path.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
            raise SourceError(f"{given}: this is not a segment; give the .log file beside it")
        beside_index = path.with_suffix(".index").exists()
        if topic not in (None, self._topic):
            # Without an index beside it, the segment is a copy in a folder that happens to end with a number.
            if beside_index:
                raise SourceError(f"{given}: a segment of topic {topic}, not of {self._topic}")
            topic, partition = None, UNKNOWN_PARTITION
        self._add_segment(
            SegmentFile(
                path=given, topic=topic, partition=partition, base_offset=parse_segment_name(path.name)
            )
        )
        if beside_index:
            self._add_log_dir(folder.parent)

    def _add_folder(self, path: Path, given: str, *, named: bool) -> bool:
        """Whether there was a segment of the topic in the folder, or below it."""
        real = os.path.realpath(path)
        if real in self._visited:
            return named
        self._visited.add(real)
        folder = read_partition_folder(path, given=given)
        if folder is not None:
            return self._add_partition(folder, given, named=named)
        found = False
        for child in sorted(path.iterdir()):
            if not child.is_dir():
                continue
            try:
                found |= self._add_folder(child, str(Path(given) / child.name), named=False)
            except SourceError as error:
                self._skipped.append(Skipped(path=str(child), why=str(error)))
        return found

    def _add_partition(self, folder: PartitionFolder, given: str, *, named: bool) -> bool:
        self._add_log_dir(folder.path.absolute().parent)
        if folder.topic is not None and folder.topic != self._topic:
            self._other_topics.add(folder.topic)
            return False
        if folder.retired is not None and not named:
            self._skipped.append(Skipped(path=given, why=folder.retired))
            return False
        if folder.topic is None and not named:
            self._skipped.append(Skipped(path=given, why="segments in a folder whose name says no partition"))
            return False
        for segment in folder.segments:
            self._add_segment(segment)
        return bool(folder.segments)

    def _add_segment(self, segment: SegmentFile) -> None:
        self._segments.setdefault(os.path.realpath(segment.path), segment)

    def _add_log_dir(self, path: Path) -> None:
        real = os.path.realpath(path)
        if real not in self._log_dirs:
            self._log_dirs[real] = read_log_dir(path)

    def _nothing_found(self) -> str:
        if not self._other_topics:
            return f"no segments of {self._topic} here or below"
        topics = sorted(self._other_topics)
        shown = ", ".join(topics[:5]) + (f" and {len(topics) - 5} more" if len(topics) > 5 else "")
        return f"no segments of {self._topic} here or below, only of {shown}"


def read_log_dir(path: Path) -> LogDir:
    """The log directory at `path`, with every partition folder in it that can be listed."""
    folders = []
    try:
        children = sorted(path.iterdir())
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
    for child in children:
        if parse_folder_name(child.name)[0] is None or not child.is_dir():
            continue
        try:
            folder = read_partition_folder(child)
        except SourceError:
            continue
        if folder is not None:
            folders.append(folder)
    return LogDir(path=path, partitions=tuple(folders))


def _check_replicas(sources: Sources, partition: int, by_folder: Iterable[Path]) -> None:
    clusters = {log_dir.path.absolute(): log_dir.cluster_id for log_dir in sources.log_dirs}
    identities: dict[tuple[str, str], Path] = {}
    for path in by_folder:
        folder = read_partition_folder(path)
        topic_id = folder.topic_id if folder is not None else None
        for kind, identity in (("topic id", topic_id), ("cluster id", clusters.get(path.parent))):
            if identity is None:
                continue
            for (known_kind, known), known_path in identities.items():
                if known_kind == kind and known != str(identity):
                    raise SourceError(
                        f"{path} and {known_path} both hold partition {partition}, but of different clusters "
                        f"({kind} {identity} and {known}); give one cluster at a time"
                    )
            identities[kind, str(identity)] = path
