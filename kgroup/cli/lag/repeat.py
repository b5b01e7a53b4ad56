"""`lag-report` with more than one look: `--watch` and `--serve-metrics`."""

import signal
import time

from kgroup.api.lag.repeated import RepeatedLooks
from kgroup.api.lag.report import LagQuestion
from kgroup.api.opened import Given
from kgroup.cli.lag.serve_metrics import serve_metrics
from kgroup.cli.lag.view_options import Views, parse_address, parse_seconds
from kgroup.cli.lag.views import RowView
from kgroup.cli.lag.watch import watch
from kgroup.report.emit import OutputFormat, OutputOptions


def repeat(
    question: LagQuestion,
    views: Views,
    source: Given,
    output: OutputOptions,
) -> None:
    """Watch, or serve metrics, until SIGINT or SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell lets its background jobs ignore the former
        signal.signal(number, signal.default_int_handler)
    looks = RepeatedLooks(question, source.paths, source.connection, time.time)
    try:
        if views.serve_metrics is not None:
            serve_metrics(looks, parse_address(views.serve_metrics))
        elif views.watch is not None:
            view = RowView(by=views.by, is_table=output.format is OutputFormat.TABLE)
            watch(looks, view, output, parse_seconds(views.watch))
    finally:
        looks.close()
