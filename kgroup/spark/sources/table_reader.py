"""The base of the readers of all data sources: columns of a table, and conditions on its rows."""

from abc import abstractmethod
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kgroup.spark.reduced_source import freeze_loaded
from kgroup.spark.sources.filters import Condition
from kgroup.spark.storage import Storage


class TableReader(DataSourceReader):
    """Reads columns of a table, only rows for which all `conditions` hold.

    Executors get it as it was before tasks were made: what `partitions` finds out goes into tasks.
    """

    def __init__(self, table: pa.Schema, schema: pa.Schema) -> None:
        self.table = table
        self.schema = schema
        self.conditions: list[Condition] = []
        self.storage = Storage()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        yield from self.batches(partition)
        freeze_loaded()

    @abstractmethod
    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The same, as batches of the schema."""
