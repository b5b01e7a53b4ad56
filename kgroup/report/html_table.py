"""Rows as an HTML table for notebooks: short, with everything in it escaped."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from kgroup.report.emit import Column, Kind, Row, cell

_SHOWN_MAX: Final = 50
_NUMBERS: Final = {Kind.INTEGER, Kind.FLOAT, Kind.DURATION_MS}


def html_table(rows: Iterable[Row], columns: Sequence[Column], title: str = "") -> str:
    """The first rows under a line of their own that says `title`; a last line says that there are more."""
    shown = iter(rows)
    first = list(islice(shown, _SHOWN_MAX))
    is_cut = next(shown, None) is not None
    return "".join(_parts(first, columns, title, is_cut=is_cut))


def _parts(rows: Sequence[Row], columns: Sequence[Column], title: str, *, is_cut: bool) -> Iterator[str]:
    from html import escape

    yield "<table>"
    if title:
        yield f"<caption>{escape(title)}</caption>"
    headings = "".join(f"<th>{escape(column.heading)}</th>" for column in columns)
    yield f"<thead><tr>{headings}</tr></thead><tbody>"
    for row in rows:
        yield f"<tr>{''.join(_cell(row, column) for column in columns)}</tr>"
    if is_cut:
        yield f'<tr><td colspan="{len(columns)}">and more: the first {len(rows)} rows are shown</td></tr>'
    yield "</tbody></table>"


def _cell(row: Row, column: Column) -> str:
    from html import escape

    style = ' style="text-align:right"' if column.kind in _NUMBERS else ' style="text-align:left"'
    return f"<td{style}>{escape(cell(row.get(column.name), column.kind))}</td>"
