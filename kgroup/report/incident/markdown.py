"""A report as Markdown, with its claims in a comment so that they can be checked."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from kgroup.errors import InputError
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
from kgroup.report.table import printable

_BEGIN: Final = "<!-- kgroup report: "
_END: Final = " -->"
_SPECIAL: Final = re.compile(r"([\\`*<|]|_(?=_)|\[(?=[^\]]*\]\())")


def markdown(incident: Incident) -> str:
    """The whole file."""
    lines = [line for block in document(incident) for line in _block(block)]
    return "\n".join([*lines, _BEGIN + plain_json(to_json(incident)) + _END, ""])


def claims_in(text: str) -> Any:
    """The JSON in a report's Markdown. Raises InputError if there is none."""
    begin = text.rfind(_BEGIN)
    end = text.find(_END, begin)
    if begin < 0 or end < 0:
        raise InputError("not a kgroup report: the comment with its claims is missing")
    return json.loads(text[begin + len(_BEGIN) : end])


def plain_json(data: object) -> str:
    """JSON that may stand in HTML and in its comments."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _block(block: Block) -> Iterable[str]:
    match block:
        case Heading(text, level):
            return [f"{'#' * level} {_text(text)}", ""]
        case Paragraph(text):
            return [_text(text), ""]
        case Bullets(lines):
            return [*(f"- {_text(line)}" for line in lines), ""]
        case Table(headings, rows, right):
            rule = ["---:" if number in right else "---" for number in range(len(headings))]
            return [*(_row(cells) for cells in (headings, rule, *rows)), ""] if rows else []
        case Curve(group, _, lags):
            return [f"{_text(group)}: {_text(sparkline(lags))}", ""]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell if cell in ('---', '---:') else _text(cell) for cell in cells)} |"


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", printable(text))


_STEPS: Final = "▁▂▃▄▅▆▇█"


def sparkline(lags: Iterable[int | None]) -> str:
    """A letter for each lag, the highest for the greatest; a dot where it is unknown."""
    known = list(lags)
    most = max((lag for lag in known if lag is not None), default=0)
    steps = len(_STEPS) - 1
    return "".join("·" if lag is None else _STEPS[round(lag / most * steps) if most else 0] for lag in known)
