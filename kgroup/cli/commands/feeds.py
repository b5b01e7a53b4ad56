"""`kgroup feeds`: which groups write what other groups read, and which wait for which."""

import time
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.api.names import member_of
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import Clash, check_options
from kgroup.cli.shell.options import Groups, Now, Output, Quiet, Source, Strict
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.cli.shell.times import parse_time
from kgroup.report.emit import OutputFormat, emit, emit_lines
from kgroup.report.progress import TerminalProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgroup.api.feeds import Feeds

EXAMPLES: Final = (
    Example("Who feeds whom on a broker", "kgroup feeds fixtures/pipeline/4.3.1"),
    Example("Why a group gets nothing", "kgroup feeds fixtures/pipeline/4.3.1 --group mailer --late"),
    Example(
        "The same as a picture for a page of Markdown",
        "kgroup feeds fixtures/pipeline/4.3.1 --draw mermaid",
    ),
    Example("What groups of a live cluster read", "kgroup feeds -b localhost:9092 -o jsonl"),
)
_CHECKS: Final = (
    Clash(options=frozenset({"--draw"}), others=frozenset({"--late"})),
    Clash(
        options=frozenset({"--draw"}), others=frozenset({"--format"}), reason="a drawing is text of its own"
    ),
)


def feeds(
    *,
    source: Source,
    groups: Groups = None,
    now: Now = None,
    late: Annotated[
        bool,
        option(
            "--late", help="Instead, show groups that are late because others are.", section=Section.SHOWN
        ),
    ] = False,
    draw: Annotated[
        str | None,
        option("--draw", metavar="HOW", help="Draw it as mermaid or dot.", section=Section.SHOWN),
    ] = None,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show which groups write what other groups read.

    A group that commits its offsets in transactions leaves its producer's id in __consumer_offsets, and
    everything that producer wrote carries the same id. So the topics' own logs, if they are next to it,
    show which group writes which topic, in how many transactions, from when to when: recorded, not guessed.
    Added to that are the declared topologies of streams groups, and what every group reads.

    What groups that commit without transactions write cannot be known. --late follows the edges upstream
    from groups that receive nothing, or only old records, to the group that stands still or is behind.
    --group shows only what leads to or from a group. docs/feeds.md has the rules.
    """
    from kgroup.api.feeds import feeds as feeds_of
    from kgroup.report.feed_rows import (
        FEED_COLUMNS,
        LATE_COLUMNS,
        Drawing,
        drawn,
        feed_rows,
        feed_table,
        late_rows,
        late_table,
    )

    given_format = None if output.format is OutputFormat.TABLE else output.format
    check_options(_CHECKS, {"--draw": draw, "--late": late, "--format": given_format})
    drawing = None if draw is None else member_of(Drawing, draw, "--draw")
    clock_ms = int(time.time() * 1000)
    now_ms = None if now is None else parse_time(now, "--now", clock_ms)
    with opened(source) as logs:
        progress = TerminalProgress(quiet=quiet)
        made = feeds_of(logs, groups=groups, now_ms=now_ms, clock_ms=clock_ms, progress=progress)
    table = output.format is OutputFormat.TABLE
    if drawing is not None:
        emit_lines(drawn(made.feeds, drawing), output)
    elif late:
        emit(late_rows(made.late), late_table() if table else LATE_COLUMNS, output)
    else:
        emit(feed_rows(made.feeds), feed_table() if table else FEED_COLUMNS, output)
    for line in [*([] if quiet else _notes(made, late=late)), *made.problems]:
        say(line)
    if made.missing:
        say(made.missing)
    fail_if_strict(made.problems, strict=strict)


def _notes(made: "Feeds", *, late: bool) -> "Iterator[str]":
    if not late:
        yield from (f"group {each.group} waits [{each.grade}]: {each.evidence}" for each in made.late)
    elif not made.late:
        yield "no group is seen to wait for another"
    yield from made.remarks
