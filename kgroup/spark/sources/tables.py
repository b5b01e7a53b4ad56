"""The base of all data sources: a documented schema, checked options, and conditions on rows.

Spark tells a Python source no columns to leave out, so the option `columns` chooses them; `.schema(...)`
does the same where its types are wanted otherwise.

Conditions come as options, and on request as filters that Spark pushes down. Not by default: Spark 4.3 keeps
what a source has planned for pushed filters with the loaded relation, and not with the query. So of a
DataFrame in two queries, or twice in one, the one gets the rows of the other.
"""

import json
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from kgroup.errors import InputError
from kgroup.spark.sources.filters import EPOCH, Condition, accepted
from kgroup.spark.sources.fleet import CLUSTER, FleetReader
from kgroup.spark.sources.options import CLUSTERS, GivenOptions
from kgroup.spark.sources.table_reader import TableReader
from kgroup.spark.storage import Storage

COMMON_OPTIONS: Final = (
    CLUSTERS,
    "columns",
    "group",
    "offsetsPartitions",
    "pushFilters",
    "schemaVersion",
    "taskBytes",
)
"""What all sources take."""

TIME: Final = pa.timestamp("us", "UTC")
TIMES: Final = ("record_timestamp", "time")
"""The columns with the time at which a row's subject was logged."""


def table(columns: Sequence[tuple[str, pa.DataType]], *, required: Collection[str]) -> pa.Schema:
    """The schema of a table; columns that are not `required` can be null."""
    fields = [pa.field(name, kind, nullable=name not in required) for name, kind in columns]
    return pa.schema(fields)


class TableSource(DataSource):
    """Spark makes one for every `load()`. Subclasses say what is in the table."""

    NAME: ClassVar[str]
    TABLE: ClassVar[pa.Schema]
    OPTIONS: ClassVar[tuple[str, ...]]
    STORAGE: ClassVar[Storage] = Storage()
    """How the session reaches what URIs name; `of_session` sets it."""

    @classmethod
    def of_session(cls, storage: Storage) -> "type[TableSource]":
        """The source as a session registers it: Spark tells a Python source nothing of its settings."""
        return type(cls.__name__, (cls,), {"STORAGE": storage, "__qualname__": f"of_session.{cls.__name__}"})

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return cls.NAME

    def schema(self) -> StructType:
        """The columns of the table, or those that the option `columns` names. Raises InputError."""
        given = self.given()
        table = self.table_of(given)
        names = given.columns(table.names)
        schema: StructType = from_arrow_schema(pa.schema([table.field(name) for name in names]))
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the columns in `schema`. Raises InputError for a wrong option or column."""
        given = self.given()
        table = self.table_of(given)
        unknown = [name for name in schema.names if name not in table.names]
        if unknown:
            raise InputError(f"{self.NAME}: no column {unknown[0]}, only {', '.join(table.names)}")
        if CLUSTERS in given:
            reader: TableReader = FleetReader(given, self.TABLE, arrow_schema(schema), self.table_reader)
        else:
            reader = self.table_reader(given, arrow_schema(schema))
        reader.storage = self.STORAGE
        reader.conditions.extend(conditions_in(given, self.TABLE))
        return PushedReader(reader) if given.flag("pushFilters") else reader

    def given(self) -> GivenOptions:
        """The options, none of them unknown."""
        options: Mapping[str, str] = self.options
        given = GivenOptions(self.NAME, options, (*COMMON_OPTIONS, *self.options_known()))
        given.check_schema_version()
        return given

    def table_of(self, given: GivenOptions) -> pa.Schema:
        """All columns that it has with these options: of several clusters also which one a row is of."""
        return pa.schema([CLUSTER, *self.TABLE]) if CLUSTERS in given else self.TABLE

    def options_known(self) -> tuple[str, ...]:
        """The options it takes in addition to the common ones."""
        return self.OPTIONS

    @abstractmethod
    def table_reader(self, given: GivenOptions, schema: pa.Schema) -> "TableReader":
        """The reader. Raises InputError for a wrong option."""


class PushedReader(DataSourceReader):
    """A reader that takes filters on columns of simple types from Spark, which does not check them again."""

    def __init__(self, reader: TableReader) -> None:
        self._reader = reader

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """The filters left to Spark."""
        # By the columns' own types: those of `.schema()` are only made of them in the end.
        table = self._reader.table
        same = [field for field in self._reader.schema if table.field(field.name).type == field.type]
        for each, condition in accepted(filters, pa.schema(same)):
            if condition is None:
                yield each
            else:
                self._reader.conditions.append(condition)

    def partitions(self) -> Sequence[InputPartition]:
        """The reader's."""
        return self._reader.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The reader's rows."""
        return self._reader.read(partition)


def conditions_in(given: GivenOptions, table: pa.Schema) -> Iterator[Condition]:
    """The conditions that are options: `group`, `topic`, and `since` and `until` for times of records."""
    for name in ("group", "topic"):
        text = given.text(name)
        if text is not None:
            yield Condition(column=name, kind="EqualTo", value=text)
    column = next((name for name in TIMES if name in table.names), "")
    for name, kind in (("since", "GreaterThanOrEqual"), ("until", "LessThan")):
        time_ms = given.time_ms(name)
        if time_ms is not None:
            time = EPOCH + timedelta(milliseconds=time_ms)
            yield Condition(column=column, kind=kind, value=time)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The schema that Spark wants batches to have, times in UTC."""
    utc: dict[str, Any] = {"timezone": "UTC"}
    try:
        made: pa.Schema = to_arrow_schema(schema, **utc)
    except TypeError:  # before Spark 4.3 it is always UTC
        made = to_arrow_schema(schema)
    return made


class JsonTask(InputPartition):
    """One task's work, as JSON."""

    @classmethod
    def of(cls, value: object) -> "JsonTask":
        """Make one."""
        return cls(json.dumps(value))

    def decoded(self) -> Any:
        """The value it was made of."""
        return json.loads(self.value)
