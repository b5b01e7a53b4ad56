"""Lag in time: how long the first unread record has been waiting.

Three ways to find out, each named in its answer. Exact: the timestamp of the first unread record, read from
the log. By bisection: the same timestamp narrowed down with `ListOffsets`, where records cannot be fetched.
By interpolation: an estimate from when the log's end stood where, as kafka-lag-exporter makes it
(seglo/kafka-lag-exporter of January 2023, `LookupTable.scala`), to which the table here is exact.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from math import copysign, inf, isfinite
from typing import Final

from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.rows import LagRow
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.protocol.log_listing import FirstUnread
from kgroup.protocol.records.entries import TransactionOutcome


class TimeLagNote(StrEnum):
    """The reason why a time lag is not simply the method's."""

    CAUGHT_UP = "caught-up"
    """Nothing is unread."""
    NOTHING_LEFT = "nothing-left"
    """Up to the log's end there are only transaction markers and gaps of compaction."""
    FIRST_LEFT_RECORD = "first-left-record"
    """Records before it are deleted unread: it is unknown how long they waited, but no less."""
    OPEN_TRANSACTION = "open-transaction"
    """Readers of committed data cannot have the record yet: its transaction is still open."""
    ABORTED = "aborted"
    """Readers of committed data pass over the record, so that what they wait for may be newer."""
    AT_MOST = "at-most"
    """The record may be newer, so that it has waited for less."""
    NO_TIMESTAMP = "no-timestamp"
    """The record has none (message format 0)."""
    IN_FUTURE = "in-future"
    """The time is ahead of the clock, as a producer's clock may be, or a line prolonged; 0 is shown."""
    CLOCK_SKEW = "clock-skew"
    """Record times run ahead of the commits that read them, or behind, or go back in the log."""
    TOO_FEW_POINTS = "too-few-points"
    """A line takes two log ends."""
    FLAT_LOG_END = "flat-log-end"
    """In all that was seen of it the log's end stood still, so nothing says when it passed the offset."""
    NO_COMMIT = "no-commit"
    NO_LOG_END = "no-log-end"
    """No source knows the log's end, so nobody knows whether anything is unread."""
    TOPIC_DELETED = "topic-deleted"
    TOPIC_NOT_AUTHORIZED = "topic-not-authorized"
    """The user may not describe the topic."""
    TOPIC_RECREATED = "topic-recreated"
    """The offset is one of an earlier topic of this name."""
    NO_DATA_LOG = "no-data-log"
    """The partition's own log is not there to look into, or ends before the record."""
    UNREADABLE = "unreadable"
    """Damage, or a broker's refusal; the details are reported elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLag:
    """The time the first unread record has waited, never negative; None is unknown, and `note` says why."""

    lag_ms: int | None
    method: TimeLagMethod
    note: TimeLagNote | None = None


_OF_TRANSACTION: Final[Mapping[TransactionOutcome | None, TimeLagNote]] = {
    TransactionOutcome.PENDING: TimeLagNote.OPEN_TRANSACTION,
    TransactionOutcome.ABORTED: TimeLagNote.ABORTED,
}


def exact_time_lag(
    committed_offset: int,
    log_start_offset: int,
    log_end_offset: int,
    first_unread: FirstUnread | None,
    now_ms: int,
) -> TimeLag:
    """The time lag by the first unread record.

    None for `first_unread` says that the log was read up to its end and no data record found, not that it was
    not read. Log start and end are offsets.
    """
    method = TimeLagMethod.EXACT
    if committed_offset >= log_end_offset:
        return TimeLag(lag_ms=0, method=method, note=TimeLagNote.CAUGHT_UP)
    if first_unread is None:
        return TimeLag(lag_ms=0, method=method, note=TimeLagNote.NOTHING_LEFT)
    if first_unread.timestamp_ms < 0:
        return TimeLag(lag_ms=None, method=method, note=TimeLagNote.NO_TIMESTAMP)
    if first_unread.timestamp_ms > now_ms:
        return TimeLag(lag_ms=0, method=method, note=TimeLagNote.IN_FUTURE)
    note = _OF_TRANSACTION.get(first_unread.outcome)
    if committed_offset < log_start_offset:
        note = TimeLagNote.FIRST_LEFT_RECORD
    return TimeLag(lag_ms=now_ms - first_unread.timestamp_ms, method=method, note=note)


def without_looking(row: LagRow, method: TimeLagMethod) -> TimeLag | None:
    """The time lag of a row that needs no look at the log, or for which none would help; None for others."""
    note = None
    if row.topic_state is TopicState.DELETED:
        note = TimeLagNote.TOPIC_DELETED
    elif row.topic_state is TopicState.RECREATED:
        note = TimeLagNote.TOPIC_RECREATED
    elif row.topic_state is TopicState.NOT_AUTHORIZED:
        note = TimeLagNote.TOPIC_NOT_AUTHORIZED
    elif row.current_offset is None:
        note = TimeLagNote.NO_COMMIT
    elif row.log_end_offset is None:
        note = TimeLagNote.NO_LOG_END
    elif row.current_offset >= row.log_end_offset:
        return TimeLag(lag_ms=0, method=method, note=TimeLagNote.CAUGHT_UP)
    return None if note is None else TimeLag(lag_ms=None, method=method, note=note)


class AddedPoint(StrEnum):
    """The fate of a log end that was offered to the table."""

    INSERTED = "Inserted"
    UPDATED = "Updated"
    """The end has stood still for more than two readings: the newest takes the place of the one before."""
    OUT_OF_ORDER = "OutOfOrder"
    """Not later than the newest; not taken."""
    NON_MONOTONIC = "NonMonotonic"
    """The end went back; not taken."""


@dataclass(frozen=True, slots=True)
class TooFewPoints:
    """The table holds less than two points."""


@dataclass(frozen=True, slots=True)
class LagIsZero:
    """The offset is the newest log end."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """Estimate when the offset was the log's end, in epoch ms.

    -inf or inf where the line through the points is flat and the offset is below or above it.
    """

    time: float


Lookup = TooFewPoints | LagIsZero | Prediction


@dataclass(frozen=True, slots=True)
class _Point:
    offset: int
    time: int


class LogEndTable:
    """The newest `size` log ends of one partition, at least 1, and when they were read (epoch ms).

    60 is kafka-lag-exporter's default. A topic that is made again starts at 0 and is refused for ever, as
    there: begin a new table when the topic id changes.
    """

    def __init__(self, size: int = 60) -> None:
        assert size >= 1, "a table has room for a point"
        self._points: deque[_Point] = deque(maxlen=size)

    def add(self, offset: int, time: int) -> AddedPoint:
        """Take a log end read at `time`, if it follows the newest; the oldest makes room."""
        points = self._points
        if points and points[-1].time >= time:
            return AddedPoint.OUT_OF_ORDER
        if points and points[-1].offset > offset:
            return AddedPoint.NON_MONOTONIC
        if len(points) > 1 and points[-1].offset == points[-2].offset == offset:
            points[-1] = _Point(offset, time)
            return AddedPoint.UPDATED
        points.append(_Point(offset, time))
        return AddedPoint.INSERTED

    def lookup(self, offset: int) -> Lookup:
        """The time at which the log's end stood at `offset`.

        On the line between the newest two neighbours that enclose the offset; outside of all of them on the
        line from the oldest point to the newest.
        """
        points = self._points
        if points and points[-1].offset == offset:
            return LagIsZero()
        if len(points) < 2:
            return TooFewPoints()
        for right, left in pairwise(reversed(points)):
            if left.offset <= offset <= right.offset:
                return Prediction(_on_line(offset, left, right))
        return Prediction(_on_line(offset, points[0], points[-1]))


def interpolated_time_lag(table: LogEndTable, committed_offset: int, now_ms: int) -> TimeLag:
    """The time lag of a commit by the table, read at `now_ms`."""
    method = TimeLagMethod.INTERPOLATE
    match table.lookup(committed_offset):
        case TooFewPoints():
            return TimeLag(lag_ms=None, method=method, note=TimeLagNote.TOO_FEW_POINTS)
        case LagIsZero():
            return TimeLag(lag_ms=0, method=method, note=TimeLagNote.CAUGHT_UP)
        case Prediction(time) if not isfinite(time):
            return TimeLag(lag_ms=None, method=method, note=TimeLagNote.FLAT_LOG_END)
        case Prediction(time) if time > now_ms:
            return TimeLag(lag_ms=0, method=method, note=TimeLagNote.IN_FUTURE)
        case Prediction(time):
            return TimeLag(lag_ms=round(now_ms - time), method=method)


def _on_line(offset: int, left: _Point, right: _Point) -> float:
    # In this order, as floats round at every step.
    time_and_offset = float(right.offset - offset) * float(right.time - left.time)
    height = float(right.offset - left.offset)
    if height:
        return float(right.time) - time_and_offset / height
    # Division by zero as of IEEE 754. Both are never 0: what follows a flat stretch encloses its offset.
    return float(right.time) - copysign(inf, time_and_offset)
