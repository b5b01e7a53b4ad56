"""Output of rows that are already text in bulk: the same bytes that `emit` writes one by one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Final

from kgroup.report.destination import SURROGATES_ESCAPED, opened, terminal_width
from kgroup.report.emit import (
    TABLE_ROWS_AT_ONCE,
    Column,
    OutputFormat,
    OutputOptions,
    table_columns,
    write_table_cells,
)

Buffer = Any
"""Bytes, or what has such in memory."""

_BETWEEN: Final = b",\n"


def emit_text(pieces: Iterable[Buffer], columns: Sequence[Column], output: OutputOptions) -> None:
    """Write text in UTF-8, in which each row ends with a line's end. In an array of JSON a comma precedes it.

    Raises as `emit`.
    """
    with opened(output.path, live=output.live) as stream:
        write = _writer(stream)
        match output.format:
            case OutputFormat.JSON:
                for piece in _array(pieces):
                    write(piece)
            case OutputFormat.CSV:
                if output.headers:
                    write((",".join(column.name for column in columns) + "\n").encode())
                for piece in pieces:
                    write(piece)
            case _:
                for piece in pieces:
                    write(piece)


def emit_table_text(pieces: Iterable[Buffer], columns: Sequence[Column], output: OutputOptions) -> None:
    """Write a table of cells in bulk, as `table_text` takes them. Raises as `emit`."""
    from kgroup.report.table_text import cells_of, table_text

    with opened(output.path, live=output.live) as stream:
        if output.live or terminal_width(stream) is not None:
            write_table_cells(cells_of(pieces), columns, output, stream)
            return
        write = _writer(stream)
        for text in table_text(
            table_columns(columns), pieces, show_headings=output.headers, rows_at_once=TABLE_ROWS_AT_ONCE
        ):
            write(text)


def _writer(stream: IO[str]) -> Callable[[Buffer], object]:
    binary = getattr(stream, "buffer", None)
    if binary is None:  # somebody who tests, or prints into a notebook
        return lambda piece: stream.write(bytes(piece).decode("utf-8", SURROGATES_ESCAPED))
    stream.flush()
    written: Callable[[Buffer], object] = binary.write
    return written


def _array(pieces: Iterable[Buffer]) -> Iterator[Buffer]:
    """The rows with brackets around, and nothing behind the last but a line's end."""
    opening = b"[\n"
    for piece in pieces:
        view = memoryview(piece)
        yield opening
        yield view[: -len(_BETWEEN)]
        opening = _BETWEEN
    yield b"[]\n" if opening is not _BETWEEN else b"\n]\n"
