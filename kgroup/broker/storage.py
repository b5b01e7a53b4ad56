"""Storage for a cluster's logs and for what it knows of its topics: nowhere, or in a folder."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol
from uuid import UUID

from kgroup.errors import SourceError
from kgroup.log.files.checkpoints import (
    HIGH_WATERMARKS,
    META_PROPERTIES,
    RECOVERY_POINTS,
    encode_offset_checkpoint,
)
from kgroup.log.store.atomic_file import DRAFT_SUFFIX, replace_text
from kgroup.log.store.folder_lock import LOCK_FILE, FolderLock
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.log.store.segment_log import SegmentLog
from kgroup.protocol.topic_partition import TopicPartition

_CLUSTER_FILE: Final = "kgroup-cluster.json"


@dataclass(slots=True, kw_only=True)
class TopicSpec:
    """A topic as it is kept: everything but its records."""

    name: str
    topic_id: UUID
    partitions: int
    replication_factor: int
    configs: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ClusterSpec:
    """The state that outlives a restart besides the logs. `next_producer_id` is the first not given out."""

    cluster_id: str
    topics: dict[str, TopicSpec] = field(default_factory=dict)
    next_producer_id: int = 0


class Storage(Protocol):
    """Logs and the cluster's own facts."""

    def load(self) -> ClusterSpec | None:
        """The stored state, or None the first time; from now on it is this process's. Raises SourceError."""

    def save(self, spec: ClusterSpec) -> None:
        """Keep these facts. Raises SourceError."""

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """The log of a partition, new or as it was. Raises SourceError."""

    def checkpoint(self, ends: dict[TopicPartition, int]) -> None:
        """Write down the end of each log. Raises SourceError."""

    def close(self) -> None:
        """Let others have it."""


class MemoryStorage:
    """Nothing outlives the process."""

    def load(self) -> ClusterSpec | None:
        """Nothing was kept."""
        return None

    def save(self, spec: ClusterSpec) -> None:
        """Nothing is kept."""

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """An empty log."""
        return MemoryLog()

    def checkpoint(self, ends: dict[TopicPartition, int]) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nobody else could have it."""


class FolderStorage:
    """A log dir as Kafka lays it out: a folder per partition, checkpoints, `meta.properties`.

    There is one copy of each partition, whatever the number of nodes. Topics and their settings are in
    a file of kgroup's own, since Kafka keeps them in its metadata log. From `load` to `close` no other
    process can have the folder: opening a log cuts off what another may be writing.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._warn = warn
        self._lock: FolderLock | None = None

    def load(self) -> ClusterSpec | None:
        """The stored state, or None in a new folder. Raises SourceError, also if another process has it."""
        path = self._folder / _CLUSTER_FILE
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = "not a directory" if isinstance(error, FileExistsError) else error.strerror or error
            raise SourceError(f"{self._folder}: {why}") from error
        try:
            if not path.exists():
                if any(not _is_of_a_start(entry.name) for entry in self._folder.iterdir()):
                    raise SourceError(f"{self._folder}: not empty, and not a folder that kgroup serve made")
                self._lock = FolderLock(self._folder)
                return None
            self._lock = FolderLock(self._folder)
            text = path.read_text()
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        try:
            return _read_spec(json.loads(text))
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(f"{path}: not what kgroup wrote: {error}") from error

    def save(self, spec: ClusterSpec) -> None:
        """Replace the file in one go. Raises SourceError."""
        topics = {
            name: {
                "id": str(topic.topic_id),
                "partitions": topic.partitions,
                "replicationFactor": topic.replication_factor,
                "configs": topic.configs,
            }
            for name, topic in sorted(spec.topics.items())
        }
        facts = {"clusterId": spec.cluster_id, "nextProducerId": spec.next_producer_id, "topics": topics}
        self._replace(_CLUSTER_FILE, json.dumps(facts, indent=1))
        meta = self._folder / META_PROPERTIES
        if not meta.exists():
            self._replace(META_PROPERTIES, f"version=1\ncluster.id={spec.cluster_id}\nnode.id=1\n")

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """The log of a partition, new or as it was; a torn tail is cut off with a warning."""
        folder = self._folder / f"{topic.name}-{partition}"
        log = SegmentLog(folder, topic.topic_id, segment_bytes)
        if log.truncated_bytes:
            self._warn(f"{folder}: cut off {log.truncated_bytes} bytes that are no whole batch")
        return log

    def checkpoint(self, ends: dict[TopicPartition, int]) -> None:
        """Write high watermarks and recovery points."""
        text = encode_offset_checkpoint(ends)
        self._replace(HIGH_WATERMARKS, text)
        self._replace(RECOVERY_POINTS, text)

    def close(self) -> None:
        """Let another process have the folder."""
        if self._lock is not None:
            self._lock.release()

    def _replace(self, name: str, text: str) -> None:
        path = self._folder / name
        try:
            replace_text(path, text)
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error


def _is_of_a_start(name: str) -> bool:
    """Whether a start that came to nothing leaves it in an empty folder."""
    return name == LOCK_FILE or name.endswith(DRAFT_SUFFIX)


def _read_spec(facts: dict[str, object]) -> ClusterSpec:
    topics = facts["topics"]
    cluster_id, next_producer_id = facts["clusterId"], facts["nextProducerId"]
    if not (isinstance(topics, dict) and isinstance(cluster_id, str) and isinstance(next_producer_id, int)):
        raise ValueError("a field has the wrong type")
    return ClusterSpec(
        cluster_id=cluster_id,
        next_producer_id=next_producer_id,
        topics={
            name: TopicSpec(
                name=name,
                topic_id=UUID(topic["id"]),
                partitions=int(topic["partitions"]),
                replication_factor=int(topic["replicationFactor"]),
                configs={str(key): str(value) for key, value in topic["configs"].items()},
            )
            for name, topic in topics.items()
        },
    )
