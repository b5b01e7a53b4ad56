"""`lag-report --serve-metrics`: a fresh report for each Prometheus scrape."""

import time
from collections.abc import Callable
from typing import Final

from kgroup.api.lag.repeated import RepeatedReports
from kgroup.cli.lag.views import metrics
from kgroup.cli.shell.say import say
from kgroup.errors import KgroupError
from kgroup.net.serve.metrics_server import MetricsServer
from kgroup.report.lag.metrics import LookSummary, failed_metrics

_FRESH_S: Final = 1.0  # scrapes that come at once share a look


def serve_metrics(reports: RepeatedReports, address: tuple[str, int], *, only_lagging: bool = False) -> None:
    """Take a first look, and serve until KeyboardInterrupt.

    Raises SourceError if the address cannot be had; a look that fails is reported, and does not end it.
    """
    page = MetricsPage(reports, only_lagging=only_lagging)
    with MetricsServer(*address, page.text) as server:
        try:
            page.text()  # the first look is the longest: it copies a cluster's offsets topic
            print(f"ready {server.url}", flush=True)
            server.serve_forever()
        except KeyboardInterrupt:
            return


class MetricsPage:
    """The page of metrics: of a new look, or of one that is at most a second old."""

    def __init__(
        self,
        reports: RepeatedReports,
        clock: Callable[[], float] = time.monotonic,
        *,
        only_lagging: bool = False,
    ) -> None:
        self._reports = reports
        self._clock = clock
        self._only_lagging = only_lagging
        self._text = ""
        self._until_s: float | None = None

    def text(self) -> str:
        """The page; a failed look shows as `kgroup_up 0`, with the reason on standard error."""
        began = self._clock()
        if self._until_s is None or began >= self._until_s:
            self._text = self._look(began)
            self._until_s = self._clock() + _FRESH_S
        return self._text

    def _look(self, began: float) -> str:
        try:
            report = self._reports.take()
            seconds = self._clock() - began
            lines = list(metrics(report, report.chunks(), seconds, only_lagging=self._only_lagging))
        except (KgroupError, OSError) as error:
            say(str(error))
            lines = list(failed_metrics(LookSummary(at_ms=None, seconds=self._clock() - began)))
        return "\n".join(lines) + "\n"
