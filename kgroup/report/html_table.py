"""A few rows as a table of HTML, for a notebook."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from kgroup.report.emit import Column, cell
from kgroup.report.emit_columns import Columns, rows_of


def html_table(title: str, chunks: Iterable[Columns], columns: Sequence[Column], rows_max: int) -> str:
    """A table of the first rows under its title; one more line says if there are others."""
    names = [column.name for column in columns]
    rows = list(islice((row for chunk in chunks for row in rows_of(chunk, names)), rows_max + 1))
    headings = "".join(f"<th>{escape(column.heading)}</th>" for column in columns)
    lines = [
        "".join(f"<td>{escape(cell(row[column.name], column.kind))}</td>" for column in columns)
        for row in rows[:rows_max]
    ]
    if len(rows) > rows_max:
        lines.append(f'<td colspan="{len(columns)}">and more</td>')
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f"<table><caption>{escape(title)}</caption>"
        f"<thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table>"
    )
