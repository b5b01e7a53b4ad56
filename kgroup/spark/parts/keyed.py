"""Rows key by key as named tables; they travel only between executors."""

from typing import Final

import numpy as np
import pyarrow as pa

from kgroup.scan.kernels.gather import values_of
from kgroup.scan.reductions.keyed_rows import CommitKey, KeyedCommits, KeyedRows
from kgroup.spark.parts.entries import rows_of_table, table_of_rows
from kgroup.spark.parts.reduced import Tables

_KEYS: Final[list[tuple[str, pa.DataType]]] = [
    ("group", pa.string()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offsets_partition", pa.int32()),
    ("rows", pa.int64()),
]
_CHANGES: Final[list[tuple[str, pa.DataType]]] = [
    ("offsets_partition", pa.int32()),
    ("group", pa.string()),
    ("log_offsets", pa.list_(pa.int64())),
]
KEYS: Final = pa.schema(_KEYS)
CHANGES: Final = pa.schema(_CHANGES)

ROWS_TABLES: Final = {"keys": KEYS, "rows": None}
COMMITS_TABLES: Final = {**ROWS_TABLES, "membership_changes": CHANGES}


def rows_tables(keyed: KeyedRows) -> Tables:
    """Rows as ROWS_TABLES."""
    columns = list(zip(*keyed.keys, strict=True)) or [() for _ in CommitKey._fields]
    arrays = [
        pa.array(values, kind) for values, (_, kind) in zip((*columns, keyed.counts), _KEYS, strict=True)
    ]
    return {"keys": pa.Table.from_arrays(arrays, schema=KEYS), "rows": keyed.rows}


def rows_of(tables: Tables) -> KeyedRows:
    """The rows of ROWS_TABLES."""
    *columns, counts = tables["keys"].columns
    keys = list(map(CommitKey, *(column.to_pylist() for column in columns)))
    return KeyedRows(keys, np.array(values_of(counts)), tables["rows"])


def commits_tables(keyed: KeyedCommits) -> Tables:
    """Commits as COMMITS_TABLES."""
    changes = ((*place, log_offsets) for place, log_offsets in keyed.membership_changes.items())
    return {**rows_tables(keyed.commits), "membership_changes": table_of_rows(changes, CHANGES)}


def commits_of(tables: Tables) -> KeyedCommits:
    """The commits of COMMITS_TABLES."""
    changes = rows_of_table(tables["membership_changes"])
    return KeyedCommits(
        rows_of(tables), {(partition, group): tuple(offsets) for partition, group, offsets in changes}
    )
