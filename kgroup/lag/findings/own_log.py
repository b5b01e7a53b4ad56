"""Proof from a partition's own log about the records a group has not read.

Its records have timestamps, which are their producers' (`message.timestamp.type=CreateTime`) unless the topic
says otherwise, and producers' clocks may be wrong. What the group read tells how wrong: no record can be
read before it is there.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from kgroup.lag.measures.record_clock import RecordClock
from kgroup.lag.status.window import CommitWindow
from kgroup.lag.status.window_evidence import COMMITS_BEHIND, SHORTEST_MS


class LogWent(NamedTuple):
    """Two ends of a log, and when it ended there (epoch ms)."""

    begun_at: int
    begun_ms: int
    ended_at: int
    ended_ms: int

    @property
    def per_s(self) -> float | None:
        """Records a second; None without time in between."""
        took_ms = self.ended_ms - self.begun_ms
        return (self.ended_at - self.begun_at) * 1000 / took_ms if took_ms > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogProof:
    """Proof from a partition's own log, as `PartitionFacts` has it; None where there is none.

    `went` is what was written since the first of the commits that are kept.
    """

    unread_by_ms: int | None = None
    passed_until_ms: int | None = None
    went: LogWent | None = None


NO_LOG: Final = LogProof()
"""Where it is not here."""


def log_proof(clock: RecordClock, first_unread_ms: int, newest_ms: int, now_ms: int) -> LogProof:
    """The proof by the times of the first unread record and of the newest of all, without a rate.

    Times that are ahead of `now_ms`, also by the clock of commits, prove nothing.
    """
    unread_ms, passed_ms = clock.latest_ms(first_unread_ms), clock.at_ms(newest_ms)
    if unread_ms > now_ms:
        return LogProof()
    return LogProof(unread_by_ms=unread_ms, passed_until_ms=min(max(passed_ms, unread_ms), now_ms))


def is_worth_reading(commits: CommitWindow, lag: int, step: int, now_ms: int) -> bool:
    """Whether what the log proves can matter: much is unread, or nothing has moved for a while.

    The window holds commits; `step` is how far one of the group usually goes.
    """
    first, last = commits.commits[0], commits.commits[-1]
    stands = len(commits.commits) > 1 and first.offset == last.offset
    return stands or now_ms - last.timestamp >= SHORTEST_MS or lag >= COMMITS_BEHIND * step
