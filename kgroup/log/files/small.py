"""Small logs without anything odd, read record by record.

The columnar path (`kgroup.scan`) takes longer to import, with NumPy and Arrow, than Python takes to read a
megabyte. What is odd (damage, records that cannot be decoded or only with a note, large batches) is left to
it, so that there is one answer to each oddity.
"""

import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kgroup.log.files.entries import decode_marker, to_logged_entry
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.segment import read_among_others, read_records
from kgroup.log.format.batch import Batch, Damage, LogRecord
from kgroup.protocol.payload import PREFIX_BYTES
from kgroup.protocol.records.codec import decode_entry, decode_key
from kgroup.protocol.records.entries import (
    LoggedEntry,
    OffsetGap,
    OffsetsEntry,
    RecordType,
    TransactionMarker,
    Undecodable,
)
from kgroup.protocol.records.keys import group_of
from kgroup.protocol.records.plain_commit import read_plain_commit

SMALL_BYTES: Final = 1_500_000
_RECORDS_MAX: Final = 50_000  # a small segment of compressed batches may hold millions
_COMMIT_PREFIX: Final = RecordType.OFFSET_COMMIT.to_bytes(PREFIX_BYTES)
_COMMIT_PREFIXES: Final = (RecordType.LEGACY_OFFSET_COMMIT.to_bytes(PREFIX_BYTES), _COMMIT_PREFIX)


class SmallLog(NamedTuple):
    """What a small log says of its end.

    `commits` are the newest commit of each key outside of transactions, be it a tombstone, and all entries
    and markers of transactions in the order of the log; `others` the newest of each other key, which no
    transaction holds back. As on the columnar path the values that these others have replaced are not looked
    into.
    """

    commits: list[LoggedEntry]
    others: list[LoggedEntry]


def small_bytes(sources: Iterable[SegmentFile]) -> int | None:
    """How many bytes the segments have together; None if they are many, or not all of them files."""
    try:
        size = sum(map(_size, sources))
    except _NotForUsError:
        return None
    return size if size <= SMALL_BYTES else None


def read_small(sources: Iterable[SegmentFile]) -> SmallLog | None:
    """The segments in the order given; None for a log that is not small or has an oddity."""
    commits: list[LoggedEntry] = []
    others: list[LoggedEntry] = []
    newest: dict[tuple[int, bytes], tuple[SegmentFile, Batch, LogRecord]] = {}
    try:
        for read in _records(sources):
            segment, batch, record = read
            is_commit = record.key is not None and record.key.startswith(_COMMIT_PREFIXES)
            if record.key is None or batch.control or (batch.transactional and is_commit):
                commits.append(_entry(*read))
                continue
            key = segment.partition, record.key
            before = newest.get(key)
            if before is None or before[2].offset < record.offset:
                newest[key] = read
            if is_commit and before is not None:
                # Of a commit that is replaced the columnar path says, too, what is odd about it.
                _require_commit(record if newest[key] is before else before[2])
        for read in newest.values():
            key_bytes = read[2].key
            assert key_bytes is not None
            (commits if key_bytes.startswith(_COMMIT_PREFIXES) else others).append(_entry(*read))
    except _NotForUsError:
        return None
    return SmallLog(commits, others)


def read_small_of(
    sources: Iterable[SegmentFile], wanted: Callable[[str], bool]
) -> list[LoggedEntry | OffsetGap] | None:
    """The entries of the groups that are `wanted` as `kgroup.scan.reductions.select` gives them, or None.

    With the markers of transactions in which they committed; in front of an entry, if the log skips offsets
    since the entry before, the last of these gaps.
    """
    chosen: list[LoggedEntry | OffsetGap] = []
    is_wanted: dict[bytes, bool] = {}
    partition, following, gap, open_producers = -1, 0, None, set[int]()
    try:
        for segment, batch, record in _records(sources):
            if segment.partition != partition:
                partition, following, gap, open_producers = segment.partition, 0, None, set()
            if record.offset > following:
                gap = OffsetGap(partition=partition, first_offset=following, last_offset=record.offset - 1)
            following = record.offset + 1
            if batch.control:
                if batch.producer_id not in open_producers:
                    continue
                open_producers.discard(batch.producer_id)
            elif not _is_of(record.key, wanted, is_wanted):
                continue
            logged = _entry(segment, batch, record)
            if logged.producer_id is not None and not batch.control:
                open_producers.add(logged.producer_id)
            if gap is not None:
                chosen.append(gap)
                gap = None
            chosen.append(logged)
    except _NotForUsError:
        return None
    return chosen


class _NotForUsError(Exception):
    """The log is not small, or something in it is odd."""


def _records(sources: Iterable[SegmentFile]) -> Iterator[tuple[SegmentFile, Batch, LogRecord]]:
    segments = list(sources)
    if small_bytes(segments) is None:
        raise _NotForUsError
    left = _RECORDS_MAX
    for segment in segments:
        for item in read_records(read_among_others(segment.path), segment.path):
            if isinstance(item, Damage):
                raise _NotForUsError
            batch, records = item
            left -= len(records)
            if left < 0 or (batch.control and not batch.transactional):
                raise _NotForUsError
            for record in records:
                yield segment, batch, record


def _size(segment: SegmentFile) -> int:
    try:
        status = Path(segment.path).stat()
    except (OSError, ValueError):
        raise _NotForUsError from None
    if not stat.S_ISREG(status.st_mode):
        raise _NotForUsError
    return status.st_size


def _require_commit(record: LogRecord) -> None:
    """Raises _NotForUsError for a commit with an odd value."""
    key, value = record.key, record.value
    assert key is not None
    if value is None:
        return
    is_plain = key.startswith(_COMMIT_PREFIX) and read_plain_commit(
        value, int.from_bytes(value[:PREFIX_BYTES])
    )
    if not is_plain:
        _require_plain(decode_entry(key, value))


def _entry(segment: SegmentFile, batch: Batch, record: LogRecord) -> LoggedEntry:
    entry = decode_marker(batch, record) if batch.control else decode_entry(record.key, record.value)
    _require_plain(entry)
    return to_logged_entry(segment.partition, batch, record, entry)


def _require_plain(entry: OffsetsEntry | Undecodable | TransactionMarker) -> None:
    if isinstance(entry, OffsetsEntry):
        if entry.note is not None or entry.key_bytes is not None or entry.value_bytes is not None:
            raise _NotForUsError
    elif not isinstance(entry, TransactionMarker):
        raise _NotForUsError


def _is_of(key: bytes | None, wanted: Callable[[str], bool], known: dict[bytes, bool]) -> bool:
    if key is None:
        raise _NotForUsError
    answer = known.get(key)
    if answer is None:
        decoded = decode_key(key)
        if decoded is None:
            raise _NotForUsError
        answer = known[key] = wanted(group_of(decoded[1]))
    return answer
