"""Cuts the last commits of a part of a log into pieces, for several processes to put together."""

from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reading.taken import taken
from kgroup.scan.reductions.last_commits import LastPart


def cut_last(part: LastPart, pieces: int) -> list[LastPart]:
    """Pieces by a hash of group, topic and partition, to be merged each with its like of other parts."""
    if pieces == 1:
        return [part]
    settled, waiting, leaps = (_cut(rows, pieces) for rows in (part.settled, part.waiting, part.leaps))
    return [
        LastPart(
            settled=settled[piece],
            waiting=waiting[piece],
            leaps=leaps[piece],
            first_markers=part.first_markers,
            memberships=part.memberships,
            problems=part.problems if piece == 0 else (),
        )
        for piece in range(pieces)
    ]


def _cut(rows: pa.Table, pieces: int) -> list[pa.Table]:
    # Names' hashes, as their numbers differ from part to part.
    hashes = [_hashes(rows, name) for name in ("group", "topic")] if rows.num_rows else []
    piece = (sum(hashes) + values_of(rows["partition"])) % pieces
    return [compact(taken(rows, np.flatnonzero(piece == number))) for number in range(pieces)]


def _hashes(rows: pa.Table, column: str) -> NDArray[np.int64]:
    array = rows[column].chunk(0)
    assert isinstance(array, pa.DictionaryArray)
    names = array.dictionary.to_pylist()
    return np.array([crc32(name.encode()) for name in names], np.int64)[values_of(rows[column])]


def compact(rows: pa.Table) -> pa.Table:
    """The same rows without the names of others."""
    return pa.table(
        [
            column.cast(column.type.value_type).dictionary_encode()
            if isinstance(column.type, pa.DictionaryType)
            else column
            for column in rows.columns
        ],
        names=rows.column_names,
    ).cast(rows.schema)
