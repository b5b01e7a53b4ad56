"""Scans of a growing log that read every byte once."""

from collections.abc import Iterable
from pathlib import Path

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import SegmentFile
from kgroup.scan.reductions.history import History, merge_histories, read_history
from kgroup.scan.reductions.last_commits import LastPart, last_part, merge_last
from kgroup.scan.reductions.scan import Newest, Slice, merge, newest
from kgroup.scan.reductions.scanned import Scanned, ScanPlan


class GrowingScan:
    """A plan's result for segments whose files only get longer, by whole batches; new segments come last.

    Memory is that of `newest`, `last_commits` and `read_history`, and no more for a longer log.
    """

    def __init__(self, plan: ScanPlan) -> None:
        self._plan = plan
        self._ends: dict[str, int] = {}
        self._newest: Newest | None = None
        self._last: LastPart | None = None
        self._history: History | None = None

    def scan(self, segments: Iterable[SegmentFile]) -> Scanned:
        """Read what is new in the segments, those of an offsets partition in log order.

        Raises SourceError if a file cannot be read, or is shorter than before.
        """
        slices = [part for segment in segments if (part := self._new_part(segment)) is not None]
        grown, keep = newest(slices), self._plan.keep
        self._newest = grown if self._newest is None else merge([self._newest, grown])
        if keep is not None:
            last = last_part(slices, keep)
            self._last = last if self._last is None else merge_last([self._last, last], keep)
            if self._plan.history:
                history = read_history(slices, rounds=self._plan.findings)
                before = self._history
                self._history = history if before is None else merge_histories([before, history])
        return self._plan.scanned(self._newest, self._last, self._history)

    def _new_part(self, segment: SegmentFile) -> Slice | None:
        path = Path(segment.path)
        try:
            end = path.stat().st_size
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        start = self._ends.get(segment.path, 0)
        if end < start:
            raise SourceError(f"{path}: {end} bytes long, and was {start}")
        self._ends[segment.path] = end
        if end == start:
            return None
        return Slice(path=path, offsets_partition=segment.partition, start=start, end=end)
