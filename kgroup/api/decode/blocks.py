"""Records of log files by the columnar path: blocks in which most records never become objects.

What comes out, in which order, and what is reported are the same as with `chosen.chosen`.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from kgroup.api.decode.chosen import Choice
from kgroup.api.decode.filter import CONTROL, EMPTY_BATCH, type_name_of
from kgroup.api.decode.selection import Preselection
from kgroup.log.files.entries import ReadRecord, decode_record, decoded_batches, read_decoded
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.sources import STDIN, Sources
from kgroup.log.format.batch import Batch, Damage
from kgroup.protocol.records.codec import decode_key
from kgroup.protocol.records.entries import RecordType
from kgroup.protocol.records.keys import Key
from kgroup.scan.kernels.keys import COMMIT_TAG, TAG, capacity, key_bytes
from kgroup.scan.kernels.records import Cell, Form, Head
from kgroup.scan.reading.drive import Slice
from kgroup.scan.reading.records import RecordBlock, RecordReader

_UNKNOWN: Final = 2
_COMMITS: Final = type_name_of(RecordType.OFFSET_COMMIT)


@dataclass(frozen=True, slots=True)
class SegmentBlock:
    """A block of a segment's records, and who has read it."""

    segment: SegmentFile
    reader: RecordReader
    block: RecordBlock


@dataclass(frozen=True, slots=True)
class ChosenItems:
    """The numbers of a block's items that are wanted; those of form OTHER and EMPTY_BATCH as records, too."""

    of: SegmentBlock
    items: NDArray[np.int64]
    records: dict[int, ReadRecord]


def read_blocks(
    sources: Sources, stdin: BinaryIO | None, selection: Preselection
) -> Iterator[SegmentBlock | ReadRecord | Damage]:
    """Blocks with all their records; what comes by the plain path is of the selection, as in `read_decoded`.

    A block is good until the next one is asked for.
    """
    folder, reader = None, None
    for segment in sources:
        size = None if segment.path == STDIN else _readable_bytes(Path(segment.path))
        if size is None:
            yield from read_decoded([segment], stdin=stdin, selection=selection)
            continue
        if reader is None or segment.folder != folder:
            folder, reader = segment.folder, RecordReader()
        path = Path(segment.path)
        part = Slice(path=path, offsets_partition=segment.partition, start=0, end=size, name=segment.path)
        for item in reader.read(part):
            match item:
                case RecordBlock():
                    yield SegmentBlock(segment, reader, item)
                case Batch():
                    yield from decoded_batches(iter([item]), segment, selection)
                case Damage():
                    yield item


def _readable_bytes(path: Path) -> int | None:
    """The size of a file that can be read in parts; None leaves it to the plain path, which says why not."""
    try:
        with path.open("rb"):
            status = path.stat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def chosen_blocks(
    blocks: Iterator[SegmentBlock | ReadRecord | Damage], preselection: Preselection, choice: Choice
) -> Iterator[ChosenItems | ReadRecord | Damage]:
    """The selected records of blocks and of the items between them."""
    selection = BlockSelection(preselection, choice.kept)
    for item in blocks:
        if not isinstance(item, SegmentBlock):
            yield from choice.of([item])
            continue
        items = selection.choose(item)
        forms = item.block.cells[Cell.FORM].take(items)
        plain, by_hand = items[forms < Form.OTHER], items[forms >= Form.OTHER].tolist()
        records = {
            number: read
            for number, read in records_at(item, by_hand, preselection)
            for _ in choice.of([read])
        }
        if by_hand:
            items = np.sort(np.concatenate([plain, np.array(list(records), np.int64)]))
        choice.add_plain(len(plain), _keys_of(item, plain) if choice.shown.asks else ())
        if len(items):
            yield ChosenItems(item, items, records)


class BlockSelection:
    """The conditions of a Filter over the columns of blocks."""

    def __init__(self, preselection: Preselection, kept: set[tuple[int, int]] | None) -> None:
        self._preselection = preselection
        self._wanted = preselection.wanted
        self._kept = kept
        self._kept_offsets: dict[int, NDArray[np.int64]] = {}
        self._reader: RecordReader | None = None
        self._keys: NDArray[np.int8] = np.empty(0, np.int8)

    def choose(self, of: SegmentBlock) -> NDArray[np.int64]:
        """The items that are wanted, and those of form OTHER that may be."""
        block, wanted = of.block, self._wanted
        self._preselection.advance(int(block.heads[Head.SIZE].sum()))
        cells = block.cells[:, : block.count]
        forms, offsets = cells[Cell.FORM], cells[Cell.LOG_OFFSET]
        chosen = np.ones(block.count, np.bool_)
        is_other = forms == Form.OTHER
        if wanted.first_offset is not None:
            chosen &= offsets >= wanted.first_offset
        if wanted.last_offset is not None:
            chosen &= offsets <= wanted.last_offset
        if wanted.since_ms is not None or wanted.until_ms is not None:
            chosen &= self._is_in_time(of)
        if wanted.tombstones:
            chosen &= (forms == Form.TOMBSTONE) | (is_other & (cells[Cell.VALUE_SIZE] < 0))
        if wanted.types is not None or wanted.groups is not None or wanted.topics is not None:
            chosen &= self._is_about(of)
        if self._kept is not None:
            is_kept = np.isin(offsets, self._kept_in(of.segment.partition)) & (forms != Form.EMPTY_BATCH)
            chosen &= is_kept | is_other
        return np.flatnonzero(chosen)

    def _is_in_time(self, of: SegmentBlock) -> NDArray[np.bool_]:
        block, wanted = of.block, self._wanted
        cells = block.cells[:, : block.count]
        forms, times = cells[Cell.FORM], cells[Cell.TIMESTAMP]
        # Without a time of its own, a commit has the one in its value.
        untimed = times < 0
        times = np.where(untimed & (forms < Form.TOMBSTONE), cells[Cell.COMMIT_TIMESTAMP], times)
        times = np.where(untimed & (forms == Form.TOMBSTONE), -1, times)
        inside = np.ones(block.count, np.bool_)
        if wanted.since_ms is not None:
            newest = block.heads[Head.MAX_TIMESTAMP]
            before = (newest >= 0) & (newest < wanted.since_ms)
            inside &= (times >= wanted.since_ms) & ~before[cells[Cell.BATCH]]
        if wanted.until_ms is not None:
            inside &= times < wanted.until_ms
        inside |= untimed & (forms == Form.OTHER) & self._may_be_untimed(of)
        return inside

    def _may_be_untimed(self, of: SegmentBlock) -> NDArray[np.bool_]:
        """Whether records of form OTHER are in batches that may hold some in time."""
        block, wanted = of.block, self._wanted
        newest = block.heads[Head.MAX_TIMESTAMP]
        before = (newest >= 0) & (newest < (wanted.since_ms or 0))
        may_be: NDArray[np.bool_] = ~before[block.cells[Cell.BATCH, : block.count]]
        return may_be

    def _is_about(self, of: SegmentBlock) -> NDArray[np.bool_]:
        block, wanted = of.block, self._wanted
        cells = block.cells[:, : block.count]
        forms, key_ids = cells[Cell.FORM], cells[Cell.KEY_ID]
        types = wanted.types
        by_key = self._judged(of.reader, key_ids)[np.maximum(key_ids, 0)] == 1
        if types is not None and _COMMITS not in types:
            by_key &= forms > Form.TOMBSTONE
        # The id of a commit's key does not say whether it is of type 0; other bytes have none.
        by_key |= (forms == Form.OTHER) & self._is_uncertain(of.reader, key_ids)
        is_nobodys = wanted.groups is None and wanted.topics is None
        is_marker = (forms == Form.COMMITTED) | (forms == Form.ABORTED)
        about: NDArray[np.bool_] = np.where(
            is_marker, is_nobodys and (types is None or CONTROL in types), by_key
        )
        empty = is_nobodys and (types is None or EMPTY_BATCH in types)
        return np.where(forms == Form.EMPTY_BATCH, empty, about)

    def _is_uncertain(self, reader: RecordReader, key_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        uncertain: NDArray[np.bool_] = (key_ids < 0) | (
            reader.keys.strings[np.maximum(key_ids, 0), TAG] == COMMIT_TAG
        )
        return uncertain

    def _judged(self, reader: RecordReader, key_ids: NDArray[np.int64]) -> NDArray[np.int8]:
        """Whether the key of each id is wanted: 1 or 0, as far as it is among these."""
        if reader is not self._reader:
            self._reader, self._keys = reader, np.empty(0, np.int8)
        if len(self._keys) < capacity(reader.keys):
            added = np.full(capacity(reader.keys) - len(self._keys), _UNKNOWN, np.int8)
            self._keys = np.concatenate([self._keys, added])
        present = key_ids[key_ids >= 0]
        for key_id in np.unique(present[self._keys[present] == _UNKNOWN]).tolist():
            self._keys[key_id] = self._preselection.may_want_key(key_bytes(reader.keys, key_id))
        return self._keys

    def _kept_in(self, partition: int) -> NDArray[np.int64]:
        assert self._kept is not None
        if partition not in self._kept_offsets:
            offsets = sorted(offset for kept, offset in self._kept if kept == partition)
            self._kept_offsets[partition] = np.array(offsets, np.int64)
        return self._kept_offsets[partition]


def _keys_of(of: SegmentBlock, items: NDArray[np.int64]) -> Iterator[Key]:
    """The keys of the commits and tombstones among the items, each once."""
    forms, key_ids = (of.block.cells[column].take(items) for column in (Cell.FORM, Cell.KEY_ID))
    for key_id in np.unique(key_ids[forms <= Form.TOMBSTONE]).tolist():
        decoded = decode_key(key_bytes(of.reader.keys, key_id))
        if decoded is not None:
            yield decoded[1]


def records_at(
    of: SegmentBlock, items: list[int], selection: Preselection
) -> Iterator[tuple[int, ReadRecord]]:
    """The records of these items by the plain path, so far as they may be of the selection."""
    cells = of.block.cells
    number, batch, records = -1, None, None
    for item in items:
        if int(cells[Cell.BATCH, item]) != number:
            number = int(cells[Cell.BATCH, item])
            batch = of.block.batch(number)
            records = batch.records()
        assert batch is not None and records is not None
        if cells[Cell.FORM, item] == Form.EMPTY_BATCH:
            yield item, ReadRecord(segment=of.segment, batch=batch, record=None, entry=None)
            continue
        for record in selection.choose(batch, [records[int(cells[Cell.INDEX, item])]]):
            yield item, ReadRecord(of.segment, batch, record, decode_record(batch, record))
