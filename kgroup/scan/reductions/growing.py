"""Scans of a log that grows, of which every byte is read once."""

from collections.abc import Iterable
from pathlib import Path

from kgroup.errors import SourceError
from kgroup.log.files.log_dir import SegmentFile
from kgroup.scan.reductions.history import History, merge_histories, read_history
from kgroup.scan.reductions.last_commits import Keep, LastPart, counting, last_part, merge_last
from kgroup.scan.reductions.scan import Newest, Slice, merge, newest
from kgroup.scan.reductions.scanned import Scanned


class GrowingScan:
    """The records that count in segments that only get longer, by whole batches; new segments come last.

    `slots` is the number of last commits kept of each key, None for the newest records alone; with `history`
    the time before is kept, too. Memory is that of `newest`, `last_commits` and `read_history`, and no more
    for a longer log.
    """

    def __init__(self, slots: int | None, *, history: bool = False) -> None:
        self._keep = Keep(slots=slots) if slots is not None else None
        self._with_history = history
        self._ends: dict[str, int] = {}
        self._newest: Newest | None = None
        self._last: LastPart | None = None
        self._history: History | None = None

    def scan(self, segments: Iterable[SegmentFile]) -> Scanned:
        """Read what is new in the segments, those of an offsets partition in log order.

        Raises SourceError if a file cannot be read, or is shorter than before.
        """
        slices = [part for segment in segments if (part := self._new_part(segment)) is not None]
        added = newest(slices)
        self._newest = added if self._newest is None else merge([self._newest, added])
        if self._keep is None:
            return Scanned(self._newest)
        last = last_part(slices, self._keep)
        self._last = last if self._last is None else merge_last([self._last, last], self._keep)
        if self._with_history:
            history = read_history(slices)
            self._history = history if self._history is None else merge_histories([self._history, history])
        return Scanned(self._newest, counting(self._last, self._keep), self._history)

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
