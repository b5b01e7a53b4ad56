"""Successive observations of a cluster; their differences give the rates."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from kgroup.lag.measures.rates import LagRates, lag_rates
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.time_lag import LogEndTable
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit

_LOOKS: Final = 12
"""Rates are over as many looks: a minute, at one in five seconds."""


@dataclass(slots=True)
class _SeenLog:
    """The log ends of one partition."""

    ends: deque[LogEnd] = field(default_factory=lambda: deque(maxlen=_LOOKS))
    table: LogEndTable = field(default_factory=LogEndTable)


class LagLooks:
    """Log ends and committed offsets by the time of the look. What a look no longer finds is forgotten.

    A log end that went back is of another topic of that name, so that what was seen before counts no more.
    """

    def __init__(self) -> None:
        self._now_ms = 0
        self._logs: dict[tuple[str, int], _SeenLog] = {}
        self._commits: dict[tuple[str, str, int], deque[WindowCommit]] = {}
        self._logs_before = self._logs
        self._commits_before = self._commits

    def begin(self, now_ms: int) -> None:
        """Begin a look at `now_ms` (epoch ms), which is later than the one before."""
        self._now_ms = now_ms
        self._logs_before, self._logs = self._logs, {}
        self._commits_before, self._commits = self._commits, {}

    def add(self, rows: Iterable[LagRow]) -> None:
        """Take some of the look's rows; a row that is taken twice counts once."""
        for row in rows:
            partition = row.topic, row.partition
            if row.log_end_offset is not None and partition not in self._logs:
                end = LogEnd(offset=row.log_end_offset, timestamp=self._now_ms)
                self._logs[partition] = self._with_end(partition, end)
            key = row.group, row.topic, row.partition
            if row.current_offset is not None and key not in self._commits:
                seen = self._commits_before.get(key, deque(maxlen=_LOOKS))
                seen.append(WindowCommit(offset=row.current_offset, timestamp=self._now_ms))
                self._commits[key] = seen

    def table(self, topic: str, partition: int) -> LogEndTable:
        """The log ends of a partition as interpolation takes them."""
        seen = self._logs.get((topic, partition))
        return seen.table if seen else LogEndTable()

    def rates(self, row: LagRow) -> LagRates:
        """The rates of a row of the newest look."""
        seen = self._logs.get((row.topic, row.partition))
        window = CommitWindow(
            slots=_LOOKS,
            commits=tuple(self._commits.get((row.group, row.topic, row.partition), ())),
            heads=tuple(seen.ends) if seen else (),
        )
        if row.log_end_offset is None:
            return LagRates(written_per_s=None, read_per_s=None, growth_per_s=None, drain_ms=None)
        return lag_rates(window, row.log_end_offset)

    def _with_end(self, partition: tuple[str, int], end: LogEnd) -> _SeenLog:
        seen = self._logs_before.get(partition)
        if seen is None or (seen.ends and seen.ends[-1].offset > end.offset):
            seen = _SeenLog()
        seen.ends.append(end)
        assert end.timestamp is not None
        seen.table.add(end.offset, end.timestamp)
        return seen
