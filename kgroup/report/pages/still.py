"""Groups as a still picture: SVG, and PNG drawn from it.

On one axis of time the lag as far as it is known, what caused each generation, and a lane for each member,
coloured by how many partitions it owns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from kgroup.durations import lasting
from kgroup.errors import InputError, KgroupError
from kgroup.history.timeline.model import Timeline
from kgroup.lag.measures.over_time import GroupLags
from kgroup.report.emit import iso_time, short_duration
from kgroup.report.pages import file
from kgroup.report.pages.density import binned, columns_of
from kgroup.report.pages.history import partitions_text
from kgroup.report.pages.labels import Labels, short_labels
from kgroup.report.pages.lag import TimeAxis
from kgroup.report.pages.lanes import LaneWait, Picture, Stay, cause_class, lane_names, picture_of
from kgroup.report.pages.page import GroupPage
from kgroup.report.pages.svg import AXIS, RULES, Plot, label, level_of, text
from kgroup.report.pages.ticks import time_step
from kgroup.report.table import counted

# Sizes in pixels.
_LANE: Final = 18
_LABEL: Final = 160
_LABEL_LETTERS: Final = 24
_WIDTH: Final = 700  # of the time
_COLUMN: Final = 2  # more than a screen needs is only a larger file
_TITLE: Final = 40
_LAG: Final = 66
_CAUSES: Final = 40
_BELOW: Final = 14
_LEGEND: Final = 26
_LETTER: Final = 6.3  # about as wide as a letter is
_BAR: Final = 8  # a cause by itself
_PNG_PIXELS_MAX: Final = 20_000_000
_MEANINGS: Final = {
    "come": "joined",
    "go": "left",
    "lost": "timed out",
    "static": "static restart",
    "change": "changed",
    "open": "not known",
}
"""The meaning of a class of causes."""


@dataclass(frozen=True, slots=True)
class _Still:
    """A group as it is drawn."""

    group: str
    timeline: Timeline
    picture: Picture
    labels: Labels
    lags: GroupLags | None
    axis: TimeAxis | None

    @property
    def high(self) -> int:
        """The picture's height."""
        return self.lanes_from + _LANE * max(len(self.picture.lanes), 1) + _BELOW

    @property
    def lanes_from(self) -> int:
        """The position where its lanes begin."""
        return _TITLE + AXIS + (_LAG if self.lags else 0) + _CAUSES

    @property
    def plot(self) -> Plot:
        """The picture's axis."""
        begins = [self.picture.from_ms] + ([self.axis.start_ms] if self.axis else [])
        ends = [self.picture.to_ms] + ([self.axis.end_ms] if self.axis else [])
        return Plot(left=_LABEL, width=_WIDTH, from_ms=min(begins), to_ms=max(ends))


def write_svg(groups: Sequence[GroupPage], path: Path, axis: TimeAxis | None = None) -> None:
    """Write the still: groups one below another. Raises SourceError if the file cannot be written."""
    file.write_text(svg_parts(groups, axis), path)


def write_png(groups: Sequence[GroupPage], path: Path, axis: TimeAxis | None = None) -> None:
    """Write the still as a picture of dots, two for each of the SVG's.

    Raises KgroupError without the extra `png`, InputError if it would be too large to hold in memory, and
    SourceError if the file cannot be written.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise KgroupError(f"--png: its renderer is not there ({error}): pip install 'kgroup[png]'") from error
    width, height = _size(_stills(groups, axis))
    if width * height > _PNG_PIXELS_MAX:
        raise InputError(f"--png: {len(groups)} groups are too many for one picture; --svg has no limit")
    file.write_bytes([svg_to_bytes(svg_string="".join(svg_parts(groups, axis)), zoom=2)], path)


def svg_parts(groups: Sequence[GroupPage], axis: TimeAxis | None = None) -> Iterator[str]:
    """The SVG in pieces, groups one below another, those without a timeline left out.

    `axis` is that of their lags. Names are escaped.
    """
    stills = _stills(groups, axis)
    width, height = _size(stills)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kgroup" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" font-size="11">\n'
    )
    yield f"<style>{RULES}</style>\n"
    yield '<rect width="100%" height="100%" rx="6" class="ground"/>\n'
    top = 0
    for still in stills:
        yield from _group(still, top)
        top += still.high
    yield from _legend(top, any(still.lags for still in stills))
    yield "</svg>\n"


def _stills(groups: Sequence[GroupPage], axis: TimeAxis | None) -> list[_Still]:
    stills = []
    for group in groups:
        if group.timeline is not None:
            picture = picture_of(group.timeline, axis.end_ms if axis else None)
            labels = short_labels(lane_names(picture.lanes), _LABEL_LETTERS)
            of_lag = (group.lags, axis) if group.lags and axis else (None, None)
            stills.append(_Still(group.group, group.timeline, picture, labels, *of_lag))
    return stills


def _size(stills: Sequence[_Still]) -> tuple[int, int]:
    """Width and height of the still in pixels."""
    return _LABEL + _WIDTH + 16, sum(still.high for still in stills) + _LEGEND


def _group(still: _Still, top: int) -> Iterator[str]:
    plot, picture = still.plot, still.picture
    lanes = top + still.lanes_from
    yield label(8, top + 18, still.group, "text", ' font-size="14" font-weight="600"')
    generations = counted(len(still.timeline.generations), "generation")
    said = f"{iso_time(plot.from_ms)} to {iso_time(plot.to_ms)}, {generations}"
    if still.labels.begin:
        said += f"; names begin with {still.labels.begin}"
    yield label(8, top + 34, said)
    yield label(8, top + _TITLE + 10, "UTC")
    yield from plot.ticks(top + _TITLE, lanes + _LANE * len(picture.lanes))
    if still.lags and still.axis:
        yield label(8, top + _TITLE + AXIS + 14, "lag", "text")
        total, axis = still.lags.total, still.axis
        ends = [min(axis.start_ms + (window + 1) * axis.step_ms, axis.end_ms) for window in range(axis.count)]
        yield from plot.curve(ends, total.lags, total.at_least, top + _TITLE + AXIS, _LAG - 12)
    yield from _causes(still, lanes - _CAUSES, plot)
    for number, (name, lane) in enumerate(zip(still.labels.names, picture.lanes, strict=True)):
        lives = len(lane.member_ids)
        named = f"{name} ×{lives}" if lives > 1 else name
        yield label(8, lanes + number * _LANE + 13, named, "text")
    names = lane_names(picture.lanes)
    for number, stays in enumerate(picture.stays_by_lane()):
        yield from _lane(still, stays, lanes + number * _LANE + 1, plot)
    for wait in picture.waits:
        yield _wait(wait, names[wait.holder], lanes + wait.lane * _LANE + 1, plot)


def _causes(still: _Still, top: int, plot: Plot) -> Iterator[str]:
    """Each generation by itself where there is room, else how many of each class in a round time."""
    generations, starts = still.timeline.generations, still.picture.starts_ms
    if not generations:
        return  # commits without membership: nothing was rebalanced
    kinds = [cause_class(generation.causes[0]) if generation.causes else "open" for generation in generations]
    places = [plot.x(at_ms) for at_ms in starts]
    base = top + _CAUSES - 6
    if all(after - before > _BAR for before, after in pairwise(places)):
        yield label(8, top + 14, "rebalances")
        for generation, kind, x, end in zip(
            generations, kinds, places, [*places[1:], _LABEL + _WIDTH], strict=True
        ):
            causes = [f"{one.kind} ({one.grade}): {one.evidence}" for one in generation.causes]
            title = f"generation {generation.roster.generation}: {'; '.join(causes)}"
            yield (
                f'<rect x="{x:.1f}" y="{top + 2}" width="{_BAR}" height="18" class="{kind}">'
                f"<title>{text(title)}</title></rect>\n"
            )
            number = str(generation.roster.generation)
            if end - x > _LETTER * len(number):
                yield label(round(x, 1), top + 32, number)
        return
    step_ms = time_step(plot.from_ms, plot.to_ms, int(plot.width // _BAR))
    first_ms = plot.from_ms // step_ms * step_ms
    bins = -(-(plot.to_ms - first_ms) // step_ms)
    counts = binned(starts, kinds, first_ms, first_ms + bins * step_ms, bins)
    most = max(sum(counted.values()) for counted in counts)
    said = f"up to {most} in {short_duration(step_ms)}"
    yield label(8, top + 14, "rebalances")
    yield label(8, top + 28, said)
    for nth, of_bin in enumerate(counts):
        x = max(plot.x(first_ms + nth * step_ms), plot.left)
        width = max(plot.x(first_ms + (nth + 1) * step_ms) - x - 1, 0.8)
        y = float(base)
        for kind in _MEANINGS:
            if of_bin[kind]:
                high = (_CAUSES - 10) * of_bin[kind] / most
                y -= high
                place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{high:.1f}"'
                yield f'<rect {place} class="{kind}"/>\n'


def _lane(still: _Still, stays: Sequence[Stay], y: int, plot: Plot) -> Iterator[str]:
    most = still.picture.most_owned
    columns = columns_of(
        [(stay.from_ms, stay.to_ms, len(stay.owned)) for stay in stays],
        plot.from_ms,
        plot.to_ms,
        _WIDTH // _COLUMN,
    )
    for first, last, owned, there in columns:
        look = f"o{level_of(owned, most)}" if owned else "none"
        paler = f' opacity="{there}"' if there < 1 else ""
        yield (
            f'<rect x="{_LABEL + first * _COLUMN}" y="{y}" width="{(last - first + 1) * _COLUMN}"'
            f' height="{_LANE - 3}" class="{look}"{paler}/>\n'
        )
    for stay in stays:
        x, end = plot.x(stay.from_ms), plot.x(stay.to_ms)
        if end - x < 2 * _COLUMN:
            continue
        owned = len(stay.owned)
        named = partitions_text(stay.owned)
        yield f'<rect x="{x:.1f}" y="{y}" width="1" height="{_LANE - 3}" class="ground"/>\n'
        if end - x < 16:
            continue
        said = named if named and _LETTER * len(named) < end - x - 8 else str(owned)
        look = f"t{level_of(owned, most)}" if owned else "soft"
        title = f"{named or 'nothing'}, {iso_time(stay.from_ms)} to {iso_time(stay.to_ms)}"
        yield (
            f'<text x="{(x + end) / 2:.1f}" y="{y + 11}" text-anchor="middle" class="{look}">{text(said)}'
            f"<title>{text(title)}</title>"
            "</text>\n"
        )


def _wait(wait: LaneWait, holder: str, y: int, plot: Plot) -> str:
    """A line on top of the lane of who waits for partitions that another member still has."""
    x, end = plot.x(wait.from_ms), plot.x(wait.to_ms)
    lasted = lasting(wait.to_ms - wait.from_ms)
    title = f"waits {lasted} for {holder}: {partitions_text(wait.partitions)}"
    return (
        f'<rect x="{x:.1f}" y="{y}" width="{max(end - x, 2):.1f}" height="2" class="lost">'
        f"<title>{text(title)}</title></rect>\n"
    )


def _legend(top: int, has_lag: bool) -> Iterator[str]:
    yield label(8, top + 12, "cause of a rebalance:")
    x = float(_LABEL)
    for kind, meaning in _MEANINGS.items():
        yield f'<rect x="{x:.0f}" y="{top + 3}" width="10" height="10" rx="2" class="{kind}"/>\n'
        yield label(round(x) + 14, top + 12, meaning)
        x += 28 + _LETTER * len(meaning)
    if has_lag:
        yield label(round(x), top + 12, "lag: dotted at least, grey possibly")
