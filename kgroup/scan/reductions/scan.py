"""The columnar path: segments of the offsets topic at memory speed, to Arrow or reduced on the way.

`scan` gives every commit as Arrow columns and everything else decoded; `newest` keeps only what counts at the
end, in memory bounded by the number of keys; `split` cuts large segments for several processes, whose results
`merge` puts together. All agree record by record with the plain path (`read_entries`), which also takes
over for every batch that is out of the ordinary.

Layout: `reading/drive.py` drives the kernel over chunks of a file (`reading/chunk.py`) and fills blocks of
rows (`kernels/rows.py`); `kernels/batches.py` walks batches, `keys.py` turns keys into integers, `crc.py`
checks. A consumer takes the blocks: `reading/arrow.py` makes columns of them, `newest.py` the newest row per
key (by the rules of `kernels/newest_rows.py`, in the memory of `kernels/cells.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa

from kgroup.log.files.damage_text import damage_text, undecodable_text
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.scan.kernels.keys import key_bytes
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
)
from kgroup.scan.reading.arrow import COMMIT_SCHEMA, Dictionaries, commits_of, schema_of
from kgroup.scan.reading.reader import RowBlock, RowReader, Slice
from kgroup.scan.reading.split import split, split_among_others
from kgroup.scan.reductions.newest import (
    FirstMarker,
    Newest,
    logged_entry,
    merge,
    newest,
    newest_time,
    value_bytes,
)

__all__ = [
    "COMMIT_SCHEMA",
    "FirstMarker",
    "Newest",
    "ScanBlock",
    "Slice",
    "merge",
    "newest",
    "newest_time",
    "scan",
    "split",
    "split_among_others",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanBlock:
    """Some thousand records that follow each other in a slice.

    `commits` are its commits and tombstones in log order, with COMMIT_SCHEMA's columns or those that were
    asked for. `others` are all other records, transaction markers and undecodable ones among them.
    `damage` lies between the block before and this one.
    """

    slice: Slice
    commits: pa.RecordBatch
    others: tuple[LoggedEntry, ...]
    damage: tuple[Damage, ...]

    def problems(self) -> Iterator[str]:
        """The unreadable parts: the damage, then records that say nothing."""
        yield from map(damage_text, self.damage)
        for logged in self.others:
            if isinstance(logged.entry, Undecodable):
                yield undecodable_text(logged, logged.entry)


def scan(
    slices: Iterable[Slice],
    *,
    verify_crc: bool = True,
    columns: Sequence[str] | None = None,
    others: bool = True,
) -> Iterator[ScanBlock]:
    """Every record of the slices, in order.

    `columns` of COMMIT_SCHEMA are all by default; fewer take less time. Without `others` records that are no
    commits are passed over, which makes a log of many transactions much faster. Raises SourceError if a
    file cannot be read.
    """
    names = tuple(COMMIT_SCHEMA.names if columns is None else columns)
    for _, parts in groupby(slices, key=lambda part: part.offsets_partition):
        reader = RowReader(check_crc=verify_crc)
        dictionaries = Dictionaries()
        for part in parts:
            damage: list[Damage] = []
            for item in reader.read(part):
                if isinstance(item, Damage):
                    damage.append(item)
                    continue
                block = block_of(item, part, reader, names, dictionaries, others=others)
                yield replace(block, damage=tuple(damage))
                damage.clear()
            if damage:
                nothing = schema_of(names).empty_table().to_batches() or [
                    pa.RecordBatch.from_pylist([], schema_of(names))
                ]
                yield ScanBlock(slice=part, commits=nothing[0], others=(), damage=tuple(damage))


def block_of(
    rows: RowBlock,
    part: Slice,
    reader: RowReader,
    columns: Sequence[str],
    dictionaries: Dictionaries,
    *,
    others: bool = True,
) -> ScanBlock:
    """Rows that a reader has just read of a slice, with these columns; without damage."""
    partition = part.offsets_partition
    return ScanBlock(
        slice=part,
        commits=commits_of(rows, reader.keys, partition, columns, dictionaries),
        others=tuple(_others(rows, reader, partition)) if others else (),
        damage=(),
    )


def _others(block: RowBlock, reader: RowReader, partition: int) -> Iterator[LoggedEntry]:
    rows = block.rows
    judged = dict(block.others)
    for row in np.flatnonzero(rows[KIND, : block.count] > TOMBSTONE).tolist():
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
