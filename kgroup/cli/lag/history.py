"""`lag-report --windows`: where its rows go, and the messages around them."""

from typing import TYPE_CHECKING

from kgroup.api.lag_history.history import UnknownEnds
from kgroup.api.lag_history.report import lag_history
from kgroup.api.opened import OpenedLogs
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.spark import said_saved
from kgroup.cli.shell.say import say
from kgroup.cli.shell.times import parse_length
from kgroup.report.emit import OutputFormat
from kgroup.report.emit_batches import emit_batches
from kgroup.report.lag.history_columns import COLUMNS, TABLE_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def window_length(text: str) -> int:
    """Milliseconds of `--windows`. Raises InputError if it is no duration, or below a second."""
    return parse_length(text, "--windows", least="1s")


def report_history(session: "SparkSession | None", logs: OpenedLogs, request: LagRequest) -> tuple[str, ...]:
    """Read the log, here or on Spark, and write the rows to their destination or into a catalog's table.

    Returns what could not be read, having said it.
    """
    assert request.asked.windows is not None
    is_table = request.output.format is OutputFormat.TABLE and request.save_as is None
    columns = TABLE_COLUMNS if is_table else COLUMNS
    history = lag_history(
        logs,
        window_length(request.asked.windows),
        groups=request.options.groups,
        topics=request.options.topics,
        since_ms=request.since_ms,
        until_ms=request.now_ms,
        rules=request.asked.rule_set,
        only_lagging=request.only_lagging,
        progress=request.progress,
        spark=session,
    )
    with history:
        if request.spool is not None:
            request.spool.keep_batches(history.raw_batches(), columns)
        elif request.save_as is None:
            emit_batches(history.raw_batches(), columns, request.output)
        else:
            said_saved(request.save_as, history.save(request.save_as), quiet=request.quiet)
    for line in (*(() if request.quiet else history.remarks), *history.problems, *history.missing):
        say(line)
    if history.is_empty and not request.quiet:
        say("no commits match")
    _say_unknown(history.unknown_ends, quiet=request.quiet)
    return history.problems


def _say_unknown(unknown: UnknownEnds | None, *, quiet: bool) -> None:
    if unknown is None or quiet:
        return
    partitions = "1 partition" if unknown.count == 1 else f"{unknown.count} partitions"
    topic, partition = unknown.first
    more = f"{topic} {partition}" + (" and others" if unknown.count > 1 else "")
    say(
        f"no log ends of the time are known of {partitions} ({more}), whose records are not here:"
        " lag is unknown; see kgroup lag for that of now"
    )
