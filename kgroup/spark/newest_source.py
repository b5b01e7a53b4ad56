"""The reduction inside the scan as a Spark data source, `kgroup-newest`; `kgroup.spark.jobs` reads it.

Executors reduce their slices to the newest row per key before anything reaches the JVM, which is what makes
the Spark path cheap: the JVM never sees the rows of the log, only a few packed results.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType

from kgroup.log.scan import Newest, newest
from kgroup.spark.tasks import Task, pack, slices_from_json

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
    """Options: `slices`, as `slices_to_json` writes them, and `taskBytes`."""

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return SOURCE

    def schema(self) -> StructType:
        """The same for all options."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader for the slices in the options."""
        return NewestReader(self.options)


class NewestReader(DataSourceReader):
    """Yields one row per run."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """One per task; Spark has made the option names lower case."""
        tasks = pack(slices_from_json(self._options["slices"]), int(self._options["taskbytes"]))
        return tasks or [Task(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Scan and reduce the runs of a task. Raises SourceError if a segment cannot be read."""
        assert isinstance(partition, Task)
        for run in partition.runs:
            yield packed_row(run.offsets_partition, run.number, newest(run.slices))


def packed_row(offsets_partition: int, run: int, result: Newest) -> pa.RecordBatch:
    """A batch of one row."""
    row = {"offsets_partition": offsets_partition, "run": run, "newest": pickle.dumps(result)}
    return pa.RecordBatch.from_pylist([row], to_arrow_schema(SCHEMA))


def unpack(packed: bytes) -> Newest:
    """The result in a row's `newest`. It is a pickle: only of rows that this source made itself."""
    result = pickle.loads(packed)
    assert isinstance(result, Newest)
    return result
