"""`kgroup commits`: every commit of a group, with its step, gap and rate."""

import time
from typing import Annotated, Final

from kgroup.cli.options.span import SpanOptions
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import GroupAndPaths, Output, Quiet, Strict, TopicPartitions
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.source import opened
from kgroup.report.emit import Kind, OutputFormat, cell, emit, iso_time
from kgroup.report.progress import TerminalProgress

EXAMPLES: Final = (
    Example(
        "How a group read a partition",
        "kgroup commits reports-reset fixtures/3.9.1/lives --topic orders:0 --at 12:43",
    ),
    Example("On a live cluster", "kgroup commits billing -b localhost:9092 --since 15m"),
)


def commits(
    *,
    about: GroupAndPaths,
    topics: TopicPartitions = None,
    times: Annotated[SpanOptions, Bundle(SpanOptions)],
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show every commit of a group.

    STEP is how far the commit advanced since the previous one, GAP the time between the two, RATE the
    records per second in between. Commits of aborted or undecided transactions do not count.
    """
    from kgroup.api.commits import commits as commits_of
    from kgroup.history.timeline.commit_steps import CommitStep
    from kgroup.report.commit_rows import COMMIT_COLUMNS, commit_rows, commit_table, commit_table_rows

    clock_ms = int(time.time() * 1000)
    times.check(clock_ms)
    with opened(about.source) as logs:
        made = commits_of(logs, about.group, topics=topics, progress=TerminalProgress(quiet=quiet))
    if times.given:
        made = made.within(times.span(clock_ms, made.extent))
    several = len({step.group for step in made.steps}) > 1
    if output.format is OutputFormat.TABLE:
        emit(commit_table_rows(made.steps), commit_table(several), output)
    else:
        emit(commit_rows(made.steps), COMMIT_COLUMNS, output)

    def longest(step: CommitStep) -> str:
        return (
            f"group {step.group}: the longest gap is {cell(step.gap_ms, Kind.DURATION_MS)}, on"
            f" {step.topic}-{step.partition} before {iso_time(step.at_ms)}"
        )

    notes = [*map(longest, made.longest_gaps()), *made.remarks]
    for line in [*([] if quiet else notes), *made.problems, *([made.missing] if made.missing else [])]:
        say(line)
    fail_if_strict(made.problems, strict=strict)
