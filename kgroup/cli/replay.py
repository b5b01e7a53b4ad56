"""`kgroup replay`: the rebalance history of groups, from the offsets topic."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.complete_names import complete_groups
from kgroup.cli.example import Example
from kgroup.cli.options import (
    BootstrapServer,
    ClientProperties,
    CommandConfig,
    Format,
    NoHeaders,
    OutputFile,
    Paths,
    Quiet,
    Strict,
    connection_options,
)
from kgroup.cli.progress import byte_progress
from kgroup.errors import FindingsError, InputError
from kgroup.report.emit import OutputFormat, OutputOptions, emit

if TYPE_CHECKING:
    from kgroup.cli.replay_source import GroupReader
    from kgroup.group.timeline_model import Timeline
    from kgroup.net.properties import ConnectionOptions

EXAMPLES: Final = (
    Example(
        "Why did it rebalance?",
        "kgroup replay fixtures/3.9.1/lives --group orders-app",
    ),
    Example(
        "Everything that happened to it, with the evidence",
        "kgroup replay fixtures/3.9.1/lives --group topic-switcher --events -o csv",
    ),
    Example(
        "Several groups at once, as JSON lines",
        "kgroup replay fixtures/4.3.1/lives --group 'migrate-*' --group trades-848 -o jsonl",
    ),
    Example(
        "A page to look at in a browser",
        "kgroup replay fixtures/3.9.1/lives --group push-storm --html push-storm.html",
    ),
)


def replay(
    paths: Paths = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="NAME",
            autocompletion=complete_groups,
            help="The group, or all that match a pattern; repeatable.",
            show_default=False,
        ),
    ] = None,
    events: Annotated[
        bool, typer.Option("--events", help="A row for each event instead of each generation.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Also write a page for a browser to FILE.", show_default=False
        ),
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option("--svg", metavar="FILE", help="Also write a still picture to FILE.", show_default=False),
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    client_properties: ClientProperties = None,
    output_format: Format = OutputFormat.TABLE,
    output: OutputFile = None,
    no_headers: NoHeaders = False,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Say why a group rebalanced.

    Its history from __consumer_offsets: each generation (epoch) with who joined and who is gone, which
    partitions moved, how long commits paused around it (GAP: from the last commit before to the first after,
    of the partition that waited longest), and the likely causes.

    Every cause is graded: recorded (a record says it), inferred (it follows from records that are named as
    evidence), or unknown (the log allows several, which are named and end in a question mark). The log does
    not tell why a member left; that is inferred from session timeouts and from the rhythm of its commits,
    where they allow only one answer. What compaction has removed is marked and not guessed.
    """
    from kgroup.cli.replay_rows import (
        EVENT_COLUMNS,
        GENERATION_COLUMNS,
        event_rows,
        event_table,
        generation_rows,
        generation_table,
    )

    if not groups:
        raise InputError("no --group given: the group to replay, or a pattern such as 'billing-*'")
    if not paths and bootstrap_server is None:
        raise InputError(
            "no PATH given: the log directory of a broker, or __consumer_offsets folders or segments;"
            " or a cluster with --bootstrap-server"
        )
    if paths and bootstrap_server is not None:
        raise InputError("give PATHs or --bootstrap-server, not both")
    connection = None
    if bootstrap_server is not None:
        connection = connection_options(bootstrap_server, command_config, client_properties)
    with (
        _opened(paths or [], connection, groups) as reader,
        byte_progress("reading", reader.total_bytes, quiet=quiet) as advance,
    ):
        replayed = reader.read(advance)
    timelines = list(replayed.timelines.values())
    _write_pictures(timelines, html, svg)
    table = output_format is OutputFormat.TABLE
    options = OutputOptions(format=output_format, path=output, headers=not no_headers)
    several = len(timelines) > 1
    if events:
        emit(event_rows(timelines), event_table(several) if table else EVENT_COLUMNS, options)
    else:
        columns = generation_table(several) if table else GENERATION_COLUMNS
        emit(generation_rows(timelines, table=table), columns, options)
    for line in () if quiet else _remarks(timelines, events=events):
        print(f"kgroup: {line}", file=sys.stderr)
    for line in replayed.problems:
        print(f"kgroup: {line}", file=sys.stderr)
    if strict and replayed.problems:
        raise FindingsError(f"damaged or undecodable places: {len(replayed.problems)}")


@contextmanager
def _opened(
    paths: Sequence[str], connection: "ConnectionOptions | None", groups: Sequence[str]
) -> "Iterator[GroupReader]":
    from kgroup.cli.replay_source import GroupReader, is_pattern
    from kgroup.log.sources import one_replica_each, open_sources

    if connection is None:
        yield GroupReader(one_replica_each(open_sources(paths)), groups)
        return
    from kgroup.cli.live import live_log
    from kgroup.group.log_ends import LogEnds

    alone = groups[0] if len(groups) == 1 and not is_pattern(groups[0]) else None
    with live_log(connection, group=alone) as live:
        names = LogEnds([live.cluster.log_listing()]).topic_names()
        yield GroupReader(open_sources([live.folder]), groups, names)


def _write_pictures(timelines: "Sequence[Timeline]", html: Path | None, svg: Path | None) -> None:
    if html is None and svg is None:
        return
    from kgroup.report.timeline_page import write_page, write_svg

    if html is not None:
        write_page(timelines, html)
    if svg is not None:
        write_svg(timelines, svg)


def _remarks(timelines: "Sequence[Timeline]", *, events: bool) -> Iterator[str]:
    """What stands between the generations, and what many of them together show."""
    for timeline in timelines:
        where = f"group {timeline.group_id}: "
        if not timeline.generations and not events:
            yield f"{where}no generations: {timeline.commits} commits without membership"
        for pattern in timeline.patterns:
            yield f"{where}{pattern.name}: {pattern.evidence}"
            if pattern.remedy:
                yield f"{where}{pattern.name}: try: {pattern.remedy}"
        if timeline.occurrences and timeline.generations and not events:
            kinds = ", ".join(
                dict.fromkeys(str(occurrence.cause.kind) for occurrence in timeline.occurrences)
            )
            yield f"{where}between the generations: {kinds}; --events shows them"
