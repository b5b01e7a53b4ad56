"""The newest record of each key, by the columnar path; agrees with `chosen.offsets_that_count`.

Of plain commits and deletions only the newest offset of each key is held. What is in a transaction, and what
the kernel leaves to the plain path, goes through `NewestEntries`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kgroup.api.decode.blocks import BlockSelection, SegmentBlock, read_blocks, records_at
from kgroup.api.decode.filter import Filter
from kgroup.api.decode.selection import Preselection
from kgroup.api.decode.source import FileSource
from kgroup.history.groups.newest import NewestEntries
from kgroup.log.files.entries import ReadRecord, to_logged_entry
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.codec import decode_key
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import Key
from kgroup.scan.kernels.keys import capacity, key_bytes
from kgroup.scan.kernels.records import Cell, Form, Head

Items = NDArray[np.int64]

_NONE: Final = -1


def block_offsets_that_count(
    source: FileSource, wanted: Filter, advance: Callable[[int], None]
) -> set[tuple[int, int]]:
    """Partition and offset of the newest record of each key, where `wanted` ends the log."""
    history = replace(wanted, since_ms=None, first_offset=None, tombstones=False)
    preselection = Preselection(history, advance)
    selection = BlockSelection(preselection, None)
    entries = NewestEntries()
    plain: dict[tuple[int, Key], tuple[int, bool]] = {}
    newest: _NewestOfReader | None = None
    for item in read_blocks(source.sources, source.stdin(), preselection):
        if not isinstance(item, SegmentBlock):
            _add(entries, item, history)
            continue
        items, others = _parted(item, selection.choose(item))
        if newest is None or not newest.is_of(item):
            if newest is not None:
                newest.put_into(plain)
            newest = _NewestOfReader(item)
        newest.add(item, items)
        for _, read in records_at(item, others.tolist(), preselection):
            _add(entries, read, history)
    if newest is not None:
        newest.put_into(plain)
    kept: set[tuple[int, int]] = set()
    replaced: set[tuple[int, Key]] = set()
    for (partition, key), (offset, is_alive) in plain.items():
        settled = entries.settled(partition, key)
        if settled is not None and settled.offset >= offset:
            continue
        replaced.add((partition, key))
        if is_alive:
            kept.add((partition, offset))
    for logged in (*entries.commits(), *entries.others()):
        assert isinstance(logged.entry, OffsetsEntry)
        if (logged.partition, logged.entry.key) not in replaced:
            kept.add((logged.partition, logged.offset))
    return kept


def _add(entries: NewestEntries, item: ReadRecord | Damage, history: Filter) -> None:
    if isinstance(item, Damage) or item.record is None or item.entry is None:
        return
    if history.is_before_end(item):
        entries.add(to_logged_entry(item.segment.partition, item.batch, item.record, item.entry))


def _parted(of: SegmentBlock, items: Items) -> tuple[Items, Items]:
    """The chosen items in two: the plain ones, and the others with all markers, in log order."""
    block = of.block
    forms = block.cells[Cell.FORM, : block.count]
    is_open = block.heads[Head.TRANSACTIONAL].take(block.cells[Cell.BATCH].take(items)) == 1
    is_plain = (forms.take(items) <= Form.TOMBSTONE) & ~is_open
    markers = np.flatnonzero((forms == Form.COMMITTED) | (forms == Form.ABORTED))
    return items[is_plain], np.union1d(items[~is_plain], markers)


class _NewestOfReader:
    """The newest plain commit or deletion of each key that a reader has met in a partition."""

    def __init__(self, of: SegmentBlock) -> None:
        self._reader = of.reader
        self._partition = of.segment.partition
        self._offsets: Items = np.full(0, _NONE, np.int64)
        self._is_alive: NDArray[np.bool_] = np.empty(0, np.bool_)

    def is_of(self, of: SegmentBlock) -> bool:
        """Whether the block is of this reader and partition."""
        return of.reader is self._reader and of.segment.partition == self._partition

    def add(self, of: SegmentBlock, items: Items) -> None:
        """Take these items of the next block."""
        cells = of.block.cells
        self._grow(capacity(self._reader.keys))
        key_ids, offsets = cells[Cell.KEY_ID].take(items), cells[Cell.LOG_OFFSET].take(items)
        # By key and offset; of those with the same the first in the log comes last.
        order = np.lexsort((-np.arange(len(items)), offsets, key_ids))
        of_key = key_ids[order]
        last = order[np.append(of_key[1:] != of_key[:-1], np.ones(min(len(order), 1), np.bool_))]
        newer = last[offsets[last] > self._offsets[key_ids[last]]]
        self._offsets[key_ids[newer]] = offsets[newer]
        self._is_alive[key_ids[newer]] = cells[Cell.FORM].take(items[newer]) < Form.TOMBSTONE

    def put_into(self, plain: dict[tuple[int, Key], tuple[int, bool]]) -> None:
        """Offset by partition and key, and whether it is not a deletion, for what is newer than there."""
        for key_id in np.flatnonzero(self._offsets > _NONE).tolist():
            decoded = decode_key(key_bytes(self._reader.keys, key_id))
            assert decoded is not None
            place, offset = (self._partition, decoded[1]), int(self._offsets[key_id])
            if place not in plain or offset > plain[place][0]:
                plain[place] = offset, bool(self._is_alive[key_id])

    def _grow(self, size: int) -> None:
        if (more := size - len(self._offsets)) > 0:
            self._offsets = np.concatenate([self._offsets, np.full(more, _NONE, np.int64)])
            self._is_alive = np.concatenate([self._is_alive, np.zeros(more, np.bool_)])
