"""Output of rows: one function for every command and every format.

A command yields rows (mappings from field name to value) and names its columns once. Field names are the
same in JSON, CSV and Parquet; only tables have headings, ISO times and `-` for what is unknown. Everything
streams: a row is written when it comes (tables: in chunks), whatever the number of rows.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kgroup.errors import InputError
from kgroup.report.destination import SURROGATES_ESCAPED, new_file, opened, terminal_width
from kgroup.report.table import TableColumn, printable_name, render_table

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, object]
"""A field that is missing or None is unknown."""

TABLE_ROWS_AT_ONCE = 1024
PARQUET_ROWS_AT_ONCE = 65_536
_EPOCH = datetime(1970, 1, 1)  # in UTC, but its text shall name no zone


class OutputFormat(Enum):
    """The values of `-o/--format`."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


class Kind(Enum):
    """The type of a column's values; None is unknown in all of them."""

    TEXT = "text"
    INTEGER = "integer"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TIME_MS = "time_ms"
    """Epoch ms: ISO-8601 UTC in tables, an integer elsewhere, a timestamp in Parquet."""
    DURATION_MS = "duration_ms"
    """Milliseconds: like `2h 5m` in tables, an integer elsewhere."""
    NESTED = "nested"
    """Lists and mappings of JSON's types: JSON in JSON; JSON text in CSV, and in Parquet if the column has no
    `nested` type.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One field. `header` is the heading in tables; by default the name in capitals.

    Where a screen is too narrow, `narrow` is the heading, and the column with the highest `spare` is left out
    first; one with 0 stays. `nested` gives the Arrow type of values of Kind.NESTED in Parquet.
    """

    name: str
    header: str | None = None
    kind: Kind = Kind.TEXT
    narrow: str | None = None
    spare: int = 0
    nested: "Callable[[], pa.DataType] | None" = None

    @property
    def heading(self) -> str:
        """The heading that a table shows."""
        return self.name.replace("_", "-").upper() if self.header is None else self.header


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """The output flags that every command has. `path` None is standard output.

    `live` is for sources without an end: each row is written and flushed when it comes.
    """

    format: OutputFormat = OutputFormat.TABLE
    path: Path | None = None
    headers: bool = True
    live: bool = False


def emit(rows: Iterable[Row], columns: Sequence[Column], output: OutputOptions) -> None:
    """Write `rows` as `output` says.

    JSON and JSON lines write each row's own fields in its own order; the other formats write `columns`.
    Raises InputError for Parquet onto a terminal, SourceError if the file cannot be written, and
    BrokenPipeError if the reader has gone.
    """
    if output.format is OutputFormat.PARQUET:
        emit_parquet(arrow_batches(rows, columns), columns, output)
        return
    with opened(output.path, live=output.live) as stream:
        if output.format is OutputFormat.CSV:
            _write_csv((_csv_fields(row, columns) for row in rows), columns, output, stream)
            return
        _write_lines(_lines(rows, columns, output, stream), output, stream)


def emit_table_cells(
    cells: Iterable[Sequence[str]], columns: Sequence[Column], output: OutputOptions
) -> None:
    """Write a table of cells that are texts already, as `cell` makes them; a cell for each column."""
    with opened(output.path, live=output.live) as stream:
        write_table_cells(cells, columns, output, stream)


def write_table_cells(
    cells: Iterable[Sequence[str]], columns: Sequence[Column], output: OutputOptions, stream: IO[str]
) -> None:
    """The same into what is open already."""
    lines = render_table(
        table_columns(columns),
        cells,
        width_max=terminal_width(stream),
        show_headings=output.headers,
        rows_at_once=1 if output.live else TABLE_ROWS_AT_ONCE,
        note=partial(_note, stream),
    )
    _write_lines(lines, output, stream)


def emit_csv_lines(lines: Iterable[str], columns: Sequence[Column], output: OutputOptions) -> None:
    """Write the names of columns and lines of CSV, which are without their ends."""
    with opened(output.path, live=output.live) as stream:
        _write_csv((), columns, output, stream)
        _write_lines(lines, output, stream)


def emit_lines(lines: Iterable[str], output: OutputOptions) -> None:
    """Write lines that are done already, whatever the format."""
    with opened(output.path, live=output.live) as stream:
        _write_lines(lines, output, stream)


def emit_json(texts: Iterable[str], output: OutputOptions) -> None:
    """The same for rows that are JSON already; the format must be JSON or JSON lines."""
    with opened(output.path, live=output.live) as stream:
        is_array = output.format is OutputFormat.JSON
        lines = (to_json(JsonText(text)) for text in texts)
        _write_lines(_json_array_lines(lines) if is_array else lines, output, stream)


def emit_page(page: Callable[[int | None], Iterable[str]], output: OutputOptions) -> None:
    """Write lines for reading; `page` gets the number of columns they should fit into, if known."""
    with opened(output.path, live=output.live) as stream:
        _write_lines(page(terminal_width(stream)), output, stream)


def _write_lines(lines: Iterable[str], output: OutputOptions, stream: IO[str]) -> None:
    for line in lines:
        stream.write(line + "\n")
        if output.live:
            stream.flush()


def _lines(
    rows: Iterable[Row], columns: Sequence[Column], output: OutputOptions, stream: IO[str]
) -> Iterator[str]:
    match output.format:
        case OutputFormat.JSONL:
            return map(to_json, rows)
        case OutputFormat.JSON:
            return _json_array_lines(rows)
        case _:
            return table_lines(
                rows,
                columns,
                width_max=terminal_width(stream),
                show_headings=output.headers,
                rows_at_once=1 if output.live else TABLE_ROWS_AT_ONCE,
                note=partial(_note, stream),
            )


def _note(stream: IO[str], text: str) -> None:
    """Print a note, which is no part of the table, where notes go, after the rows."""
    stream.flush()
    print(f"kgroup: {text}", file=sys.stderr, flush=True)


def table_lines(
    rows: Iterable[Row],
    columns: Sequence[Column],
    *,
    width_max: int | None = None,
    show_headings: bool = True,
    rows_at_once: int = TABLE_ROWS_AT_ONCE,
    note: Callable[[str], None] | None = None,
) -> Iterator[str]:
    """The lines of a table, as `render_table` lays it out."""
    shown = [(column.name, _cell_of(column.kind)) for column in columns]
    return render_table(
        table_columns(columns),
        ([show(row.get(name)) for name, show in shown] for row in rows),
        width_max=width_max,
        show_headings=show_headings,
        rows_at_once=rows_at_once,
        note=note,
    )


def table_columns(columns: Sequence[Column]) -> list[TableColumn]:
    """The layout of these columns in a table."""
    return [
        TableColumn(
            heading=column.heading,
            right=column.kind in _RIGHT_ALIGNED,
            wraps=column.kind in (Kind.TEXT, Kind.NESTED),
            narrow=column.narrow,
            spare=column.spare,
        )
        for column in columns
    ]


def _json_array_lines(rows: Iterable[object]) -> Iterator[str]:
    previous = None
    for row in rows:
        yield "[" if previous is None else f"{previous},"
        previous = to_json(row)
    yield from ["[]"] if previous is None else [previous, "]"]


class JsonText(str):
    """JSON on one line already: a row for JSON and JSON lines, or a nested field for CSV and Parquet."""

    __slots__ = ()


def to_json(value: object) -> JsonText:
    """JSON on one line. Bytes are hex, enums their values, sets sorted lists, and anything else its text.

    What a terminal might obey is escaped: it reads back as what it was.
    """
    integers = _integers(value)
    if integers is not None:
        return JsonText(integers[0] % integers[1])
    text = value if isinstance(value, JsonText) else _ENCODER.encode(value)
    return JsonText(text if text.isprintable() else _UNPRINTABLE.sub(_json_escape, text))


def _integers(value: object) -> tuple[str, tuple[int, ...]] | None:
    """The template of a mapping to integers, as nearly all evidence is, and what to put into it."""
    if type(value) is not dict or set(map(type, value.values())) != {int}:
        return None
    template = _integers_template(tuple(value))
    return None if template is None else (template, tuple(value.values()))


@lru_cache(maxsize=256)
def _integers_template(names: tuple[object, ...]) -> str | None:
    """JSON of a mapping of these names, with `%d` for each value; None if some name is no text."""
    if not all(isinstance(name, str) for name in names):
        return None
    return "{" + ", ".join(to_json(name).replace("%", "%%") + ": %d" for name in names) + "}"


def _json_escape(unprintable: re.Match[str]) -> str:
    """`\\u202e`; what is beyond the first plane as the two halves that JSON has for it. Spaces stay."""
    text = unprintable[0]
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _plain(value: object) -> object:
    match value:
        case bytes():
            return value.hex()
        case Enum():
            return value.value
        case set() | frozenset():
            return sorted(value)
        case Mapping():
            return dict(value)
        case _:
            return str(value)


# Other than letters and marks, digits, punctuation and symbols, most of which \\w and ASCII are.
_UNPRINTABLE = re.compile(r"[^\w\x20-\x7e]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_plain)


def cell(value: object, kind: Kind) -> str:
    """A value as a table shows it."""
    return _cell_of(kind)(value)


def _cell_of(kind: Kind) -> Callable[[object], str]:
    """The function that shows values of this kind: which one is asked once, not for each of many rows."""
    match kind:
        case Kind.TIME_MS:
            return _time_cell
        case Kind.DURATION_MS:
            return _duration_cell
        case Kind.FLOAT:
            return _float_cell
        case Kind.BOOLEAN:
            return lambda value: "-" if value is None else "yes" if value else "no"
        case Kind.NESTED:
            return lambda value: "-" if value is None else _nested(value)
        case Kind.INTEGER:
            return lambda value: "-" if value is None else str(value)
        case _:
            return _text_cell


def _time_cell(value: object) -> str:
    return iso_time(value) if isinstance(value, int) else _text_cell(value)


def _duration_cell(value: object) -> str:
    return short_duration(value) if isinstance(value, int) else _text_cell(value)


def _float_cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else _text_cell(value)


def _text_cell(value: object) -> str:
    if value is None:
        return "-"
    return printable_name(str(value.value if isinstance(value, Enum) else value)) or '""'


def _nested(value: object) -> str:
    if isinstance(value, (list, tuple)) and all(isinstance(item, (str, int)) for item in value):
        return ",".join(printable_name(str(item)) for item in value) or "-"
    return to_json(value) if value else "-"


def iso_time(time_ms: int) -> str:
    """`2026-01-31T09:30:00.125Z`; the number itself where the calendar does not reach."""
    second = _iso_second(time_ms // 1000)
    return str(time_ms) if second is None else f"{second}.{time_ms % 1000:03}Z"


@lru_cache(maxsize=4096)  # records of a log come one after the other, many in a second
def _iso_second(time_s: int) -> str | None:
    try:
        return (_EPOCH + timedelta(seconds=time_s)).isoformat()
    except OverflowError:
        return None


def short_duration(duration_ms: int) -> str:
    """The two largest units: `350ms`, `12.5s`, `15m 3s`, `2h 5m`, `3d 4h`."""
    if duration_ms < 0:
        return "-" + short_duration(-duration_ms)
    if duration_ms < 1000:
        return f"{duration_ms}ms" if duration_ms else "0s"
    if duration_ms < 60_000:
        return f"{duration_ms / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    seconds = duration_ms // 1000
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60}s"
    if seconds < 86_400:
        return f"{seconds // 3600}h {seconds % 3600 // 60}m"
    return f"{seconds // 86_400}d {seconds % 86_400 // 3600}h"


# The wide forms count in East Asian versions. A text that begins with an apostrophe keeps it that way.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'")

_RIGHT_ALIGNED = {Kind.INTEGER, Kind.FLOAT, Kind.DURATION_MS}


def _write_csv(
    rows: Iterable[Sequence[object]], columns: Sequence[Column], output: OutputOptions, stream: IO[str]
) -> None:
    import csv

    writer = csv.writer(stream, lineterminator="\n")
    if output.headers:
        writer.writerow([column.name for column in columns])
    if not output.live:
        writer.writerows(rows)
        return
    for row in rows:
        writer.writerow(row)
        stream.flush()


def _csv_fields(row: Row, columns: Sequence[Column]) -> list[object]:
    return [csv_field(row.get(column.name), column.kind) for column in columns]


def csv_field(value: object, kind: Kind) -> object:
    """A value as CSV has it."""
    if value is None:
        return ""
    if kind is Kind.NESTED:
        return to_json(value)
    if kind is Kind.BOOLEAN:
        return "true" if value else "false"
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):  # one line for each row, and nothing that a terminal obeys; JSON is exact
        return _no_formula(printable_name(value))
    return value.hex() if isinstance(value, bytes) else value


def csv_text(field: object) -> str:
    """A field of `csv_field`, which has no line breaks, as it stands in a line that has others."""
    text = str(field)
    return '"' + text.replace('"', '""') + '"' if '"' in text or "," in text else text


def csv_nested(value: object) -> str:
    """A nested value as it stands in a line, with its quotes."""
    integers = _integers(value)
    if integers is not None:
        return _quoted_template(integers[0]) % integers[1]
    return csv_text(csv_field(value, Kind.NESTED))


_quoted_template = lru_cache(maxsize=256)(csv_text)


def _no_formula(text: str) -> str:
    """A text that no spreadsheet calculates: it begins with an apostrophe, which one is to be taken off.

    OWASP, "CSV Injection". Numbers are not formulas, so negative ones stay as they are.
    """
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def emit_parquet(
    batches: Iterable[Any],
    columns: Sequence[Column],
    output: OutputOptions,
    write: "Callable[[Iterable[Any], Sequence[Column], IO[bytes]], None] | None" = None,
) -> None:
    """Write batches of `arrow_schema`, or what `write` can write into a file.

    Raises InputError for a terminal, or a source without end.
    """
    write = write or _write_parquet
    if output.path is None and sys.stdout.isatty():
        raise InputError("Parquet is not for a terminal: give --output FILE, or send it into a pipe")
    if output.live:
        raise InputError("Parquet has its index at the end, so it cannot be followed: use -o jsonl")
    import tempfile

    # A Parquet writer asks where it is in the file, which a pipe cannot say.
    if output.path is None:
        with tempfile.TemporaryFile() as whole:
            write(batches, columns, whole)
            whole.seek(0)
            sys.stdout.flush()
            shutil.copyfileobj(whole, sys.stdout.buffer)
        return
    with new_file(output.path) as name, name.open("wb") as file:
        write(batches, columns, file)


def _write_parquet(batches: "Iterable[pa.RecordBatch]", columns: Sequence[Column], file: IO[bytes]) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(file, arrow_schema(columns)) as writer:
        for batch in batches:
            writer.write_batch(batch)


def arrow_schema(columns: Sequence[Column]) -> "pa.Schema":
    """The types that Parquet files and tables of Spark have for these columns."""
    import pyarrow as pa

    types: dict[Kind, pa.DataType] = {
        Kind.TEXT: pa.string(),
        Kind.INTEGER: pa.int64(),
        Kind.FLOAT: pa.float64(),
        Kind.BOOLEAN: pa.bool_(),
        Kind.TIME_MS: pa.timestamp("ms", tz="UTC"),
        Kind.DURATION_MS: pa.int64(),
        Kind.NESTED: pa.string(),
    }
    return pa.schema(
        [
            (column.name, types[column.kind] if column.nested is None else column.nested())
            for column in columns
        ]
    )


def arrow_batches(rows: Iterable[Row], columns: Sequence[Column]) -> "Iterator[pa.RecordBatch]":
    """Rows of `arrow_schema`, some ten thousand at a time; the last batch may have none."""
    import pyarrow as pa

    schema = arrow_schema(columns)
    converters = [(column.name, parquet_converter(column)) for column in columns]
    pending: list[dict[str, object]] = []
    for row in rows:
        pending.append({name: convert(row.get(name)) for name, convert in converters})
        if len(pending) == PARQUET_ROWS_AT_ONCE:
            yield pa.RecordBatch.from_pylist(pending, schema)
            pending.clear()
    yield pa.RecordBatch.from_pylist(pending, schema)


def parquet_converter(column: Column) -> Callable[[object], object]:
    """Makes of a value what a column of `arrow_schema` takes."""

    def nested(value: object) -> object:
        return None if value is None else _parquet_text(to_json(value))

    if column.nested is not None:
        return _fitting(column.nested())
    match column.kind:
        case Kind.TEXT:
            return _parquet_text
        case Kind.NESTED:
            return nested
        case _:
            return _unchanged


def _parquet_text(value: object) -> str | None:
    if value is None:
        return None
    plain = value.value if isinstance(value, Enum) else value
    as_text = plain.hex() if isinstance(plain, bytes) else str(plain)
    return as_text.encode("utf-8", SURROGATES_ESCAPED).decode()


def _fitting(kind: "pa.DataType") -> Callable[[object], object]:
    """Makes of a value of JSON's types what an Arrow type takes.

    Times before 1970, as Kafka's -1 for none, are null, and so are fields that a mapping lacks. What is made
    raises KeyError for a field that the type lacks.
    """
    import pyarrow as pa

    if isinstance(kind, pa.StructType):
        fields = {field.name: _fitting(field.type) for field in kind}
        return partial(_fitted_mapping, fields)
    if isinstance(kind, pa.ListType):
        return partial(_fitted_list, _fitting(kind.value_type))
    if pa.types.is_timestamp(kind):
        return _fitted_time
    return _parquet_text if pa.types.is_string(kind) else _unchanged


def _fitted_mapping(fields: Mapping[str, Callable[[object], object]], value: object) -> object:
    if value is None:
        return None
    assert isinstance(value, Mapping)
    return {name: fields[name](each) for name, each in value.items()}


def _fitted_list(member: Callable[[object], object], value: object) -> object:
    if value is None:
        return None
    assert isinstance(value, list | tuple)
    return [member(each) for each in value]


def _fitted_time(value: object) -> object:
    assert value is None or isinstance(value, int)
    return None if value is None or value < 0 else value


def _unchanged(value: object) -> object:
    return value
