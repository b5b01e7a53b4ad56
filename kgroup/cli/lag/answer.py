"""The ways in which `lag-report` answers: once or again and again, of the present or the past."""

import signal
import time

from kgroup.cli.lag.present import Present
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.spark import spark_session
from kgroup.cli.lag.view_options import parse_address, parse_seconds
from kgroup.cli.shell.source import opened


def answer(request: LagRequest) -> tuple[str, ...]:
    """Answer in the way that was asked for. Returns what could not be read, having said it."""
    if request.views.repeated:
        _repeat(request)
        return ()
    if request.streaming.stream:
        from kgroup.cli.lag.stream import report_stream

        report_stream(request)
        return ()
    with (
        opened(request.source, remote=True) as logs,
        spark_session(request.spark, request.progress) as session,
    ):
        if request.asked.windows is not None:
            from kgroup.cli.lag.history import report_history

            return report_history(session, logs, request)
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
