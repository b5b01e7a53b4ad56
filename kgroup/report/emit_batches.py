"""Output of rows in Arrow batches: by the million, so column by column where the format allows it."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from kgroup.report.emit import (
    Column,
    JsonText,
    Kind,
    OutputFormat,
    OutputOptions,
    arrow_schema,
    emit_json,
    emit_parquet,
)
from kgroup.report.emit_columns import Columns, emit_columns
from kgroup.report.json_columns import ArrowColumn, json_objects, json_values


def emit_batches(batches: Iterable[pa.RecordBatch], columns: Sequence[Column], output: OutputOptions) -> None:
    """Write batches as `emit` writes rows, with the same errors.

    They have all columns, and perhaps more, as in `transit_schema`; texts may be dictionaries.
    """
    match output.format:
        case OutputFormat.PARQUET:
            schema = arrow_schema(columns)
            emit_parquet((batch.select(schema.names).cast(schema) for batch in batches), columns, output)
        case OutputFormat.JSON | OutputFormat.JSONL:
            emit_json((text for batch in batches for text in _json_rows(batch, columns)), output)
        case OutputFormat.CSV:
            emit_columns((_columns(batch, columns, JsonText) for batch in batches), columns, output)
        case OutputFormat.TABLE:
            emit_columns((_columns(batch, columns, json.loads) for batch in batches), columns, output)


def transit_schema(columns: Sequence[Column]) -> pa.Schema:
    """The schema of columns in transit: as in `arrow_schema`, but times are epoch ms."""
    return arrow_schema(transit_columns(columns))


def transit_columns(columns: Iterable[Column]) -> list[Column]:
    """The same as columns: their times are numbers."""
    return [
        replace(column, kind=Kind.INTEGER) if column.kind is Kind.TIME_MS else column for column in columns
    ]


def _json_rows(batch: pa.RecordBatch, columns: Sequence[Column]) -> Iterator[str]:
    fields = {column.name: _json_field(batch, column) for column in columns}
    return map(str, json_objects(fields, batch.num_rows).to_pylist())


def _json_field(batch: pa.RecordBatch, column: Column) -> ArrowColumn:
    values = batch[column.name]
    return values.fill_null("null") if column.kind is Kind.NESTED else json_values(values)


def _columns(batch: pa.RecordBatch, columns: Sequence[Column], nested: Callable[[str], object]) -> Columns:
    """A batch's columns; what is JSON in them becomes what `nested` makes of it."""
    return {
        column.name: [
            value if value is None or column.kind is not Kind.NESTED else nested(value)
            for value in batch[column.name].to_pylist()
        ]
        for column in columns
    }
