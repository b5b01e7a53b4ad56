"""`kgroup what-if`: a group's recorded history, played again under another assignor or other settings."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.options.span import SpanOptions
from kgroup.cli.options.what_if import RULES, Settings
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options
from kgroup.cli.shell.options import Groups, Output, Quiet, Source, Strict, required_groups
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.errors import InputError
from kgroup.report.emit import OutputFormat, emit
from kgroup.report.progress import TerminalProgress

if TYPE_CHECKING:
    from kgroup.history.what_if.what_if import Comparison

EXAMPLES: Final = (
    Example(
        "What cooperative rebalancing would have spared the members",
        "kgroup what-if fixtures/3.9.1/lives --group orders-app --protocol cooperative",
    ),
    Example(
        "A storm of restarts, if the members had been static",
        "kgroup what-if fixtures/3.9.1/lives --group push-storm --static",
    ),
    Example(
        "Two more members and a larger topic, rebalance by rebalance",
        "kgroup what-if fixtures/3.9.1/lives --group orders-app --members +2 --partitions orders=48"
        " --rounds -o jsonl",
    ),
    Example(
        "What one rebalance would have cost",
        "kgroup what-if fixtures/3.9.1/lives --group orders-app --static --at 12:43:26",
    ),
    Example(
        "Several groups of a live cluster",
        "kgroup what-if -b localhost:9092 --group 'billing-*' --assignor sticky --session-timeout 30s",
    ),
)


def what_if(
    *,
    source: Source,
    groups: Groups = None,
    times: Annotated[SpanOptions, Bundle(SpanOptions)],
    settings: Annotated[Settings, Bundle(Settings)],
    rounds: Annotated[
        bool, option("--rounds", help="One row per rebalance of each side.", section=Section.SHOWN)
    ] = False,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show what other settings would have cost a group.

    Takes from __consumer_offsets which members came and went, with which subscriptions, and rebalances
    again at each of these moments, carrying on from its own previous assignment. The assignments are
    Kafka's. The recorded side is counted by the same rules.

    MOVED counts partitions that changed owner. STOPPED counts, in each rebalance, members that stayed and
    had to stop reading something. UNREAD is how long partitions went unread, summed over partitions: while
    a rebalance stopped them, and while their member was gone before the group noticed or (static) until it
    was back. EACH is the fewest and the most partitions of any member at the end, SPREAD the greatest
    difference at any time.

    The assumptions behind the answer are printed on standard error, and in JSON. Share and streams groups,
    and groups whose members get no partitions (Connect), are not simulated.
    """
    from kgroup.api.replay import replay
    from kgroup.api.what_if import what_if as compare
    from kgroup.history.timeline.span import extent, to_play
    from kgroup.report.timeline.what_if_rows import (
        ROUND_COLUMNS,
        SUMMARY_COLUMNS,
        round_rows,
        round_table,
        summary_rows,
        summary_table,
    )

    check_options(RULES, settings.given)
    changes = settings.changes()
    clock_ms = int(time.time() * 1000)
    times.check(clock_ms)
    patterns = required_groups(groups)
    with opened(source) as logs:
        replayed = replay(logs, patterns, progress=TerminalProgress(quiet=quiet))
    if times.given:
        span = times.span(clock_ms, extent(replayed.values()))
        replayed = replayed.cut(lambda timeline: to_play(timeline, span))
        if not any(timeline.generations for timeline in replayed.values()):
            raise InputError("no rebalance began in that time: there is nothing to play")
    comparisons = compare(replayed, changes)
    compared = list(comparisons.values())
    table = output.format is OutputFormat.TABLE
    several = len(compared) > 1
    if rounds:
        emit(round_rows(compared), round_table(several) if table else ROUND_COLUMNS, output)
    else:
        emit(summary_rows(compared), summary_table(several) if table else SUMMARY_COLUMNS, output)
    notes = [*_assumptions(compared), *(f"left out: {why}" for why in comparisons.passed_over)]
    for line in [*([] if quiet else [*notes, *replayed.remarks]), *replayed.unread]:
        say(line)
    fail_if_strict(replayed.problems, strict=strict)


def _assumptions(compared: "Sequence[Comparison]") -> list[str]:
    """Each assumption once, with the groups that it is about where not all share it."""
    groups: dict[str, list[str]] = {}
    for comparison in compared:
        for assumption in comparison.assumptions:
            groups.setdefault(assumption, []).append(comparison.group_id)
    lines = []
    for assumption, names in groups.items():
        where = "" if len(names) == len(compared) else f"group {', '.join(names[:3])}: "
        more = f" (and {len(names) - 3} more groups)" if where and len(names) > 3 else ""
        lines.append(f"assumed: {where}{assumption}{more}")
    return lines
