"""The measures Burrow's rules take in a window, exactly as its evaluator does, faults included.

After linkedin/Burrow of October 2025, `core/internal/evaluator/caching.go`; what is wrong with them, and what
kgroup does instead, is in `docs/lag_status.md`. Every rule here takes commits from the oldest to the newest.
"""

import struct
from collections.abc import Sequence
from itertools import pairwise

from kgroup.lag.status.model import LagFell, LagNeverFell, Stalled
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit

Commits = Sequence[WindowCommit]


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
    """Index of the first commit with a lower offset than the one before it, -1 if there is none."""
    pairs = enumerate(pairwise(commits), 1)
    return next((index for index, (before, commit) in pairs if commit.offset < before.offset), -1)


def is_rewind_recovered(commits: Commits, index: int) -> bool:
    """Whether a commit from `index` on reached the offset that stood before it."""
    return any(commit.offset >= commits[index - 1].offset for commit in commits[index:])


def within_allowed_index(commits: Commits, allowed_lag: int) -> int:
    """Index of the first commit with a known lag of no more than `allowed_lag`, -1 if there is none."""
    lags = enumerate(commit.lag for commit in commits)
    return next((index for index, lag in lags if lag is not None and lag <= allowed_lag), -1)


def is_stalled(commits: Commits) -> bool:
    """Whether all commits are of one offset; one commit alone always is."""
    return all(commit.offset == commits[0].offset for commit in commits)


def lag_fall(commits: Commits) -> LagFell | None:
    """The first fall of the lag from one commit to the next, unknown lags left out."""
    lags = [(commit.lag, commit.timestamp) for commit in commits if commit.lag is not None]
    for (before, _), (lag, at_ms) in pairwise(lags):
        if lag < before:
            return LagFell(from_lag=before, to_lag=lag, at_ms=at_ms)
    return None


def lag_never_fell(commits: Commits) -> LagNeverFell:
    """The first and the last lag that is known."""
    lags = [commit.lag for commit in commits if commit.lag is not None]
    return LagNeverFell(first_lag=lags[0] if lags else None, last_lag=lags[-1] if lags else None)


def stalled(commits: Commits) -> Stalled:
    """The numbers of commits that are all of one offset."""
    return Stalled(offset=commits[-1].offset, since_ms=commits[0].timestamp, commits=len(commits))


def as_float32(number: float) -> float:
    """`number` rounded to the nearest 32-bit float, as Burrow keeps shares."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])
