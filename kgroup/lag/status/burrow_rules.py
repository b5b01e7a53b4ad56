"""Burrow's rules, one by one and together, exact to its evaluator with all its faults.

After linkedin/Burrow of October 2025, `core/internal/evaluator/caching.go`; what is wrong with them, and what
kgroup does instead, is in `docs/lag_status.md`. Every rule here takes commits from the oldest to the newest.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgroup.lag.status.model import (
    IncompleteWindow,
    LagFell,
    LagNeverFell,
    NoCommits,
    PartitionStatus,
    Reason,
    Rewound,
    Stalled,
    Stopped,
    Verdict,
    WasWithinAllowed,
    WithinAllowed,
)
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit

Commits = Sequence[WindowCommit]


@dataclass(frozen=True, slots=True, kw_only=True)
class BurrowRules:
    """Burrow's evaluator and the two settings it has, with their defaults.

    A lag of `allowed_lag` is never a fault; a window filled to less than `minimum_complete` is never judged.
    """

    allowed_lag: int = 0
    minimum_complete: float = 0.0

    def judge(self, window: CommitWindow, end_offset: int, now_ms: int) -> Verdict:
        """Judge a partition whose log ends at `end_offset`."""
        status, reason = self._decide(window, end_offset, now_ms)
        return Verdict(
            status=status, reason=reason, lag=window.lag(end_offset), complete=completeness(window)
        )

    def _decide(self, window: CommitWindow, end_offset: int, now_ms: int) -> tuple[PartitionStatus, Reason]:
        commits, lag = window.commits, window.lag(end_offset)
        complete, minimum = completeness(window), as_float32(self.minimum_complete)
        if not commits:
            return PartitionStatus.OK, NoCommits()
        if complete < minimum:
            return PartitionStatus.OK, IncompleteWindow(complete=complete, minimum_complete=minimum)
        if lag <= self.allowed_lag:
            return PartitionStatus.OK, WithinAllowed(lag=lag, allowed_lag=self.allowed_lag)
        if is_stopped(commits, now_ms) and not was_caught_up(commits, window.heads):
            return PartitionStatus.STOP, _stopped(window, now_ms)
        rewind = rewind_index(commits)
        if rewind >= 0 and not is_rewind_recovered(commits, rewind):
            return PartitionStatus.REWIND, _rewound(commits, rewind)
        within = within_allowed_index(commits, self.allowed_lag)
        if within >= 0:
            return PartitionStatus.OK, _was_within(commits[within], self.allowed_lag)
        if is_stalled(commits):
            return PartitionStatus.STALL, stalled(commits)
        fall = lag_fall(commits)
        if fall is not None:
            return PartitionStatus.OK, fall
        return PartitionStatus.WARN, lag_never_fell(commits)


def completeness(window: CommitWindow) -> float:
    """The share of slots that hold a commit, as a 32-bit float; 0 where there are no slots.

    Burrow counts the last slot even when it is empty.
    """
    return as_float32(max(len(window.commits), 1) / window.slots) if window.slots else 0.0


def is_stopped(commits: Commits, now_ms: int) -> bool:
    """Whether the last commit is older than the window is long.

    So one commit, or several of one moment, has stopped a millisecond later. Burrow's clock has whole
    seconds.
    """
    now_s = now_ms // 1000
    return now_s * 1000 - commits[-1].timestamp > commits[-1].timestamp - commits[0].timestamp


def was_caught_up(commits: Commits, heads: Sequence[LogEnd]) -> bool:
    """Whether a log end that is still remembered was not beyond the last commit."""
    return any(head.offset <= commits[-1].offset for head in heads)


def rewind_index(commits: Commits) -> int:
    """Which commit is the first of a lower offset than the one before it, -1 if none is."""
    pairs = enumerate(pairwise(commits), 1)
    return next((index for index, (before, commit) in pairs if commit.offset < before.offset), -1)


def is_rewind_recovered(commits: Commits, index: int) -> bool:
    """Whether a commit from `index` on reached the offset that stood before it."""
    return any(commit.offset >= commits[index - 1].offset for commit in commits[index:])


def within_allowed_index(commits: Commits, allowed_lag: int) -> int:
    """Which commit is the first with a known lag of no more than `allowed_lag`, -1 if none is."""
    lags = enumerate(commit.lag for commit in commits)
    return next((index for index, lag in lags if lag is not None and lag <= allowed_lag), -1)


def is_stalled(commits: Commits) -> bool:
    """Whether all commits are of one offset; one commit alone always is."""
    return all(commit.offset == commits[0].offset for commit in commits)


def lag_fall(commits: Commits) -> LagFell | None:
    """The first fall of the lag from one commit to the next, unknown lags left out."""
    known = [(commit.lag, commit.timestamp) for commit in commits if commit.lag is not None]
    for (before, _), (lag, at_ms) in pairwise(known):
        if lag < before:
            return LagFell(from_lag=before, to_lag=lag, at_ms=at_ms)
    return None


def lag_never_fell(commits: Commits) -> LagNeverFell:
    """The first and the last lag that is known."""
    known = [commit.lag for commit in commits if commit.lag is not None]
    return LagNeverFell(first_lag=known[0] if known else None, last_lag=known[-1] if known else None)


def stalled(commits: Commits) -> Stalled:
    """The numbers of commits that are all of one offset."""
    return Stalled(offset=commits[-1].offset, since_ms=commits[0].timestamp, commits=len(commits))


def as_float32(number: float) -> float:
    """`number` rounded to the nearest 32-bit float, as Burrow keeps shares."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _stopped(window: CommitWindow, now_ms: int) -> Stopped:
    last_ms = window.commits[-1].timestamp
    silent_ms = now_ms // 1000 * 1000 - last_ms
    return Stopped(last_commit_ms=last_ms, unread_by_ms=None, silent_ms=silent_ms, limit_ms=window.span_ms)


def _rewound(commits: Commits, index: int) -> Rewound:
    return Rewound(
        from_offset=commits[index - 1].offset,
        to_offset=commits[index].offset,
        at_ms=commits[index].timestamp,
        membership_changed=None,
    )


def _was_within(commit: WindowCommit, allowed_lag: int) -> WasWithinAllowed:
    assert commit.lag is not None
    return WasWithinAllowed(lag=commit.lag, allowed_lag=allowed_lag, at_ms=commit.timestamp)
