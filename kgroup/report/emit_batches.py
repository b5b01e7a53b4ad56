"""Rows out that come as Arrow batches: by the million, so in columns as far as the format allows."""

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
    Row,
    arrow_schema,
    emit,
    emit_json,
    emit_parquet,
)
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
            emit(_rows(batches, columns, JsonText), columns, output)
        case OutputFormat.TABLE:
            emit(_rows(batches, columns, json.loads), columns, output)


def transit_schema(columns: Sequence[Column]) -> pa.Schema:
    """What columns are on their way here: as in `arrow_schema`, but times are epoch ms."""
    return arrow_schema(
        [replace(column, kind=Kind.INTEGER) if column.kind is Kind.TIME_MS else column for column in columns]
    )


def _json_rows(batch: pa.RecordBatch, columns: Sequence[Column]) -> Iterator[str]:
    fields = {column.name: _json_field(batch, column) for column in columns}
    return map(str, json_objects(fields, batch.num_rows).to_pylist())


def _json_field(batch: pa.RecordBatch, column: Column) -> ArrowColumn:
    values = batch[column.name]
    return values.fill_null("null") if column.kind is Kind.NESTED else json_values(values)


def _rows(
    batches: Iterable[pa.RecordBatch], columns: Sequence[Column], nested: Callable[[str], object]
) -> Iterator[Row]:
    """The batches' rows; what is JSON in them becomes what `nested` makes of it."""
    for batch in batches:
        fields: list[list[object]] = []
        for column in columns:
            values = batch[column.name].to_pylist()
            if column.kind is Kind.NESTED:
                values = [None if value is None else nested(value) for value in values]
            fields.append(values)
        for row in zip(*fields, strict=True):
            yield {column.name: value for column, value in zip(columns, row, strict=True)}
