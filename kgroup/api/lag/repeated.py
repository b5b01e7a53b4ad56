"""Reports on the same logs or cluster again and again, for `--watch` and `--serve-metrics`."""

from collections.abc import Callable, Sequence

from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.reading import AsOf, read_log
from kgroup.api.lag.report import LagReport, report_of
from kgroup.api.live import KeptLog
from kgroup.api.opened import OpenedLogs, open_logs
from kgroup.lag.measures.successive import LagLooks
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.report.progress import NO_PROGRESS
from kgroup.scan.reductions.growing import GrowingScan
from kgroup.scan.reductions.scanned import Scanned


class RepeatedReports:
    """Reports on the same logs or cluster; `close` when done. `clock` is epoch seconds."""

    def __init__(
        self,
        options: LagOptions,
        paths: Sequence[str],
        connection: ConnectionOptions | None,
        clock: Callable[[], float],
    ) -> None:
        self._options = options
        self._paths = paths
        self._kept = KeptLog(connection) if connection is not None else None
        self._clock = clock
        self._looks = LagLooks()
        self._folder = ""
        self._growing = GrowingScan(options.plan)

    def take(self) -> LagReport:
        """A report as of now, with all of its rows. Raises KgroupError; the next one begins anew then."""
        if self._kept is None:
            logs = open_logs(*self._paths)
            return self._report(logs, read_log(logs, self._options.plan, NO_PROGRESS, None))
        with self._kept.look() as live:
            if live.folder != self._folder:
                self._folder, self._growing = live.folder, GrowingScan(self._options.plan)
            return self._report(live, self._growing.scan(live.sources.segments))

    def close(self) -> None:
        """Give up what is kept between reports."""
        if self._kept is not None:
            self._kept.close()

    def _report(self, logs: OpenedLogs, scanned: Scanned) -> LagReport:
        now_ms = int(self._clock() * 1000)
        as_of = AsOf(now_ms=now_ms, log_ms=now_ms)
        return report_of(logs, self._options, scanned, as_of, looks=self._looks).held()
