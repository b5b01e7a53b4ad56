"""The columnar path: segments of the offsets topic at memory speed, to Arrow or reduced on the way.

`scan` gives every commit as Arrow columns and everything else decoded; `newest` keeps only what counts at the
end, in memory bounded by the number of keys; `split` cuts large segments for several processes, whose results
`merge` puts together. All agree record by record with the plain path (`read_entries`), which also takes
over for every batch that is out of the ordinary.

Layout: `reading/drive.py` drives the kernel over chunks of a file (`reading/chunk.py`) and fills blocks of
rows (`kernels/rows.py`); `kernels/batches.py` walks batches, `keys.py` turns keys into integers, `crc.py`
checks. A consumer takes the blocks: `reading/arrow.py` makes columns of them, `newest.py` the newest row per
key (by the rules of `kernels/newest_rows.py`, in the memory of `kernels/cells.py`), `history.py` the furthest
commits (`kernels/furthest.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby

import pyarrow as pa

from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import LoggedEntry
from kgroup.scan.reading.arrow import COMMIT_SCHEMA, Dictionaries, commits_of
from kgroup.scan.reading.reader import RowReader, Slice
from kgroup.scan.reading.split import split, split_among_others
from kgroup.scan.reductions.newest import FirstMarker, Newest, merge, newest, newest_time
from kgroup.scan.reductions.rows_read import rows_read

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
    for partition, parts in groupby(slices, key=lambda part: part.offsets_partition):
        reader = RowReader(check_crc=verify_crc)
        dictionaries = Dictionaries()
        for read in chain.from_iterable(rows_read(part, reader, others=others) for part in parts):
            commits = commits_of(read.block, read.keys, partition, names, dictionaries)
            yield ScanBlock(slice=read.slice, commits=commits, others=read.others, damage=read.damage)
