"""Proof about unread records from the partitions' own logs, if they lie next to the offsets topic."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgroup.api.lag.time_columns import note
from kgroup.errors import SourceError
from kgroup.lag.findings.own_log import (
    NO_LOG,
    LogProof,
    LogWent,
    log_proof,
)
from kgroup.lag.measures.record_clock import ReadRecord, RecordClock
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.status.window import CommitWindow, WindowCommit
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.protocol.log_listing import LogEndAt
from kgroup.protocol.records.entries import TransactionOutcome

_POINTS: Final = 3  # the newest among them
_POINTS_BELOW_START: Final = 60
_MARKERS: Final = 3  # this many offsets before a committed one may be the ends of transactions


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLogs:
    """Reads some kilobytes of a log for each question; `problems` gets what cannot be read."""

    logs: DataLogs
    now_ms: int
    problems: list[str]

    def proof(self, row: LagRow, window_of: Callable[[LagRow], CommitWindow]) -> LogProof:
        """The proof for a row with a lag and commits in its window, which is only made if the log is here."""
        if not self.logs.has(row.topic, row.partition):
            return NO_LOG
        try:
            return self._proof(row, window_of(row))
        except SourceError as error:
            note(self.problems, error)
            return NO_LOG

    def _proof(self, row: LagRow, window: CommitWindow) -> LogProof:
        history = self.logs.history(row.topic, row.partition, _POINTS)
        unread_ms = self._first_unread_ms(row, window.commits[-1].offset, history)
        if unread_ms is None or unread_ms < 0 or not history:
            return NO_LOG
        newest_ms = history[-1].timestamp_ms
        read = read_records(self.logs, row, window)
        clock = RecordClock.of(read)
        # Who commits one offset again and again read it nobody knows when. Times that go back are of several
        # clocks, of which the newest record's says nothing about the others.
        if _stands(window) and read and read[-1].written_ms <= unread_ms <= newest_ms:
            clock = clock.no_further_behind(self.now_ms - newest_ms)
        proven = log_proof(clock, unread_ms, newest_ms, self.now_ms)
        return replace(proven, went=self._went(row, window, clock, proven))

    def _first_unread_ms(self, row: LagRow, offset: int, history: Sequence[LogEndAt]) -> int | None:
        """The time of the first unread record, or of a later one where damage may hide it."""
        try:
            unread = self.logs.first_unread(row.topic, row.partition, offset)
        except SourceError:
            return next((end.timestamp_ms for end in history if end.offset > offset), None)
        if unread is not None and unread.outcome is TransactionOutcome.ABORTED:
            parts = self.logs.parts(row.topic, row.partition, offset)
            if parts is not None and not parts.records and not parts.undecided:
                return None  # readers of committed data pass over all of it, and need not commit that
        if unread is None or unread.offset >= (row.log_end_offset or 0):
            return None
        if offset >= (row.log_start_offset or 0):
            return unread.timestamp_ms
        # What was deleted unread had waited for longer; its segment may still be there, and tell.
        older = self.logs.history(row.topic, row.partition, _POINTS_BELOW_START)
        deleted = (end.timestamp_ms for end in older if end.offset > offset)
        return min(unread.timestamp_ms, next(deleted, unread.timestamp_ms))

    def _went(
        self, row: LagRow, window: CommitWindow, clock: RecordClock, proven: LogProof
    ) -> LogWent | None:
        """The log's progress from the first commit on, for as long as commits or the log went on."""
        begun_ms = window.commits[0].timestamp
        ended_ms = max(window.commits[-1].timestamp, proven.passed_until_ms or begun_ms)
        if ended_ms <= begun_ms:
            return None
        times_ms = [begun_ms + clock.ahead_ms, ended_ms + clock.ahead_ms]
        begun_at, ended_at = self.logs.ends_at(row.topic, row.partition, times_ms)
        if begun_at is None or ended_at is None:
            return None
        return LogWent(begun_at, begun_ms, ended_at, ended_ms)


def _stands(window: CommitWindow) -> bool:
    """Whether all of the commits, two or more, are of one offset."""
    return len(window.commits) > 1 and len({commit.offset for commit in window.commits}) == 1


def read_records(logs: DataLogs, row: LagRow, window: CommitWindow) -> list[ReadRecord]:
    """The last records before the first commit and before the last, as far as they are there."""
    ends = dict.fromkeys((window.commits[0], window.commits[-1])) if window.commits else ()
    return [
        ReadRecord(written_ms, commit.timestamp)
        for commit in ends
        if (written_ms := _written_ms(logs, row, commit)) is not None
    ]


def _written_ms(logs: DataLogs, row: LagRow, commit: WindowCommit) -> int | None:
    for back in (1, _MARKERS):
        if commit.offset - back < (row.log_start_offset or 0):
            return None
        try:
            record = logs.first_unread(row.topic, row.partition, commit.offset - back)
        except SourceError:
            return None
        if record is not None and record.offset < commit.offset:
            return record.timestamp_ms if record.timestamp_ms >= 0 else None
    return None
