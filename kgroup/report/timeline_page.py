"""Timelines for a browser: one self-contained page, and a still picture."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final

from kgroup.errors import InputError, KgroupError
from kgroup.group.timeline_model import Cause, Generation, Occurrence, Timeline
from kgroup.report import page
from kgroup.report.emit import iso_time
from kgroup.report.table import printable
from kgroup.report.timeline_lanes import Cell, Picture, cause_class, picture_of

_TEMPLATE: Final = "timeline.html"

# The still picture: sizes in pixels, and the colours of few to many partitions.
_LANE: Final = 16
_LABEL: Final = 150
_TOP: Final = 46
_WIDTH_MAX: Final = 1600
_PNG_PIXELS_MAX: Final = 20_000_000
_CAUSE_COLOURS: Final = {
    "come": "#2e7d32",
    "go": "#b26a00",
    "lost": "#c62828",
    "static": "#6a1b9a",
    "change": "#1565c0",
    "open": "#757575",
}


def write_page(timelines: Sequence[Timeline], path: Path) -> None:
    """Write the page. Raises SourceError if the file cannot be written."""
    page.write_page(_TEMPLATE, [_group(timeline) for timeline in timelines], path)


def write_svg(timelines: Sequence[Timeline], path: Path) -> None:
    """Write the still: groups one below another. Raises SourceError if the file cannot be written."""
    page.write_text(_svg(timelines), path)


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
    page.write_bytes([svg_to_bytes(svg_string="".join(_svg(timelines)), zoom=2)], path)


def _group(timeline: Timeline) -> dict[str, object]:
    picture = picture_of(timeline)
    return {
        "group": timeline.group_id,
        "commits": timeline.commits,
        "most": picture.most_owned,
        "lanes": [[lane.label, lane.host, len(lane.member_ids)] for lane in picture.lanes],
        "generations": [
            _generation(generation, cells)
            for generation, cells in zip(timeline.generations, picture.columns, strict=True)
        ],
        "events": [_occurrence(occurrence) for occurrence in timeline.occurrences],
        "patterns": [
            {
                "name": pattern.name,
                "from": pattern.from_ms,
                "to": pattern.to_ms,
                "evidence": pattern.evidence,
                "remedy": pattern.remedy,
            }
            for pattern in timeline.patterns
        ],
    }


def _generation(generation: Generation, cells: Sequence[Cell]) -> dict[str, object]:
    roster = generation.roster
    return {
        "n": roster.generation,
        "t": roster.at_ms,
        "kind": roster.kind,
        "protocol": roster.protocol,
        "moved": generation.moved.moved,
        "kept": generation.moved.kept,
        "since": generation.since_previous_ms,
        "gap": max((gap.length_ms for gap in generation.gaps), default=0),
        "usual": generation.usual_interval_ms,
        "commits": generation.commits,
        "cut": generation.cut,
        "skipped": generation.unfinished,
        "causes": [_cause(cause) for cause in generation.causes],
        # One flat list instead of a hundred objects: lane, owned, gained, lost, gap, leads.
        "cells": [
            number
            for cell in cells
            for number in (cell.lane, cell.owned, cell.gained, cell.lost, cell.gap_ms, int(cell.leads))
        ],
    }


def _cause(cause: Cause) -> list[object]:
    return [
        cause_class(cause),
        cause.kind,
        cause.grade,
        cause.evidence,
        list(cause.alternatives),
        cause.remedy,
    ]


def _occurrence(occurrence: Occurrence) -> dict[str, object]:
    return {
        "t": occurrence.at_ms,
        "n": occurrence.generation,
        "cause": _cause(occurrence.cause),
        "partitions": len(occurrence.partitions),
    }


def _svg(timelines: Sequence[Timeline]) -> Iterator[str]:
    pictures = [picture_of(timeline) for timeline in timelines]
    width, height = _size(pictures)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="11">\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
    )
    top = 0
    for timeline, picture in zip(timelines, pictures, strict=True):
        yield from _svg_group(timeline, picture, top)
        top += _height(picture)
    yield "</svg>\n"


def _size(pictures: Sequence[Picture]) -> tuple[int, int]:
    """Width and height of the still in pixels."""
    width = max((_LABEL + _columns_width(picture) + 10 for picture in pictures), default=_LABEL)
    return width, sum(map(_height, pictures))


def _height(picture: Picture) -> int:
    return _TOP + _LANE * max(len(picture.lanes), 1) + 24


def _columns_width(picture: Picture) -> int:
    return min(_WIDTH_MAX, max(24 * len(picture.columns), 200))


def _svg_group(timeline: Timeline, picture: Picture, top: int) -> Iterator[str]:
    step = _columns_width(picture) / max(len(picture.columns), 1)
    yield f'<text x="6" y="{top + 16}" font-size="14" font-weight="600">{_text(timeline.group_id)}</text>\n'
    times = [
        generation.roster.at_ms for generation in timeline.generations if generation.roster.at_ms is not None
    ]
    if times:
        said = f"{iso_time(times[0])} to {iso_time(times[-1])}, {len(timeline.generations)} generations"
        yield f'<text x="6" y="{top + 32}" fill="#555">{said}</text>\n'
    for number, lane in enumerate(picture.lanes):
        label = lane.label if len(lane.label) <= 22 else f"{lane.label[:21]}…"
        yield f'<text x="6" y="{top + _TOP + number * _LANE + 12}">{_text(label)}</text>\n'
    for number, generation in enumerate(timeline.generations):
        for nth, cause in enumerate(generation.causes[:3]):
            colour = _CAUSE_COLOURS[cause_class(cause)]
            title = _text(
                f"generation {generation.roster.generation}: {cause.kind} ({cause.grade}): {cause.evidence}"
            )
            yield (
                f'<rect x="{_LABEL + number * step:.1f}" y="{top + _TOP - 10 + 3 * nth}"'
                f' width="{max(step - 1, 0.6):.1f}"'
                f' height="3" fill="{colour}"><title>{title}</title></rect>\n'
            )
    for place, first, last, owned in _runs(picture):
        colour = _shade(owned, picture.most_owned)
        yield (
            f'<rect x="{_LABEL + first * step:.1f}" y="{top + _TOP + place * _LANE + 1}"'
            f' width="{max((last - first + 1) * step - 0.5, 0.5):.1f}" height="{_LANE - 3}" fill="{colour}">'
            f"<title>{_text(picture.lanes[place].label)}: {owned} partitions</title></rect>\n"
        )


def _text(text: str) -> str:
    """Text inside an element; XML has no control characters, which names in a log may hold."""
    return escape(printable(text))


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
    if not owned:
        return "#eceff1"
    share = owned / most
    return "#" + "".join(
        f"{round(low + (high - low) * share):02x}" for low, high in ((199, 8), (221, 64), (243, 129))
    )
