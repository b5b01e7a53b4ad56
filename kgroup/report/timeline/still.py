"""Timelines as a still picture: SVG, and PNG drawn from it.

A lane for each member, coloured by how many partitions it owns; above each generation, what caused it.
"""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from kgroup.errors import InputError, KgroupError
from kgroup.history.timeline.model import Timeline
from kgroup.report import page
from kgroup.report.emit import iso_time
from kgroup.report.table import printable_name
from kgroup.report.timeline.lanes import Picture, cause_class, picture_of

# Sizes in pixels.
_LANE: Final = 18
_LABEL: Final = 150
_LABEL_LETTERS: Final = 22
_TOP: Final = 48
_BELOW_LANES: Final = 34  # numbers of generations, and air
_LEGEND: Final = 26
_COLUMNS_MIN: Final = 480  # the line of times and the legend need it
_COLUMNS_MAX: Final = 1600
_COLUMN_MAX: Final = 90
_NUMBER: Final = 26  # the least width that a number may take
_PNG_PIXELS_MAX: Final = 20_000_000
_CAUSES: Final = {
    "come": ("#2e7d32", "joined"),
    "go": ("#b26a00", "left"),
    "lost": ("#c62828", "timed out"),
    "static": ("#6a1b9a", "static restart"),
    "change": ("#1565c0", "changed"),
    "open": ("#757575", "not known"),
}
"""Colour and meaning of a class of causes."""


def write_svg(timelines: Sequence[Timeline], path: Path) -> None:
    """Write the still: groups one below another. Raises SourceError if the file cannot be written."""
    page.write_text(svg_parts(timelines), path)


def write_png(timelines: Sequence[Timeline], path: Path) -> None:
    """Write the still as a picture of dots, two for each of the SVG's.

    Raises KgroupError without the extra `png`, InputError if it would be too large to hold in memory, and
    SourceError if the file cannot be written.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise KgroupError(f"--png: its renderer is not there ({error}): pip install 'kgroup[png]'") from error
    width, height = _size([picture_of(timeline) for timeline in timelines])
    if width * height > _PNG_PIXELS_MAX:
        raise InputError(f"--png: {len(timelines)} groups are too many for one picture; --svg has no limit")
    page.write_bytes([svg_to_bytes(svg_string="".join(svg_parts(timelines)), zoom=2)], path)


def svg_parts(timelines: Sequence[Timeline]) -> Iterator[str]:
    """The SVG in pieces, groups one below another; names in it are escaped."""
    pictures = [picture_of(timeline) for timeline in timelines]
    width, height = _size(pictures)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="11">\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
    )
    top = 0
    for timeline, picture in zip(timelines, pictures, strict=True):
        yield from _group(timeline, picture, top)
        top += _height(picture)
    yield from _legend(top)
    yield "</svg>\n"


def _size(pictures: Sequence[Picture]) -> tuple[int, int]:
    """Width and height of the still in pixels."""
    widest = max((_columns_width(picture) for picture in pictures), default=0)
    return _LABEL + max(widest, _COLUMNS_MIN) + 10, sum(map(_height, pictures)) + _LEGEND


def _height(picture: Picture) -> int:
    return _TOP + _LANE * max(len(picture.lanes), 1) + _BELOW_LANES


def _columns_width(picture: Picture) -> int:
    columns = len(picture.columns)
    return max(min(_COLUMN_MAX * columns, _COLUMNS_MIN), min(24 * columns, _COLUMNS_MAX))


def _group(timeline: Timeline, picture: Picture, top: int) -> Iterator[str]:
    step = _columns_width(picture) / max(len(picture.columns), 1)
    yield f'<text x="6" y="{top + 16}" font-size="14" font-weight="600">{_text(timeline.group_id)}</text>\n'
    times = [
        generation.roster.at_ms for generation in timeline.generations if generation.roster.at_ms is not None
    ]
    if times:
        count = len(timeline.generations)
        generations = "1 generation" if count == 1 else f"{count} generations"
        said = f"{iso_time(times[0])} to {iso_time(times[-1])}, {generations}"
        yield f'<text x="6" y="{top + 32}" fill="#555">{said}</text>\n'
    for number, lane in enumerate(picture.lanes):
        long = len(lane.label) > _LABEL_LETTERS
        label = f"{lane.label[: _LABEL_LETTERS - 1]}…" if long else lane.label
        yield f'<text x="6" y="{top + _TOP + number * _LANE + 13}">{_text(label)}</text>\n'
    yield from _causes(timeline, top, step)
    yield from _cells(picture, top, step)
    yield from _numbers(timeline, top + _TOP + _LANE * len(picture.lanes) + 12, step)


def _causes(timeline: Timeline, top: int, step: float) -> Iterator[str]:
    for number, generation in enumerate(timeline.generations):
        for nth, cause in enumerate(generation.causes[:3]):
            colour, _ = _CAUSES[cause_class(cause)]
            said = (
                f"generation {generation.roster.generation}: {cause.kind} ({cause.grade}): {cause.evidence}"
            )
            yield (
                f'<rect x="{_LABEL + number * step:.1f}" y="{top + _TOP - 11 + 3 * nth}"'
                f' width="{max(step - 1, 0.6):.1f}"'
                f' height="3" fill="{colour}"><title>{_text(said)}</title></rect>\n'
            )


def _cells(picture: Picture, top: int, step: float) -> Iterator[str]:
    for lane, first, last, owned in _runs(picture):
        x, y = _LABEL + first * step, top + _TOP + lane * _LANE + 1
        width = max((last - first + 1) * step - 1, 0.5)
        said = f"{picture.lanes[lane].label}: {owned} partition{'' if owned == 1 else 's'}"
        yield (
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_LANE - 3}"'
            f' fill="{_shade(owned, picture.most_owned)}"><title>{_text(said)}</title></rect>\n'
        )
        if width >= _NUMBER:
            colour = "#ffffff" if 2 * owned > picture.most_owned else "#102a43"
            yield (
                f'<text x="{x + width / 2:.1f}" y="{y + 11}" text-anchor="middle" fill="{colour}">'
                f"{owned}</text>\n"
            )


def _numbers(timeline: Timeline, y: int, step: float) -> Iterator[str]:
    """The generations' numbers, as many as find room."""
    if not timeline.generations:
        return  # commits without membership: there is nothing to number, and no room to share
    every = max(1, -int(-_NUMBER // step))
    for column in range(0, len(timeline.generations), every):
        number = timeline.generations[column].roster.generation
        x = _LABEL + (column + 0.5) * step
        yield f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="#555">{number}</text>\n'


def _legend(top: int) -> Iterator[str]:
    yield f'<text x="6" y="{top + 10}" fill="#555">cause of a generation:</text>\n'
    x = _LABEL
    for colour, meaning in _CAUSES.values():
        yield f'<rect x="{x}" y="{top + 5}" width="14" height="4" fill="{colour}"/>\n'
        yield f'<text x="{x + 18}" y="{top + 10}" fill="#555">{meaning}</text>\n'
        x += 34 + 6 * len(meaning)


def _text(text: str) -> str:
    """Text inside an element; XML has no control characters, which names in a log may hold."""
    return escape(printable_name(text))


def _runs(picture: Picture) -> Iterator[tuple[int, int, int, int]]:
    """Lane, first and last column, partitions owned: neighbouring cells that look the same are one."""
    open_runs: dict[int, tuple[int, int]] = {}
    for number, cells in enumerate([*picture.columns, []]):
        now = {cell.lane: cell.owned for cell in cells}
        for lane, (first, owned) in sorted(open_runs.items()):
            if now.get(lane) != owned:
                yield lane, first, number - 1, owned
                del open_runs[lane]
        for lane, owned in now.items():
            open_runs.setdefault(lane, (number, owned))


def _shade(owned: int, most: int) -> str:
    """The colour of few to many partitions."""
    if not owned:
        return "#eceff1"
    share = owned / most
    return "#" + "".join(
        f"{round(low + (high - low) * share):02x}" for low, high in ((199, 8), (221, 64), (243, 129))
    )
