"""The answers of `lag-report`: once or repeatedly, about the present or the past."""

import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

from kgroup.cli.lag.present import Present
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.spark import spark_session
from kgroup.cli.lag.there import PresentThere, is_for_executors
from kgroup.cli.lag.view_options import parse_address, parse_seconds
from kgroup.cli.shell.source import opened
from kgroup.spark.storage import is_uri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kgroup.api.opened import OpenedLogs


def answer(request: LagRequest) -> tuple[str, ...]:
    """Answer in the way that was asked for. Returns what could not be read, having said it."""
    if request.views.repeated:
        _repeat(request)
        return ()
    if request.streaming.stream:
        from kgroup.cli.lag.stream import report_stream

        report_stream(request)
        return ()
    if request.source.clusters:
        from kgroup.cli.lag.fleet import report_fleet

        return report_fleet(request, _answer_one)
    with ExitStack() as stack:
        session: SparkSession | None = None
        if any(map(is_uri, request.source.paths)):  # Spark has the settings, and its executors look there
            session = stack.enter_context(spark_session(request.spark, request.progress, request.work))
            with request.progress.activity("Spark is looking what there is"):
                logs = stack.enter_context(opened(request.source, remote=True, spark=session))
        else:  # a wrong path is reported before Spark starts
            logs = stack.enter_context(opened(request.source, remote=True))
            session = stack.enter_context(spark_session(request.spark, request.progress, request.work))
        return _answered(request, session, logs)


def _answer_one(request: LagRequest, session: "SparkSession | None") -> tuple[str, ...]:
    """Answer for one cluster of several."""
    with opened(request.source, remote=True, spark=session) as logs:
        return _answered(request, session, logs)


def _answered(request: LagRequest, session: "SparkSession | None", logs: "OpenedLogs") -> tuple[str, ...]:
    if request.asked.windows is not None:
        from kgroup.cli.lag.history import report_history

        return report_history(session, logs, request)
    if session is not None and is_for_executors(request, logs):
        return PresentThere(request, session, logs).report()
    return Present(request, session, logs).report()


def _repeat(request: LagRequest) -> None:
    """Watch, or serve metrics, until SIGINT or SIGTERM."""
    from kgroup.api.lag.repeated import RepeatedReports

    for number in (signal.SIGINT, signal.SIGTERM):  # a shell lets its background jobs ignore the former
        signal.signal(number, signal.default_int_handler)
    source, views = request.source, request.views
    reports = RepeatedReports(request.options, source.paths, source.connection, time.time)
    try:
        if views.serve_metrics is not None:
            from kgroup.cli.lag.serve_metrics import serve_metrics

            serve_metrics(reports, parse_address(views.serve_metrics), only_lagging=request.only_lagging)
        elif views.watch is not None:
            from kgroup.cli.lag.watch import watch

            watch(reports, request.view, request.output, parse_seconds(views.watch))
    finally:
        reports.close()
