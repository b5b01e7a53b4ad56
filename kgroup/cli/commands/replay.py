"""`kgroup replay`: the rebalance history of groups, from the offsets topic."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.options.span import SpanOptions
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import Clash, check_options
from kgroup.cli.shell.options import (
    Groups,
    Quiet,
    Source,
    Strict,
    TraceableOutput,
    new_file,
    required_groups,
)
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.errors import InputError
from kgroup.report.emit import OutputFormat, emit, emit_lines, iso_time
from kgroup.report.progress import Progress, TerminalProgress

if TYPE_CHECKING:
    from kgroup.api.opened import OpenedLogs
    from kgroup.api.replay import Replayed
    from kgroup.history.timeline.model import Timeline
    from kgroup.history.timeline.span import Span

EXAMPLES: Final = (
    Example(
        "Why a group rebalanced",
        "kgroup replay fixtures/3.9.1/lives --group orders-app",
    ),
    Example(
        "Everything that happened to a group, with the evidence",
        "kgroup replay fixtures/3.9.1/lives --group topic-switcher --events -o csv",
    ),
    Example(
        "Why a group rebalanced at 12:43",
        "kgroup replay fixtures/3.9.1/lives --group orders-app --at 12:43 --events",
    ),
    Example(
        "Several groups at once, as JSON lines",
        "kgroup replay fixtures/4.3.1/lives --group 'migrate-*' --group trades-848 -o jsonl",
    ),
    Example(
        "A trace for ui.perfetto.dev: a track for each member",
        "kgroup replay fixtures/3.9.1/lives --group orders-app -o trace",
    ),
    Example(
        "A page to look at in a browser",
        "kgroup replay fixtures/3.9.1/lives --group push-storm --html push-storm.html",
    ),
)
_RULES: Final = (
    Clash(
        options={"time"},
        others={"--html"},
        why="--since, --until and --at choose rows: a page or picture shows the whole history",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Files to draw the history into."""

    html: Annotated[
        Path | None,
        option(
            "--html",
            metavar="FILE",
            callback=new_file,
            help="Also write an HTML page to FILE.",
            section=Section.OUTPUT,
        ),
    ] = None
    svg: Annotated[
        Path | None,
        option(
            "--svg",
            metavar="FILE",
            callback=new_file,
            help="Also write a still image to FILE.",
            section=Section.OUTPUT,
        ),
    ] = None
    png: Annotated[
        Path | None,
        option(
            "--png",
            metavar="FILE",
            callback=new_file,
            help="The same as PNG; requires pip install 'kgroup[png]'.",
            section=Section.OUTPUT,
        ),
    ] = None

    def write(self, replayed: "Replayed", logs: "OpenedLogs", progress: Progress) -> None:
        """Write every file that is wanted."""
        if self == Pictures():
            return
        from kgroup.api.pages import pages_of_replayed
        from kgroup.report.pages.page import write_group_pages
        from kgroup.report.pages.still import write_png, write_svg

        groups, axis = pages_of_replayed(replayed, logs, clock_ms=int(time.time() * 1000), progress=progress)
        if self.html is not None:
            write_group_pages(groups, self.html, axis=axis)
        if self.svg is not None:
            write_svg(groups, self.svg, axis)
        if self.png is not None:
            write_png(groups, self.png, axis)


def replay(
    *,
    source: Source,
    groups: Groups = None,
    times: Annotated[SpanOptions, Bundle(SpanOptions)],
    events: Annotated[
        bool,
        option("--events", help="One row per event instead of per generation.", section=Section.SHOWN),
    ] = False,
    traceable: TraceableOutput,
    pictures: Annotated[Pictures, Bundle(Pictures)],
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Explain a group's rebalances.

    Its history from __consumer_offsets: each generation (epoch) with the members that joined and left,
    which partitions moved, how long commits paused around it (GAP: from the last commit before to the first
    after, for the partition that waited longest), and the likely causes.

    Every cause is graded: recorded (a record says so), inferred (it follows from records, which are named
    as evidence), or unknown (the log allows several, which are listed with a question mark). The log does
    not say why a member left; that is inferred from session timeouts and from its commit rhythm, if they
    allow only one answer. Gaps left by compaction are marked, not guessed.

    For a cluster it also shows the current state of a classic group: the log has a rebalance only once it
    has ended. The reasons that clients give for joining and leaving (KIP-800) are in no record and in no
    broker's answer, only in the broker's own log file.
    """
    from kgroup.api.replay import replay as replay_groups
    from kgroup.api.replay import states_now
    from kgroup.history.timeline.span import around, extent, within
    from kgroup.report.timeline.remarks import timeline_remarks
    from kgroup.report.timeline.rows import (
        EVENT_COLUMNS,
        GENERATION_COLUMNS,
        event_rows,
        event_table,
        event_table_rows,
        generation_rows,
        generation_table,
    )
    from kgroup.report.timeline.trace_tracks import timeline_tracks
    from kgroup.report.trace_format import trace_lines

    clock_ms = int(time.time() * 1000)
    check_options(_RULES, {"time": times.given, "--html": pictures != Pictures()})
    times.check(clock_ms)
    if traceable.is_trace and events:
        raise InputError("-o trace has generations and events: leave out --events")
    patterns = required_groups(groups)
    with opened(source) as logs:
        progress = TerminalProgress(quiet=quiet)
        replayed = replay_groups(logs, patterns, progress=progress)
        whole = list(replayed.values())
        span = times.span(clock_ms, extent(whole))
        part = around if times.at else within
        timelines = [part(timeline, span) for timeline in whole] if times.given else whole
        states = [] if quiet or times.given else list(states_now(logs, whole))
        pictures.write(replayed, logs, progress)
    output = traceable.rows
    table = output.format is OutputFormat.TABLE
    several = len(timelines) > 1
    if traceable.is_trace:
        emit_lines(trace_lines(timeline_tracks(timelines)), output)
    elif events:
        if table:
            emit(event_table_rows(timelines), event_table(several), output)
        else:
            emit(event_rows(timelines), EVENT_COLUMNS, output)
    else:
        columns = generation_table(several) if table else GENERATION_COLUMNS
        emit(generation_rows(timelines, table=table), columns, output)
    outside = list(_outside(whole, timelines, span)) if times.given else []
    notes = [*outside, *timeline_remarks(timelines, events=events or times.given), *states, *replayed.remarks]
    for line in [*([] if quiet else notes), *replayed.unread]:
        say(line)
    fail_if_strict(replayed.problems, strict=strict)


def _outside(whole: "Sequence[Timeline]", shown: "Sequence[Timeline]", span: "Span") -> Iterator[str]:
    """For groups that did not rebalance in the requested time, when they did."""
    for timeline, part in zip(whole, shown, strict=True):
        if any(span.has(generation.roster.at_ms) for generation in part.generations):
            continue
        times_ms = [each.roster.at_ms for each in timeline.generations if each.roster.at_ms is not None]
        before = max((at_ms for at_ms in times_ms if at_ms < (span.since_ms or 0)), default=None)
        after = min((at_ms for at_ms in times_ms if at_ms >= (span.until_ms or 0)), default=None)
        near = [
            f"the last before {iso_time(before)}" if before is not None else "none before",
            f"the first after {iso_time(after)}" if after is not None and span.until_ms else "none after",
        ]
        yield f"group {timeline.group_id}: no rebalance began in that time; {', '.join(near)}"
