"""Text tables: aligned columns, no lines between them, and never a lost character.

Cells come in as text. A table that is too wide for its terminal wraps headers and long cells; nothing is cut
off, because a shortened group id is no use at three in the morning. Control characters never reach the
terminal: group ids and client ids are whatever a client sent.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

GAP = "  "
_BREAKS = " -_./,:;"
_NARROWEST_WRAP = 12  # cells are not wrapped narrower than this; the terminal wraps what still does not fit


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


def render_table(
    headers: Sequence[str],
    right_aligned: Sequence[bool],
    rows: Iterable[Sequence[str]],
    *,
    width_max: int | None = None,
    show_headers: bool = True,
    rows_at_once: int,
) -> Iterator[str]:
    """Lines of a table, without line ends; cells must be `printable`.

    Column widths come from the first `rows_at_once` rows (so an endless source can be shown as it comes) and
    grow with later, longer cells. With `width_max` columns wrap to fit where they can.
    """
    source = iter(rows)
    chunk = list(islice(source, rows_at_once))
    shown_headers = headers if show_headers else [""] * len(headers)
    widths = _fit(shown_headers, right_aligned, _measured(shown_headers, chunk), width_max)
    if show_headers:
        yield from _row_lines(
            [_wrap(h, w) for h, w in zip(headers, widths, strict=True)], widths, right_aligned
        )
    while chunk:
        if width_max is None:
            widths = [max(pair) for pair in zip(widths, _measured(shown_headers, chunk), strict=True)]
        for row in chunk:
            yield from _row_lines(
                [_wrap(c, w) for c, w in zip(row, widths, strict=True)], widths, right_aligned
            )
        chunk = list(islice(source, rows_at_once))


def _measured(headers: Sequence[str], rows: list[Sequence[str]]) -> list[int]:
    widths = [display_width(header) for header in headers]
    for i in range(len(widths)):
        widths[i] = max(widths[i], max((display_width(row[i]) for row in rows), default=0))
    return widths


def _fit(
    headers: Sequence[str], right_aligned: Sequence[bool], widths: list[int], width_max: int | None
) -> list[int]:
    """Narrow the widest columns until the table fits, or until every column is as narrow as it may be.

    Numbers are never wrapped, so a right-aligned column keeps the width of its cells. Ends because each turn
    takes one from a width that is above its floor.
    """
    if width_max is None:
        return widths
    room = width_max - len(GAP) * (len(widths) - 1)
    floors = [
        max(_longest_piece(header), width if right and width > len(header) else min(width, _NARROWEST_WRAP))
        for header, width, right in zip(headers, widths, right_aligned, strict=True)
    ]
    fitted = list(widths)
    while sum(fitted) > room:
        above = [i for i in range(len(fitted)) if fitted[i] > floors[i]]
        if not above:
            break
        fitted[max(above, key=lambda i: (fitted[i], -i))] -= 1
    return fitted


def _longest_piece(header: str) -> int:
    return max((len(piece) for piece in header.replace("-", "- ").split(" ")), default=0)


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


def _row_lines(cells: list[list[str]], widths: Sequence[int], right_aligned: Sequence[bool]) -> Iterator[str]:
    for line in range(max(map(len, cells), default=0)):
        parts = []
        for pieces, width, right in zip(cells, widths, right_aligned, strict=True):
            piece = pieces[line] if line < len(pieces) else ""
            padding = " " * (width - display_width(piece))
            parts.append(padding + piece if right else piece + padding)
        yield GAP.join(parts).rstrip(" ")
