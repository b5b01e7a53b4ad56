"""Storage for a cluster's logs and topics: in memory, or in a folder."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

from kgroup.broker.adopted_folder import is_log_dir, read_adopted
from kgroup.broker.cluster_file import (
    CLUSTER_FILE,
    JOURNAL_FILE,
    ClusterSpec,
    TopicSpec,
    apply_journal,
    decode_spec,
    encode_change,
    encode_spec,
    garbled_bytes,
)
from kgroup.broker.folder_scan import settle_folders
from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LOG_STARTS,
    META_PROPERTIES,
    RECOVERY_POINTS,
    encode_offset_checkpoint,
    read_offset_checkpoint,
)
from kgroup.log.store.atomic_file import DRAFT_SUFFIX, replace_text, sync_folder
from kgroup.log.store.file_handles import FileHandles
from kgroup.log.store.folder_lock import LOCK_FILE, FolderLock
from kgroup.log.store.opening import Opening
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.log.store.segment_log import SegmentLog
from kgroup.log.store.survey import DAMAGED_SUFFIX
from kgroup.protocol.topic_partition import TopicPartition

__all__ = ["ClusterSpec", "FolderStorage", "MemoryStorage", "Storage", "TopicSpec"]

_JOURNAL_MAX_BYTES: Final = 1 << 20
_READ_WHOLE: Final = ("__consumer_offsets", "__transaction_state")
_CLEAN_SHUTDOWN_TEXT: Final = json.dumps({"version": 0, "brokerEpoch": -1}, separators=(",", ":"))


class Storage(Protocol):
    """Logs and the cluster's own facts."""

    def load(self) -> ClusterSpec | None:
        """The stored state, or None the first time; from now on it is this process's. Raises SourceError."""

    def save(self, spec: ClusterSpec, changed: Iterable[str] | None = None) -> None:
        """Keep these facts; those of the topics `changed` (None: any) are new. Raises SourceError."""

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """The log of a partition, new or as it was. Raises SourceError."""

    def checkpoint(self, ends: dict[TopicPartition, int]) -> None:
        """Write down the end of each log, and how much of it is on the disk. Raises SourceError."""

    def close(self) -> None:
        """Let others have it."""


class MemoryStorage:
    """Nothing outlives the process."""

    def load(self) -> ClusterSpec | None:
        """Nothing was kept."""
        return None

    def save(self, spec: ClusterSpec, changed: Iterable[str] | None = None) -> None:
        """Nothing is kept."""

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """An empty log."""
        return MemoryLog()

    def checkpoint(self, ends: dict[TopicPartition, int]) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing: no other process could have it."""


class FolderStorage:
    """A log dir as Kafka lays it out: a folder per partition, checkpoints, `meta.properties`.

    There is one copy of each partition, whatever the number of nodes. Topics and their settings are in
    files of kgroup's own, since Kafka keeps them in its metadata log. From `load` to `close` no other
    process can have the folder: opening a log cuts off what another may be writing. What was saved is on the
    disk itself when `save` returns, as Kafka's metadata log is; `durable`: so are new logs and checkpoints.
    `adopt`: take a folder that a real broker has made.
    """

    def __init__(
        self, folder: Path, warn: Callable[[str], None], *, durable: bool = False, adopt: bool = False
    ) -> None:
        self._folder = folder
        self._warn = warn
        self._durable = durable
        self._adopt = adopt
        self._is_adopted = False
        self._lock: FolderLock | None = None
        self._handles = FileHandles()
        self._logs: dict[TopicPartition, SegmentLog] = {}
        self._stopped_cleanly = False
        self._recovery_points: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._starts: dict[TopicPartition, int] | None = None
        self._journal_bytes = 0
        self._journal_has_name = False  # on the disk, not only in the folder

    def load(self) -> ClusterSpec | None:
        """The stored state, or None in a new folder. Raises SourceError, also if another process has it."""
        path = self._folder / CLUSTER_FILE
        try:
            if not self._folder.is_dir():
                self._folder.mkdir(parents=True, exist_ok=True)
                sync_folder(self._folder.parent)
        except OSError as error:
            if isinstance(error, FileExistsError):
                raise SourceError(f"{self._folder}: not a directory") from error
            raise SourceError(f"cannot create {self._folder}: {error.strerror or error}") from error
        try:
            if not path.exists() and not self._is_of_a_broker():
                self._lock = FolderLock(self._folder)
                return None
            self._lock = FolderLock(self._folder)
            self._is_adopted = not path.exists()
            spec = read_adopted(self._folder, self._warn) if self._is_adopted else self._read_spec(path)
            settle_folders(self._folder, spec, self._warn)
            self._take_checkpoints()
            self._journal_bytes = self._size_of_journal()
        except OSError as error:
            raise SourceError(f"{error.filename or path}: {error.strerror or error}") from error
        if self._journal_bytes or self._is_adopted:
            self.save(spec)
        return spec

    def _is_of_a_broker(self) -> bool:
        """Whether to adopt the folder; False for a new one. Raises SourceError for any other."""
        if all(_is_of_a_start(entry.name) for entry in self._folder.iterdir()):
            return False
        if not is_log_dir(self._folder):
            raise SourceError(f"{self._folder}: not empty, and not a folder that kgroup serve made")
        if not self._adopt:
            raise SourceError(
                f"{self._folder}: not empty, and not a folder that kgroup serve made but a Kafka broker's, "
                f"without {CLUSTER_FILE}; --adopt serves it and writes to it (keep a copy)"
            )
        return True

    def _read_spec(self, path: Path) -> ClusterSpec:
        spec = decode_spec(path.read_bytes(), str(path))
        journal = self._folder / JOURNAL_FILE
        if not journal.exists():
            return spec
        raw = journal.read_bytes()
        spec = apply_journal(spec, raw, str(journal))
        if garbled := garbled_bytes(raw):
            kept = journal.with_name(journal.name + DAMAGED_SUFFIX)
            kept.write_bytes(raw)
            self._warn(
                f"{journal}: the last {garbled} bytes are garbled; the file as it was is kept as {kept.name}"
            )
        return spec

    def _take_checkpoints(self) -> None:
        """Read how far the last process came. Its mark of a clean stop goes before anything is written."""
        marker = self._folder / CLEAN_SHUTDOWN
        is_marked = self._stopped_cleanly = marker.exists()
        self._recovery_points = self._read_checkpoint(RECOVERY_POINTS) or {}
        self._ends = self._read_checkpoint(HIGH_WATERMARKS) or {}
        self._starts = self._read_checkpoint(LOG_STARTS)
        if is_marked:  # also if a damaged checkpoint is no clean stop: the mark is not for the next start
            marker.unlink()
            sync_folder(self._folder)

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int] | None:
        path = self._folder / name
        if not path.exists():
            return None
        try:
            return read_offset_checkpoint(path, may_be_empty=False)  # kgroup never leaves one so
        except SourceError as error:
            self._stopped_cleanly = False  # so that every batch is looked at
            self._warn(f"{error}; written anew after a look at every batch")
            return None

    def save(self, spec: ClusterSpec, changed: Iterable[str] | None = None) -> None:
        """Add to the journal what has changed, or replace the file in one go. Raises SourceError."""
        if changed is not None and self._journal_bytes < _JOURNAL_MAX_BYTES:
            names = list(changed)
            durable = self._durable or any(name in _READ_WHOLE for name in names)
            self._add_to_journal(encode_change(spec, names), durable=durable)
            return
        # On the disk in any case: without it, what is there looks like strays.
        self._replace(CLUSTER_FILE, encode_spec(spec), durable=True)
        # The journal says nothing new now, so that it does no harm if it stays.
        self._empty_journal()
        meta = self._folder / META_PROPERTIES
        if not meta.exists():
            self._replace(META_PROPERTIES, f"version=1\ncluster.id={spec.cluster_id}\nnode.id=1\n")

    def _add_to_journal(self, line: str, *, durable: bool) -> None:
        path = self._folder / JOURNAL_FILE
        try:
            with path.open("r+b" if path.exists() else "wb", buffering=0) as journal:
                # Behind what is whole: half a line that a full disk left would spoil this one.
                journal.truncate(self._journal_bytes)
                journal.seek(self._journal_bytes)
                encoded = memoryview(line.encode())
                while encoded:
                    encoded = encoded[journal.write(encoded) :]
                if durable:
                    os.fsync(journal.fileno())
            if durable and not self._journal_has_name:
                sync_folder(self._folder)
                self._journal_has_name = True
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        self._journal_bytes += len(line.encode())

    def _empty_journal(self) -> None:
        path = self._folder / JOURNAL_FILE
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        self._journal_bytes = 0
        self._journal_has_name = False

    def _size_of_journal(self) -> int:
        """The bytes of its whole lines."""
        path = self._folder / JOURNAL_FILE
        return path.read_bytes().rfind(b"\n") + 1 if path.exists() else 0

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """The log of a partition, new or as it was; anything cut off or taken out of it is reported."""
        folder = self._folder / f"{topic.name}-{partition}"
        log = SegmentLog(folder, topic.topic_id, segment_bytes, self._opening(topic, partition))
        if log.truncated_bytes:
            self._warn(f"{folder}: cut off {log.truncated_bytes} bytes that are not a whole batch")
        self._logs[topic.name, partition] = log
        return log

    def _opening(self, topic: TopicSpec, partition: int) -> Opening:
        topic_partition = (topic.name, partition)
        recovery_point = self._recovery_points.pop(topic_partition, 0)
        end_offset = self._ends.pop(topic_partition, 0)
        starts = self._starts
        # A broker writes down only the starts that no segment's name says.
        unwritten_start = None if self._is_adopted else 0
        is_internal = topic.name in _READ_WHOLE
        return Opening(
            clean=self._stopped_cleanly,
            recovery_point=recovery_point,
            start_offset=None if starts is None else starts.get(topic_partition, unwritten_start),
            # No log has more on the disk than it has: such a file is damaged, and says nothing.
            end_offset=recovery_point if recovery_point <= end_offset else 0,
            check_all=is_internal,
            has_gaps=is_internal or self._is_adopted or "compact" in topic.configs.get("cleanup.policy", ""),
            warn=self._warn,
            handles=self._handles,
        )

    def checkpoint(self, ends: dict[TopicPartition, int]) -> None:
        """Write high watermarks, log starts and recovery points: up to where each log is on the disk."""
        self._logs = {partition: log for partition, log in self._logs.items() if partition in ends}
        points = {partition: log.recovery_point for partition, log in self._logs.items()}
        starts = {partition: log.start_offset for partition, log in self._logs.items() if log.start_offset}
        self._replace(RECOVERY_POINTS, encode_offset_checkpoint(ends | points))
        self._replace(HIGH_WATERMARKS, encode_offset_checkpoint(ends))
        self._replace(LOG_STARTS, encode_offset_checkpoint(starts))

    def close(self) -> None:
        """Let another process have the folder; it learns that all is on the disk, if that is so."""
        if self._lock is None:
            return
        if (self._folder / CLUSTER_FILE).exists() and all(
            log.recovery_point == log.end_offset for log in self._logs.values()
        ):
            self._replace(CLEAN_SHUTDOWN, _CLEAN_SHUTDOWN_TEXT, durable=True)
        for log in self._logs.values():
            log.close()
        self._lock.release()

    def _replace(self, name: str, text: str, *, durable: bool = False) -> None:
        path = self._folder / name
        try:
            replace_text(path, text, durable=durable or self._durable)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error


def _is_of_a_start(name: str) -> bool:
    """Whether a start that came to nothing leaves it in an empty folder."""
    return name == LOCK_FILE or name.endswith(DRAFT_SUFFIX)
