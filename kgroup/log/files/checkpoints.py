"""The small text files of a log directory and of a partition folder.

Raises SourceError, naming the file and line, for a file that is not what its name says: Kafka itself
refuses to start on one. Formats: Kafka's CheckpointFile, PartitionMetadataFile, meta.properties.
"""

import base64
import binascii
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar
from uuid import UUID

from kgroup.errors import SourceError
from kgroup.input_files import LIST_BYTES_MAX, read_input_file
from kgroup.protocol.topic_id import TopicId
from kgroup.protocol.topic_partition import TopicPartition

HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
CLEANED: Final = "cleaner-offset-checkpoint"
LEADER_EPOCHS: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
META_PROPERTIES: Final = "meta.properties"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
"""There if the last process brought everything to the disk and stopped (CleanShutdownFileHandler)."""

_Line = TypeVar("_Line")
_TOPIC_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")


class EpochStart(NamedTuple):
    """The first offset that a leader wrote in its epoch."""

    leader_epoch: int
    start_offset: int


def read_offset_checkpoint(path: Path, *, may_be_empty: bool = True) -> dict[TopicPartition, int]:
    """Offset by partition: high watermarks, recovery points, log starts or cleaned offsets.

    An empty file is one that a broker of Kafka's has just made, unless `may_be_empty` is False.
    """

    def read_line(line: str) -> tuple[TopicPartition, int]:
        topic, partition, offset = line.split(" ")
        return (topic, int(partition)), int(offset)

    return dict(_read_checkpoint(path, read_line, may_be_empty))


def read_leader_epochs(path: Path, *, may_be_empty: bool = True) -> list[EpochStart]:
    """The leader epochs of one partition, oldest first; an empty file as in `read_offset_checkpoint`."""

    def read_line(line: str) -> EpochStart:
        epoch, start_offset = line.split(" ")
        return EpochStart(int(epoch), int(start_offset))

    return _read_checkpoint(path, read_line, may_be_empty)


def read_topic_id(path: Path) -> TopicId:
    """The topic id in a `partition.metadata` (Kafka 2.8 on), None for the zero id."""
    properties = dict(line.split(": ", 1) for line in _read_lines(path) if ": " in line)
    text = properties.get("topic_id", "")
    if not _TOPIC_ID.fullmatch(text):  # the decoder below passes over what is no letter of its own
        raise SourceError(f"{path}: topic_id {text!r} is not a topic id")
    try:
        topic_id = UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except (ValueError, binascii.Error) as error:
        raise SourceError(f"{path}: topic_id {text!r} is not a topic id") from error
    return topic_id if topic_id.int else None


def read_cluster_id(path: Path) -> str | None:
    """The cluster's id in a `meta.properties`, None where the version of Kafka did not write it."""
    properties = dict(line.split("=", 1) for line in _read_lines(path) if "=" in line)
    return properties.get("cluster.id")


def encode_offset_checkpoint(offsets: dict[TopicPartition, int]) -> str:
    """The text of an offset checkpoint, sorted by partition."""
    lines = [f"{topic} {partition} {offset}\n" for (topic, partition), offset in sorted(offsets.items())]
    return f"0\n{len(lines)}\n" + "".join(lines)


def encode_leader_epochs(epochs: list[EpochStart]) -> str:
    """The text of a leader epoch checkpoint."""
    return f"0\n{len(epochs)}\n" + "".join(f"{epoch} {start_offset}\n" for epoch, start_offset in epochs)


def _read_checkpoint(path: Path, read_line: Callable[[str], _Line], may_be_empty: bool) -> list[_Line]:
    lines = _read_lines(path)
    if not lines and may_be_empty:
        return []  # as a broker makes the file when it starts; it fills it by putting another in its place
    if len(lines) < 2:
        raise SourceError(f"{path}: {len(lines)} lines, while a checkpoint has a version and a count")
    if lines[0] not in ("0", "1"):
        raise SourceError(f"{path}:1: version {lines[0]!r} is not 0 or 1")
    entries: list[_Line] = []
    for number, line in enumerate(lines[2:], start=3):
        try:
            entries.append(read_line(line))
        except ValueError as error:
            raise SourceError(f"{path}:{number}: {line!r} is not a checkpoint entry") from error
    if lines[1] != str(len(entries)):
        raise SourceError(f"{path}:2: the count says {lines[1]}, {len(entries)} entries follow")
    return entries


def _read_lines(path: Path) -> list[str]:
    try:
        content = read_input_file(path, kind="file of a broker's", bytes_max=LIST_BYTES_MAX)
        return content.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: byte {error.start} is not text") from error
