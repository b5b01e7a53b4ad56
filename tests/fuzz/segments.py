"""Both paths over one segment: the same records and the same damage, in the same order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID

from kgroup.log.files.entries import decode_record, to_logged_entry
from kgroup.log.files.segment import read_records, read_segment
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.scan.reading.arrow import COMMIT_SCHEMA, Dictionaries, commits_of
from kgroup.scan.reading.reader import CHUNK_BYTES, ROWS, RowReader, Slice
from kgroup.scan.reductions.rows_read import rows_read
from kgroup.scan.reductions.scan import split

PARTITION: Final = 7


@dataclass(slots=True)
class Answer:
    """What a path says of a segment: `damage` with the number of records that come before it."""

    commits: list[dict[str, object]] = field(default_factory=list)
    others: list[LoggedEntry] = field(default_factory=list)
    damage: list[tuple[int, Damage]] = field(default_factory=list)


def commit_row(logged: LoggedEntry) -> dict[str, object] | None:
    """The row of COMMIT_SCHEMA for an entry of the plain path, None for one that is no commit."""
    entry = logged.entry
    if not isinstance(entry, OffsetsEntry) or not isinstance(entry.key, OffsetCommitKey):
        return None
    value = entry.value
    assert value is None or isinstance(value, OffsetCommitValue)
    topic_id: UUID | None = value.topic_id if value is not None else None
    return {
        "offsets_partition": logged.partition,
        "log_offset": logged.offset,
        "record_timestamp": logged.timestamp_ms,
        "producer_id": -1 if logged.producer_id is None else logged.producer_id,
        "group": entry.key.group,
        "topic": entry.key.topic,
        "partition": entry.key.partition,
        "tombstone": value is None,
        "offset": -1 if value is None else value.offset,
        "leader_epoch": -1 if value is None else value.leader_epoch,
        "metadata": "" if value is None else value.metadata,
        "commit_timestamp": -1 if value is None else value.commit_timestamp,
        "expire_timestamp": -1 if value is None else value.expire_timestamp,
        "topic_id": None if topic_id is None else topic_id.bytes,
        "value_version": -1 if value is None else entry.value_version,
    }


def plain(path: Path, *, read_bytes: int | None = None) -> Answer:
    """By the plain path, reading so many bytes at a time."""
    items = read_segment(path) if read_bytes is None else read_segment(path, read_bytes=read_bytes)
    answer = Answer()
    for item in read_records(items, str(path)):
        if isinstance(item, Damage):
            answer.damage.append((len(answer.commits) + len(answer.others), item))
            continue
        batch, records = item
        for record in records:
            logged = to_logged_entry(PARTITION, batch, record, decode_record(batch, record))
            row = commit_row(logged)
            if row is None:
                answer.others.append(logged)
            else:
                answer.commits.append(row)
    return answer


def columnar(parts: Iterable[Slice], *, chunk_bytes: int = CHUNK_BYTES, rows: int = ROWS) -> Answer:
    """By the columnar path, with chunks and blocks of this size; each slice by a reader of its own."""
    answer = Answer()
    for part in parts:
        reader = RowReader(chunk_bytes=chunk_bytes, rows=rows)
        dictionaries = Dictionaries()
        for read in rows_read(part, reader):
            answer.damage += [(len(answer.commits) + len(answer.others), item) for item in read.damage]
            commits = commits_of(read.block, read.keys, read.partition, COMMIT_SCHEMA.names, dictionaries)
            answer.commits += commits.to_pylist()
            answer.others += read.others
    return answer


def differences(path: Path, targets: Sequence[int] = (), chunks: Sequence[int] = ()) -> Iterator[str]:
    """What the columnar path says otherwise: whole, in slices and in chunks of these sizes."""
    expected = plain(path)
    whole = split(path, PARTITION, 1 << 40)
    yield from _unequal("whole", columnar(whole), expected)
    for target in targets:
        yield from _unequal(f"slices of {target}", columnar(split(path, PARTITION, target)), expected)
    for chunk_bytes in chunks:
        yield from _unequal(f"chunks of {chunk_bytes}", columnar(whole, chunk_bytes=chunk_bytes), expected)


def _unequal(name: str, answer: Answer, expected: Answer) -> Iterator[str]:
    for part in ("damage", "commits", "others"):
        here, there = getattr(answer, part), getattr(expected, part)
        if here != there:
            at = next((n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), None)
            at = min(len(here), len(there)) if at is None else at
            yield (
                f"{name}: {part} {at} of {len(here)}/{len(there)}: columnar {here[at : at + 1]}, "
                f"plain {there[at : at + 1]}"
            )
