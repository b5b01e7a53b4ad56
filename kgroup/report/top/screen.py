"""The lines of the live screen, at any size."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from kgroup.report.emit import Kind, cell, iso_time, short_duration
from kgroup.report.table import counted, display_width, printable, printable_name
from kgroup.report.top.group_line import GroupLine
from kgroup.report.top.layout import TopColumn, cut, laid_out
from kgroup.report.top.model import PageKind, TopModel
from kgroup.report.top.trend import sparkline


class Style:
    """The looks of a line, by names that the terminal gives a face; no colour says what no text says."""

    PLAIN: Final = ""
    TITLE: Final = "bold"
    DIM: Final = "dim"
    BAD: Final = "red"
    WARN: Final = "yellow"
    CHOSEN: Final = "reverse"
    CHOSEN_BAD: Final = "reverse red"
    CHOSEN_WARN: Final = "reverse yellow"


class ScreenLine(NamedTuple):
    """A line that fits the screen's width, and its style."""

    text: str
    style: str = Style.PLAIN


_COLUMNS: Final = (
    TopColumn("GROUP", least=12, cuts=1, is_name=True),
    TopColumn("STATE", drops=3),
    TopColumn("GEN", right=True, drops=4),
    TopColumn("N", right=True, drops=6),
    TopColumn("LAG", right=True),
    TopColumn("TREND", drops=2),
    TopColumn("DRAIN", right=True),
    TopColumn("TIME-LAG", right=True, drops=5),
    TopColumn("FINDING", least=12, cuts=2),
    TopColumn("BLOCKED BY", least=10, cuts=3),
    TopColumn("LAST EVENT", drops=7),
)
_NARROW: Final = 100
_TRENDS: Final = (6, 12)
"""Refreshes in a trend, on a narrow screen and on others."""
_KEYS: Final = "e explain  r replay  c commits  / filter  s sort  p pause  ? help  q quit"
_PAGE_KEYS: Final = "arrows scroll  e explain  r replay  c commits  p pause  q back"
_HELP: Final = (
    "kgroup top: the groups that are worst off, first.",
    "",
    "  up, down, j, k       move the cursor       PgUp, PgDn   a screen at a time",
    "  Home, g   End, G     the first, the last   Enter, e     explain the group",
    "  r                    its rebalances        c            its last commits",
    "  /                    filter: words in name, state, finding, or who blocks it",
    "  Esc                  no filter; back       s            the next order",
    "  p, Space             pause, go on          q, Ctrl-C    quit",
    "",
    "  GEN     generation of a classic group, group epoch of the others",
    "  N       members",
    "  LAG     unread records; + where that of some partitions is unknown",
    "  TREND   the lag at the last refreshes; each group by its own largest",
    "  DRAIN   until nothing is unread, at the rates of the last minute or so;",
    "          grows, steady: it does not get shorter",
    "",
    "Any key goes back.",
)


def render(model: TopModel) -> list[ScreenLine]:
    """The lines of the screen, none wider than it; lowest are the keys."""
    if model.help:
        body = [ScreenLine(line) for line in _HELP]
        foot = ScreenLine("any key goes back", Style.DIM)
    elif model.page is not None:
        body, foot = _page(model), ScreenLine(_PAGE_KEYS, Style.DIM)
    else:
        body, foot = _groups(model), _foot(model)
    room = max(model.height - 1, 0)
    lines = [*body[:room], *[ScreenLine("")] * (room - len(body)), foot]
    return [ScreenLine(cut(line.text, model.width), line.style) for line in lines[: model.height]]


def printed(model: TopModel) -> list[str]:
    """All groups that the filter lets through below each other, for a page without a cursor."""
    heading = [line.text for line in _heading(model) if line.text]
    return [cut(text, model.width) for text in heading] + ["", *_table(model, model.shown)]


def _foot(model: TopModel) -> ScreenLine:
    if model.typing:
        return ScreenLine(f"filter: {printable(model.filter)}_   Enter keeps it, Esc drops it", Style.TITLE)
    return ScreenLine(_KEYS, Style.DIM)


def _heading(model: TopModel) -> list[ScreenLine]:
    """The heading: source and time; the sum of all groups; and problems of the view itself."""
    parts = [f"kgroup top {printable(model.source)}"]
    if model.lines is not None:
        parts.append(f"{iso_time(model.as_of_ms)}{_ended(model)}")
    parts += [f"every {model.every_s:g}s"] if model.every_s else []
    parts += ["PAUSED"] if model.paused else []
    return [
        ScreenLine("  ".join(parts), Style.TITLE),
        ScreenLine(_summary(model)),
        _trouble(model),
    ]


def _ended(model: TopModel) -> str:
    if model.ended_ago_ms is None:
        return ""
    return f", the log's end, {short_duration(model.ended_ago_ms // 1000 * 1000)} ago"


def _summary(model: TopModel) -> str:
    if model.lines is None:
        return "reading ..."
    lags = [line.lag for line in model.lines if line.lag is not None]
    unknown = sum(line.lag_unknown for line in model.lines)
    parts = [
        counted(len(model.lines), "group"),
        f"{sum(line.stuck for line in model.lines)} stuck",
        f"{sum(line.finding is not None for line in model.lines)} in trouble",
        f"lag {sum(lags)}" + (f" and {counted(unknown, 'partition')} unknown" if unknown else ""),
        f"by {model.sort.value}",
    ]
    if model.filter:
        parts.append(f"{len(model.shown)} match {printable(model.filter)}")
    return "  ".join(parts)


def _trouble(model: TopModel) -> ScreenLine:
    if model.lost is not None:
        since = "" if model.lines is None else f"; shown is {iso_time(model.as_of_ms)}"
        return ScreenLine(f"LOST{since}; trying every {model.every_s:g}s: {printable(model.lost)}", Style.BAD)
    return ScreenLine("; ".join(map(printable, model.problems)), Style.WARN)


def _groups(model: TopModel) -> list[ScreenLine]:
    if model.lines is None:
        return _heading(model)
    cursor = model.cursor
    # The cursor walks down a page of groups and turns it at the end.
    first = cursor // model.rows * model.rows
    visible = model.shown[first : first + model.rows]
    texts = _table(model, visible)
    lines = [*_heading(model), ScreenLine(texts[0], Style.TITLE)]
    for at, (line, text) in enumerate(zip(visible, texts[1:], strict=True), first):
        is_chosen = at == cursor
        padded = text + " " * (model.width - display_width(text)) if is_chosen else text
        lines.append(ScreenLine(padded, _style(line, is_chosen=is_chosen)))
    lines += [ScreenLine("")] * (model.rows - len(visible))
    return [*lines, *_details(model)]


def _table(model: TopModel, groups: Sequence[GroupLine]) -> list[str]:
    """Headings, and a line for each of the groups."""
    columns = [each for each in _COLUMNS if each.heading != "TIME-LAG" or _has_times(groups)]
    names = {each.heading for each in columns}
    cells = [[text for name, text in _cells(line, model).items() if name in names] for line in groups]
    return laid_out(columns, cells, model.width)


def _has_times(lines: Sequence[GroupLine]) -> bool:
    return any(line.time_lag_ms is not None for line in lines)


def _style(line: GroupLine, *, is_chosen: bool) -> str:
    if line.finding is None:
        return Style.CHOSEN if is_chosen else Style.PLAIN
    if line.stuck:
        return Style.CHOSEN_BAD if is_chosen else Style.BAD
    return Style.CHOSEN_WARN if is_chosen else Style.WARN


def _cells(line: GroupLine, model: TopModel) -> dict[str, str]:
    length = _TRENDS[model.width >= _NARROW]
    trend = model.trends.get(line.group, ())[-length:]
    return {
        "GROUP": printable_name(line.group) or '""',
        "STATE": line.state or "-",
        "GEN": _number(line.epoch),
        "N": _number(line.members),
        "LAG": _number(line.lag) + ("+" if line.lag is not None and line.lag_unknown else ""),
        "TREND": sparkline(trend).ljust(length),
        "DRAIN": _drain(line),
        "TIME-LAG": cell(line.time_lag_ms, Kind.DURATION_MS),
        "FINDING": line.finding or "-",
        "BLOCKED BY": printable(line.blocked_by or "-"),
        "LAST EVENT": _event(line, model.as_of_ms),
    }


def _drain(line: GroupLine) -> str:
    if line.grows or line.steady:
        return "grows" if line.grows else "steady"
    return cell(line.drain_ms, Kind.DURATION_MS)


def _number(number: int | None) -> str:
    return "-" if number is None else str(number)


def _event(line: GroupLine, now_ms: int) -> str:
    if line.event is None or line.event_ms is None:
        return "-"
    return f"{line.event} {_ago(line.event_ms, now_ms)}"


def _ago(time_ms: int, now_ms: int) -> str:
    """The age in whole seconds, never negative, even by a clock that is ahead."""
    ago_ms = max(now_ms - time_ms, 0) // 1000 * 1000
    return f"{short_duration(ago_ms)} ago" if ago_ms else "now"


def _details(model: TopModel) -> list[ScreenLine]:
    """Three lines about the chosen group, with what the columns have no room for."""
    if not model.shown:
        return [ScreenLine("no group matches the filter" if model.lines else "no groups")]
    line = model.shown[model.cursor]
    parts = [printable_name(line.group) or '""']
    if line.state is not None:
        parts += [
            f"{line.kind}, {line.state}" + (f", epoch {line.epoch}" if line.epoch is not None else ""),
            counted(line.members or 0, "member"),
            counted(line.partitions, "partition")
            + (f", {line.lag_unknown} of unknown lag" if line.lag_unknown else ""),
            f"largest lag {_number(line.lag_max)}",
            f"status {line.status or '-'}",
            f"last event: {_event(line, model.as_of_ms)}",
        ]
    found = wrap(
        _finding(line, model.as_of_ms),
        max(model.width, 2),
        break_on_hyphens=False,
        max_lines=2,
        placeholder="…",
    )
    return [ScreenLine(text) for text in ["; ".join(parts), *found, ""][:3]]


def _finding(line: GroupLine, now_ms: int) -> str:
    if line.finding is None:
        return "no findings"
    since = f" for {short_duration(max(now_ms - line.since_ms, 0) // 1000 * 1000)}" if line.since_ms else ""
    more = f" (and {counted(line.findings - 1, 'more finding')})" if line.findings > 1 else ""
    where = f"; {printable(line.blocked_by)}" if line.blocked_by else ""
    return f"{line.finding}{more}{since}{where}: {printable(line.evidence or '')}"


def _page(model: TopModel) -> list[ScreenLine]:
    assert model.page is not None
    kind, group = model.page
    titles = {
        PageKind.EXPLAIN: "what is known of",
        PageKind.REPLAY: "rebalances of",
        PageKind.COMMITS: "last commits of",
    }
    title = f"{kind.value}: {titles[kind]} {printable_name(group)}"
    heading = [*_heading(model)[:1], ScreenLine(title), _trouble(model)]
    if model.page_lines is None:
        return [*heading, ScreenLine("reading ...")]
    bottom = model.page_top + model.rows
    body = [ScreenLine(line) for line in model.page_lines[model.page_top : bottom]]
    left = len(model.page_lines) - bottom
    more = [ScreenLine(f"{counted(left, 'more line')}: Down, PgDn", Style.DIM)] if left > 0 else []
    return [*heading, *body, *more]
