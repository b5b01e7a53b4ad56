"""`lag-report --spark`: what the command asks of Spark instead of reading logs itself."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kgroup.cli.lag_spark_options import SparkOptions
from kgroup.cli.progress import activity, polled_progress
from kgroup.cli.say import say
from kgroup.report.emit import Column, Row, arrow_batches, arrow_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.cli.lag_look import LagQuestion, OpenedLogs
    from kgroup.log.partition import SegmentFile
    from kgroup.log.scanned import Scanned
    from kgroup.spark.reductions import Part, Reduction


@contextmanager
def spark_session(options: SparkOptions | None, *, quiet: bool) -> "Iterator[SparkSession | None]":
    """Start Spark, if there are options, and see that the table can be written before work is done for it."""
    if options is None:
        yield None
        return
    from kgroup.spark.session import open_session, parse_conf

    # py4j logs a stack for a call that Ctrl-C breaks off; it goes to standard error if nobody handles it.
    logging.getLogger().addHandler(logging.NullHandler())
    with ExitStack() as stack:
        with activity(f"Spark ({options.master}) starts", quiet=quiet):
            session = stack.enter_context(
                open_session(options.master, parse_conf(options.conf), ship=options.ship)
            )
            if options.save_as is not None:
                from kgroup.spark.tables import check_table

                check_table(session, options.save_as)
        yield session


def read_on_spark(session: "SparkSession", logs: "OpenedLogs", question: "LagQuestion") -> "Scanned":
    """What reading the logs here says, all in one job."""
    from kgroup.log.scan_last import Keep, counting
    from kgroup.log.scanned import Scanned
    from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords, ReachAndRounds

    with job_progress(session, "Spark is reading", quiet=question.quiet):
        if question.window_commits is None:
            return Scanned(_reduced(session, logs, NewestRecords()))
        keep = Keep(slots=question.window_commits)
        for_look = Both(NewestRecords(), LastCommitsOfEach(keep))
        if not question.needs_history:
            newest, last = _reduced(session, logs, for_look)
            return Scanned(newest, counting(last, keep))
        (newest, last), history = _reduced(session, logs, Both(for_look, ReachAndRounds()))
        return Scanned(newest, counting(last, keep), history)


def job_progress(session: "SparkSession", what: str, *, quiet: bool) -> AbstractContextManager[None]:
    """A bar of the tasks of Spark's jobs; of a Spark Connect server only that it is at work."""
    from kgroup.spark.jobs import tasks_done
    from kgroup.spark.shipping import is_connected

    if is_connected(session):
        return activity(what, quiet=quiet)
    return polled_progress(what, partial(tasks_done, session), quiet=quiet)


def job_of(
    logs: "OpenedLogs", reduction: "Reduction[Part]"
) -> "tuple[tuple[SegmentFile, ...], Reduction[Part]]":
    """The segments to cut into tasks, and what to do in these."""
    if logs.remote is None:
        return logs.sources.segments, reduction
    return logs.remote.sources.segments, logs.remote.fetching(reduction)


def _reduced(session: "SparkSession", logs: "OpenedLogs", reduction: "Reduction[Part]") -> "Part":
    from kgroup.spark import jobs

    return jobs.reduced(session, *job_of(logs, reduction))


def save_rows(
    session: "SparkSession", name: str, rows: Iterable[Row], columns: Sequence[Column], *, quiet: bool
) -> None:
    """Make the rows a table of Spark's catalog, and say so."""
    from kgroup.spark.tables import save_table

    count = save_table(session, name, arrow_schema(columns), arrow_batches(rows, columns))
    said_saved(name, count, quiet=quiet)


def said_saved(name: str, count: int, *, quiet: bool) -> None:
    """Say on standard error how many rows the table has."""
    if not quiet:
        say(f"table {name}: {count} row{'' if count == 1 else 's'}")
