"""`lag-report --watch`: repeated reports, as a live view or one after the other."""

import os
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kgroup.api.lag.repeated import RepeatedReports
from kgroup.api.lag.report import LagReport
from kgroup.cli.lag.views import RowView
from kgroup.cli.shell.say import say
from kgroup.errors import KgroupError
from kgroup.report.emit import (
    Column,
    OutputFormat,
    OutputOptions,
    Row,
    emit_lines,
    iso_time,
    table_lines,
    to_json,
)
from kgroup.report.table import printable

if TYPE_CHECKING:
    from rich.live import Live

_LINES_AROUND: Final = 3  # heading, trouble, and what more there is

Show = Callable[[LagReport | None, str | None], None]
"""Takes the newest look that succeeded, and why a later one failed."""


def watch(
    reports: RepeatedReports,
    view: RowView,
    output: OutputOptions,
    seconds: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Refresh at this interval in seconds until Ctrl-C; when the first look fails, raise its KgroupError."""
    newest: LagReport | None = None
    with _shown(view, output, seconds) as show:
        try:
            while True:
                failure = None
                try:
                    newest = reports.take()
                except KgroupError as error:
                    if newest is None:
                        raise
                    failure = str(error)
                show(newest, failure)
                sleep(seconds)
        except KeyboardInterrupt:
            return


def _shown(view: RowView, output: OutputOptions, seconds: float) -> AbstractContextManager[Show]:
    # Without a cursor that can go back there is no screen that stays, so looks follow one another.
    if output.format is OutputFormat.TABLE and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        return _on_screen(view, seconds)

    def show(report: LagReport | None, failure: str | None) -> None:
        assert report is not None
        emit_lines(_report_lines(report, failure, view, output), replace(output, live=True))

    return nullcontext(show)


def _report_lines(
    report: LagReport, failure: str | None, view: RowView, output: OutputOptions
) -> Iterator[str]:
    """The lines of a look for a pipe or a file: a table, or JSON lines, each with its time."""
    if failure is not None:
        say(failure)
        return
    if output.format is OutputFormat.JSONL:
        yield from (to_json({"looked_at": report.as_of.now_ms, **row}) for row in view.rows(report))
    else:
        yield iso_time(report.as_of.now_ms)
        yield from table_lines(view.rows(report), view.columns(report), show_headings=output.headers)
        yield ""
    for problem in report.problems:
        say(problem)


@contextmanager
def _on_screen(view: RowView, seconds: float) -> Iterator[Show]:
    from rich.live import Live
    from rich.text import Text

    with Live(screen=True, auto_refresh=False, vertical_overflow="crop") as live:

        def show(report: LagReport | None, failure: str | None) -> None:
            assert report is not None
            lines = screen_lines(report, failure, view, seconds, *_size(live))
            live.update(Text("\n".join(lines), no_wrap=True, overflow="crop"), refresh=True)

        yield show


def _size(live: "Live") -> tuple[int, int]:
    return live.console.size.width, live.console.size.height


def screen_lines(
    report: LagReport, failure: str | None, view: RowView, seconds: float, width: int, height: int
) -> Sequence[str]:
    """The rows that fit a screen, largest lags first, and the number of the others."""
    rows = sorted(view.rows(report), key=_lag_last_if_unknown, reverse=True)
    lags = [lag for row in rows if isinstance(lag := row["lag"], int)]
    total = f"lag {sum(max(lag, 0) for lag in lags)}"
    unknown = f", {len(rows) - len(lags)} unknown" if len(lags) < len(rows) else ""
    kind = f"{view.by.value if view.by else 'partition'}s"
    trouble = failure or "; ".join(report.problems)
    table, shown = _fitting(rows, view.columns(report), width, height - _LINES_AROUND)
    more = len(rows) - shown
    now = iso_time(report.as_of.now_ms)
    return [
        f"{now}  every {seconds:g} s  {len(rows)} {kind}, {total}{unknown}  Ctrl-C ends",
        printable(trouble),
        *table,
        *([f"and {more} more"] if more > 0 else []),
    ]


def _fitting(
    rows: Sequence[Row], columns: Sequence[Column], width: int, height: int
) -> tuple[list[str], int]:
    """A table of as many rows as fit, and how many they are: cells that wrap take several lines."""

    def table_of(count: int) -> list[str]:
        return list(table_lines(rows[:count], columns, width_max=width))

    counts = range(1, min(len(rows), max(height, 0)) + 1)
    shown = bisect_right(counts, height, key=lambda count: len(table_of(count)))
    return table_of(shown), shown


def _lag_last_if_unknown(row: Row) -> tuple[bool, int]:
    lag = row["lag"]
    return (True, lag) if isinstance(lag, int) else (False, 0)
