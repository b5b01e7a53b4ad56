"""`lag-report --windows`: its options, and where its rows go."""

from typing import TYPE_CHECKING

from kgroup.api.lag.report import WINDOW_COMMITS, LagQuestion, matcher
from kgroup.api.lag_history.history import HistoryOptions, UnknownEnds, history_here
from kgroup.api.lag_history.rows import batches_of
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.spark import said_saved
from kgroup.cli.shell.say import say
from kgroup.cli.shell.times import parse_length
from kgroup.errors import SourceError
from kgroup.lag.status.rule_sets import RuleSet, rules_named
from kgroup.report.emit import OutputFormat, OutputOptions
from kgroup.report.emit_batches import emit_batches
from kgroup.report.lag.history_columns import COLUMNS, TABLE_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def window_length(text: str) -> int:
    """Milliseconds of `--windows`. Raises InputError if it is no duration, or below a second."""
    return parse_length(text, "--windows", least="1s")


def history_asked(
    question: LagQuestion, length: str, span_ms: tuple[int | None, int | None], rules: RuleSet
) -> HistoryOptions:
    """What the command's options ask for. Raises InputError for a length that is none."""
    since_ms, until_ms = span_ms
    return HistoryOptions(
        length_ms=window_length(length),
        since_ms=since_ms,
        until_ms=until_ms,
        slots=WINDOW_COMMITS,
        rules=rules_named(rules),
        wanted_group=matcher(question.groups),
        wanted_topic=matcher(question.topics),
        only_lagging=question.only_lagging,
        quiet=question.quiet,
        groups=tuple(question.groups or ()),
        topics=tuple(question.topics or ()),
    )


def report_history(
    session: "SparkSession | None",
    logs: OpenedLogs,
    options: HistoryOptions,
    save_as: str | None,
    destination: OutputOptions,
) -> tuple[str, ...]:
    """Read the log, here or on Spark, and write the rows to their destination or into a catalog's table.

    Returns what could not be read, having said it.
    """
    columns = TABLE_COLUMNS if destination.format is OutputFormat.TABLE else COLUMNS
    if session is None:
        here = history_here(logs.sources, options)
        missing = here.missing(options)
        if missing and not here.commits.commits.keys:
            raise SourceError("; ".join(missing))
        emit_batches(batches_of(here.rows()), columns, destination)
        for line in (*here.problems, *missing):
            say(line)
        if not here.commits.commits.keys and not options.quiet:
            say("no commit here is what was asked for")
        _say_unknown(UnknownEnds.of(here.ends.unknown), quiet=options.quiet)
        return here.problems
    from kgroup.api.lag_history.on_spark import history_on_spark

    with history_on_spark(session, logs, options) as there:
        if save_as is None:
            emit_batches(there.batches(), columns, destination)
        else:
            said_saved(save_as, there.save(save_as), quiet=options.quiet)
    problems = tuple(map(logs.message, there.problems))
    for line in problems:
        say(line)
    _say_unknown(there.unknown, quiet=options.quiet)
    return problems


def _say_unknown(unknown: UnknownEnds | None, *, quiet: bool) -> None:
    if unknown is None or quiet:
        return
    partitions = "1 partition" if unknown.count == 1 else f"{unknown.count} partitions"
    topic, partition = unknown.first
    more = f"{topic} {partition}" + (" and others" if unknown.count > 1 else "")
    say(f"no log ends of the time are known of {partitions} ({more}): lag is unknown")
