"""The base of all data sources: a documented schema, checked options, and filters that are pushed down.

Spark tells a Python source no columns to leave out, so the option `columns` chooses them; `.schema(...)`
does the same where its types are wanted otherwise.
"""

import json
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from kgroup.errors import InputError
from kgroup.spark.reduced_source import freeze_compiler
from kgroup.spark.sources.filters import Condition, accepted
from kgroup.spark.sources.options import GivenOptions

COMMON_OPTIONS: Final = ("columns", "offsetsPartitions", "schemaVersion", "taskBytes")
"""What all sources take."""

TIME: Final = pa.timestamp("us", "UTC")


def table(columns: Sequence[tuple[str, pa.DataType]], *, required: Collection[str]) -> pa.Schema:
    """The schema of a table; columns that are not `required` can be null."""
    fields = [pa.field(name, kind, nullable=name not in required) for name, kind in columns]
    return pa.schema(fields)


class TableSource(DataSource):
    """Spark makes one for every `load()`. Subclasses say what is in the table."""

    NAME: ClassVar[str]
    TABLE: ClassVar[pa.Schema]
    OPTIONS: ClassVar[tuple[str, ...]]

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return cls.NAME

    def schema(self) -> StructType:
        """The columns of the table, or those that the option `columns` names. Raises InputError."""
        names = self.given().columns(self.TABLE.names)
        schema: StructType = from_arrow_schema(pa.schema([self.TABLE.field(name) for name in names]))
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the columns in `schema`. Raises InputError for a wrong option or column."""
        unknown = [name for name in schema.names if name not in self.TABLE.names]
        if unknown:
            raise InputError(f"{self.NAME}: no column {unknown[0]}, only {', '.join(self.TABLE.names)}")
        return self.table_reader(self.given(), arrow_schema(schema))

    def given(self) -> GivenOptions:
        """The options, none of them unknown."""
        options: Mapping[str, str] = self.options
        given = GivenOptions(self.NAME, options, (*COMMON_OPTIONS, *self.OPTIONS))
        given.check_schema_version()
        return given

    @abstractmethod
    def table_reader(self, given: GivenOptions, schema: pa.Schema) -> "TableReader":
        """The reader. Raises InputError for a wrong option."""


class TableReader(DataSourceReader):
    """Reads columns of a table, whose `conditions` Spark does not check again.

    Executors get it as it was before tasks were made: what `partitions` finds out goes into tasks.
    """

    def __init__(self, table: pa.Schema, schema: pa.Schema) -> None:
        self._table = table
        self._schema = schema
        self._conditions: list[Condition] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Take the filters on columns of simple types; Spark checks the others."""
        # By the columns' own types: those of `.schema()` are only made of them in the end.
        same = [field for field in self._schema if self._table.field(field.name).type == field.type]
        for each, condition in accepted(filters, pa.schema(same)):
            if condition is None:
                yield each
            else:
                self._conditions.append(condition)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        yield from self.batches(partition)
        freeze_compiler()

    @abstractmethod
    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The same, as batches of the schema."""


def arrow_schema(schema: StructType) -> pa.Schema:
    """What Spark wants batches of a schema to have, times in UTC."""
    utc: dict[str, Any] = {"timezone": "UTC"}
    try:
        made: pa.Schema = to_arrow_schema(schema, **utc)
    except TypeError:  # before Spark 4.3 it is always UTC
        made = to_arrow_schema(schema)
    return made


class JsonTask(InputPartition):
    """What one task does, as JSON."""

    @classmethod
    def of(cls, value: object) -> "JsonTask":
        """Make one."""
        return cls(json.dumps(value))

    def decoded(self) -> Any:
        """What it was made of."""
        return json.loads(self.value)
