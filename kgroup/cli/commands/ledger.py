"""`kgroup ledger`: the offsets that a group skipped, and those that it read more than once."""

import time
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.api.names import member_of
from kgroup.cli.options.period import Period
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Groups, LogEnds, Output, Quiet, Source, Strict, Topics, required_groups
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.report.emit import OutputFormat, emit
from kgroup.report.progress import TerminalProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgroup.api.ledger import Ledgers

EXAMPLES: Final = (
    Example(
        "What a group read again because someone reset its offsets",
        "kgroup ledger fixtures/3.9.1/lives --group reports-reset",
    ),
    Example(
        "Only what is certain, with the evidence and the records that prove it",
        "kgroup ledger fixtures/4.3.1/lives --group '*' --certain -o jsonl",
    ),
    Example(
        "Each member's part",
        "kgroup ledger fixtures/3.9.1/lives --group orders-app --by owner",
    ),
    Example(
        "An hour of a live cluster, minute by minute",
        "kgroup ledger -b localhost:9092 --group billing --since 1h --by minute -o csv",
    ),
)


def ledger(
    *,
    source: Source,
    log_ends: LogEnds = None,
    groups: Groups = None,
    topics: Topics = None,
    period: Annotated[Period, Bundle(Period)],
    certain: Annotated[
        bool,
        option("--certain", help="Only what is proven, without bounds.", section=Section.SELECTION),
    ] = False,
    by: Annotated[
        str | None,
        option("--by", metavar="WHAT", help="Sums by minute or owner.", section=Section.SHOWN),
    ] = None,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show what a group skipped, and what it received twice.

    From __consumer_offsets: ranges of offsets that nobody in the group can have read although it committed
    beyond them, and ranges that were handed out again after a hand-over, a rewind or a reset. AT-LEAST is
    certain, AT-MOST is the upper bound; a row means either all of its range or any part of it.

    A commit is taken at its word: everything before it, from where its reader began, was handed out. No log
    shows what a reader received but did not commit, but it cannot exceed what had been written by then:
    with the topics' own logs alongside, or a live cluster, that is a bound. With neither, hand-overs that
    prove nothing are omitted. Ranges count offsets, including transaction markers and what compaction
    removed.
    """
    from kgroup.api.ledger import ledger as ledger_of
    from kgroup.report.timeline.ledger_rows import (
        ENTRY_COLUMNS,
        SUM_COLUMNS,
        SumBy,
        entry_rows,
        entry_table,
        sum_rows,
        sum_table,
    )

    patterns = required_groups(groups)
    sum_by = None if by is None else member_of(SumBy, by, "--by")
    now_ms = int(time.time() * 1000)
    since_ms, until_ms = period.times(now_ms)
    with opened(source) as logs:
        ledgers = ledger_of(
            logs,
            patterns,
            topics=topics,
            since_ms=since_ms,
            until_ms=until_ms,
            only_certain=certain,
            log_ends=log_ends,
            progress=TerminalProgress(quiet=quiet),
        )
    made = list(ledgers.values())
    table = output.format is OutputFormat.TABLE
    several = len(made) > 1
    if sum_by is None:
        emit(entry_rows(made), entry_table(several=several) if table else ENTRY_COLUMNS, output)
    else:
        columns = sum_table(sum_by, several=several) if table else SUM_COLUMNS
        emit(sum_rows(made, sum_by), columns, output)
    for line in [*([] if quiet else [*_notes(ledgers), *ledgers.remarks]), *ledgers.unread]:
        say(line)
    fail_if_strict(ledgers.problems, strict=strict)


def _notes(ledgers: "Ledgers") -> "Iterator[str]":
    """A line with the sums of each group's ledger, and its limits."""
    from kgroup.report.timeline.ledger_rows import sum_line

    for group_id, made in ledgers.items():
        yield f"group {group_id}: {sum_line(made)}"
        if made.is_cut:
            yield f"group {group_id}: the log skips offsets: what happened there is unknown"
