"""The reduction inside the scan as a Spark data source, `kgroup-newest`; `kgroup.spark.jobs` reads it.

Executors reduce their slices to the newest row per key before anything reaches the JVM, which is what makes
the Spark path cheap: the JVM never sees the rows of the log, only a few packed results.
"""

import gc
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from kgroup.spark.tasks import Task

if TYPE_CHECKING:
    from kgroup.log.scan import Newest

SOURCE: Final = "kgroup-newest"
SCHEMA: Final = StructType(
    [
        StructField("offsets_partition", IntegerType(), nullable=False),
        StructField("run", LongType(), nullable=False),
        StructField("newest", BinaryType(), nullable=False),
    ]
)
"""Each row is what is left of one run of slices, packed; see `unpack`."""


class NewestDataSource(DataSource):
    """Its one option `tasks` is what `tasks_option` makes."""

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return SOURCE

    def schema(self) -> StructType:
        """The same for all tasks."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the tasks in the options."""
        return NewestReader([Task(task) for task in json.loads(self.options["tasks"])])


class NewestReader(DataSourceReader):
    """Yields one row per run."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks."""
        return self._tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Scan and reduce the runs of a task. Raises SourceError if a segment cannot be read."""
        from kgroup.log.scan import newest

        assert isinstance(partition, Task)
        for run in partition.runs():
            yield packed_row(run.offsets_partition, run.number, newest(run.slices))
        _freeze_compiler()


def tasks_option(tasks: Iterable[Task]) -> str:
    """Tasks as the text of an option."""
    return json.dumps([task.value for task in tasks])


@cache
def _freeze_compiler() -> None:
    """Keep the garbage collector off what numba has loaded, for as long as this worker lives.

    PySpark collects all garbage after each task; going through numba's objects took as long as the scan.
    """
    gc.collect()
    gc.freeze()


def packed_row(offsets_partition: int, run: int, result: "Newest") -> pa.RecordBatch:
    """A batch of one row."""
    row = {"offsets_partition": offsets_partition, "run": run, "newest": pickle.dumps(result)}
    return pa.RecordBatch.from_pylist([row], to_arrow_schema(SCHEMA))


def unpack(packed: bytes) -> "Newest":
    """The result in a row's `newest`. It is a pickle: only for rows that `kgroup-newest` made."""
    from kgroup.log.scan import Newest

    result = pickle.loads(packed)
    assert isinstance(result, Newest)
    return result
