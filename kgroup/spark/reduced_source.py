"""The reduction inside the scan as a Spark data source, `kgroup-reduced`; `kgroup.spark.jobs` reads it.

Executors reduce their slices before anything reaches the JVM, which is what makes the Spark path cheap: the
JVM never sees the rows of the log, only a few packed results.
"""

import base64
import gc
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from kgroup.spark.reductions import Part, Reduction
from kgroup.spark.tasks import Task

SOURCE: Final = "kgroup-reduced"
SCHEMA: Final = StructType(
    [
        StructField("offsets_partition", IntegerType(), nullable=False),
        StructField("run", LongType(), nullable=False),
        StructField("part", BinaryType(), nullable=False),
    ]
)
"""Each row is what is left of one run of slices, packed; see `kgroup.spark.parts`."""


class ReducedDataSource(DataSource):
    """Its options are what `source_options` makes."""

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return SOURCE

    def schema(self) -> StructType:
        """The same for all tasks."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the tasks in the options."""
        tasks = [Task(task) for task in json.loads(self.options["tasks"])]
        return ReducedReader(tasks, pickle.loads(base64.b64decode(self.options["reduction"])))


class ReducedReader(DataSourceReader):
    """Yields one row per run."""

    def __init__(self, tasks: Sequence[Task], reduction: Reduction[Any]) -> None:
        self._tasks = tasks
        self._reduction = reduction

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks."""
        return self._tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Scan and reduce the runs of a task. Raises SourceError if a segment cannot be read."""
        assert isinstance(partition, Task)
        for run in partition.runs():
            yield packed_row(run.offsets_partition, run.number, self._reduction.reduce(run.slices))
        freeze_compiler()


def source_options(tasks: Iterable[Task], reduction: Reduction[Part]) -> dict[str, str]:
    """Tasks and what to do in them as the texts of options."""
    return {
        "tasks": json.dumps([task.value for task in tasks]),
        "reduction": base64.b64encode(cloudpickle.dumps(reduction)).decode("ascii"),
    }


@cache
def freeze_compiler() -> None:
    """Keep the garbage collector off what numba has loaded, for as long as this worker lives.

    PySpark collects all garbage after each task; going through numba's objects took as long as the scan.
    """
    gc.collect()
    gc.freeze()


def packed_row(offsets_partition: int, run: int, part: Any) -> pa.RecordBatch:
    """A batch of one row."""
    from kgroup.spark.parts.kinds import pack

    row = {"offsets_partition": offsets_partition, "run": run, "part": pack(part)}
    return pa.RecordBatch.from_pylist([row], to_arrow_schema(SCHEMA))
