"""The timestamp of the first unread record, found with `ListOffsets` alone.

`ListOffsets` by timestamp (KIP-79) answers with the first record that is no older, and that record's own
timestamp. So the newest timestamp before a given offset is found by halving, in some 40 questions, or fewer
if the caller knows when the record cannot have been written.
"""

from kgroup.lag.measures.time_lag import TimeLag, TimeLagNote
from kgroup.lag.measures.time_lag_method import TimeLagMethod
from kgroup.protocol.log_listing import FirstUnread


class TimestampSearch:
    """Questions and answers for one partition; connection and clock are the caller's.

    Ask the broker for `question_ms` and `tell` what it said, until there is no question. `committed_offset`
    is below the log's end; its record was written after `after_ms`, if that is given, and no later than
    `until_ms` (epoch ms). Each answer halves what is left of the time between the two, so the questions end.
    """

    def __init__(self, committed_offset: int, *, after_ms: int = -1, until_ms: int) -> None:
        assert after_ms < until_ms, "no time to search"
        self._committed_offset = committed_offset
        self._after_ms = after_ms  # records before the offset may be as new as this
        self._until_ms = until_ms + 1  # and none of them is as new as this
        self._read_ms: int | None = None  # the newest timestamp found before the offset
        self._unread: FirstUnread | None = None  # the first record as new as `_until_ms`

    @property
    def question_ms(self) -> int | None:
        """The timestamp to ask about next; None when no answer could tell more."""
        if self._until_ms - self._after_ms <= 1 or self._is_at_offset():
            return None
        return (self._after_ms + self._until_ms) // 2

    def tell(self, answer: FirstUnread | None) -> None:
        """Take the answer to `question_ms`: the first record that is no older, None if there is none."""
        asked_ms = self.question_ms
        assert asked_ms is not None, "nothing was asked"
        if answer is not None and answer.offset < self._committed_offset:
            self._after_ms = self._read_ms = min(max(asked_ms, answer.timestamp_ms), self._until_ms - 1)
        else:
            self._until_ms, self._unread = asked_ms, answer

    def time_lag(self, now_ms: int) -> TimeLag:
        """The time the record has waited, after the last question.

        Where records of one ms lie on both sides of the offset, or gaps after it, the first unread record is
        as old as the last one read or newer, and the answer is the longer of the two waits.
        """
        method = TimeLagMethod.BISECT
        if self._unread is not None and (self._is_at_offset() or self._read_ms is None):
            written_ms, note = self._unread.timestamp_ms, None
        elif self._read_ms is not None:
            written_ms, note = self._read_ms, TimeLagNote.AT_MOST
        else:
            return TimeLag(lag_ms=None, method=method, note=TimeLagNote.NO_TIMESTAMP)
        if written_ms > now_ms:
            return TimeLag(lag_ms=0, method=method, note=TimeLagNote.IN_FUTURE)
        return TimeLag(lag_ms=now_ms - written_ms, method=method, note=note)

    def _is_at_offset(self) -> bool:
        return self._unread is not None and self._unread.offset == self._committed_offset
