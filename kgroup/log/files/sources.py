"""Turns the paths a user gives into the segments to read."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kgroup.errors import SourceError
from kgroup.input_files import endless
from kgroup.log.files.log_dir import (
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
from kgroup.log.files.recording import recording_remarks
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch

STDIN = "-"

_PACKED: Final = {
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"\xfd7zXZ\0": "an xz file",
    b"BZh": "a bzip2 file",
    b"PK\x03\x04": "a zip archive",
}
"""The first bytes of files that a copy of a log is often packed in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """Something under the given paths that is not read, and why."""

    path: str
    why: str
    failed: bool = False
    """It could not be read, and is not left out on purpose: what is in it may be missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The contents of the given paths: `segments` by partition, folder and base offset; iterates over them.

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
    search = _PathSearch(topic)
    for path in paths:
        search.add(str(path))
    return search.sources()


def one_replica_each(
    sources: Sources, known_end: Callable[[Path], int | None] = lambda folder: None
) -> Sources:
    """Of several folders with a partition, keep one whose log ends last and skip those that end before.

    For callers that want the state of a cluster rather than every record. `known_end` is where the log in a
    folder ends, if somebody has found out; else its segments are read. Raises SourceError if two folders
    of a partition are of different topics or clusters by their ids: those are no replicas.
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
        ends = {}
        for folder, segments in by_folder.items():
            known = known_end(folder)
            ends[folder] = _readable_end(segments) if known is None else known
        longest = max(sorted(ends), key=lambda folder: ends[folder])
        kept += by_folder[longest]
        for folder in sorted(ends):
            if ends[folder] != ends[longest]:
                why = f"replica of {longest} that ends at {ends[folder]}, not {ends[longest]}"
                skipped.append(Skipped(path=str(folder), why=why))
    return replace(sources, segments=tuple(kept), skipped=tuple(skipped))


class _PathSearch:
    """Segments, log directories and skipped files so far; a file or folder reached twice counts once."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._segments: dict[str, SegmentFile] = {}
        self._log_dirs: dict[str, LogDir] = {}
        self._skipped: dict[str, Skipped] = {}

    def sources(self) -> Sources:
        segments = sorted(
            self._segments.values(),
            key=lambda file: (file.partition, str(file.folder), file.base_offset or 0, file.path),
        )
        log_dirs = sorted(self._log_dirs.values(), key=lambda log_dir: str(log_dir.path))
        for log_dir in log_dirs:
            own = {each.partition for each in segments if each.folder.parent == log_dir.path.absolute()}
            for path, why in recording_remarks(log_dir, own):
                self._skipped[f"{path}: {why}"] = Skipped(path=path, why=why)
        return Sources(
            segments=tuple(segments), log_dirs=tuple(log_dirs), skipped=tuple(self._skipped.values())
        )

    def add(self, given: str) -> None:
        """Add what one path holds. Raises SourceError if that is nothing of the topic."""
        if given == STDIN:
            self._add_segment(
                SegmentFile(path=STDIN, topic=None, partition=UNKNOWN_PARTITION, base_offset=None)
            )
            return
        mode = _mode(given)
        if stat.S_ISDIR(mode):
            self._add_folder(given)
            return
        _refuse_what_has_no_end(given, mode)
        self._add_file(given)

    def _add_file(self, given: str) -> None:
        path = Path(given)
        folder = path.absolute().parent
        topic, partition, _ = parse_folder_name(folder.name)
        if path.suffix in (".index", ".timeindex", ".txnindex", ".snapshot"):
            raise SourceError(f"{given}: this is not a segment; give the .log file next to it")
        beside_index = path.with_suffix(".index").exists()
        if topic not in (None, self._topic):
            # Without an index next to it, it is a copy in a folder whose name happens to end in a number.
            if beside_index:
                raise SourceError(f"{given}: a segment of topic {topic}, not of {self._topic}")
            topic, partition = None, UNKNOWN_PARTITION
        base_offset = parse_segment_name(path.name)
        _refuse_unreadable(given)
        if base_offset is None and _is_something_else(path):
            raise SourceError(f"{given}: {_what_it_is(path)}")
        self._add_segment(SegmentFile(path=given, topic=topic, partition=partition, base_offset=base_offset))
        if beside_index:
            self._add_log_dir(folder.parent)

    def _add_folder(self, given: str) -> None:
        """Add the partition folder that `given` is, or those below it. Links may form a loop."""
        named = read_partition_folder(Path(given), given=given)
        if named is not None:
            self._add_log_dir(named.path.absolute().parent)
            if named.topic not in (None, self._topic):
                why = f"a partition of topic {named.topic}, not of {self._topic}"
                raise SourceError(f"{given}: {why}; give the log directory it is in")
            if not named.segments:
                odd = "".join(f"; {path} is {kind}" for path, kind in named.no_files[:1])
                raise SourceError(f"{given}: there are no segments in it{odd}")
            self._add_segments_of(named)
            return
        folders, skipped = _partition_folders_below(given)
        for log_dir in dict.fromkeys(folder.path.absolute().parent for folder in folders):
            self._add_log_dir(log_dir)
        for folder in folders:
            if folder.topic not in (None, self._topic):
                continue
            if folder.topic is None or folder.retired is not None:
                why = folder.retired or "segments in a folder whose name says no partition"
                skipped.append(Skipped(path=str(folder.path), why=why))
                continue
            self._add_segments_of(folder)
        self._skipped.update((skip.path, skip) for skip in skipped)
        if not any(folder.topic == self._topic and folder.segments for folder in folders):
            raise SourceError(f"{given}: {self._nothing_found(folders, skipped)}")

    def _add_segments_of(self, folder: PartitionFolder) -> None:
        for segment in folder.segments:
            self._add_segment(segment)
        for path in folder.swaps:
            why = "a segment that the broker was swapping in when it stopped"
            self._skipped[path] = Skipped(path=path, why=why)
        self._skipped.update((path, Skipped(path=path, why=kind)) for path, kind in folder.no_files)

    def _add_segment(self, segment: SegmentFile) -> None:
        self._segments.setdefault(os.path.realpath(segment.path), segment)

    def _add_log_dir(self, path: Path) -> None:
        real = os.path.realpath(path)
        if real not in self._log_dirs:
            self._log_dirs[real] = read_log_dir(path)

    def _nothing_found(self, folders: list[PartitionFolder], skipped: list[Skipped]) -> str:
        why = f"no segments of {self._topic} here or below"
        if skipped:
            return f"{why}; skipped {skipped[0].path}: {skipped[0].why}"
        topics = sorted({folder.topic for folder in folders if folder.topic not in (None, self._topic)})
        if topics:
            more = f" and {len(topics) - 5} more" if len(topics) > 5 else ""
            return f"{why}, only of {', '.join(map(str, topics[:5]))}{more}"
        return why


def read_log_dir(path: Path) -> LogDir:
    """The log directory at `path`, with every partition folder in it that can be listed."""
    folders = []
    try:
        children = _folders_in(path)
    except SourceError:
        children = []
    for child in children:
        if parse_folder_name(child.name)[0] is None:
            continue
        try:
            folder = read_partition_folder(child)
        except SourceError:
            continue
        if folder is not None:
            folders.append(folder)
    return LogDir(path=path, partitions=tuple(folders))


def _partition_folders_below(given: str) -> tuple[list[PartitionFolder], list[Skipped]]:
    """Every partition folder below `given`, at any depth, and what could not be looked into."""
    folders: list[PartitionFolder] = []
    skipped: list[Skipped] = []
    visited: set[str] = set()
    pending = [Path(given)]
    while pending:
        path = pending.pop()
        real = os.path.realpath(path)
        if real in visited:
            continue
        visited.add(real)
        try:
            folder = read_partition_folder(path)
            if folder is not None:
                folders.append(folder)
            else:
                pending += reversed(_folders_in(path))
        except SourceError as error:
            why = str(error).removeprefix(f"{path}: ")
            skipped.append(Skipped(path=str(path), why=why, failed=True))
    return folders, skipped


def _folders_in(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as children:
            return sorted(Path(child.path) for child in children if child.is_dir())
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error


def _mode(given: str) -> int:
    if not given:
        raise SourceError("one of the PATHs is empty: is it a variable that is not set?")
    try:
        return Path(given).stat().st_mode
    except (OSError, ValueError) as error:
        if "://" in given:
            raise SourceError(f"{given}: not a local path; only lag-report --spark reads others") from error
        raise SourceError(f"{given}: {getattr(error, 'strerror', None) or error}") from error


def _refuse_what_has_no_end(given: str, mode: int) -> None:
    """Raise SourceError for what could be read for ever; the pipe of a process substitution has no name."""
    if (why := endless(given, mode)) is not None:
        hint = "; kgroup decode - reads standard input" if stat.S_ISFIFO(mode) else ""
        raise SourceError(f"{given}: {why}{hint}")


def _refuse_unreadable(given: str) -> None:
    """Raise SourceError for a file that cannot be opened; pipes are opened once, by who reads them."""
    if Path(given).is_file():
        try:
            Path(given).open("rb", buffering=0).close()
        except OSError as error:
            raise SourceError(f"{given}: {error.strerror or error}") from error


def _what_it_is(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(8)
    for magic, kind in _PACKED.items():
        if start.startswith(magic):
            return f"not a log segment but {kind}; unpack it first"
    return "not a log segment: no record batch in it"


def _is_something_else(path: Path) -> bool:
    """Whether a regular file has bytes, but nowhere a batch. Pipes can be read only once, so not for this."""
    if not path.is_file() or not path.stat().st_size:
        return False
    return not any(isinstance(item, Batch) for item in read_segment(path))


def _readable_end(segments: list[SegmentFile]) -> int:
    """The end of a replica's log, as far as it can be read."""
    while segments:
        try:
            return log_end_offset(segments) or 0
        except SourceError:
            segments = segments[:-1]
    return 0


def _check_replicas(sources: Sources, partition: int, by_folder: Iterable[Path]) -> None:
    clusters = {log_dir.path.absolute(): log_dir.cluster_id for log_dir in sources.log_dirs}
    identities: dict[tuple[str, str], Path] = {}
    for path in by_folder:
        folder = read_partition_folder(path)
        topic_id = folder.topic_id if folder is not None else None
        for kind, identity in (("topic id", topic_id), ("cluster id", clusters.get(path.parent))):
            if identity is None:
                continue
            for (other_kind, other), other_path in identities.items():
                if other_kind == kind and other != str(identity):
                    raise SourceError(
                        f"{path} and {other_path} both hold partition {partition}, but of different clusters "
                        f"({kind} {identity} and {other}); give one cluster at a time"
                    )
            identities[kind, str(identity)] = path
