"""Repeated reports on the same logs or cluster, for `--watch`, `--serve-metrics` and `top`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.reading import AsOf
from kgroup.api.lag.report import LagReport, report_of
from kgroup.api.live import KeptLog
from kgroup.api.opened import OpenedLogs, open_logs
from kgroup.errors import SourceError
from kgroup.lag.measures.successive import LagLooks
from kgroup.log.files.log_dir import SegmentFile
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.scan.reductions.growing import GrowingScan
from kgroup.scan.reductions.scan import newest_time
from kgroup.scan.reductions.scanned import Scanned


class RepeatedReports:
    """Reports on the same logs or cluster; `close` when done. `clock` is epoch seconds.

    Each reads what is new, as long as files only get longer. With `now_ms` (epoch ms) all are as of then.
    """

    def __init__(
        self,
        options: LagOptions,
        paths: Sequence[str],
        connection: ConnectionOptions | None,
        clock: Callable[[], float],
        now_ms: int | None = None,
    ) -> None:
        self._options = options
        self._paths = paths
        self._kept = KeptLog(connection) if connection is not None else None
        self._clock = clock
        self._now_ms = now_ms
        self._looks = LagLooks()
        self._files: dict[str, _FileState] = {}
        self._growing = GrowingScan(options.plan)

    def take(self) -> LagReport:
        """A report as of now, with all of its rows. Raises KgroupError; the next one starts over then."""
        with self.opened() as logs:
            scanned = self._scan(logs)
            clock_ms, live = int(self._clock() * 1000), self._kept is not None
            newest_ms = newest_time(scanned.newest)
            as_of = AsOf.of(self._options, newest_ms, live=live, now_ms=self._now_ms, clock_ms=clock_ms)
            return report_of(logs, self._options, scanned, as_of, looks=self._looks).held()

    @contextmanager
    def opened(self) -> Iterator[OpenedLogs]:
        """The logs as they are now, for another question. Raises KgroupError."""
        if self._kept is not None:
            with self._kept.look() as live:
                yield live
        else:
            with open_logs(*self._paths) as logs:
                yield logs

    def close(self) -> None:
        """Give up what is kept between reports."""
        if self._kept is not None:
            self._kept.close()

    def _scan(self, logs: OpenedLogs) -> Scanned:
        """The scan with new records added, or made afresh where adding would give another result.

        A broker replaces segments that it compacts, and somebody who copies a log may be in the middle of a
        batch, which reads as damage.
        """
        segments = logs.sources.segments
        files = _states(segments)
        if not _only_grew(self._files, files):
            self._growing = GrowingScan(self._options.plan)
        self._files = {}
        scanned = self._growing.scan(segments)
        if self._kept is not None or not scanned.newest.damage:  # a cluster's copy grows by whole batches
            self._files = files
        return scanned


class _FileState(NamedTuple):
    """A file's state: a change shows that it was replaced or written to."""

    inode: int
    size: int
    modified_ns: int


def _states(segments: Iterable[SegmentFile]) -> dict[str, _FileState]:
    states: dict[str, _FileState] = {}
    for segment in segments:
        try:
            said = Path(segment.path).stat()
        except OSError as error:
            raise SourceError(f"{segment.path}: {error.strerror or error}") from error
        states[segment.path] = _FileState(said.st_ino, said.st_size, said.st_mtime_ns)
    return states


def _only_grew(before: Mapping[str, _FileState], now: Mapping[str, _FileState]) -> bool:
    """Whether all files of before, of which there are some, are there, longer or untouched."""
    return bool(before) and all(
        path in now and now[path].inode == was.inode and (now[path].size > was.size or now[path] == was)
        for path, was in before.items()
    )
