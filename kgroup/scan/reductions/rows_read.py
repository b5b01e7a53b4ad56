"""What a reader reads of a slice, with records that are no commits decoded: what reductions take."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from kgroup.log.files.damage_text import damage_text, undecodable_text
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.protocol.records.keys import group_of
from kgroup.scan.kernels.keys import Keys, key_bytes
from kgroup.scan.kernels.rows import (
    ABORTED,
    COMMITTED,
    DROPPED,
    KEY_ID,
    KIND,
    LEADER_EPOCH,
    OFFSET,
    PRODUCER_ID,
    TOMBSTONE,
    new_rows,
)
from kgroup.scan.reading.reader import RowBlock, RowReader, Slice
from kgroup.scan.reductions.newest import logged_entry, value_bytes
from kgroup.scan.reductions.packed import PackedRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsRead:
    """Some thousand rows that follow each other in a slice. Good until the next ones are asked for.

    Their key ids are those of `reader`. `others` are all records but commits and their tombstones, and
    `rows_of_others` the rows that they are. `damage` lies between the rows before and these.
    """

    slice: Slice
    reader: RowReader
    block: RowBlock
    others: tuple[LoggedEntry, ...]
    rows_of_others: tuple[int, ...]
    damage: tuple[Damage, ...] = ()

    @property
    def partition(self) -> int:
        """The offsets partition."""
        return self.slice.offsets_partition

    @property
    def keys(self) -> Keys:
        """The keys that were met so far."""
        return self.reader.keys

    def packed(self) -> Iterator[tuple[str, PackedRecord]]:
        """Those of `others` that say something of a group, each with the group."""
        keys, block = self.keys, self.block
        for logged, row in zip(self.others, self.rows_of_others, strict=True):
            # What was dropped has no key among `keys`; it may be a commit whose names are no text.
            if isinstance(logged.entry, OffsetsEntry) and block.rows[KIND, row] != DROPPED:
                key, value = key_bytes(keys, int(block.rows[KEY_ID, row])), value_bytes(block, row)
                yield group_of(logged.entry.key), PackedRecord.of(logged, key, value)

    def problems(self) -> Iterator[str]:
        """The unreadable parts: the damage, then records that say nothing."""
        yield from map(damage_text, self.damage)
        for logged in self.others:
            if isinstance(logged.entry, Undecodable):
                yield undecodable_text(logged, logged.entry)


def rows_read(part: Slice, reader: RowReader, *, others: bool = True) -> Iterator[RowsRead]:
    """Read a slice. Without `others` none are decoded. Raises SourceError if its file cannot be read."""
    damage: list[Damage] = []
    for item in reader.read(part):
        if isinstance(item, Damage):
            damage.append(item)
            continue
        where = _rows_of_others(item) if others else ()
        entries = tuple(_others(item, where, reader, part.offsets_partition))
        yield RowsRead(
            slice=part,
            reader=reader,
            block=item,
            others=entries,
            rows_of_others=where,
            damage=tuple(damage),
        )
        damage.clear()
    if damage:
        nothing = RowBlock(new_rows(0), 0, np.empty(0, np.uint8))
        yield RowsRead(
            slice=part, reader=reader, block=nothing, others=(), rows_of_others=(), damage=tuple(damage)
        )


def rows_in_order(
    slices: Iterable[Slice], advance: Callable[[int], None] = lambda size: None, *, others: bool = True
) -> Iterator[RowsRead]:
    """Read slices one offsets partition after the other. Without `others` none are decoded.

    `advance` is called with the size of each slice once it is read. Raises SourceError if a file cannot be
    read.
    """
    ordered = sorted(slices, key=attrgetter("offsets_partition"))
    for _, parts in groupby(ordered, key=attrgetter("offsets_partition")):
        reader = RowReader()
        for part in parts:
            yield from rows_read(part, reader, others=others)
            advance(part.end - part.start)


def _rows_of_others(block: RowBlock) -> tuple[int, ...]:
    return tuple(np.flatnonzero(block.rows[KIND, : block.count] > TOMBSTONE).tolist())


def _others(
    block: RowBlock, where: Iterable[int], reader: RowReader, partition: int
) -> Iterator[LoggedEntry]:
    rows = block.rows
    judged = dict(block.others)
    for row in where:
        entry: OffsetsEntry | Undecodable | TransactionMarker
        kind = rows[KIND, row]
        if kind == DROPPED:
            entry = judged[row]
        elif kind in (COMMITTED, ABORTED):
            entry = TransactionMarker(
                producer_id=int(rows[PRODUCER_ID, row]),
                producer_epoch=int(rows[LEADER_EPOCH, row]),
                committed=bool(kind == COMMITTED),
                coordinator_epoch=int(rows[OFFSET, row]),
            )
        else:
            entry = decode_entry(key_bytes(reader.keys, int(rows[KEY_ID, row])), value_bytes(block, row))
        yield logged_entry(block, row, partition, entry)
