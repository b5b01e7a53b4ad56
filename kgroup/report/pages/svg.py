"""Pieces of SVG shared by all stills: a time axis, and a lag curve above it.

Colours are classes, so that the ground and the text go with a light or a dark page (`RULES`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from kgroup.report.pages.ticks import number_ticks, time_ticks
from kgroup.report.table import printable_name

_LEVELS: Final = 6
_TICK: Final = 84  # px between two ticks of time
AXIS: Final = 30
_LIGHT: Final = {
    "ground": "#ffffff",
    "text": "#1b1f24",
    "soft": "#57606a",
    "line": "#d8dee4",
    "none": "#e4e8ec",
    "come": "#2e7d32",
    "go": "#9a5b00",
    "lost": "#c62828",
    "static": "#7b1fa2",
    "change": "#1565c0",
    "open": "#6e7781",
}
_DARK: Final = {
    "ground": "#0f1419",
    "text": "#e6edf3",
    "soft": "#9aa7b4",
    "line": "#2d3640",
    "none": "#222b35",
    "come": "#56d364",
    "go": "#e3a13b",
    "lost": "#ff7b72",
    "static": "#d2a8ff",
    "change": "#79c0ff",
    "open": "#9aa7b4",
}
_FEW_MANY: Final = (((199, 221, 243), (8, 64, 129)), ((27, 58, 92), (165, 214, 255)))


def _rules(colours: dict[str, str], few: Sequence[int], many: Sequence[int]) -> Iterator[str]:
    for name, colour in colours.items():
        yield f"svg.kgroup .{name}{{fill:{colour}}}"
    yield f"svg.kgroup .grid{{stroke:{colours['line']}}}"
    yield f"svg.kgroup .curve{{stroke:{colours['text']};fill:none}}"
    for level in range(_LEVELS):
        share = level / (_LEVELS - 1)
        channels = (round(low + (high - low) * share) for low, high in zip(few, many, strict=True))
        yield f"svg.kgroup .o{level}{{fill:#{''.join(f'{one:02x}' for one in channels)}}}"
        yield f"svg.kgroup .t{level}{{fill:{colours['ground' if share > 0.5 else 'text']}}}"


RULES: Final = (
    "".join(_rules(_LIGHT, *_FEW_MANY[0]))
    + "@media (prefers-color-scheme:dark){"
    + "".join(_rules(_DARK, *_FEW_MANY[1]))
    + "}"
)
"""The colours as style rules, for an SVG of class `kgroup`."""


def level_of(owned: float, most: int) -> int:
    """The shade for a number of partitions, from few to many: `o0` to `o5`, text on them `t0` to `t5`."""
    return round((_LEVELS - 1) * max(owned - 1, 0) / (most - 1)) if most > 1 else _LEVELS - 1


def text(said: str) -> str:
    """Text inside an element; XML has no control characters, which names in a log may hold."""
    return escape(printable_name(said))


def label(x: float, y: float, said: str, look: str = "soft", more: str = "") -> str:
    """A text that begins at a place, or as `more` attributes have it."""
    return f'<text x="{x:g}" y="{y:g}" class="{look}"{more}>{text(said)}</text>\n'


def _stretches(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The first and the last place of each stretch of those that are set."""
    first = None
    for place, is_set in enumerate([*flags, False]):
        if is_set and first is None:
            first = place
        elif not is_set and first is not None:
            yield first, place - 1
            first = None


def _short(number: int) -> str:
    """`800`, `2k`, `1.5M`: a tick has no more digits."""
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:g}{unit}"
    return str(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """The place of a time (epoch ms) on the axis: from `left` on, `width` wide, in px."""

    left: float
    width: float
    from_ms: int
    to_ms: int

    def x(self, at_ms: float) -> float:
        """The place of a time."""
        return self.left + self.width * (at_ms - self.from_ms) / max(self.to_ms - self.from_ms, 1)

    def y(self, lag: int, largest: int, top: float, high: float) -> float:
        """The place of a lag in a curve `high` from `top` on, whose largest is `largest`."""
        return top + high - (high - 8) * lag / max(largest, 1)

    def ticks(self, top: float, bottom: float) -> Iterator[str]:
        """The axis, AXIS high from `top` on, with a line down to `bottom` at each tick."""
        most = max(int(self.width // _TICK), 2)
        for tick in time_ticks(self.from_ms, self.to_ms, most):
            x = self.x(tick.at_ms)
            yield f'<path class="grid" d="M{x:.1f} {top + AXIS - 4:.1f}V{bottom:.1f}"/>\n'
            anchor = "start" if x < self.left + 30 else "end" if x > self.left + self.width - 30 else "middle"
            for said, y, look in ((tick.label, 10, "soft"), (tick.date, 22 if tick.label else 10, "text")):
                if said:
                    yield label(round(x, 1), top + y, said, look, f' text-anchor="{anchor}"')

    def curve(
        self,
        times_ms: Sequence[int],
        lags: Sequence[int | None],
        at_least: Sequence[bool],
        top: float,
        high: float,
    ) -> Iterator[str]:
        """Lags at times, with a scale: dotted where they are only a bound, grey what they may have been."""
        largest = max((lag for lag in lags if lag is not None), default=0)

        def y(lag: int) -> float:
            return self.y(lag, largest, top, high)

        for tick in number_ticks(largest, 3):
            yield f'<path class="grid" d="M{self.left} {y(tick):.1f}h{self.width}"/>\n'
            yield label(self.left - 6, round(y(tick) + 4, 1), _short(tick), more=' text-anchor="end"')
        for first, last in _stretches(at_least):
            above = "".join(
                f"L{self.x(times_ms[i]):.1f} {y(lags[i] or 0):.1f}" for i in range(first, last + 1)
            )
            begin = self.x(times_ms[max(first - 1, 0)])
            end = self.x(times_ms[last])
            yield (
                f'<path class="none" d="M{begin:.1f} {top + 8:g}V{y(lags[first] or 0):.1f}{above}'
                f'L{end:.1f} {top + 8:g}Z"/>\n'
            )
        for dotted in (False, True):
            dashes = ' stroke-dasharray="2 4" stroke-linecap="round"' if dotted else ""
            if path := "".join(self._path(times_ms, lags, at_least, y, dotted=dotted)):
                yield f'<path class="curve" stroke-width="2"{dashes} d="{path}"/>\n'

    def _path(
        self,
        times_ms: Sequence[int],
        lags: Sequence[int | None],
        at_least: Sequence[bool],
        y: Callable[[int], float],
        *,
        dotted: bool,
    ) -> Iterator[str]:
        """One path per unbroken stretch, as dashes restart with each. A bound of 0 shows nothing."""
        goes_on = False
        for i, lag in enumerate(lags):
            before = lags[i - 1] if i else None
            if lag is None or at_least[i] is not dotted or (dotted and not lag and not before):
                goes_on = False
                continue
            x = self.x(times_ms[i])
            if before is None:
                yield f"M{x - 1:.1f} {y(lag):.1f}h2"
            else:
                yield "" if goes_on else f"M{self.x(times_ms[i - 1]):.1f} {y(before):.1f}"
                yield f"L{x:.1f} {y(lag):.1f}"
            goes_on = before is not None
