"""The contents of a storage folder, as far as a report needs them: a few listings and small files.

A log directory of a broker has folders of every partition. Only those of the offsets topic are listed; of
other topics one small file each says which topic it is. All are listed in parallel by the caller: an executor
takes a log directory.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import BytesIO
from itertools import groupby
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, Final, TypeVar, cast

from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    META_PROPERTIES,
    PARTITION_METADATA,
)
from kgroup.log.files.index import OffsetEntry, OffsetIndex
from kgroup.log.files.log_dir import OFFSETS_TOPIC, parse_folder_name, parse_segment_name
from kgroup.log.files.segment import read_stream
from kgroup.log.format.batch import Batch, Damage
from kgroup.spark.storage import Storage, raised_as_source_error

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")

_OF_LOG_DIR: Final = (HIGH_WATERMARKS, LOG_STARTS, META_PROPERTIES)
_OF_PARTITION: Final = (PARTITION_METADATA, LEADER_EPOCHS)
_INDEXES: Final = (".index", ".timeindex")
_SIDE_BY_SIDE: Final = 16
_INDEX_READ_BYTES: Final = 64 * 1024
_GOOGLE: Final = "gcs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A folder's contents, by paths below it; all of it empty if there is an `error`.

    `sizes` are of files of which only the size is known here: segments, of the offsets topic or of none that
    a name says, and empty stands for other files of a partition. `contents` are of small files, as base64.
    `folders` are to be looked into. `is_file` if the URI is one itself, its name in `sizes`.
    """

    sizes: dict[str, int]
    contents: dict[str, str]
    folders: tuple[str, ...] = ()
    is_file: bool = False
    error: str | None = None

    def as_json(self) -> str:
        """JSON, for its way from an executor."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> "Found":
        """The other way."""
        document = json.loads(text)
        return cls(**{**document, "folders": tuple(document["folders"])})


def explore(uri: str, storage: Storage) -> str:
    """The contents of a URI, a folder's or a file's: `Found` as JSON, with any `error` in it."""
    try:
        system, root = storage.open(uri)
        with raised_as_source_error(uri):
            return _Folder(system, root).found().as_json()
    except SourceError as error:
        return Found(sizes={}, contents={}, error=str(error)).as_json()


def side_by_side(function: Callable[[Asked], Answer], asked: Sequence[Asked]) -> list[Answer]:
    """The answers of a function that mostly waits, in threads of this process."""
    if len(asked) < 2:
        return [function(each) for each in asked]
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return list(pool.map(function, asked))


class _Folder:
    def __init__(self, system: "FileSystem", root: str) -> None:
        self._system = system
        self._root = root
        self._name = PurePosixPath(root).name

    def found(self) -> Found:
        try:
            children = self._children("")
        except OSError as error:
            if not _says_no_folder(error):
                raise
            info = self._system.get_file_info(self._root)
            if info.is_file:
                return Found(sizes={self._name: info.size}, contents={}, is_file=True)
            if info.type.name == "NotFound":
                raise FileNotFoundError("there is nothing of that name") from None
            raise
        files = {child.base_name: child.size for child in children if child.is_file}
        folders = sorted(child.base_name for child in children if not child.is_file)
        if not _is_log_dir(files, folders):
            sizes = _of_partition(self._name, files)
            return Found(sizes=sizes, contents={}, folders=() if sizes else tuple(folders))
        return self._log_dir(files, folders)

    def _log_dir(self, files: dict[str, int], folders: list[str]) -> Found:
        offsets = [name for name in folders if parse_folder_name(name)[0] == OFFSETS_TOPIC]
        others = [name for name in folders if parse_folder_name(name)[0] not in (OFFSETS_TOPIC, None)]
        listed = side_by_side(self._partition, offsets)
        sizes = {
            f"{name}/{file}": size
            for name, of_one in zip(offsets, listed, strict=True)
            for file, size in of_one.items()
        }
        sizes |= {f"{name}/{LEADER_EPOCHS}": 0 for name in others}
        wanted: list[str] = [name for name in _OF_LOG_DIR if name in files]
        wanted += [f"{name}/{PARTITION_METADATA}" for name in _one_of_each_topic([*offsets, *others])]
        contents = zip(wanted, side_by_side(self.content, wanted), strict=True)
        return Found(
            sizes=sizes,
            contents={name: content for name, content in contents if content is not None},
            folders=tuple(name for name in folders if parse_folder_name(name)[0] is None),
        )

    def _partition(self, name: str) -> dict[str, int]:
        files = {child.base_name: child.size for child in self._children(name) if child.is_file}
        return _of_partition(name, files)

    def _children(self, below: str) -> "list[FileInfo]":
        from pyarrow.fs import FileSelector

        path = self._path(below)
        if self._system.type_name == _GOOGLE:
            return list(_direct(path, self._system.get_file_info(FileSelector(path, recursive=True))))
        children: list[FileInfo] = self._system.get_file_info(FileSelector(path))
        return children

    def content(self, below: str) -> str | None:
        try:
            with self._system.open_input_stream(self._path(below), compression=None) as stream:
                return base64.b64encode(stream.read()).decode("ascii")
        except FileNotFoundError:  # an older Kafka's partition has no metadata
            return None

    def _path(self, below: str) -> str:
        return f"{self._root}/{below}" if below else self._root


def _says_no_folder(error: OSError) -> bool:
    """Whether it may be a file, or nothing: each storage has its own way to say that."""
    return isinstance(error, FileNotFoundError | NotADirectoryError) or "No such file" in str(error)


def _direct(folder: str, below: "Iterable[FileInfo]") -> "Iterator[FileInfo]":
    """The children of a folder, of all that is below it, however deep.

    Google's storage has no folders but in the names of its objects. Of one level pyarrow lists only folders
    for which somebody has made an object (`name/`), as a copy of a broker's disk does not.
    """
    from pyarrow.fs import FileInfo, FileType

    folders = set()
    for info in below:
        name, _, rest = info.path.removeprefix(f"{folder}/").partition("/")
        if rest or not info.is_file:
            folders.add(name)
        else:
            yield info
    for name in sorted(folders):
        yield FileInfo(f"{folder}/{name}", FileType.Directory)


def _is_log_dir(files: Iterable[str], folders: Iterable[str]) -> bool:
    """Whether its folders are partitions by their names: `broker-1` next to `broker-2` is not one."""
    return any(name in files for name in _OF_LOG_DIR) or any(
        parse_folder_name(name)[0] == OFFSETS_TOPIC for name in folders
    )


def _of_partition(name: str, files: dict[str, int]) -> dict[str, int]:
    """The files of a partition's folder that say what there is; none if it is no such folder."""
    topic = parse_folder_name(name)[0]
    sizes = {}
    for file, size in files.items():
        if parse_segment_name(file) is not None and topic in (OFFSETS_TOPIC, None):
            sizes[file] = size
        elif file in _OF_PARTITION or PurePosixPath(file).suffix in _INDEXES:
            sizes[file] = 0
    if sizes.pop(PARTITION_METADATA, None) is not None:  # an empty one would be a damaged one
        sizes.setdefault(LEADER_EPOCHS, 0)
    return sizes


def _one_of_each_topic(folders: Iterable[str]) -> Iterator[str]:
    served = [name for name in folders if parse_folder_name(name)[2] is None]
    for _, of_one in groupby(sorted(served, key=_by_topic), key=lambda name: parse_folder_name(name)[0]):
        yield next(of_one)


def _by_topic(name: str) -> tuple[str, str]:
    return parse_folder_name(name)[0] or "", name


def replica_end(asked: tuple[str, Sequence[tuple[int, str, int]]], storage: Storage) -> str:
    """A replica's log end and `partition.metadata`: JSON `{"end", "metadata", "error"}`.

    Asked by its folder's URI and the base offset, name and size of its segments, in order. Of the last one
    that is read what is behind its last index entry, if it has one.
    """
    uri, segments = asked
    try:
        system, root = storage.open(uri)
        with raised_as_source_error(uri):
            metadata = _Folder(system, root).content(PARTITION_METADATA)
            return json.dumps({"end": _log_end(system, root, segments), "metadata": metadata})
    except SourceError as error:
        return json.dumps({"error": str(error)})


def _log_end(system: "FileSystem", root: str, segments: Sequence[tuple[int, str, int]]) -> int:
    """The log's end, as far as it can be read."""
    for base_offset, name, size in reversed(segments):
        with suppress(OSError):
            end = _end_of_segment(system, f"{root}/{name}", base_offset, size)
            return base_offset if end is None else end
    return 0


def _end_of_segment(system: "FileSystem", path: str, base_offset: int, size: int) -> int | None:
    """The offset behind its last healthy batch, None if it has none."""
    entry = _last_entry(system, f"{path.removesuffix('.log')}.index", base_offset)
    if entry is not None and 0 < entry.position < size:
        with system.open_input_file(path) as file:
            file.seek(entry.position)
            tail = BytesIO(file.read(size - entry.position))
        items = read_stream(tail, path)
        first = next(items, None)
        if isinstance(first, Batch) and first.base_offset <= entry.offset:  # else the index does not fit
            return _end_of([first, *items])
    with system.open_input_stream(path, compression=None) as stream:
        return _end_of(read_stream(cast(BinaryIO, stream), path))


def _end_of(items: "Iterable[Batch | Damage]") -> int | None:
    return max((item.last_offset + 1 for item in items if isinstance(item, Batch)), default=None)


def _last_entry(system: "FileSystem", path: str, base_offset: int) -> OffsetEntry | None:
    """The last entry of an index that may be padded with zeros to 10 MiB; only the first are read."""
    raw = b""
    try:
        with system.open_input_file(path) as file:
            while chunk := file.read(_INDEX_READ_BYTES):
                raw += chunk
                if len(chunk) < _INDEX_READ_BYTES or not any(chunk[-8:]):
                    break
    except FileNotFoundError:
        return None
    index = OffsetIndex(raw, base_offset)
    return index[len(index) - 1] if len(index) else None
