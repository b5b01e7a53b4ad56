"""Output of rows in columns: some thousand at a time, without a mapping for each row.

The same bytes as `emit` makes of these rows, in every format.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Final, TypeVar

from kgroup.report.emit import (
    PARQUET_ROWS_AT_ONCE,
    Column,
    Kind,
    OutputFormat,
    OutputOptions,
    Row,
    arrow_schema,
    cell,
    csv_field,
    csv_nested,
    csv_text,
    emit_csv_lines,
    emit_json,
    emit_parquet,
    emit_table_cells,
    parquet_converter,
    to_json,
)

if TYPE_CHECKING:
    import pyarrow as pa

Shown = TypeVar("Shown")

Columns = Mapping[str, Sequence[object]]
"""A value for each row by the name of a field; all of the same length."""


def emit_columns(chunks: Iterable[Columns], columns: Sequence[Column], output: OutputOptions) -> None:
    """Write the rows of all chunks as `emit` writes rows, with the same errors.

    JSON has each chunk's own fields in its own order; the other formats have `columns`. `JsonText` in a
    nested column is JSON already.
    """
    match output.format:
        case OutputFormat.JSON | OutputFormat.JSONL:
            kinds = {column.name: column.kind for column in columns}
            emit_json((text for chunk in chunks for text in _json_rows(chunk, kinds)), output)
        case OutputFormat.CSV:
            emit_csv_lines((line for chunk in chunks for line in _csv_lines(chunk, columns)), columns, output)
        case OutputFormat.PARQUET:
            emit_parquet(column_batches(chunks, columns), columns, output)
        case OutputFormat.TABLE:
            emit_table_cells(_rows_of(chunks, columns, cell), columns, output)


def rows_of(chunk: Columns, names: Iterable[str] | None = None) -> Iterator[Row]:
    """A mapping for each row of a chunk, of all fields or of those named."""
    names = tuple(chunk if names is None else names)
    for values in zip(*(chunk[name] for name in names), strict=True):
        yield dict(zip(names, values, strict=True))


def columns_of(rows: Sequence[Row]) -> Columns:
    """A chunk of rows that all have the fields of the first; without rows it has no column."""
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}


def selected(chunk: Columns, rows: Sequence[bool]) -> Columns:
    """The rows of a chunk that are True in `rows`."""
    return {
        name: [value for value, is_wanted in zip(values, rows, strict=True) if is_wanted]
        for name, values in chunk.items()
    }


def column_batches(
    chunks: Iterable[Columns], columns: Sequence[Column], rows_max: int = PARQUET_ROWS_AT_ONCE
) -> "Iterator[pa.RecordBatch]":
    """Batches of `arrow_schema` and of `rows_max` rows each; the last one has fewer, perhaps none."""
    import pyarrow as pa

    schema = arrow_schema(columns)
    converters = [parquet_converter(column) for column in columns]

    def batch(pending: "Sequence[list[object]]") -> pa.RecordBatch:
        arrays = [pa.array(values, field.type) for values, field in zip(pending, schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    pending: list[list[object]] = [[] for _ in columns]
    for chunk in chunks:
        for waiting, column, convert in zip(pending, columns, converters, strict=True):
            waiting.extend(_each(_column_of(chunk, column.name), column.kind, convert))
        while len(pending[0]) >= rows_max:
            yield batch([values[:rows_max] for values in pending])
            pending = [values[rows_max:] for values in pending]
    yield batch(pending)


def _rows_of(
    chunks: Iterable[Columns], columns: Sequence[Column], shown: Callable[[object, Kind], Shown]
) -> Iterator[tuple[Shown, ...]]:
    def of_kind(kind: Kind) -> Callable[[object], Shown]:
        return lambda value: shown(value, kind)

    for chunk in chunks:
        fields = [
            _each(_column_of(chunk, column.name), column.kind, of_kind(column.kind)) for column in columns
        ]
        yield from zip(*fields, strict=True)


def _csv_lines(chunk: Columns, columns: Sequence[Column]) -> Iterator[str]:
    """As the library writes rows; it looks at each letter, of numbers too, for what has to be quoted."""
    fields = [_csv_column(_column_of(chunk, column.name), column.kind) for column in columns]
    if len(fields) == 1:  # an empty line would be no row
        return (field or '""' for field in fields[0])
    return map(",".join, zip(*fields, strict=True))


def _csv_column(values: Sequence[object], kind: Kind) -> Sequence[str]:
    if kind in _PLAIN_KINDS and set(map(type, values)) <= {int, NoneType}:
        return ["" if value is None else str(value) for value in values]
    if kind is Kind.NESTED:
        return _each(values, kind, csv_nested)
    return _each(values, kind, lambda value: csv_text(csv_field(value, kind)))


def _column_of(chunk: Columns, name: str) -> Sequence[object]:
    """A column, which is unknown throughout if the chunk has none of that name."""
    if name in chunk:
        return chunk[name]
    return [None] * len(next(iter(chunk.values()), ()))


def _each(values: Sequence[object], kind: Kind, shown: Callable[[object], Shown]) -> list[Shown]:
    """Each value as shown; a value that many rows share is worked out once."""
    if kind is Kind.NESTED:  # rows often have the very same list
        distinct = {id(value): value for value in values}
        nested = {place: shown(value) for place, value in distinct.items()}
        return [nested[id(value)] for value in values]
    if kind is not Kind.TEXT:
        return [shown(value) for value in values]
    known = {value: shown(value) for value in set(values)}
    return [known[value] for value in values]


_PLAIN_KINDS: Final = (Kind.INTEGER, Kind.TIME_MS, Kind.DURATION_MS)


def _json_rows(chunk: Columns, kinds: Mapping[str, Kind]) -> Iterator[str]:
    fields = [
        map(_integer_json, values)
        if kinds.get(name) in _PLAIN_KINDS
        else _each(values, kinds.get(name, Kind.NESTED), to_json)
        for name, values in chunk.items()
    ]
    named = ", ".join(to_json(name).replace("%", "%%") + ": %s" for name in chunk)
    template = f"{{{named}}}"
    return (template % values for values in zip(*fields, strict=True))


def _integer_json(value: object) -> str:
    if type(value) is int:
        return str(value)
    return "null" if value is None else to_json(value)
