"""Trust in record timestamps, given times at which the records had certainly been read.

A record's timestamp is its producer's (`message.timestamp.type=CreateTime`) unless the topic says otherwise;
a commit's is the broker's. No record can be read before it is there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

PROMPT_MS: Final = 60_000
"""Who has read a record so soon after its time says that clocks agree, as far as it matters here."""


class ReadRecord(NamedTuple):
    """The time a record was written, by its own timestamp, and when it had surely been read; epoch ms."""

    written_ms: int
    committed_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordClock:
    """The correction from record times to the time of commits.

    `ahead_ms` is how far they are ahead at least, 0 or more. `behind_ms` is how far they may be behind: what
    was read soonest was that much older than its commit, because the clock is wrong or because everything was
    read late.
    """

    ahead_ms: int = 0
    behind_ms: int = 0

    @classmethod
    def of(cls, read: Sequence[ReadRecord]) -> "RecordClock":
        """The clock by records that were read; without any, clocks are taken to agree."""
        soonest_ms = min((record.committed_ms - record.written_ms for record in read), default=0)
        return cls(ahead_ms=max(-soonest_ms, 0), behind_ms=soonest_ms if soonest_ms >= PROMPT_MS else 0)

    def no_further_behind(self, age_ms: int) -> "RecordClock":
        """The same where a record that is in the log already is so old by its own time, in ms.

        A clock is behind by no more than that. It matters where what was read soonest says little, as an
        offset that is committed again and again may have been read long before its first commit in a window.
        """
        behind_ms = min(self.behind_ms, max(age_ms, 0))
        return RecordClock(ahead_ms=self.ahead_ms, behind_ms=behind_ms if behind_ms >= PROMPT_MS else 0)

    def latest_ms(self, written_ms: int) -> int:
        """The time a record of that time was surely there, if reading is as prompt as it ever was."""
        return written_ms - self.ahead_ms + self.behind_ms

    def at_ms(self, written_ms: int) -> int:
        """The time of a record, no later than it was."""
        return written_ms - self.ahead_ms


AHEAD_MS: Final = 1_000
"""Clocks that agree as well as NTP makes them are never so far apart."""
_STEADY_MS: Final = 2_000
_STEADY_SHARE: Final = 0.2
_SPAN_MS: Final = 10_000


def is_clock_skewed(read: Sequence[ReadRecord], first_unread_ms: int, newest_ms: int) -> bool:
    """Whether the first unread record's time cannot be trusted to say how long it has waited.

    `read` are the records that the first and the last commits are behind, `newest_ms` is the largest
    time in the log. Clocks are ahead if a record was committed before its own time. They are behind if
    records were read steadily, each as old as the one before, while by its own times the log had ended
    long ago: a reader that catches up goes faster. Clocks of several producers disagree if the unread
    record is clearly older than the one before it.
    """
    if not read:
        return False
    ages = [record.committed_ms - record.written_ms for record in read]
    if min(ages) < -AHEAD_MS or first_unread_ms < read[-1].written_ms - PROMPT_MS:
        return True
    span_ms = read[-1].committed_ms - read[0].committed_ms
    is_steady = span_ms >= _SPAN_MS and max(ages) - min(ages) <= max(_STEADY_SHARE * span_ms, _STEADY_MS)
    return is_steady and min(ages) >= PROMPT_MS and newest_ms < read[-1].committed_ms - PROMPT_MS
