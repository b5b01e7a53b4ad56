"""The part of a lag report that Spark computes in place of reading logs here."""

from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from kgroup.report.progress import Progress
from kgroup.report.table import counted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.api.opened import OpenedLogs
    from kgroup.log.files.log_dir import SegmentFile
    from kgroup.scan.reductions.scanned import Scanned, ScanPlan
    from kgroup.spark.reductions import Part, Reduction


def read_on_spark(
    session: "SparkSession", logs: "OpenedLogs", plan: "ScanPlan", progress: Progress
) -> "Scanned":
    """The same as reading the logs here, all in one Spark job."""
    from kgroup.spark import jobs

    with job_progress(session, f"Spark is reading {amount_of(logs)}", progress):
        return scanned_of(plan, jobs.reduced(session, *job_of(logs, reduction_of(plan))))


def amount_of(logs: "OpenedLogs") -> str:
    """The amount to read: segments, and their bytes as far as these are known."""
    from kgroup.spark.tasks import bytes_of

    segments = (logs.sources if logs.remote is None else logs.remote.sources).segments
    return f"{counted(len(segments), 'segment')}, {bytes_of(segments) / 1e6:.1f} MB"


def reduction_of(plan: "ScanPlan") -> "Reduction[Any]":
    """The reduction that executors make of the log; `scanned_of` takes the result."""
    from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords, ReachAndRounds

    if plan.keep is None:
        return NewestRecords()
    with_last = Both(NewestRecords(), LastCommitsOfEach(plan.keep))
    return Both(with_last, ReachAndRounds(plan.findings)) if plan.history else with_last


def scanned_of(plan: "ScanPlan", part: Any) -> "Scanned":
    """The plan's result from what its reduction left of the log."""
    if plan.keep is None:
        return plan.scanned(part, None, None)
    (newest, last), history = part if plan.history else (part, None)
    return plan.scanned(newest, last, history)


def job_progress(session: "SparkSession", task: str, progress: Progress) -> AbstractContextManager[None]:
    """The tasks of Spark's jobs; of a Spark Connect server only that it is at work."""
    from kgroup.spark.jobs import tasks_done
    from kgroup.spark.shipping import is_connected

    if is_connected(session):
        return progress.activity(task)
    return progress.polled(task, partial(tasks_done, session))


def job_of(
    logs: "OpenedLogs", reduction: "Reduction[Part]"
) -> "tuple[tuple[SegmentFile, ...], Reduction[Part]]":
    """The segments to cut into tasks, and what to do in these."""
    if logs.remote is None:
        return logs.sources.segments, reduction
    return logs.remote.sources.segments, logs.remote.fetching(reduction)
