"""Text tables: aligned columns, no lines between them, and never a lost character.

Cells come in as text. A table that is too wide for its terminal wraps headers and long cells; nothing is cut
off, because a shortened group id is no use at three in the morning. Control characters never reach the
terminal: group ids and client ids are whatever a client sent.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

GAP = "  "
_BREAKS = " -_./,:;"
_NARROWEST_TEXT = 12  # text is not wrapped narrower than this; the terminal wraps what still does not fit


def printable(text: str) -> str:
    """`text` with everything that a terminal might obey, or not show, as a backslash escape."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def display_width(text: str) -> int:
    """Columns that `text` takes on a terminal: wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """How a table shows a column: numbers stand right, and only free text may wrap."""

    heading: str
    right: bool = False
    wraps: bool = True


def render_table(
    columns: Sequence[TableColumn],
    rows: Iterable[Sequence[str]],
    *,
    width_max: int | None = None,
    show_headings: bool = True,
    rows_at_once: int,
) -> Iterator[str]:
    """Lines of a table, without line ends; cells must be `printable`.

    Column widths come from the first `rows_at_once` rows (so an endless source can be shown as it comes) and
    grow with later, longer cells. With `width_max` headings and texts wrap to fit, as far as they can.
    """
    source = iter(rows)
    chunk = list(islice(source, rows_at_once))
    headings = [column.heading if show_headings else "" for column in columns]
    widths = _widths(columns, headings, _cell_widths(columns, chunk), width_max)
    if show_headings:
        yield from _row_lines(columns, headings, widths)
    while chunk:
        widths = [
            width if column.wraps and width_max is not None else max(width, cell_width)
            for column, width, cell_width in zip(columns, widths, _cell_widths(columns, chunk), strict=True)
        ]
        for row in chunk:
            yield from _row_lines(columns, row, widths)
        chunk = list(islice(source, rows_at_once))


def _cell_widths(columns: Sequence[TableColumn], rows: list[Sequence[str]]) -> list[int]:
    return [max((display_width(row[i]) for row in rows), default=0) for i in range(len(columns))]


def _widths(
    columns: Sequence[TableColumn], headings: list[str], cell_widths: list[int], width_max: int | None
) -> list[int]:
    """Narrow the widest columns until the table fits, or until every column is as narrow as it may be.

    Ends because each turn takes one from a width that is above its floor.
    """
    widths = [max(len(heading), width) for heading, width in zip(headings, cell_widths, strict=True)]
    if width_max is None:
        return widths
    room = width_max - len(GAP) * (len(widths) - 1)
    floors = [
        max(_longest_piece(heading), min(width, _NARROWEST_TEXT) if column.wraps else width)
        for column, heading, width in zip(columns, headings, cell_widths, strict=True)
    ]
    while sum(widths) > room:
        above = [i for i in range(len(widths)) if widths[i] > floors[i]]
        if not above:
            break
        widths[max(above, key=lambda i: (widths[i], -i))] -= 1
    return widths


def _longest_piece(heading: str) -> int:
    return max((len(piece) for piece in heading.replace("-", "- ").split(" ")), default=0)


def _row_lines(columns: Sequence[TableColumn], cells: Sequence[str], widths: list[int]) -> Iterator[str]:
    wrapped = [_wrap(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for line in range(max(map(len, wrapped), default=0)):
        parts = []
        for column, pieces, width in zip(columns, wrapped, widths, strict=True):
            piece = pieces[line] if line < len(pieces) else ""
            padding = " " * (width - display_width(piece))
            parts.append(padding + piece if column.right else piece + padding)
        yield GAP.join(parts).rstrip(" ")


def _wrap(text: str, width: int) -> list[str]:
    """`text` in pieces of at most `width` columns, broken behind a separator where one is near the end."""
    if len(text) <= width and text.isascii():
        return [text]
    pieces = []
    while display_width(text) > width > 0:
        end = _fitting(text, width)
        breaks = [i for i in range(end // 2, end) if text[i] in _BREAKS]
        if breaks:
            end = breaks[-1] + 1
        pieces.append(text[:end])
        text = text[end:]
    pieces.append(text)
    return pieces


def _fitting(text: str, width: int) -> int:
    """How many characters of `text` fit in `width` columns, at least one."""
    used = 0
    for i, char in enumerate(text):
        used += _char_width(char)
        if used > width:
            return max(i, 1)
    return len(text)
