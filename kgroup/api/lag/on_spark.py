"""What a lag report asks of Spark instead of reading logs itself."""

from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from kgroup.report.progress import activity, polled_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.api.lag.report import LagQuestion
    from kgroup.api.opened import OpenedLogs
    from kgroup.log.files.log_dir import SegmentFile
    from kgroup.scan.reductions.scanned import Scanned
    from kgroup.spark.reductions import Part, Reduction


def read_on_spark(session: "SparkSession", logs: "OpenedLogs", question: "LagQuestion") -> "Scanned":
    """What reading the logs here says, all in one job."""
    from kgroup.scan.reductions.last_commits import Keep, counting
    from kgroup.scan.reductions.scanned import Scanned
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
