"""The inputs and results of deadlines. Values only."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Seen(NamedTuple):
    """A commit: when it was made (epoch ms), the offset that it holds, and where the log ended then."""

    at_ms: int
    position: int
    end: int


class DeadlineKind(StrEnum):
    """The predicted event. `SLO_RECORDS` and `SLO_TIME`: the lag exceeds a bound, in records or in time.

    `RETENTION_TIME` and `RETENTION_BYTES`: the broker deletes the next record to read, by `retention.ms` or
    `retention.bytes` of the topic.
    """

    SLO_RECORDS = "slo-records"
    SLO_TIME = "slo-time"
    RETENTION_TIME = "retention-time"
    RETENTION_BYTES = "retention-bytes"


class Outlook(StrEnum):
    """The outlook for a deadline.

    `PASSED`: it is so already. `EXPECTED`: as things go it comes. `POSSIBLE`: it would, if things went a bit
    worse than they did, at the earliest if the group stopped now. `NOT_IN_SIGHT`: it does not come within
    what can be foreseen, three times as long as the past that is known. `UNKNOWN`: the note says why.
    """

    PASSED = "passed"
    EXPECTED = "expected"
    POSSIBLE = "possible"
    NOT_IN_SIGHT = "not-in-sight"
    UNKNOWN = "unknown"


class DeadlineNote(StrEnum):
    """The reason a deadline is unknown, or the condition under which it holds."""

    STANDS_STILL = "stands-still"
    """The group has not committed for far longer than it ever paused: said as if it never will."""
    NO_COMMIT = "no-commit"
    TOO_FEW_COMMITS = "too-few-commits"
    """Fewer than four, or all within five seconds: no pace."""
    NO_LOG_END = "no-log-end"
    NO_DATA_LOG = "no-data-log"
    """The topic's own log, which says where it ended when, is not here."""
    NO_RETENTION = "no-retention"
    """The topic's log is never cut by that, or by how much was not said."""
    TOPIC_GONE = "topic-gone"
    """Deleted, or another topic of that name since."""
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPast:
    """A group's known past on a partition at `now_ms` (epoch ms).

    `seen` are its last commits, oldest first; `position` and `end` are as of now. `ended_at` says where the
    log ended at a past time, None if unknown. `deleted_from` brings the first offset that may be deleted
    down to where its segment begins, as only whole segments go. `bytes_per_record` is None if unknown.
    """

    seen: tuple[Seen, ...]
    position: int
    end: int
    now_ms: int
    ended_at: Callable[[int], int | None]
    deleted_from: Callable[[int], int] = lambda offset: offset
    bytes_per_record: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """The interval in which a bound is met: times are epoch ms.

    Of nine in ten the time lies between `low_ms` and `high_ms`; `likely_ms` is the time if all goes on as it
    went on average. None is never, as far as can be foreseen, and all three of what is unknown. `bound` is in
    records, ms or bytes.
    """

    kind: DeadlineKind
    bound: int
    outlook: Outlook
    low_ms: int | None = None
    likely_ms: int | None = None
    high_ms: int | None = None
    note: DeadlineNote | None = None
