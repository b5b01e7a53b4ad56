"""The state of a stream in pieces of whole groups, put together by executors.

A part of an offsets partition that has grown large is in 2, 4, 8 ... pieces, by a hash of the group, so that
no task holds it as a whole. What nothing new has come to is passed on as it is packed. Importing this module
imports PySpark, as the schemas need it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from kgroup.spark.live_source import ANEW, LIVE_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kgroup.spark.reductions import Reduction

NUMBER: Final = "number"
PIECE: Final = "piece"
PIECES: Final = "pieces"

STATE_SCHEMA: Final = StructType(
    [
        *LIVE_SCHEMA.fields,
        StructField(NUMBER, LongType(), nullable=False),
        StructField(PIECE, IntegerType(), nullable=False),
        StructField(PIECES, IntegerType(), nullable=False),
    ]
)
"""LIVE_SCHEMA, as of which micro-batch a row is, and which piece of how many of its partition."""

_PIECE_BYTES: Final = 8 << 20  # packed; what a task holds of one at a time is some times that
_MERGED_AT_ONCE: Final = 16
_FIELDS: Final[list["pa.Field[Any]"]] = [
    pa.field("offsets_partition", pa.int32(), nullable=False),
    pa.field("run", pa.int64(), nullable=False),
    pa.field("part", pa.binary(), nullable=False),
    pa.field(ANEW, pa.string()),
    pa.field(NUMBER, pa.int64(), nullable=False),
    pa.field(PIECE, pa.int32(), nullable=False),
    pa.field(PIECES, pa.int32(), nullable=False),
]
_ARROW_SCHEMA: Final = pa.schema(_FIELDS)

Row = Mapping[str, Any]


def as_state(rows: "DataFrame", number: int) -> "DataFrame":
    """LIVE_SCHEMA's rows of micro-batch `number` as STATE_SCHEMA: each is the one piece of its partition."""
    from pyspark.sql.functions import lit

    columns = {NUMBER: lit(number).cast("long"), PIECE: lit(0), PIECES: lit(1)}
    return rows.select(*LIVE_SCHEMA.names).withColumns(columns)


def pieces_for(size: int, pieces: int) -> int:
    """The number of pieces for a part of this many bytes, packed, that is in `pieces`: never fewer."""
    while pieces * _PIECE_BYTES < size:
        pieces *= 2
    return pieces


def put_together(
    states: "DataFrame",
    pieces: Mapping[int, int],
    reduction: "Reduction[Any]",
    tasks: int,
    *,
    forgets: bool = False,
) -> "DataFrame":
    """One row for each piece of each partition, from rows of micro-batches that follow each other.

    `pieces` are how many by partition, 1 if it is not named, and no fewer than it is in. With `forgets` what
    something new has come to is without groups that are long deleted.
    """
    return (
        states.mapInArrow(partial(cut_rows, pieces=pieces), STATE_SCHEMA)
        .repartition(tasks, "offsets_partition", PIECE)
        .sortWithinPartitions("offsets_partition", PIECE, NUMBER)
        .mapInArrow(partial(merge_following, reduction=reduction, forgets=forgets), STATE_SCHEMA)
    )


def merge_following(
    batches: "Iterator[pa.RecordBatch]", reduction: "Reduction[Any]", *, forgets: bool = False
) -> "Iterator[pa.RecordBatch]":
    """Merge rows that are sorted by partition, piece and number: one row per piece."""
    from kgroup.scan.reductions.gone import without_gone
    from kgroup.spark.parts.kinds import pack

    rows = (row for batch in batches for row in batch.to_pylist())
    for _, of_one in groupby(rows, key=lambda row: (row["offsets_partition"], row[PIECE])):
        counting = valid(of_one)
        last = counting[-1]
        if len(counting) == 1:
            packed = last["part"]
        else:
            part = followed(None, counting, reduction)
            packed = pack(without_gone(part) if forgets else part)
        yield _batch({**last, "part": packed, ANEW: None})


def followed(before: Any, rows: Iterable[Row], reduction: "Reduction[Any]") -> Any:
    """The state after rows of one offsets partition; `before` is None if there was none."""
    from kgroup.spark.parts.kinds import unpack

    parts = [] if before is None else [before]
    for row in rows:
        if row[ANEW] is not None:
            parts = []
        parts.append(unpack(row["part"]))
        if len(parts) == _MERGED_AT_ONCE:
            parts = [reduction.merge(parts)]
    return parts[0] if len(parts) == 1 else reduction.merge(parts)


def valid(rows: Iterable[Row]) -> list[Row]:
    """The rows of one offsets partition from the last one on that has begun anew."""
    counting: list[Row] = []
    for row in rows:
        if row[ANEW] is not None:
            counting = []
        counting.append(row)
    return counting


def cut_rows(batches: "Iterator[pa.RecordBatch]", pieces: Mapping[int, int]) -> "Iterator[pa.RecordBatch]":
    """The rows in as many pieces as their partitions are to have; those that are so are passed on."""
    from kgroup.scan.reductions.cut_groups import cut_by_hash
    from kgroup.spark.parts.kinds import pack, unpack

    for batch in batches:
        for row in batch.to_pylist():
            into = pieces.get(row["offsets_partition"], 1)
            if into == row[PIECES]:
                yield _batch(row)
                continue
            # A piece has groups of its own hashes alone, so the others of the new pieces get nothing of it:
            # not even the ends of its transactions, which would settle what came later in their own part.
            for number, part in enumerate(cut_by_hash(unpack(row["part"]), into)):
                if number % row[PIECES] == row[PIECE]:
                    yield _batch({**row, "part": pack(part), PIECE: number, PIECES: into})


def _batch(row: Row) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([dict(row)], _ARROW_SCHEMA)
