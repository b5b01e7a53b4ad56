"""A report as one HTML page without a script, with its claims as data."""

import json
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, Final

from kgroup.errors import InputError
from kgroup.report.emit import iso_time
from kgroup.report.incident.claims import Incident, to_json
from kgroup.report.incident.document import (
    Block,
    Bullets,
    Curve,
    Heading,
    Paragraph,
    Table,
    document,
)
from kgroup.report.incident.markdown import plain_json
from kgroup.report.pages.svg import AXIS, RULES, Plot, label
from kgroup.report.table import printable

_BEGIN: Final = '<script type="application/json" id="kgroup-report">'
_END: Final = "</script>"
_WIDTH, _HEIGHT, _LEFT, _TITLE = 760, 166, 70, 20
_STYLE: Final = """
:root { color-scheme: light dark; --rule: #8885; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 1.8rem; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.7rem 0.25rem 0;
  border-bottom: 1px solid var(--rule); }
th { white-space: nowrap; } .n { text-align: right; font-variant-numeric: tabular-nums; }
p, li { overflow-wrap: anywhere; } td { overflow-wrap: break-word; max-width: 36rem; }
td:first-child, td:last-child, td.n { white-space: nowrap; }
ul { padding-left: 1.2rem; } svg { max-width: 100%; height: auto; }
svg text { font: 11px system-ui, sans-serif; }
""".strip()


def page(incident: Incident) -> str:
    """The whole file."""
    blocks = list(document(incident))
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(part for block in blocks for part in _block(block))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{_text(title)}</title>\n<style>\n{_STYLE}\n{RULES}\n</style>\n</head>\n<body>\n{body}\n"
        f"{_BEGIN}{plain_json(to_json(incident))}{_END}\n</body>\n</html>\n"
    )


def claims_in(text: str) -> Any:
    """The JSON in a report's page. Raises InputError if there is none."""
    begin = text.rfind(_BEGIN)
    end = text.find(_END, begin)
    if begin < 0 or end < 0:
        raise InputError("not a kgroup report: the data with its claims is missing")
    return json.loads(text[begin + len(_BEGIN) : end])


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading(text, level):
            yield f"<h{level}>{_text(text)}</h{level}>"
        case Paragraph(text):
            yield f"<p>{_text(text)}</p>"
        case Bullets(lines):
            yield "<ul>"
            yield from (f"<li>{_text(line)}</li>" for line in lines)
            yield "</ul>"
        case Table(headings, rows, right):
            yield '<div class="table"><table>'
            yield _row(headings, "th", right)
            yield from (_row(row, "td", right) for row in rows)
            yield "</table></div>"
        case Curve(group, times_ms, lags):
            yield from _curve(group, times_ms, lags)


def _row(cells: Iterable[str], tag: str, right: frozenset[int]) -> str:
    inner = "".join(
        f"<{tag}{' class=n' if number in right else ''}>{_text(cell)}</{tag}>"
        for number, cell in enumerate(cells)
    )
    return f"<tr>{inner}</tr>"


def _curve(group: str, times_ms: tuple[int, ...], lags: tuple[int | None, ...]) -> Iterator[str]:
    most = max((lag for lag in lags if lag is not None), default=0)
    title = f"Lag of {group}: {most:,} at the most"
    plot = Plot(left=_LEFT, width=_WIDTH - _LEFT - 12, from_ms=times_ms[0], to_ms=times_ms[-1])
    yield (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" class="kgroup" role="img">'
        f"<title>{_text(title)}, times in UTC</title>"
    )
    yield label(8, 12, title, "text")
    yield label(8, _TITLE + 10, "UTC")
    yield from plot.ticks(_TITLE, _HEIGHT)
    top, high = _TITLE + AXIS, _HEIGHT - _TITLE - AXIS - 8
    yield from plot.curve(times_ms, lags, [False] * len(lags), top, high)
    for at_ms, lag in zip(times_ms, lags, strict=True):
        if lag is not None:
            place = f'cx="{plot.x(at_ms):.1f}" cy="{plot.y(lag, most, top, high):.1f}"'
            yield f'<circle {place} r="2.5" class="text"><title>{iso_time(at_ms)}: {lag:,}</title></circle>'
    yield "</svg>"


def _text(text: str) -> str:
    return escape(printable(text))
