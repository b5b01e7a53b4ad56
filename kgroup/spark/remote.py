"""Logs by URI, on a storage that `storage.py` reads: `s3a://bucket/cluster-7`, `hdfs://namenode:8020/logs`.

The contents are listed by the explorer given to `open_remote`, which may be executors. The driver makes a
likeness of each tree in a temporary folder: the same folders, the small files that say what a log directory
holds, and segments of the offsets topic as files of the right size with nothing in them. So code that finds
segments on a disk finds them here. Executors fetch a segment when they scan it, and one task's segments at a
time lie on their disks. Segments of other topics are not fetched: the checkpoints give the lengths of those
logs.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Generic, cast

from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import PARTITION_METADATA
from kgroup.log.files.log_dir import UNKNOWN_PARTITION, SegmentFile
from kgroup.log.files.sources import Skipped, Sources, one_replica_each, open_sources
from kgroup.spark.explore import Found, explore, replica_end, side_by_side
from kgroup.spark.reductions import Part, Reduction
from kgroup.spark.storage import Storage, is_uri, raised_as_source_error

if TYPE_CHECKING:
    from kgroup.log.format.batch import Batch, Damage
    from kgroup.scan.reductions.scan import Slice

__all__ = [
    "Fetching",
    "Likeness",
    "RemoteLogs",
    "fetched",
    "is_uri",
    "open_remote",
    "read_remote_segment",
]

Asker = Callable[[Callable[[Any], str], Sequence[Any]], list[str]]
"""An explorer of a storage: calls a function for each item, and returns the answers in their order."""

_CHUNK_BYTES: Final = 4 * 1024 * 1024
_FETCHED_AT_ONCE: Final = 4
_NOWHERE_IN_PARTICULAR: Final = Storage()


@dataclass(frozen=True, slots=True)
class Likeness:
    """A local likeness of a URI: the same paths lie below both."""

    folder: str
    uri: str
    storage: Storage = _NOWHERE_IN_PARTICULAR

    def uri_of(self, path: str) -> str | None:
        """The URI of what stands at a local path, None if that is not of this likeness."""
        if path == self.folder or path.startswith(f"{self.folder}/"):
            return self.uri + path[len(self.folder) :]
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteLogs:
    """Sources whose segments are likenesses of remote files, and those files."""

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
        """The reduction of the remote segments."""
        return Fetching(reduction, self.likenesses)

    def batches(self, uri: str) -> "Iterator[Batch | Damage]":
        """A segment's batches, from where it is; see `read_remote_segment`."""
        storage = next(each.storage for each in self.likenesses if f"{uri}/".startswith(f"{each.uri}/"))
        return read_remote_segment(uri, storage)

    def _name(self, path: str) -> str:
        found = _place_of(path, self.likenesses)
        return path if found is None else found[0]

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
        """Merge parts as the reduction does."""
        return self.reduction.merge(parts)


@contextmanager
def fetched(slices: "Iterable[Slice]", likenesses: Sequence[Likeness]) -> "Iterator[list[Slice]]":
    """The slices as they are on this machine for as long as they are read; those of likenesses are fetched.

    Raises SourceError, naming the URI, for what cannot be fetched.
    """
    with TemporaryDirectory(prefix="kgroup-fetched-") as folder, ThreadPoolExecutor(_FETCHED_AT_ONCE) as pool:
        places = [
            (part, Path(folder, str(number), part.path.name), likenesses)
            for number, part in enumerate(slices)
        ]
        yield list(pool.map(_fetched, *zip(*places, strict=True))) if places else []


def _fetched(part: "Slice", path: Path, likenesses: Sequence[Likeness]) -> "Slice":
    found = _place_of(str(part.path), likenesses)
    if found is None:  # a local file among remote ones
        return part
    uri, storage = found
    path.parent.mkdir()
    _fetch(uri, storage, path)
    path.with_suffix(".index").touch()  # tells an empty log from an emptied one
    return replace(part, path=path, start=0, end=path.stat().st_size, name=uri)


def _fetch(uri: str, storage: Storage, path: Path) -> None:
    system, remote = storage.open(uri)
    with (
        raised_as_source_error(uri),
        system.open_input_stream(remote, compression=None) as source,
        path.open("wb") as file,
    ):
        while chunk := source.read(_CHUNK_BYTES):
            file.write(chunk)


def read_remote_segment(uri: str, storage: Storage = _NOWHERE_IN_PARTICULAR) -> "Iterator[Batch | Damage]":
    """As `read_segment`, from where it is. Raises SourceError, naming the URI, if it cannot be read."""
    from kgroup.log.files.segment import read_stream

    system, remote = storage.open(uri)
    with raised_as_source_error(uri), system.open_input_stream(remote, compression=None) as stream:
        yield from read_stream(cast(BinaryIO, stream), uri)


@contextmanager
def open_remote(
    paths: Sequence[str], storage: Storage = _NOWHERE_IN_PARTICULAR, ask: Asker = side_by_side
) -> Iterator[RemoteLogs]:
    """Find the segments of the offsets topic below URIs and local paths; of replicas, one.

    Raises SourceError, with what to set up, for a storage that cannot be used or read.
    """
    with TemporaryDirectory(prefix="kgroup-remote-") as folder:
        places = [storage.taking(path) for path in paths if is_uri(path)]
        trees = [_Tree(*place) for place in _apart(places)]
        _grow(trees, ask)
        parents: dict[str, Path] = {}  # segments of one partition that are named one by one lie together
        likenesses = []
        for tree in trees:
            parent = parents.setdefault(tree.uri.rpartition("/")[0], Path(folder, str(len(parents))))
            likenesses.append(tree.likeness(parent))
        logs = RemoteLogs(sources=Sources(segments=()), likenesses=tuple(likenesses))
        local = [path for path in paths if not is_uri(path)] + [likeness.folder for likeness in likenesses]
        try:
            sources = open_sources(local)
            unread = tuple(skipped for tree in trees for skipped in tree.unread)
            sources = replace(sources, skipped=sources.skipped + unread)
            ends = _ends_of_replicas(sources, logs.likenesses, ask)
            sources = one_replica_each(sources, ends.get)
        except SourceError as error:
            raise SourceError(logs.named_in(str(error))) from error
        yield replace(logs, sources=sources)


def _apart(places: Iterable[tuple[Storage, str]]) -> Iterator[tuple[Storage, str]]:
    """Each once, and none that is below another one."""
    distinct = {uri: storage for storage, uri in places}
    for uri, storage in distinct.items():
        if not any(uri.startswith(f"{other}/") for other in distinct):
            yield storage, uri


class _Tree:
    """The findings below a URI so far."""

    def __init__(self, storage: Storage, uri: str) -> None:
        self.uri = uri
        self.storage = storage
        self.unread: list[Skipped] = []
        self.to_explore = [""]
        self._found: dict[str, Found] = {}

    def take(self, below: str, found: Found) -> None:
        """Take over a folder's contents. Raises SourceError if the tree itself cannot be read."""
        uri = f"{self.uri}/{below}" if below else self.uri
        if found.error is not None and not below:
            raise SourceError(found.error)
        if found.error is not None:
            why = found.error.removeprefix(f"{uri}: ")
            self.unread.append(Skipped(path=uri, why=why, failed=True))
        self._found[below] = found
        self.to_explore += (f"{below}/{folder}" if below else folder for folder in found.folders)

    def likeness(self, parent: Path) -> Likeness:
        """The same files and folders in a folder of this machine, none of which has the records of a log."""
        # A partition's name is in that of its folder, which may be what the user named or hold it.
        path = PurePosixPath(self.uri.partition("://")[2])
        is_file = self._found[""].is_file
        top = parent / ((path.parent if is_file else path).name or "root")
        top.mkdir(parents=True, exist_ok=True)
        for below, found in self._found.items():
            for name, size in found.sizes.items():
                with _made(top / below / name).open("wb") as file:
                    file.truncate(size)
            for name, content in found.contents.items():
                _made(top / below / name).write_bytes(base64.b64decode(content))
        return Likeness(str(top / path.name if is_file else top), self.uri, self.storage)


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _grow(trees: Sequence[_Tree], ask: Asker) -> None:
    """Look into folders that were found, all of a depth at once, until there are no more."""
    while asked := [(tree, below) for tree in trees for below in tree.to_explore]:
        for tree in trees:
            tree.to_explore = []
        uris = [(f"{tree.uri}/{below}" if below else tree.uri, tree.storage) for tree, below in asked]
        for (tree, below), answer in zip(asked, ask(_explored, uris), strict=True):
            tree.take(below, Found.of_json(answer))


def _explored(asked: tuple[str, Storage]) -> str:
    return explore(*asked)


def _ends_of_replicas(sources: Sources, likenesses: Sequence[Likeness], ask: Asker) -> dict[Path, int]:
    """The log ends of partitions that exist more than once; they get their metadata, too."""
    folders: dict[int, dict[Path, list[SegmentFile]]] = {}
    for segment in sources.segments:
        folders.setdefault(segment.partition, {}).setdefault(segment.folder, []).append(segment)
    asked = []
    for partition, replicas in folders.items():
        if len(replicas) == 1 or partition == UNKNOWN_PARTITION:
            continue
        for path, segments in replicas.items():
            place = _place_of(str(path), likenesses)
            if place is not None:
                named = [
                    (each.base_offset or 0, Path(each.path).name, Path(each.path).stat().st_size)
                    for each in segments
                ]
                asked.append((path, place, named))
    answers = ask(_replica_end, [(place, named) for _, place, named in asked])
    ends = {}
    for (path, _, _), text in zip(asked, answers, strict=True):
        answer = json.loads(text)
        if "error" in answer:
            raise SourceError(answer["error"])
        ends[path] = answer["end"]
        if answer["metadata"] is not None:
            (path / PARTITION_METADATA).write_bytes(base64.b64decode(answer["metadata"]))
    return ends


def _replica_end(asked: tuple[tuple[str, Storage], Sequence[tuple[int, str, int]]]) -> str:
    (uri, storage), segments = asked
    return replica_end((uri, segments), storage)


def _place_of(path: str, likenesses: Iterable[Likeness]) -> tuple[str, Storage] | None:
    for likeness in likenesses:
        if (uri := likeness.uri_of(path)) is not None:
            return uri, likeness.storage
    return None
