"""States over time as text: a line of letters per member, to fit a terminal of 80 columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgroup.report.emit import short_duration
from kgroup.report.table import GAP, display_width, printable_name

WIDTH = 80
_TICK_COLUMNS = 15
_ROUND_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000)
_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A member and its states: (from when, which letter), in order of time; the first begins at the start."""

    name: str
    changes: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The picture to draw, in ms since the start.

    `calm` are letters that give way in a column where another one stood at all: what is short and matters
    must not vanish between two columns. `marks` get a sign in a line of their own.
    """

    end_ms: int
    lanes: Sequence[Lane]
    calm: str = ""
    marks: Sequence[int] = ()
    legend: Mapping[str, str]


def draw_lanes(picture: Picture, width: int = WIDTH) -> Iterator[str]:
    """Lines of text: the times, the marks, a line for each lane, the legend."""
    names = [printable_name(lane.name) for lane in picture.lanes]
    label = max(map(display_width, names), default=0)
    columns = max(10, width - label - len(GAP))
    edges = [picture.end_ms * column // columns for column in range(columns + 1)]
    indent = " " * label + GAP
    yield (indent + _times(picture.end_ms, columns)).rstrip()
    if picture.marks:
        yield (indent + _marks(picture, columns)).rstrip()
    for name, lane in zip(names, picture.lanes, strict=True):
        cells = "".join(_cells(lane.changes, edges, picture.calm))
        yield (name + " " * (label - display_width(name)) + GAP + cells).rstrip()
    legend = "  ".join(f"{letter} {meaning}" for letter, meaning in picture.legend.items())
    yield indent[: max(0, width - len(legend))] + legend


def _times(end_ms: int, columns: int) -> str:
    """Round times above their columns."""
    step_ms = _round_step_ms(end_ms * _TICK_COLUMNS // columns)
    line = ""
    for time_ms in range(0, end_ms, step_ms):
        column = time_ms * columns // end_ms
        text = short_duration(time_ms).split(" 0")[0] if time_ms else "0s"
        if column + len(text) <= columns:
            line = line.ljust(column) + text + " "
    return line


def _round_step_ms(least_ms: int) -> int:
    for step_ms in _ROUND_MS:
        if step_ms >= least_ms:
            return step_ms
    minutes = -(-least_ms // _MINUTE_MS)
    for step in (1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1440):
        if step >= minutes:
            return step * _MINUTE_MS
    return -(-minutes // 1440) * 1440 * _MINUTE_MS


def _marks(picture: Picture, columns: int) -> str:
    line = [" "] * columns
    for mark_ms in picture.marks:
        line[min(columns - 1, mark_ms * columns // picture.end_ms)] = "!"
    return "".join(line)


def _cells(changes: Sequence[tuple[int, str]], edges: Sequence[int], calm: str) -> Iterator[str]:
    """One letter per column: of those that are not calm the one that lasted longest in it."""
    index = 0
    current = changes[0][1] if changes else " "
    for begin_ms, end_ms in pairwise(edges):
        lasted = {current: 0}
        at_ms = begin_ms
        while index < len(changes) and changes[index][0] < end_ms:
            time_ms, letter = changes[index]
            lasted[current] = lasted.get(current, 0) + max(0, time_ms - at_ms)
            at_ms, current = max(at_ms, time_ms), letter
            lasted.setdefault(current, 0)
            index += 1
        lasted[current] += end_ms - at_ms
        seen = [letter for letter, ms in lasted.items() if ms] or [current]
        yield max(seen, key=lambda letter: (letter not in calm, lasted[letter]))
