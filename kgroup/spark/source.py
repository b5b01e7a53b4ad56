"""Offsets-topic segments as a Spark data source, `kgroup-offsets`: every commit as a row, for SQL.

    spark.dataSource.register(OffsetsDataSource)
    commits = spark.read.format("kgroup-offsets").load(["/logs/a", "/logs/b"])

Paths are what all commands take: segments, partition folders, log dirs, directories of many. The columns
are those of `kgroup.scan.reductions.scan.COMMIT_SCHEMA`; `.schema(...)` may ask for fewer, which is faster.
Tombstones and the commits of open and of aborted transactions are rows, too: `kgroup.spark.jobs` finds what
counts. Options:

`damage`     `fail` (the default), or `skip` damaged bytes and go on behind them.
`taskBytes`  bytes of segments per task, 128 MiB by default; large segments are cut, small ones share a task.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from kgroup.errors import InputError, SourceError
from kgroup.log.files.sources import STDIN, open_sources
from kgroup.spark.tasks import TASK_BYTES_MAX, Task, pack, split_segments

SOURCE: Final = "kgroup-offsets"


class OnDamage(StrEnum):
    """Values of the option `damage`."""

    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsOptions:
    """The options of one read, checked. `paths` are as the user gave them."""

    paths: tuple[str, ...]
    damage: OnDamage
    task_bytes: int

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "OffsetsOptions":
        """Take Spark's options, whose names it has made lower case. Raises InputError for a wrong one."""
        return cls(
            paths=_paths(options),
            damage=_on_damage(options.get("damage", OnDamage.FAIL)),
            task_bytes=_task_bytes(options.get("taskbytes", str(TASK_BYTES_MAX))),
        )


class OffsetsDataSource(DataSource):
    """`kgroup-offsets`; Spark makes one for every `load()`."""

    @classmethod
    def name(cls) -> str:
        """The name for `spark.read.format`."""
        return SOURCE

    def schema(self) -> StructType:
        """COMMIT_SCHEMA in types that Spark has: strings for dictionaries, variable binary for fixed."""
        from kgroup.scan.reductions.scan import COMMIT_SCHEMA

        columns = pa.schema([field.with_type(_spark_type(field.type)) for field in COMMIT_SCHEMA])
        schema: StructType = from_arrow_schema(columns)
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of the columns in `schema`. Raises InputError for a wrong option or column."""
        return OffsetsReader(OffsetsOptions.of(self.options), schema)


class OffsetsReader(DataSourceReader):
    """Yields every commit, as the columnar scan finds them."""

    def __init__(self, options: OffsetsOptions, schema: StructType) -> None:
        from kgroup.scan.reductions.scan import COMMIT_SCHEMA

        unknown = [name for name in schema.names if name not in COMMIT_SCHEMA.names]
        if unknown:
            raise InputError(f"{SOURCE}: no column {unknown[0]}, only {', '.join(COMMIT_SCHEMA.names)}")
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """One per task. Raises SourceError for a path that cannot be read or holds no offsets topic."""
        segments = open_sources(self._options.paths)
        return pack(split_segments(segments, self._options.task_bytes), self._options.task_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Scan the slices of a task. Raises SourceError for damage, unless it is to be skipped."""
        from kgroup.scan.reductions.scan import scan

        assert isinstance(partition, Task)
        schema = to_arrow_schema(self._schema)
        for run in partition.runs():
            for block in scan(run.slices, columns=schema.names, others=False):
                if block.damage and self._options.damage is OnDamage.FAIL:
                    damage = block.damage[0]
                    where = f"{damage.segment}: byte {damage.position}"
                    raise SourceError(f"{where}: {damage.why}; option damage=skip goes on behind it")
                yield block.commits.cast(schema)


def _spark_type(arrow_type: pa.DataType) -> pa.DataType:
    if isinstance(arrow_type, pa.DictionaryType):
        value_type: pa.DataType = arrow_type.value_type
        return value_type
    if pa.types.is_fixed_size_binary(arrow_type):
        return pa.binary()
    return arrow_type


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    """Spark passes `load(path)` as the option path and `load([...])` as paths, in JSON."""
    paths = tuple(json.loads(options["paths"])) if "paths" in options else ()
    if "path" in options:
        paths = (options["path"], *paths)
    if not paths:
        raise InputError(f"{SOURCE}: no path; give one or several to load()")
    if STDIN in paths:
        raise InputError(f"{SOURCE}: executors cannot read standard input")
    return paths


def _on_damage(value: str) -> OnDamage:
    try:
        return OnDamage(value.lower())
    except ValueError:
        choices = " or ".join(OnDamage)
        raise InputError(f"{SOURCE}: option damage is {value!r}, not {choices}") from None


def _task_bytes(value: str) -> int:
    if not (value.isascii() and value.isdigit()) or int(value) == 0:
        raise InputError(f"{SOURCE}: option taskBytes is {value!r}, not a number of bytes")
    return int(value)
