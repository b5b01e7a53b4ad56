"""Looks at the same logs or cluster again and again, for `--watch` and `--serve-metrics`."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from kgroup.cli.lag_look import LagQuestion, Look, OpenedLogs, scan_logs, take_look
from kgroup.cli.live import KeptLog
from kgroup.group.lag_looks import LagLooks
from kgroup.log.sources import one_replica_each, open_sources
from kgroup.net.properties import ConnectionOptions


class RepeatedLooks:
    """Takes looks at the same logs or cluster; `close` when done. `clock` is epoch seconds."""

    def __init__(
        self,
        question: LagQuestion,
        paths: Sequence[str],
        connection: ConnectionOptions | None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._question = replace(question, quiet=True)  # a bar at each look would hide what is watched
        self._paths = paths
        self._kept = KeptLog(connection) if connection is not None else None
        self._clock = clock
        self._looks = LagLooks()

    def take(self) -> Look:
        """A look as of now. Raises KgroupError; the next one begins anew then."""
        if self._kept is None:
            return self._look(OpenedLogs(sources=one_replica_each(open_sources(self._paths))))
        with self._kept.look() as live:
            listing = live.cluster.log_listing()
            return self._look(
                OpenedLogs(sources=open_sources([live.folder]), listing=listing, cluster=live.cluster)
            )

    def close(self) -> None:
        """Give up what is kept between looks."""
        if self._kept is not None:
            self._kept.close()

    def _look(self, logs: OpenedLogs) -> Look:
        now_ms = int(self._clock() * 1000)
        scanned = scan_logs(logs.sources, self._question)
        return take_look(self._question, logs, scanned, now_ms, self._looks)
