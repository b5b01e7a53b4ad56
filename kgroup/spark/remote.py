"""Logs on HDFS, object storage or any other file system that `pyarrow.fs` knows: `s3://bucket/cluster-7`.

The driver makes a likeness of each tree in a temporary folder: the same folders, the small files that say
what a log directory holds, and segments of the offsets topic as files of the right size with nothing in them.
So code that finds segments on a disk finds them here. Executors fetch a segment when they scan it, and one
task's segments at a time lie on their disks. Segments of other topics are not fetched: the checkpoints give
the lengths of those logs.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Generic, cast

from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
)
from kgroup.log.files.log_dir import OFFSETS_TOPIC, SegmentFile, parse_folder_name, parse_segment_name
from kgroup.log.files.sources import Sources, one_replica_each, open_sources
from kgroup.spark.reductions import Part, Reduction

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

    from kgroup.log.format.batch import Batch, Damage
    from kgroup.scan.reductions.scan import Slice

_URI: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SMALL_FILES: Final = {HIGH_WATERMARKS, LOG_STARTS, META_PROPERTIES, PARTITION_METADATA, LEADER_EPOCHS}
_INDEXES: Final = {".index", ".timeindex"}
_CHUNK_BYTES: Final = 4 * 1024 * 1024
_GCS_PATIENCE: Final = "retry_limit_seconds=30"  # the library's own is a quarter of an hour
_HINTS: Final = {
    "hdfs": "it needs Hadoop's libhdfs and a Java: HADOOP_HOME, JAVA_HOME, and CLASSPATH from"
    " `hadoop classpath --glob`",
    "s3": "it needs a region and credentials as AWS's own tools find them: AWS_REGION, AWS_PROFILE, or keys",
    "gs": "it needs Google's application default credentials: GOOGLE_APPLICATION_CREDENTIALS",
    "abfss": "it needs Azure's default credentials: a login, or AZURE_CLIENT_ID and what belongs to it",
}


def is_uri(path: str) -> bool:
    """Whether a path that a user gave names a file system, as `hdfs://` and `s3://` do."""
    return _URI.match(path) is not None


@dataclass(frozen=True, slots=True)
class Likeness:
    """A local folder that stands for a URI; what is below one is below the other."""

    folder: str
    uri: str

    def uri_of(self, path: str) -> str | None:
        """The URI of what stands at a local path, None if that is not of this likeness."""
        if path == self.folder or path.startswith(f"{self.folder}/"):
            return self.uri + path[len(self.folder) :]
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLogs:
    """Sources whose segments stand for remote files, and for which ones."""

    sources: Sources
    likenesses: tuple[Likeness, ...]

    def named(self) -> Sources:
        """The same with the names that the user knows."""
        return replace(
            self.sources,
            segments=tuple(replace(segment, path=self._name(segment.path)) for segment in self.sources),
            skipped=tuple(
                replace(skipped, path=self._name(skipped.path), why=self.named_in(skipped.why))
                for skipped in self.sources.skipped
            ),
        )

    def fetching(self, reduction: Reduction[Part]) -> "Fetching[Part]":
        """The reduction of what the segments stand for."""
        return Fetching(reduction, self.likenesses)

    def _name(self, path: str) -> str:
        return _uri_of(path, self.likenesses) or path

    def named_in(self, text: str) -> str:
        """A message with the names that the user knows."""
        for likeness in self.likenesses:
            text = text.replace(likeness.folder, likeness.uri)
        return text


@dataclass(frozen=True, slots=True)
class Fetching(Generic[Part]):
    """Fetches the segments of slices, then reduces them; always whole ones, as a likeness has no batches."""

    reduction: Reduction[Part]
    likenesses: tuple[Likeness, ...]

    def reduce(self, slices: "Iterable[Slice]") -> Part:
        """Raises SourceError, naming the URI, for what cannot be fetched."""
        with fetched(slices, self.likenesses) as local:
            return self.reduction.reduce(local)

    def merge(self, parts: Iterable[Part]) -> Part:
        """As the reduction does."""
        return self.reduction.merge(parts)


@contextmanager
def fetched(slices: "Iterable[Slice]", likenesses: Sequence[Likeness]) -> "Iterator[list[Slice]]":
    """The slices as they are on this machine for as long as they are read; those of likenesses are fetched.

    Raises SourceError, naming the URI, for what cannot be fetched.
    """
    with TemporaryDirectory(prefix="kgroup-fetched-") as folder:
        yield [
            _fetched(part, Path(folder, str(number), part.path.name), likenesses)
            for number, part in enumerate(slices)
        ]


def fetch_segments(segments: Iterable[SegmentFile], likenesses: Sequence[Likeness]) -> None:
    """Put the bytes of segments where they only seemed to be. Raises SourceError, naming the URI."""
    for segment in segments:
        uri = _uri_of(segment.path, likenesses)
        if uri is not None:
            with _raised_as_source_error(uri):
                system, remote = _file_system(uri)
                _fetch(system, remote, Path(segment.path))


def _fetched(part: "Slice", path: Path, likenesses: Sequence[Likeness]) -> "Slice":
    uri = _uri_of(str(part.path), likenesses)
    if uri is None:  # a local file among remote ones
        return part
    path.parent.mkdir()
    with _raised_as_source_error(uri):
        system, remote = _file_system(uri)
        _fetch(system, remote, path)
    path.with_suffix(".index").touch()  # tells an empty log from an emptied one
    return replace(part, path=path, start=0, end=path.stat().st_size, name=uri)


def read_remote_segment(uri: str) -> "Iterator[Batch | Damage]":
    """As `read_segment`, from where it is. Raises SourceError, naming the URI, if it cannot be read."""
    from kgroup.log.files.segment import read_stream

    with _raised_as_source_error(uri):
        system, remote = _file_system(uri)
        with system.open_input_stream(remote, compression=None) as stream:
            yield from read_stream(cast(BinaryIO, stream), uri)


@contextmanager
def open_remote(paths: Sequence[str]) -> Iterator[RemoteLogs]:
    """Find the segments of the offsets topic below URIs and local paths; of replicas, one.

    Raises SourceError, with what to set up, for a file system that cannot be used or read.
    """
    with TemporaryDirectory(prefix="kgroup-remote-") as folder:
        likenesses: list[Likeness] = []
        local = [path for path in paths if not is_uri(path)]
        parents: dict[str, Path] = {}  # segments of one partition that are named one by one lie together
        for uri in _apart(path.rstrip("/") for path in paths if is_uri(path)):
            parent = parents.setdefault(uri.rpartition("/")[0], Path(folder, str(len(parents))))
            with _raised_as_source_error(uri):
                likeness = _make_likeness(uri, parent)
            likenesses.append(likeness)
            local.append(likeness.folder)
        logs = RemoteLogs(sources=Sources(segments=()), likenesses=tuple(likenesses))
        try:
            sources = open_sources(local)
            _fetch_last_segments_of_replicas(sources, logs.likenesses)
            sources = one_replica_each(sources)
        except SourceError as error:
            raise SourceError(logs.named_in(str(error))) from error
        yield replace(logs, sources=sources)


def _apart(uris: Iterable[str]) -> Iterator[str]:
    """Each once, and none that is below another one."""
    distinct = dict.fromkeys(uris)
    for uri in distinct:
        if not any(uri.startswith(f"{other}/") for other in distinct):
            yield uri


def _make_likeness(uri: str, folder: Path) -> Likeness:
    system, root = _file_system(uri)
    info = system.get_file_info(root)
    folder.mkdir(exist_ok=True)
    # A partition's name is in that of its folder, which may be what the user named, or hold what was named.
    if info.is_file:
        top = folder / PurePosixPath(root).parent.name
        _add_file(system, info, top, PurePosixPath(root).name)
        return Likeness(str(top / PurePosixPath(root).name), uri)
    if info.type.name == "NotFound":
        raise FileNotFoundError("there is nothing of that name")
    from pyarrow.fs import FileSelector

    top = folder / (PurePosixPath(root).name or "root")
    top.mkdir()
    for child in system.get_file_info(FileSelector(root, recursive=True)):
        if child.is_file:
            below = PurePosixPath(child.path).relative_to(PurePosixPath(root))
            _add_file(system, child, top / below.parent, below.name)
    return Likeness(str(top), uri)


def _add_file(system: "FileSystem", info: "FileInfo", folder: Path, name: str) -> None:
    topic, _, _ = parse_folder_name(folder.name)
    is_segment = parse_segment_name(name) is not None and topic in (OFFSETS_TOPIC, None)
    is_index = PurePosixPath(name).suffix in _INDEXES and topic == OFFSETS_TOPIC
    if not (is_segment or is_index or name in _SMALL_FILES):
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if name in _SMALL_FILES:
        _fetch(system, info.path, path)
        return
    with path.open("wb") as file:
        if is_segment:
            file.truncate(info.size)


def _fetch_last_segments_of_replicas(sources: Sources, likenesses: Sequence[Likeness]) -> None:
    """Of a partition that is there more than once, the ends of the last segments show the longest."""
    last = {(segment.partition, segment.folder): segment for segment in sources.segments}
    partitions = [partition for partition, _ in last]
    fetch_segments(
        (segment for (partition, _), segment in last.items() if partitions.count(partition) > 1), likenesses
    )


def _uri_of(path: str, likenesses: Iterable[Likeness]) -> str | None:
    return next((uri for likeness in likenesses if (uri := likeness.uri_of(path)) is not None), None)


def _file_system(uri: str) -> "tuple[FileSystem, str]":
    from pyarrow.fs import FileSystem

    if uri.startswith("gs://") and "retry_limit_seconds" not in uri:
        uri += ("&" if "?" in uri else "?") + _GCS_PATIENCE
    file_system: Any = FileSystem.from_uri(uri)
    return file_system[0], file_system[1]


def _fetch(system: "FileSystem", remote: str, path: Path) -> None:
    with system.open_input_stream(remote, compression=None) as source, path.open("wb") as file:
        while chunk := source.read(_CHUNK_BYTES):
            file.write(chunk)


@contextmanager
def _raised_as_source_error(uri: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException, NotImplementedError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        with suppress(ValueError):
            why = why[: why.index("; Details")]
        hint = _HINTS.get(uri.partition("://")[0].lower().replace("s3a", "s3"))
        advice = f"; {hint}" if hint and not isinstance(error, FileNotFoundError) else ""
        raise SourceError(f"{uri}: {why}{advice}") from error
