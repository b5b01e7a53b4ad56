"""Logs of `__share_group_state`: each record, and the progress of share groups by them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.log.files.entries import ReadRecord, decode_marker, undecodable
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.segment import read_among_others, read_records
from kgroup.log.format.batch import Batch, Damage, LogRecord
from kgroup.protocol.records.entries import Undecodable
from kgroup.protocol.share_state import (
    SHARE_STATE_TOPIC,
    ShareSnapshotValue,
    ShareStateEntry,
    ShareStateValue,
    decode_share_state,
)

Place = tuple[str, UUID, int]
"""Group, topic id and partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareProgress:
    """The offset at which a group begins to read a partition, and how many from there on it is done with.

    None is what no record says: before the first fetch, or in logs of 4.1 and before.
    """

    start_offset: int | None
    complete: int | None
    leader_epoch: int


class ShareRecord(NamedTuple):
    """A record with its file, batch and bytes.

    `entry` is None for what is no record of a group: one that cannot be decoded, or the end of a transaction,
    which is `read.entry` then; or a batch without records.
    """

    read: ReadRecord
    entry: ShareStateEntry | None


def read_share_records(segments: Iterable[SegmentFile]) -> Iterator[ShareRecord | Damage]:
    """All records in the order given, and the damage between them; also a file that cannot be read."""
    for segment in segments:
        for item in read_records(read_among_others(segment.path), segment.path):
            if isinstance(item, Damage):
                yield item
                continue
            batch, records = item
            if not records:
                yield ShareRecord(ReadRecord(segment, batch, None, None), None)
            for record in records:
                yield _decoded(segment, batch, record)


def _decoded(segment: SegmentFile, batch: Batch, record: LogRecord) -> ShareRecord:
    if batch.control:
        return ShareRecord(ReadRecord(segment, batch, record, decode_marker(batch, record)), None)
    try:
        entry = decode_share_state(record.key or b"", record.value)
    except DecodeError as error:
        return ShareRecord(ReadRecord(segment, batch, record, undecodable(record, str(error))), None)
    return ShareRecord(ReadRecord(segment, batch, record, None), entry)


def read_share_state(log_dirs: Iterable[Path]) -> tuple[dict[Place, ShareProgress], list[str]]:
    """The progress at the end of the logs, and what could not be read, with file and reason.

    Of several copies of a partition the one that reaches furthest counts.
    """
    copies: dict[str, list[Path]] = {}
    for log_dir in log_dirs:
        for folder in log_dir.glob(f"{SHARE_STATE_TOPIC}-*"):
            if folder.name.removeprefix(f"{SHARE_STATE_TOPIC}-").isdecimal():
                copies.setdefault(folder.name, []).append(folder)
    found: dict[Place, ShareProgress] = {}
    problems: list[str] = []
    for name in sorted(copies):
        _, newest = max((_read(folder, problems) for folder in sorted(copies[name])), key=itemgetter(0))
        found |= newest
    return found, problems


def _read(folder: Path, problems: list[str]) -> tuple[int, dict[Place, ShareProgress]]:
    """The last offset in a folder, and the state as of that."""
    found: dict[Place, ShareProgress] = {}
    last = -1
    for item in read_share_records(_segments(folder)):
        if isinstance(item, Damage):
            if item.size or item.position:  # else an empty file
                problems.append(f"{item.segment} at byte {item.position}: {item.why}")
            continue
        read, entry = item
        if read.record is None or read.batch.control:
            continue
        last = read.record.offset
        if isinstance(read.entry, Undecodable):
            problems.append(f"{read.segment.path} offset {last}: {read.entry.why}")
        if entry is not None and entry.key.topic_id is not None:
            _take(found, (entry.key.group_id, entry.key.topic_id, entry.key.partition), entry.value)
    return last, found


def _segments(folder: Path) -> Iterator[SegmentFile]:
    partition = int(folder.name.removeprefix(f"{SHARE_STATE_TOPIC}-"))
    for path in sorted(folder.glob("*.log")):
        yield SegmentFile(path=str(path), topic=SHARE_STATE_TOPIC, partition=partition, base_offset=None)


def _take(found: dict[Place, ShareProgress], place: Place, value: ShareStateValue | None) -> None:
    if value is None:
        found.pop(place, None)
        return
    before = found.get(place)
    start = None if value.start_offset < 0 else value.start_offset
    if start is None and before is not None and not isinstance(value, ShareSnapshotValue):
        start = before.start_offset
    found[place] = ShareProgress(
        start_offset=start,
        complete=None if value.delivery_complete_count < 0 else value.delivery_complete_count,
        leader_epoch=value.leader_epoch,
    )
