"""The filter of `kgroup decode`: which records it shows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final

from kgroup.api.names import matches_any
from kgroup.errors import InputError
from kgroup.log.files.entries import ReadRecord
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.protocol.records.codec import decode_key
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, TransactionMarker, Undecodable
from kgroup.protocol.records.keys import Key, OffsetCommitKey, group_of
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.share_state import SHARE_STATE_TOPIC, ShareStateType

CONTROL: Final = "control"
UNDECODED: Final = "undecoded"
EMPTY_BATCH: Final = "empty-batch"
RecordTypes = RecordType | ShareStateType
"""The types of records in the offsets topic, and in that of share groups' state."""

_TOPIC_OF: Final[dict[type[RecordTypes], str]] = {
    RecordType: OFFSETS_TOPIC,
    ShareStateType: SHARE_STATE_TOPIC,
}
_TOPIC: Final = re.compile(r"(?P<topic>[^:]+)(?::(?P<partitions>[0-9]{1,10}(?:,[0-9]{1,10})*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Every condition must hold; None is no condition. Times are epoch ms: `since_ms` <= time < `until_ms`.

    `offsets` are those of the log, from the first to the last, both included.
    """

    groups: tuple[str, ...] | None = None
    topics: tuple[tuple[str, frozenset[int] | None], ...] | None = None
    types: frozenset[str] | None = None
    since_ms: int | None = None
    until_ms: int | None = None
    first_offset: int | None = None
    last_offset: int | None = None
    tombstones: bool = False

    @property
    def takes_all(self) -> bool:
        """Whether there is no condition."""
        return self == Filter()

    def wants(self, read: ReadRecord) -> bool:
        """Whether to show the record, or the empty batch."""
        return self._is_within(read) and self._is_about(read)

    def is_before_end(self, read: ReadRecord) -> bool:
        """Whether the record is older than where `until_ms` and `last_offset` end the log."""
        if self.last_offset is not None and _offset(read) > self.last_offset:
            return False
        return self.until_ms is None or _time_ms(read) < self.until_ms

    def _is_within(self, read: ReadRecord) -> bool:
        if self.first_offset is not None and _offset(read) < self.first_offset:
            return False
        if self.since_ms is not None and _time_ms(read) < self.since_ms:
            return False
        return self.is_before_end(read)

    def wants_key(self, key: Key) -> bool:
        """Whether the group and the topic that a key is about are wanted."""
        if self.groups is not None and not matches_any(group_of(key), self.groups):
            return False
        if self.topics is None:
            return True
        return isinstance(key, OffsetCommitKey) and any(
            fnmatchcase(key.topic, topic) and (partitions is None or key.partition in partitions)
            for topic, partitions in self.topics
        )

    def _is_about(self, read: ReadRecord) -> bool:
        if self.types is not None and self.types.isdisjoint(_type_names(read)):
            return False
        if self.tombstones and not _is_tombstone(read):
            return False
        if self.groups is None and self.topics is None:
            return True
        key = _key(read)
        return key is not None and self.wants_key(key)


def type_name_of(record_type: RecordTypes) -> str:
    """`offset-commit`, `group-metadata`, …"""
    return record_type.name.lower().replace("_", "-")


def type_names(of: type[RecordTypes] = RecordType) -> tuple[str, ...]:
    """What `--type` takes and the column `TYPE` shows: Kafka's names of record types, and what has none."""
    return (*map(type_name_of, of), CONTROL, UNDECODED, EMPTY_BATCH)


def parse_types(given: Sequence[str], of: type[RecordTypes] = RecordType) -> frozenset[str]:
    """Names from names, patterns, and Kafka's numbers. Raises InputError with the nearest names."""
    types: set[str] = set()
    known = type_names(of)
    for text in given:
        wanted = text.lower().replace("_", "-")
        if wanted.isdecimal():
            digits = wanted.lstrip("0") or "0"  # as text: Python refuses to count thousands of them
            names = [type_name_of(number) for number in of if str(int(number)) == digits]
        else:
            names = [name for name in known if fnmatchcase(name, wanted)]
        if not names:
            for others, topic in _TOPIC_OF.items():
                if others is not of and wanted in map(type_name_of, others):
                    here = _TOPIC_OF[of]
                    raise InputError(f"--type {text}: a type of {topic}, and these are records of {here}")
            near = get_close_matches(wanted, known, n=3) or known
            raise InputError(f"--type {text}: no such record type; is it {', '.join(near)}?")
        types.update(names)
    return frozenset(types)


def parse_topics(given: Sequence[str]) -> tuple[tuple[str, frozenset[int] | None], ...]:
    """`TOPIC` or `TOPIC:0,3`, as kafka-consumer-groups takes them. Raises InputError."""
    topics = []
    for text in given:
        parts = _TOPIC.fullmatch(text)
        if parts is None:
            raise InputError(f"--topic {text}: give TOPIC or TOPIC:PARTITION,PARTITION, as orders:0,3")
        numbers = parts["partitions"]
        partitions = frozenset(map(int, numbers.split(","))) if numbers else None
        topics.append((parts["topic"], partitions))
    return tuple(topics)


def _type_names(read: ReadRecord) -> set[str]:
    """The record's names for `--type`; one with an undecodable value also has its key's type."""
    match read.entry:
        case OffsetsEntry(type=record_type):
            return {type_name_of(record_type)}
        case Undecodable(key=bytes(raw)) if not read.batch.control:
            decoded = decode_key(raw)
            return {UNDECODED} if decoded is None else {UNDECODED, type_name_of(decoded[0])}
        case Undecodable():
            return {UNDECODED}
        case TransactionMarker():
            return {CONTROL}
        case None:
            return {EMPTY_BATCH}


def _key(read: ReadRecord) -> Key | None:
    match read.entry:
        case OffsetsEntry(key=key):
            return key
        case Undecodable(key=bytes(raw)) if not read.batch.control:
            decoded = decode_key(raw)
            return None if decoded is None else decoded[1]
        case _:
            return None


def _offset(read: ReadRecord) -> int:
    return read.batch.base_offset if read.record is None else read.record.offset


def _time_ms(read: ReadRecord) -> int:
    """The record's time; in message format 0, which has none, that of the commit, else -1."""
    if read.record is None:
        return read.batch.max_timestamp_ms
    if read.record.timestamp_ms < 0 and isinstance(read.entry, OffsetsEntry):
        value = read.entry.value
        return value.commit_timestamp if isinstance(value, OffsetCommitValue) else -1
    return read.record.timestamp_ms


def _is_tombstone(read: ReadRecord) -> bool:
    return isinstance(read.entry, OffsetsEntry) and read.entry.value is None
