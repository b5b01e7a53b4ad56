"""The state of the live screen, and how a key, a refresh or a new size changes it.

Values only: `after(event)` gives the next state, and `page` says what somebody has to fetch for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple, assert_never

from kgroup.report.top.group_line import GroupLine

TREND_LENGTH: Final = 12
"""As many refreshes' lags are kept of each group."""
LINES_AROUND: Final = 8
"""Of a screen, those that are not groups: four with the headings, three of the chosen group, the keys."""


class Sort(StrEnum):
    """The orders of groups, as the key `s` goes through them; of equals the name decides."""

    PAIN = "pain"
    LAG = "lag"
    DRAIN = "drain"
    EVENT = "last event"
    NAME = "name"


class PageKind(StrEnum):
    """The pages about one group."""

    EXPLAIN = "explain"
    REPLAY = "replay"
    COMMITS = "commits"


class PageRequest(NamedTuple):
    """A page that is on the screen, or wanted there."""

    kind: PageKind
    group: str


class Key(StrEnum):
    """Keys that are not characters. Any other key is the character itself."""

    UP = "up"
    DOWN = "down"
    PAGE_UP = "page-up"
    PAGE_DOWN = "page-down"
    HOME = "home"
    END = "end"
    ENTER = "enter"
    ESCAPE = "escape"
    BACKSPACE = "backspace"


@dataclass(frozen=True, slots=True)
class Pressed:
    """A key: one of `Key`, or a character."""

    key: str


@dataclass(frozen=True, slots=True)
class Resized:
    """The terminal has another size now, in cells."""

    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """A report: its groups, as of when it is (epoch ms), and what could not be read.

    `ended_ago_ms` is how long before the clock's time the log was written to last, if it is as of then.
    """

    lines: Sequence[GroupLine]
    as_of_ms: int
    ended_ago_ms: int | None = None
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """A refresh failed, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class PageRead:
    """The lines of a page that was asked for."""

    request: PageRequest
    lines: tuple[str, ...]


Event = Pressed | Resized | Refreshed | Lost | PageRead


@dataclass(frozen=True, slots=True, kw_only=True)
class TopModel:
    """Everything that the screen shows.

    `source` is what is watched, `every_s` the pause between refreshes, 0 for once. `lines` are None until
    the first report; `shown` those that pass the filter, in order. `chosen` is the group under the cursor,
    by name. `trends` are lags of groups, the newest last, None where unknown. `typing` says that keys go
    into the filter. `page_lines` are None while the page is being read, `page_top` the first of those on
    the screen.
    """

    source: str
    every_s: float
    width: int = 80
    height: int = 24
    lines: Sequence[GroupLine] | None = None
    shown: Sequence[GroupLine] = ()
    trends: Mapping[str, tuple[int | None, ...]] = field(default_factory=dict)
    as_of_ms: int = 0
    ended_ago_ms: int | None = None
    problems: Sequence[str] = ()
    lost: str | None = None
    sort: Sort = Sort.PAIN
    filter: str = ""
    typing: bool = False
    paused: bool = False
    chosen: str | None = None
    page: PageRequest | None = None
    page_lines: tuple[str, ...] | None = None
    page_top: int = 0
    help: bool = False
    quit: bool = False

    @property
    def rows(self) -> int:
        """The number of groups, or lines of a page, that the screen has room for."""
        return max(self.height - LINES_AROUND, 1)

    @property
    def cursor(self) -> int:
        """The place of the chosen group among those shown; 0 if it is not there."""
        return next((at for at, line in enumerate(self.shown) if line.group == self.chosen), 0)

    def after(self, event: Event) -> "TopModel":
        """The state that the event leads to."""
        match event:
            case Pressed():
                return self._pressed(event.key)
            case Resized():
                return replace(self, width=event.width, height=event.height)._page_at(self.page_top)
            case Refreshed():
                return self._refreshed(event)
            case Lost():
                return replace(self, lost=event.why)
            case PageRead():
                if event.request != self.page:
                    return self  # somebody has left it meanwhile
                return replace(self, page_lines=event.lines)._page_at(self.page_top)
        assert_never(event)

    def _refreshed(self, event: Refreshed) -> "TopModel":
        trends = {
            line.group: (*self.trends.get(line.group, ()), line.lag)[-TREND_LENGTH:] for line in event.lines
        }
        return replace(
            self,
            lines=event.lines,
            trends=trends,
            as_of_ms=event.as_of_ms,
            ended_ago_ms=event.ended_ago_ms,
            problems=event.problems,
            lost=None,
        )._arranged()

    def _pressed(self, key: str) -> "TopModel":
        if self.typing:
            return self._typed(key)
        if self.help:
            return replace(self, help=False)
        if self.page is not None:
            return self._pressed_on_page(key)
        match key:
            case "q":
                return replace(self, quit=True)
            case Key.ESCAPE:
                return replace(self, filter="")._arranged()
            case "/":
                return replace(self, typing=True)
            case "s":
                orders = list(Sort)
                return replace(self, sort=orders[(orders.index(self.sort) + 1) % len(orders)])._arranged()
            case "p" | " ":
                return replace(self, paused=not self.paused)
            case "?" | "h":
                return replace(self, help=True)
            case "e" | Key.ENTER:
                return self._page_of(PageKind.EXPLAIN)
            case "r":
                return self._page_of(PageKind.REPLAY)
            case "c":
                return self._page_of(PageKind.COMMITS)
            case _:
                step = self._step(key)
                return self if step is None else self._chosen_at(step(self.cursor))

    def _step(self, key: str) -> Callable[[int], int] | None:
        """The distance a key moves the cursor or the page; the ends stop it."""
        steps: dict[str, Callable[[int], int]] = {
            Key.UP: lambda at: at - 1,
            "k": lambda at: at - 1,
            Key.DOWN: lambda at: at + 1,
            "j": lambda at: at + 1,
            Key.PAGE_UP: lambda at: at - self.rows,
            Key.PAGE_DOWN: lambda at: at + self.rows,
            Key.HOME: lambda at: 0,
            "g": lambda at: 0,
            Key.END: lambda at: 1 << 40,
            "G": lambda at: 1 << 40,
        }
        return steps.get(key)

    def _typed(self, key: str) -> "TopModel":
        """A key while the filter is typed: what it lets through is seen at once."""
        match key:
            case Key.ENTER:
                return replace(self, typing=False)
            case Key.ESCAPE:
                return replace(self, typing=False, filter="")._arranged()
            case Key.BACKSPACE:
                return replace(self, filter=self.filter[:-1])._arranged()
            case _ if len(key) == 1:
                return replace(self, filter=self.filter + key)._arranged()
            case _:
                step = self._step(key)
                return self if step is None else self._chosen_at(step(self.cursor))

    def _pressed_on_page(self, key: str) -> "TopModel":
        assert self.page is not None
        match key:
            case "q" | Key.ESCAPE | Key.BACKSPACE:
                return replace(self, page=None, page_lines=None, page_top=0)
            case "e":
                return self._page_of(PageKind.EXPLAIN)
            case "r":
                return self._page_of(PageKind.REPLAY)
            case "c":
                return self._page_of(PageKind.COMMITS)
            case "p" | " ":
                return replace(self, paused=not self.paused)
            case "?" | "h":
                return replace(self, help=True)
            case _:
                step = self._step(key)
                return self if step is None else self._page_at(step(self.page_top))

    def _page_of(self, kind: PageKind) -> "TopModel":
        group = self.chosen if self.page is None else self.page.group
        if group is None:
            return self
        return replace(self, page=PageRequest(kind, group), page_lines=None, page_top=0)

    def _page_at(self, top: int) -> "TopModel":
        last = max(len(self.page_lines or ()) - self.rows, 0)
        return replace(self, page_top=min(max(top, 0), last))

    def _chosen_at(self, place: int) -> "TopModel":
        if not self.shown:
            return self
        return replace(self, chosen=self.shown[min(max(place, 0), len(self.shown) - 1)].group)

    def _arranged(self) -> "TopModel":
        """The model with its rows recomputed. The cursor stays on its group, or at its place."""
        words = self.filter.casefold().split()
        found = [line for line in self.lines or () if not words or _matches(line, words)]
        found.sort(key=_ORDERS[self.sort])
        arranged = replace(self, shown=found)
        if any(line.group == self.chosen for line in found):
            return arranged
        # A cursor that nobody has moved stays at the top, with what is worst.
        return replace(arranged, chosen=None)._chosen_at(self.cursor if self.chosen is not None else 0)


def _matches(line: GroupLine, words: Sequence[str]) -> bool:
    """Whether each word is somewhere in the group's name, state, finding or what blocks it."""
    texts = (line.group, line.state, line.finding, line.blocked_by)
    text = " ".join(text for text in texts if text).casefold()
    return all(word in text for word in words)


_ORDERS: Final[Mapping[Sort, Callable[[GroupLine], Any]]] = {
    Sort.PAIN: lambda line: line.pain,
    Sort.LAG: lambda line: (-(line.lag if line.lag is not None else -1), line.group),
    Sort.DRAIN: lambda line: (not line.grows, -(line.drain_ms or 0), -(line.lag or 0), line.group),
    Sort.EVENT: lambda line: (-(line.event_ms or 0), line.group),
    Sort.NAME: lambda line: line.group,
}
