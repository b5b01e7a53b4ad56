"""The measures kgroup's rules take in a window: silences, standstills with something to read, steps back.

What Burrow measures is in `burrow_rules.py`; which rule asks what is in `rules.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.lag.status.burrow_rules import is_stalled
from kgroup.lag.status.model import PerhapsStopped, Rewound, Stopped
from kgroup.lag.status.window import CommitWindow, WindowCommit

COMMITS_BEHIND: Final = 10
"""This many usual commits must be waiting: less is the tail of what is read at once."""
SHORTEST_MS: Final = 45_000
"""Nothing shorter is a standstill: the default session timeout since Kafka 3.0, enough for a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """The time the group has left unread records alone, no less than `min_ms` and no more than `max_ms`."""

    last_commit_ms: int
    unread_by_ms: int
    min_ms: int
    max_ms: int

    @classmethod
    def of(cls, window: CommitWindow, now_ms: int) -> "Silence":
        """The silence in a window that has commits and something unread."""
        last_ms = window.commits[-1].timestamp
        caught_up_ms, unread_by_ms = _arrival(window, now_ms)
        return cls(
            last_commit_ms=last_ms,
            unread_by_ms=unread_by_ms,
            min_ms=now_ms - max(last_ms, unread_by_ms),
            max_ms=now_ms - max(last_ms, caught_up_ms),
        )

    def stopped(self, limit_ms: int) -> Stopped:
        """The numbers of a silence that certainly is too long."""
        return Stopped(
            last_commit_ms=self.last_commit_ms,
            unread_by_ms=self.unread_by_ms,
            silent_ms=self.min_ms,
            limit_ms=limit_ms,
        )

    def perhaps_stopped(self, limit_ms: int) -> PerhapsStopped:
        """The numbers of a silence that may be too long."""
        return PerhapsStopped(
            last_commit_ms=self.last_commit_ms,
            silent_min_ms=self.min_ms,
            silent_max_ms=self.max_ms,
            limit_ms=limit_ms,
        )


def _arrival(window: CommitWindow, now_ms: int) -> tuple[int, int]:
    """Times when the first unread record was not there yet, and when it was, as closely as is known.

    There is one now. Without more knowledge it came between the last commit and now.
    """
    last = window.commits[-1]
    if window.unread_since_ms is not None:
        return window.unread_since_ms, window.unread_since_ms
    if last.lag is not None and last.lag > 0:
        return last.timestamp, last.timestamp
    caught_up_ms, unread_by_ms = last.timestamp, now_ms
    if window.unread_by_ms is not None:
        unread_by_ms = min(unread_by_ms, window.unread_by_ms)
    for head in reversed(window.heads):
        if head.timestamp is None:
            continue
        if head.offset <= last.offset:
            caught_up_ms = max(caught_up_ms, head.timestamp)
            return caught_up_ms, max(caught_up_ms, unread_by_ms)
        unread_by_ms = min(unread_by_ms, head.timestamp)
    return caught_up_ms, unread_by_ms


def had_unread(window: CommitWindow, now_ms: int, allowed_lag: int, patience_ms: int) -> bool | None:
    """Whether there has been something to read for as long as commits stand still; None is unknown.

    Many clients commit their position again and again, also when it is the log's end, and some every
    second while they process what they polled.
    """
    first, last = window.commits[0], window.commits[-1]
    since_ms, by_ms = window.unread_since_ms, window.unread_by_ms

    def proves(waiting_ms: int) -> bool:
        return waiting_ms <= first.timestamp or now_ms - waiting_ms > patience_ms

    if since_ms is not None:
        if not proves(since_ms):
            return False
        waiting_ms = since_ms
    elif by_ms is not None and proves(by_ms):
        waiting_ms = by_ms
    elif first.lag is None:
        return None
    elif first.lag <= allowed_lag:
        return False
    else:
        waiting_ms = first.timestamp
    return True if last.timestamp - max(first.timestamp, waiting_ms) >= SHORTEST_MS else None


def deepest_rewind(window: CommitWindow, end_offset: int) -> Rewound | None:
    """The rewind from the highest committed offset to the lowest after it; None if made up for since.

    Commits beyond the log's end are left out: nobody can have read that far.
    """
    commits = [commit for commit in window.commits if commit.offset <= end_offset]
    if not commits:
        return None
    peak = max(range(len(commits)), key=lambda index: (commits[index].offset, index))
    after = commits[peak + 1 :]
    if not after:
        return None
    return Rewound(
        from_offset=commits[peak].offset,
        to_offset=min(commit.offset for commit in after),
        at_ms=after[0].timestamp,
        membership_changed=_membership_changed(window, commits[peak].order, after[0].order),
    )


def _membership_changed(window: CommitWindow, before: int, after: int) -> bool | None:
    if window.membership_changes is None or before < 0 or after < 0:
        return None
    return any(before < change < after for change in window.membership_changes)


def spread_ms(commits: Sequence[WindowCommit]) -> int:
    """The time that the commits cover; first and last need not be the extremes, as clocks may disagree."""
    times = [commit.timestamp for commit in commits]
    return max(times) - min(times)


def known_lags(commits: Sequence[WindowCommit]) -> list[int]:
    """The known lags at commits, from the oldest to the newest."""
    return [commit.lag for commit in commits if commit.lag is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A partition to be judged at `now_ms` (epoch ms), whose log ends at `end_offset`, and the settings.

    A lag of `allowed_lag` is never a fault. `minimum_complete` is Burrow's, `patience_ms` is kgroup's: see
    `rule_sets.py`.
    """

    window: CommitWindow
    end_offset: int
    now_ms: int
    allowed_lag: int
    minimum_complete: float = 0.0
    patience_ms: int = 0

    @property
    def lag(self) -> int:
        """Records unread now."""
        return self.window.lag(self.end_offset)

    @property
    def spread_ms(self) -> int:
        """The time that the window covers."""
        return spread_ms(self.window.commits)

    @property
    def silence(self) -> Silence:
        """The time that unread records have been left alone."""
        return Silence.of(self.window, self.now_ms)

    @property
    def limit_ms(self) -> int:
        """The longest silence that is not too long for kgroup."""
        return max(self.patience_ms, self.spread_ms)

    def is_too_long(self, silent_ms: int) -> bool:
        """Whether it is more than `limit_ms`; most silences are not, by patience alone."""
        return silent_ms > self.patience_ms and silent_ms > self.spread_ms

    @property
    def stands_still_on_unread(self) -> bool | None:
        """Whether commits stand still for long though there is something to read; None: if there is."""
        commits = self.window.commits
        if len(commits) < 2 or not is_stalled(commits):
            return False
        if not self.window.is_full and self.spread_ms < self.patience_ms:
            return False
        return had_unread(self.window, self.now_ms, self.allowed_lag, self.patience_ms)
