"""Text tables: aligned columns without lines between them, and never a lost character.

Cells come in as text; tabulate lays them out. A table that is too wide for its terminal leaves out columns
that can be spared, and names them; then it wraps headings and long cells. Nothing is cut off, because a
shortened group id is no use at three in the morning. Control characters never reach the terminal: group ids
and client ids are whatever a client sent.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from textwrap import wrap

GAP = "  "  # between the columns of tabulate's format "plain"
_NARROWEST_TEXTS = (12, 10, 8)  # tried in turn; the terminal wraps what does not fit even then
_WORD = re.compile(r"[^ ]+ *| +")
_PIECE = re.compile(r"[^-_./:,]+[-_./:,]*|[-_./:,]+")


def printable(text: str) -> str:
    """`text` with everything that a terminal might obey, or not show, as a backslash escape.

    Where there is such an escape, a backslash of the text itself is doubled.
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def printable_name(text: str) -> str:
    """The same of a name by itself, in which a backslash is doubled in any case: no two look alike."""
    return text if text.isprintable() and "\\" not in text else "".join(map(_escaped, text))


def _escaped(char: str) -> str:
    if char.isprintable():
        return char * 2 if char == "\\" else char
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def counted(number: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def display_width(text: str) -> int:
    """Columns that `text` takes on a terminal: wide characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth

    return max(wcswidth(text), 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """The layout of a column in a table: numbers stand right, and only free text may wrap.

    Where there is little room, `narrow` is the heading, and the column with the highest number in `spare` is
    the first to be left out; one with 0 never is.
    """

    heading: str
    right: bool = False
    wraps: bool = True
    narrow: str | None = None
    spare: int = 0


def render_table(
    columns: Sequence[TableColumn],
    rows: Iterable[Sequence[str]],
    *,
    width_max: int | None = None,
    show_headings: bool = True,
    rows_at_once: int,
    note: Callable[[str], None] | None = None,
) -> Iterator[str]:
    """Lines of a table, without line ends; cells must be `printable`.

    Column widths come from the first `rows_at_once` rows (so an endless source can be shown as it comes) and
    grow with later, longer cells. With `width_max` optional columns are left out, as `note` or a last line
    says, and headings and texts wrap to fit, as far as they can.
    """
    source = iter(rows)
    chunk = list(islice(source, rows_at_once))
    left_out: list[str] = []
    if width_max is not None:
        shown = _with_room(columns, chunk, width_max)
        left_out = [column.heading for i, column in enumerate(columns) if i not in shown]
        chunk, source = [_part(row, shown) for row in chunk], (_part(row, shown) for row in source)
        columns = list(shown.values())
    headings = [column.heading if show_headings else "" for column in columns]
    widths = _widths(columns, headings, chunk, width_max)
    if show_headings:
        yield from aligned_lines(columns, [headings], widths)
    while chunk:
        widths = _grown(columns, widths, cell_widths(columns, chunk), width_max)
        yield from aligned_lines(columns, chunk, widths)
        chunk = list(islice(source, rows_at_once))
    if left_out and show_headings:
        missing = f"left out on {width_max} columns: {', '.join(left_out)}"
        if note is None:
            yield from wrap(missing, max(width_max or 0, 20))
        else:
            note(missing)


def _with_room(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], width_max: int
) -> dict[int, TableColumn]:
    """The columns to show, by index, without the spare ones that keep most rows from being one line.

    They go one after the other while there is one left; then those come back that there is room for.
    """
    shown = dict(enumerate(columns))
    widths = _usual_widths(columns, rows)
    if _unwrapped_width(shown, widths) <= width_max:
        return shown
    shown = {i: replace(column, heading=column.narrow or column.heading) for i, column in shown.items()}
    left_out: dict[int, TableColumn] = {}
    by_rank = sorted((i for i, column in shown.items() if column.spare), key=lambda i: -shown[i].spare)
    for i in by_rank:
        if _unwrapped_width(shown, widths) <= width_max:
            break
        left_out[i] = shown.pop(i)
    for i, column in reversed(left_out.items()):
        if _unwrapped_width(shown | {i: column}, widths) <= width_max:
            shown[i] = column
    return dict(sorted(shown.items()))


def _usual_widths(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> list[int]:
    """The width that all numbers of a column need, and nine of ten texts."""
    sorted_widths = [sorted(display_width(row[i]) for row in rows) or [0] for i in range(len(columns))]
    return [
        widths[len(widths) * 9 // 10] if column.wraps else widths[-1]
        for column, widths in zip(columns, sorted_widths, strict=True)
    ]


def _unwrapped_width(shown: Mapping[int, TableColumn], widths: Sequence[int]) -> int:
    """The width of a table in which only headings wrap."""
    return _total([max(_longest_piece(column.heading), widths[i]) for i, column in shown.items()])


def _part(row: Sequence[str], shown: Iterable[int]) -> list[str]:
    return [row[i] for i in shown]


def aligned_lines(
    columns: Sequence[TableColumn], rows: Sequence[Sequence[str]], widths: Sequence[int]
) -> Iterator[str]:
    """The lines of rows whose columns are so wide; longer cells wrap."""
    if not any(widths):
        return iter([""] * len(rows))
    import tabulate

    by_column = list(zip(*rows, strict=True))
    # tabulate fits columns to what it is given: full cells around the others hold them at their widths.
    full = ["x" * width for width in widths]
    if all(_longest(cells) <= width for cells, width in zip(by_column, widths, strict=True)):
        # Each row is one line, so that all are as well one row of cells with many lines: what tabulate does
        # for each cell, such as looking at its type, takes most of its time.
        table = [["\n".join((x, *cells, x)) for x, cells in zip(full, by_column, strict=True)]]
    else:
        wrapped = ([_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)] for row in rows)
        table = [full, *wrapped, full]
    alignment: list[str | None] = ["right" if column.right else "left" for column in columns]
    if not columns[-1].right:
        alignment[-1] = None  # what would fill its lines is taken off again
    # Most tables need no wcwidth, which takes as long to import as half of tabulate.
    tabulate.WIDE_CHARS_MODE = not all(map(_is_ascii, by_column))
    text = tabulate.tabulate(
        table, tablefmt="plain", disable_numparse=True, preserve_whitespace=True, colalign=alignment
    )
    return (line.rstrip(" ") for line in text.split("\n")[1:-1])


def _is_ascii(cells: Sequence[str]) -> bool:
    return "".join(cells).isascii()


def _longest(cells: Sequence[str]) -> int:
    """The width of the longest of these cells, 0 if there are none."""
    return max(map(len if _is_ascii(cells) else display_width, cells), default=0)


def _wrapped(cell: str, width: int) -> str:
    # tabulate's own wrapping takes a cell that says False for a truth value, and shows True.
    if display_width(cell) <= width:
        return cell
    lines = [""]
    for piece in _pieces(cell, width):
        if display_width((lines[-1] + piece).rstrip(" ")) <= width:
            lines[-1] += piece
        else:
            lines.append(piece)
    return "\n".join(line.rstrip(" ") for line in lines if line)


def _pieces(cell: str, width: int) -> Iterator[str]:
    """Pieces that stay on one line: words, of a longer one the parts between separators, else what fits."""
    for word in _WORD.findall(cell):
        if display_width(word.rstrip(" ")) <= width:
            yield word
            continue
        for piece in _PIECE.findall(word):
            if display_width(piece.rstrip(" ")) <= width:
                yield piece
                continue
            from wcwidth import wrap

            yield from wrap(piece, width, break_on_hyphens=False, drop_whitespace=False)


def cell_widths(columns: Sequence[TableColumn], rows: Sequence[Sequence[str]]) -> list[int]:
    """The width of the longest cell of each column."""
    return list(map(_longest, zip(*rows, strict=True))) or [0] * len(columns)


def _widths(
    columns: Sequence[TableColumn],
    headings: list[str],
    rows: Sequence[Sequence[str]],
    width_max: int | None,
) -> list[int]:
    """Widths of columns: those of their cells, or with `width_max` narrower until they fit.

    First only the rare long texts wrap, then all as far as it takes. Where nothing takes it, texts are as
    narrow as still reads well.
    """
    longest = cell_widths(columns, rows)
    widths = [max(len(heading), width) for heading, width in zip(headings, longest, strict=True)]
    if width_max is None:
        return widths
    tried = []
    narrowest_texts = [[min(width, least) for width in longest] for least in _NARROWEST_TEXTS]
    for texts in [_usual_widths(columns, rows), *narrowest_texts]:
        floors = [
            max(_longest_piece(heading), text if column.wraps else width)
            for column, heading, text, width in zip(columns, headings, texts, longest, strict=True)
        ]
        of_numbers = ["" if column.wraps else column.heading for column in columns]
        narrowed = _narrowed(widths, floors, width_max, of_numbers)
        if _total(narrowed) <= width_max:
            return narrowed
        tried.append(narrowed)
    return tried[1]


def _grown(
    columns: Sequence[TableColumn], widths: list[int], longest: list[int], width_max: int | None
) -> list[int]:
    """The widths for the next rows: with `width_max` texts keep theirs, or make room for longer numbers."""
    grown = [
        width if column.wraps and width_max is not None else max(width, cell_width)
        for column, width, cell_width in zip(columns, widths, longest, strict=True)
    ]
    if width_max is None or grown == widths:
        return grown
    floors = [
        min(width, _NARROWEST_TEXTS[0]) if column.wraps else width
        for column, width in zip(columns, grown, strict=True)
    ]
    return _narrowed(grown, floors, max(width_max, _total(widths)), [""] * len(columns))


def _narrowed(widths: list[int], floors: list[int], width_max: int, headings: list[str]) -> list[int]:
    """Narrow the widest columns until all fit, or until none may get narrower.

    A column is at once as narrow as the longest line of its wrapped heading, if it has one.
    Ends because each turn takes one from a width that is above its floor.
    """
    narrowed = list(widths)
    while _total(narrowed) > width_max:
        above = [i for i in range(len(narrowed)) if narrowed[i] > floors[i]]
        if not above:
            break
        widest = max(above, key=lambda i: (narrowed[i], -i))
        lines = _wrapped(headings[widest], narrowed[widest] - 1).split("\n")
        longest = max(map(display_width, lines)) or narrowed[widest]
        narrowed[widest] = max(floors[widest], min(narrowed[widest] - 1, longest))
    return narrowed


def _total(widths: list[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _longest_piece(heading: str) -> int:
    return max((len(piece) for piece in heading.replace("-", "- ").split(" ")), default=0)
