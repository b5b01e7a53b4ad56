"""The columnar path for a few groups: their entries in log order, at scan speed.

Keys are interned by the scan, so whether a record is of a wanted group is asked once for each distinct key;
after that it is one look-up of a number for a whole block of rows. Only chosen rows become objects.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from kgroup.log.format.batch import Damage
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import (
    LoggedEntry,
    OffsetGap,
    OffsetsEntry,
    RecordType,
    TransactionMarker,
    Undecodable,
)
from kgroup.protocol.records.keys import OffsetCommitKey, group_of
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.topic_id import TopicId
from kgroup.scan.kernels.keys import (
    COMMIT_TAG,
    GROUP,
    GROUP_TAG,
    START,
    TAG,
    Keys,
    ids_with_tag,
    key_bytes,
    key_count,
)
from kgroup.scan.kernels.rows import (
    ABORTED,
    BATCH_LEADER_EPOCH,
    COMMIT,
    COMMIT_TIMESTAMP,
    COMMITTED,
    DROPPED,
    EXPIRE_TIMESTAMP,
    KEY_ID,
    KIND,
    LEADER_EPOCH,
    LOG_OFFSET,
    OFFSET,
    PRODUCER_ID,
    RECORD_TIMESTAMP,
    TEXT_POSITION,
    TEXT_SIZE,
    TOMBSTONE,
    TOPIC_ID_POSITION,
    VALUE_VERSION,
)
from kgroup.scan.reading.reader import RowBlock, RowReader, Slice
from kgroup.scan.reductions.newest import logged_entry, value_bytes

_LENGTH_BYTES = 2
_TOPIC_ID_BYTES = 16


def select(
    slices: Iterable[Slice], wanted: Callable[[str], bool], *, advance: Callable[[int], None] | None = None
) -> Iterator[LoggedEntry | Damage | OffsetGap]:
    """The entries of the groups that are `wanted` (by group id), in log order.

    Between them: the markers of transactions in which they committed; damage; and in front of an entry, if
    the log skips offsets anywhere since the entry yielded before, the last of these gaps. The topic id of a
    commit is left out. Slices of a partition follow each other in log order. `advance` is called with the
    bytes read. Raises SourceError if a file cannot be read.
    """
    for partition, parts in groupby(slices, key=lambda part: part.offsets_partition):
        selection = _Selection(partition, wanted)
        for part in parts:
            yield from selection.read(part)
            if advance is not None:
                advance(part.end - part.start)


class _Selection:
    """The state kept from block to block of one offsets partition."""

    def __init__(self, partition: int, wanted: Callable[[str], bool]) -> None:
        self._partition = partition
        self._wanted = wanted
        self._reader = RowReader()
        self._is_wanted: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._judged = 0
        self._next_offset = 0
        self._gap: OffsetGap | None = None
        self._commit_keys: dict[int, OffsetCommitKey] = {}
        self._open: set[int] = set()  # producers with commits of wanted groups and without a marker yet

    def read(self, part: Slice) -> Iterator[LoggedEntry | Damage | OffsetGap]:
        for item in self._reader.read(part):
            if isinstance(item, Damage):
                yield item
            elif item.count:
                yield from self._choose(item)

    def _choose(self, block: RowBlock) -> Iterator[LoggedEntry | OffsetGap]:
        self._judge_new_keys(self._reader.keys)
        rows = block.rows[:, : block.count]
        kinds, key_ids = rows[KIND], rows[KEY_ID]
        chosen = self._is_wanted[np.maximum(key_ids, 0)] & (key_ids >= 0) & (kinds != DROPPED)
        if self._open or (rows[PRODUCER_ID].take(np.flatnonzero(chosen)) >= 0).any():
            chosen |= (kinds == COMMITTED) | (kinds == ABORTED)
        judged = dict(block.others)
        for row, odd in judged.items():
            chosen[row] = isinstance(odd, OffsetsEntry) and self._wanted(group_of(odd.key))
        offsets = rows[LOG_OFFSET]
        # Where the log skips offsets: what comes before row i + 1 is not offsets[i + 1] - 1.
        skips = np.flatnonzero(offsets[1:] > offsets[:-1] + 1) + 1
        if offsets[0] > self._next_offset:
            skips = np.concatenate([np.zeros(1, skips.dtype), skips])
        numbers = np.flatnonzero(chosen)
        behind = np.searchsorted(skips, numbers, side="right").tolist()  # skips up to each chosen row
        noted = 0
        for row, skipped, cells in zip(numbers.tolist(), behind, rows[:, numbers].T.tolist(), strict=True):
            if skipped > noted:
                self._note_gap(offsets, int(skips[skipped - 1]))
                noted = skipped
            entry = self._entry(block, row, cells, judged)
            if entry is None:
                continue
            if self._gap is not None:
                yield self._gap
                self._gap = None
            yield entry
        if len(skips) > noted:
            self._note_gap(offsets, int(skips[-1]))
        self._next_offset = int(offsets[-1]) + 1

    def _note_gap(self, offsets: NDArray[np.int64], row: int) -> None:
        first = int(offsets[row - 1]) + 1 if row else self._next_offset
        self._gap = OffsetGap(
            partition=self._partition, first_offset=first, last_offset=int(offsets[row]) - 1
        )

    def _entry(
        self, block: RowBlock, row: int, cells: list[int], judged: dict[int, OffsetsEntry | Undecodable]
    ) -> LoggedEntry | None:
        kind, producer_id = cells[KIND], cells[PRODUCER_ID]
        if kind in (COMMITTED, ABORTED):
            if producer_id not in self._open:
                return None
            self._open.discard(producer_id)
            marker = TransactionMarker(
                producer_id=producer_id,
                producer_epoch=cells[LEADER_EPOCH],
                committed=kind == COMMITTED,
                coordinator_epoch=cells[OFFSET],
            )
            return logged_entry(block, row, self._partition, marker)
        if producer_id >= 0:
            self._open.add(producer_id)
        if kind == DROPPED:
            return logged_entry(block, row, self._partition, judged[row])
        if kind == COMMIT:
            leader_epoch = cells[BATCH_LEADER_EPOCH]
            return LoggedEntry(
                partition=self._partition,
                offset=cells[LOG_OFFSET],
                timestamp_ms=cells[RECORD_TIMESTAMP],
                leader_epoch=leader_epoch if leader_epoch >= 0 else None,
                producer_id=producer_id if producer_id >= 0 else None,
                entry=_commit(block, cells, self._commit_key(cells[KEY_ID])),
            )
        key = key_bytes(self._reader.keys, cells[KEY_ID])
        value = None if kind == TOMBSTONE else value_bytes(block, row)
        return logged_entry(block, row, self._partition, decode_entry(key, value))

    def _commit_key(self, key_id: int) -> OffsetCommitKey:
        key = self._commit_keys.get(key_id)
        if key is None:
            entry = decode_entry(key_bytes(self._reader.keys, key_id), None)
            assert isinstance(entry, OffsetsEntry) and isinstance(entry.key, OffsetCommitKey)
            key = self._commit_keys[key_id] = entry.key
        return key

    def _judge_new_keys(self, keys: Keys) -> None:
        """Ask of each distinct key that came since the last block whether its group is wanted."""
        count = key_count(keys)
        if count > len(self._is_wanted):
            self._is_wanted = np.concatenate([self._is_wanted, np.zeros(2 * count, np.bool_)])
        tags, groups = keys.strings[:count, TAG], keys.strings[:count, GROUP]
        fresh = np.arange(self._judged, count)
        if not len(fresh):
            return
        of_commits = fresh[tags[fresh] == COMMIT_TAG]
        if len(of_commits):
            names = ids_with_tag(keys, GROUP_TAG)
            fresh_groups = np.unique(groups[of_commits])
            hits = [
                number for number in fresh_groups.tolist() if self._wanted(_text(keys, int(names[number])))
            ]
            self._is_wanted[of_commits] = np.isin(groups[of_commits], hits)
        for key_id in fresh[tags[fresh] > COMMIT_TAG].tolist():
            group = _group_in(key_bytes(keys, key_id))
            self._is_wanted[key_id] = group is not None and self._wanted(group)
        self._judged = count


def _text(keys: Keys, string_id: int) -> str:
    start, end = int(keys.strings[string_id, START]), int(keys.strings[string_id + 1, START])
    return keys.arena[start:end].tobytes().decode()


def _group_in(key: bytes) -> str | None:
    """The group id, with which every key of another type begins; None for bytes that are no such key."""
    begin = 2 * _LENGTH_BYTES
    size = int.from_bytes(key[_LENGTH_BYTES:begin], "big", signed=True)
    name = key[begin : begin + size] if size >= 0 else b""
    return name.decode("utf-8", "replace") if size >= 0 and len(name) == size else None


def _topic_id(block: RowBlock, position: int) -> TopicId:
    return None if position < 0 else _uuid(block.buffer[position : position + _TOPIC_ID_BYTES].tobytes())


@lru_cache
def _uuid(raw: bytes) -> UUID:
    """The same object for all commits of a topic."""
    return UUID(bytes=raw)


def _commit(block: RowBlock, cells: list[int], key: OffsetCommitKey) -> OffsetsEntry:
    position, size = cells[TEXT_POSITION], cells[TEXT_SIZE]
    return OffsetsEntry(
        type=RecordType.OFFSET_COMMIT,
        key=key,
        value=OffsetCommitValue(
            offset=cells[OFFSET],
            leader_epoch=cells[LEADER_EPOCH],
            metadata=block.buffer[position : position + size].tobytes().decode() if size else "",
            commit_timestamp=cells[COMMIT_TIMESTAMP],
            expire_timestamp=cells[EXPIRE_TIMESTAMP],
            topic_id=_topic_id(block, cells[TOPIC_ID_POSITION]),
        ),
        value_version=cells[VALUE_VERSION],
    )
