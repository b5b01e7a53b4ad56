"""The reduction inside the scan, as executors do it: one row for the result of each run of slices.

Executors reduce their slices before anything reaches the JVM, which is what makes the Spark path cheap: the
JVM never sees the rows of the log, only a few packed results. Tasks are given by number, so Spark plans them
without a Python of its own, as it would need for a data source.
"""

import gc
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from kgroup.spark.reductions import Reduction

if TYPE_CHECKING:
    from kgroup.spark.tasks import Run

SCHEMA: Final = StructType(
    [
        StructField("offsets_partition", IntegerType(), nullable=False),
        StructField("run", LongType(), nullable=False),
        StructField("part", BinaryType(), nullable=False),
    ]
)
"""Each row is what is left of one run of slices, packed; see `kgroup.spark.parts`."""

_FIELDS: Final[list["pa.Field[Any]"]] = [
    pa.field("offsets_partition", pa.int32(), nullable=False),
    pa.field("run", pa.int64(), nullable=False),
    pa.field("part", pa.binary(), nullable=False),
]
_ARROW_SCHEMA: Final = pa.schema(_FIELDS)


def read_tasks(
    numbers: Iterator[pa.RecordBatch],
    tasks: Sequence[str],
    reduction: Reduction[Any],
    *,
    is_one_row: bool = False,
) -> Iterator[pa.RecordBatch]:
    """Scan and reduce the runs of the tasks with these numbers, which are `Task`s' values.

    Yields a row of SCHEMA for each run, with `is_one_row` one of the first run for all of a task. Raises
    SourceError if a segment cannot be read.
    """
    from kgroup.spark.tasks import runs_of

    for batch in numbers:
        for row in batch.to_pylist():
            runs = runs_of(tasks[row["id"]])
            if is_one_row and runs:
                yield packed_row(runs[0].offsets_partition, runs[0].number, _part_of(runs, reduction))
                continue
            for run in runs:
                yield packed_row(run.offsets_partition, run.number, reduction.reduce(run.slices))
    freeze_loaded()


def packed_task(task: str, reduction: Reduction[Any]) -> bytes:
    """Scan and reduce all runs of a task, which is a `Task`'s value, to one part, packed.

    For who merges all: packing and unpacking fifty small parts takes longer. Raises SourceError if a segment
    cannot be read.
    """
    from kgroup.spark.parts.kinds import pack
    from kgroup.spark.tasks import runs_of

    packed = pack(_part_of(runs_of(task), reduction))
    freeze_loaded()
    return packed


def _part_of(runs: "Sequence[Run]", reduction: Reduction[Any]) -> Any:
    parts = [reduction.reduce(run.slices) for run in runs]
    return parts[0] if len(parts) == 1 else reduction.merge(parts)


def freeze_loaded() -> None:
    """Keep the garbage collector off what this worker has loaded, for as long as it lives.

    PySpark collects all garbage after each task: going through the objects of modules took longer than a
    small task, and through numba's, which may come later, as long as the scan.
    """
    from kgroup.scan.kernels.compile import TIER

    _freeze(TIER.is_compiled)


@cache
def _freeze(with_compiler: bool) -> None:
    gc.collect()
    gc.freeze()


def packed_row(offsets_partition: int, run: int, part: Any) -> pa.RecordBatch:
    """A batch of one row."""
    from kgroup.spark.parts.kinds import pack

    row = {"offsets_partition": offsets_partition, "run": run, "part": pack(part)}
    return pa.RecordBatch.from_pylist([row], _ARROW_SCHEMA)
