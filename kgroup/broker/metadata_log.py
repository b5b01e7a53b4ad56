"""Topics and groups in a KRaft broker's metadata log, as far as kgroup needs them.

Formats: Kafka's TopicRecord, PartitionRecord, ConfigRecord, RemoveTopicRecord and ProducerIdsRecord, in the
frame of MetadataRecordSerde (KIP-631). Other records, and what a version adds at the end, are passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Final
from uuid import UUID

from kgroup.errors import SourceError
from kgroup.log.files.segment import read_records, read_segment
from kgroup.log.format.batch import Damage

_RESOURCE_TOPIC: Final = 2
_RESOURCE_GROUP: Final = 32
_UUID_BYTES: Final = 16


class Kind(IntEnum):
    """The types of metadata records that say something of topics, by their api key."""

    TOPIC = 2
    PARTITION = 3
    CONFIG = 4
    REMOVE_TOPIC = 9
    PRODUCER_IDS = 15


@dataclass(slots=True, kw_only=True)
class MetadataTopics:
    """Topics by id; configs by the name of topic or group. `next_producer_id` is the first not given out."""

    names: dict[UUID, str] = field(default_factory=dict)
    partitions: dict[UUID, int] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    next_producer_id: int = 0

    def apply(self, value: bytes) -> None:
        """Take in a record. Raises ValueError if it is cut short."""
        reader = _Reader(value)
        reader.varint()  # of the frame
        kind, _ = reader.varint(), reader.varint()
        match kind:
            case Kind.TOPIC:
                name, topic_id = reader.string() or "", reader.uuid()
                self.names[topic_id] = name
            case Kind.PARTITION:
                index, topic_id = reader.integer(4), reader.uuid()
                self.partitions[topic_id] = max(index + 1, self.partitions.get(topic_id, 0))
            case Kind.CONFIG:
                kept = {_RESOURCE_TOPIC: self.configs, _RESOURCE_GROUP: self.group_configs}.get(
                    reader.integer(1)
                )
                resource, name, text = reader.string() or "", reader.string() or "", reader.string()
                if kept is not None and text is not None:
                    kept.setdefault(resource, {})[name] = text
                elif kept is not None:
                    kept.get(resource, {}).pop(name, None)
            case Kind.REMOVE_TOPIC:
                topic_id = reader.uuid()
                self.configs.pop(self.names.pop(topic_id, ""), None)
                self.partitions.pop(topic_id, None)
            case Kind.PRODUCER_IDS:
                reader.integer(4), reader.integer(8)
                self.next_producer_id = max(self.next_producer_id, reader.integer(8))
            case _:
                pass


def read_metadata_log(folder: Path) -> MetadataTopics:
    """The state after the newest snapshot and the log behind it. Raises SourceError if it is damaged."""
    topics = MetadataTopics()
    snapshots = sorted(folder.glob("*-*.checkpoint"))
    for path in [*snapshots[-1:], *sorted(folder.glob("*.log"))]:
        for value in _values(path):
            try:
                topics.apply(value)
            except ValueError as error:
                raise SourceError(f"{path}: a record of the metadata log is cut short: {error}") from error
    return topics


def _values(path: Path) -> Iterator[bytes]:
    for item in read_records(read_segment(path), str(path)):
        if isinstance(item, Damage):
            if item.size or item.position:
                raise SourceError(f"{path} at byte {item.position}: {item.why}")
            continue  # an empty file
        batch, records = item
        if not batch.control:
            yield from (record.value for record in records if record.value is not None)


class _Reader:
    """Fields of the flexible format (KIP-482) one after another. Raises ValueError where the bytes end."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    def _take(self, size: int) -> bytes:
        taken = self._raw[self._at : self._at + size]
        if size < 0 or len(taken) < size:
            raise ValueError(f"{size} bytes wanted at {self._at} of {len(self._raw)}")
        self._at += size
        return taken

    def varint(self) -> int:
        value = shift = 0
        while True:  # ends: each turn takes a byte, or none is left
            [octet] = self._take(1)
            value |= (octet & 0x7F) << shift
            if octet < 0x80:
                return value
            shift += 7

    def string(self) -> str | None:
        size = self.varint() - 1
        return None if size < 0 else self._take(size).decode()

    def integer(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def uuid(self) -> UUID:
        return UUID(bytes=self._take(_UUID_BYTES))
