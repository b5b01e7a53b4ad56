"""Looks at the same logs or cluster again and again, for `--watch` and `--serve-metrics`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from kgroup.api.lag.report import LagQuestion, Look, scan_logs, take_look
from kgroup.api.live import KeptLog
from kgroup.api.opened import OpenedLogs
from kgroup.lag.measures.successive import LagLooks
from kgroup.log.files.sources import one_replica_each, open_sources
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.scan.reductions.growing import GrowingScan
from kgroup.scan.reductions.scanned import Scanned


class RepeatedLooks:
    """Takes looks at the same logs or cluster; `close` when done. `clock` is epoch seconds."""

    def __init__(
        self,
        question: LagQuestion,
        paths: Sequence[str],
        connection: ConnectionOptions | None,
        clock: Callable[[], float],
    ) -> None:
        self._question = replace(question, quiet=True)  # a bar at each look would hide what is watched
        self._paths = paths
        self._kept = KeptLog(connection) if connection is not None else None
        self._clock = clock
        self._looks = LagLooks()
        self._folder = ""
        self._growing = self._growing_scan()

    def take(self) -> Look:
        """A look as of now. Raises KgroupError; the next one begins anew then."""
        if self._kept is None:
            sources = one_replica_each(open_sources(self._paths))
            return self._look(OpenedLogs(sources=sources), scan_logs(sources, self._question))
        with self._kept.look() as live:
            sources = open_sources([live.folder])
            if live.folder != self._folder:
                self._folder, self._growing = live.folder, self._growing_scan()
            scanned = self._growing.scan(sources.segments)
            listing = live.cluster.log_listing()
            return self._look(OpenedLogs(sources=sources, listing=listing, cluster=live.cluster), scanned)

    def close(self) -> None:
        """Give up what is kept between looks."""
        if self._kept is not None:
            self._kept.close()

    def _growing_scan(self) -> GrowingScan:
        return GrowingScan(self._question.window_commits, history=self._question.needs_history)

    def _look(self, logs: OpenedLogs, scanned: Scanned) -> Look:
        now_ms = int(self._clock() * 1000)
        return take_look(self._question, logs, scanned, now_ms, self._looks)
