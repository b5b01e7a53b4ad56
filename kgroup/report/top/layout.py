"""The columns of the live screen: which of them fit, and how wide each is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.report.table import GAP, display_width

_CUT: Final = "…"


@dataclass(frozen=True, slots=True)
class TopColumn:
    """A column of the screen.

    One with a `least` is a text that may be cut down to that width, if it `is_name` in the middle; those with
    a higher `cuts` are cut first. Where there is no room even so, the column with the highest `drops` goes
    first; 0 never goes.
    """

    heading: str
    right: bool = False
    least: int | None = None
    cuts: int = 0
    drops: int = 0
    is_name: bool = False


def laid_out(columns: Sequence[TopColumn], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A line of headings and one for each row, none wider than `width`."""
    cells = [[column.heading for column in columns], *rows]
    needed = [max(display_width(row[at]) for row in cells) for at in range(len(columns))]
    shown = _with_room(columns, needed, width)
    widths = _narrowed({at: needed[at] for at in shown}, columns, width)
    lines = []
    for row in cells:
        texts = [_cell(row[at], columns[at], widths[at]) for at in shown]
        lines.append(cut(GAP.join(texts).rstrip(" "), width))
    return lines


def cut(text: str, width: int) -> str:
    """The text itself if it fits, else its beginning."""
    if display_width(text) <= width:
        return text
    return _start(text, width - 1) + _CUT[: max(width, 0)]


def cut_name(text: str, width: int) -> str:
    """The same with both ends left: names that differ often do so at the end."""
    if display_width(text) <= width or width <= 2:
        return cut(text, width)
    tail = (width - 1) // 2
    return _start(text, width - 1 - tail) + _CUT + _start(text[::-1], tail)[::-1]


def _start(text: str, width: int) -> str:
    """The characters that fit; a combining mark stays or goes with the character it marks."""
    taken = 0
    while taken < len(text) and display_width(text[: taken + 1]) <= width:
        taken += 1
    return text[:taken]


def _cell(text: str, column: TopColumn, width: int) -> str:
    shown = cut_name(text, width) if column.is_name else cut(text, width)
    blanks = " " * (width - display_width(shown))
    return blanks + shown if column.right else shown + blanks


def _with_room(columns: Sequence[TopColumn], needed: Sequence[int], width: int) -> list[int]:
    """The places of the columns that fit with texts at their least."""
    shown = list(range(len(columns)))

    def least(at: int) -> int:
        floor = columns[at].least
        return needed[at] if floor is None else min(needed[at], floor)

    while sum(map(least, shown)) + len(GAP) * (len(shown) - 1) > width:
        spare = max(shown, key=lambda at: columns[at].drops)
        if not columns[spare].drops:
            break
        shown.remove(spare)
    return shown


def _narrowed(widths: dict[int, int], columns: Sequence[TopColumn], width: int) -> dict[int, int]:
    """The widths with texts cut until all fit, those that want it least first."""
    over = sum(widths.values()) + len(GAP) * (len(widths) - 1) - width
    narrowed = dict(widths)
    for at in sorted(widths, key=lambda at: -columns[at].cuts):
        floor = columns[at].least
        if floor is not None and over > 0:
            narrowed[at] = max(min(widths[at], floor), widths[at] - over)
            over -= widths[at] - narrowed[at]
    return narrowed
