"""Tables made from cells in bulk: the same text that `render_table` makes row by row."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from kgroup.report.table import GAP, TableColumn, aligned_lines, cell_widths
from kgroup.scan.kernels import layout
from kgroup.scan.kernels.bytes_at import Bytes

CELL_END: Final = chr(layout.CELL_END)
"""What every cell of a row ends with but the last."""
ROW_END: Final = chr(layout.ROW_END)

_BYTES_AT_ONCE: Final = 1 << 20


def cells_of(pieces: Iterable[Any]) -> Iterator[list[str]]:
    """The rows of pieces, as `render_table` takes them."""
    for piece in pieces:
        for row in bytes(piece).decode().split(ROW_END)[:-1]:
            yield row.split(CELL_END)


def table_text(
    columns: Sequence[TableColumn], pieces: Iterable[Any], *, show_headings: bool, rows_at_once: int
) -> Iterator[Bytes]:
    """A table without a limit to its width, in UTF-8, each part good until the next is asked for.

    Each piece has whole rows of printable cells with their ends. Columns are as wide as in `render_table`.
    """
    table = _Table(columns, show_headings=show_headings, rows_at_once=rows_at_once)
    pending = bytearray()
    for piece in pieces:
        pending += memoryview(piece)
        if len(pending) >= _BYTES_AT_ONCE:
            rows = np.frombuffer(pending, np.uint8)
            used = 0
            for end, text in table.chunks(rows, is_end=False):
                used = end
                yield text
            pending = bytearray(memoryview(pending)[used:])
    for _, text in table.chunks(np.frombuffer(pending, np.uint8), is_end=True):
        yield text
    if not table.has_begun:
        yield from map(_line, table.headings())


class _Table:
    """The widths so far."""

    def __init__(self, columns: Sequence[TableColumn], *, show_headings: bool, rows_at_once: int) -> None:
        self._columns = columns
        self._headings = [column.heading for column in columns] if show_headings else []
        self._rows_at_once = rows_at_once
        self._widths = np.array(cell_widths(columns, [self._headings] if show_headings else []), np.int64)
        self._is_right = np.array([column.right for column in columns], np.bool_)
        self._out: Bytes = np.empty(1 << 16, np.uint8)
        self.has_begun = False

    def headings(self) -> Iterator[str]:
        """The line of the headings, if they are to be shown."""
        if self._headings:
            yield from aligned_lines(self._columns, [self._headings], self._widths.tolist())

    def chunks(self, rows: Bytes, *, is_end: bool) -> Iterator[tuple[int, Bytes]]:
        """The text of rows in chunks that share their widths, and where they end."""
        at = 0
        measured = np.zeros_like(self._widths)
        while at < len(rows):
            count, end, is_ascii = layout.measure_rows(rows, at, self._rows_at_once, measured)
            if count < self._rows_at_once and not is_end:
                return
            cells = None if is_ascii else list(cells_of([rows[at:end]]))
            self._widths = np.maximum(
                self._widths, measured if cells is None else cell_widths(self._columns, cells)
            )
            if not self.has_begun:
                self.has_begun = True
                for heading in self.headings():
                    yield at, _line(heading)
            if cells is None:
                yield end, self._laid_out(rows, at, end, count)
            else:
                lines = aligned_lines(self._columns, cells, self._widths.tolist())
                yield end, _line(ROW_END.join(lines))
            at = end

    def _laid_out(self, rows: Bytes, at: int, end: int, count: int) -> Bytes:
        room = count * (int(self._widths.sum()) + len(GAP) * len(self._columns))
        if room > len(self._out):
            self._out = np.empty(room, np.uint8)
        size = layout.lay_rows_out(rows, at, end, self._widths, self._is_right, len(GAP), self._out)
        return self._out[:size]


def _line(text: str) -> Bytes:
    return np.frombuffer((text + ROW_END).encode(), np.uint8)
