"""From a window of commits and a log end to a status: the rules to choose from, and kgroup's own.

What kgroup's rules change of Burrow's, and why, is in `docs/lag_status.md`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from kgroup.lag.status.burrow_rules import (
    BurrowRules,
    as_float32,
    is_stalled,
    lag_fall,
    lag_never_fell,
    stalled,
    within_allowed_index,
)
from kgroup.lag.status.model import (
    FewUnread,
    LagGrew,
    LagKept,
    LagTrendUnknown,
    NoCommits,
    PartitionStatus,
    PerhapsStalled,
    PerhapsStopped,
    Reason,
    Rewound,
    RhythmBroken,
    Stopped,
    Verdict,
    WasWithinAllowed,
    WithinAllowed,
)
from kgroup.lag.status.window import CommitWindow, WindowCommit

COMMITS_BEHIND: Final = 10
"""So many times what a commit usually takes must be waiting: less is the tail of what is read at once."""
SHORTEST_MS: Final = 45_000
"""Nothing shorter is a standstill: the default session timeout since Kafka 3.0, enough for a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KgroupRules:
    """Burrow's rules without the faults that make people distrust them.

    A lag of `allowed_lag` is never a fault. `patience_ms` is how long a healthy group may leave unread
    records alone: a member may take `max.poll.interval.ms`, 5 minutes by default, from one poll to the next
    (KIP-62), and many commit only then.
    """

    allowed_lag: int = 0
    patience_ms: int = 300_000

    def judge(self, window: CommitWindow, end_offset: int, now_ms: int) -> Verdict:
        """Judge a partition whose log ends at `end_offset`."""
        status, reason = self._decide(window, end_offset, now_ms)
        complete = as_float32(len(window.commits) / window.slots) if window.slots else 0.0
        return Verdict(status=status, reason=reason, lag=window.lag(end_offset), complete=complete)

    def _decide(self, window: CommitWindow, end_offset: int, now_ms: int) -> tuple[PartitionStatus, Reason]:
        commits, lag = window.commits, window.lag(end_offset)
        if not commits:
            return PartitionStatus.UNKNOWN, NoCommits()
        if lag <= self.allowed_lag:
            return PartitionStatus.OK, WithinAllowed(lag=lag, allowed_lag=self.allowed_lag)
        silence = _Silence.of(window, now_ms)
        limit_ms = max(self.patience_ms, _spread_ms(window))
        if silence.min_ms > limit_ms:
            return PartitionStatus.STOP, silence.stopped(limit_ms)
        if isinstance(window.proof, RhythmBroken):
            return PartitionStatus.STOP, window.proof
        rewind = deepest_rewind(window, end_offset)
        if rewind is not None:
            return PartitionStatus.REWIND, rewind
        if silence.max_ms > limit_ms:
            return PartitionStatus.UNKNOWN, silence.perhaps_stopped(limit_ms)
        if window.proof is not None:
            grew = isinstance(window.proof, LagGrew)
            return PartitionStatus.WARN if grew else PartitionStatus.UNKNOWN, window.proof
        return self._judge_progress(window, lag, now_ms)

    def _judge_progress(self, window: CommitWindow, lag: int, now_ms: int) -> tuple[PartitionStatus, Reason]:
        """Judge a group that commits, does not go back, and has something to read."""
        commits = window.commits
        within = within_allowed_index(commits, self.allowed_lag)
        if within >= 0:
            commit = commits[within]
            assert commit.lag is not None
            return PartitionStatus.OK, WasWithinAllowed(
                lag=commit.lag, allowed_lag=self.allowed_lag, at_ms=commit.timestamp
            )
        long_enough = window.is_full or _spread_ms(window) >= self.patience_ms
        if len(commits) > 1 and is_stalled(commits) and long_enough:
            had_unread = self._had_unread(window, now_ms)
            if had_unread:
                return PartitionStatus.STALL, stalled(commits)
            if had_unread is None:
                found = stalled(commits)
                return PartitionStatus.UNKNOWN, PerhapsStalled(
                    offset=found.offset, since_ms=found.since_ms, commits=found.commits
                )
        fall = lag_fall(commits)
        if fall is not None:
            return PartitionStatus.OK, fall
        known = [commit.lag for commit in commits if commit.lag is not None]
        if len(known) < 2:
            return _judge_without_trend(commits, lag, len(known))
        if known[0] == known[-1]:
            return PartitionStatus.OK, LagKept(lag=known[-1])
        return PartitionStatus.WARN, lag_never_fell(commits)

    def _had_unread(self, window: CommitWindow, now_ms: int) -> bool | None:
        """Whether there has been something to read for as long as commits stand still; None is unknown.

        Many clients commit their position again and again, also when it is the log's end, and some every
        second while they process what they polled.
        """
        first, last = window.commits[0], window.commits[-1]
        since_ms, by_ms = window.unread_since_ms, window.unread_by_ms

        def proves(waiting_ms: int) -> bool:
            return waiting_ms <= first.timestamp or now_ms - waiting_ms > self.patience_ms

        if since_ms is not None:
            if not proves(since_ms):
                return False
            waiting_ms = since_ms
        elif by_ms is not None and proves(by_ms):
            waiting_ms = by_ms
        elif first.lag is None:
            return None
        elif first.lag <= self.allowed_lag:
            return False
        else:
            waiting_ms = first.timestamp
        return True if last.timestamp - max(first.timestamp, waiting_ms) >= SHORTEST_MS else None


def _judge_without_trend(
    commits: Sequence[WindowCommit], lag: int, known_lags: int
) -> tuple[PartitionStatus, Reason]:
    """Judge a group in which nothing is wrong but what nobody can know: whether its lag grows."""
    advanced = commits[-1].offset - commits[0].offset
    if lag * (len(commits) - 1) < COMMITS_BEHIND * advanced:
        return PartitionStatus.OK, FewUnread(lag=lag, advanced=advanced, commits=len(commits))
    return PartitionStatus.UNKNOWN, LagTrendUnknown(known_lags=known_lags)


LagRules = BurrowRules | KgroupRules


class RuleSet(StrEnum):
    """The names of the rules to choose from."""

    BURROW = "burrow"
    KGROUP = "kgroup"


def judge(window: CommitWindow, end_offset: int, now_ms: int, rules: LagRules) -> Verdict:
    """The status of one partition at `now_ms` (epoch ms), whose log ends at `end_offset`."""
    return rules.judge(window, end_offset, now_ms)


def rules_named(name: RuleSet, allowed_lag: int = 0) -> LagRules:
    """A rule set with its defaults but for the lag that is never a fault."""
    match name:
        case RuleSet.BURROW:
            return BurrowRules(allowed_lag=allowed_lag)
        case RuleSet.KGROUP:
            return KgroupRules(allowed_lag=allowed_lag)
    assert_never(name)


def deepest_rewind(window: CommitWindow, end_offset: int) -> Rewound | None:
    """From the highest committed offset to the lowest after it, if none has reached the highest again.

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


def _spread_ms(window: CommitWindow) -> int:
    """How much time the commits cover; first and last need not be the extremes, as clocks may disagree."""
    times = [commit.timestamp for commit in window.commits]
    return max(times) - min(times)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Silence:
    """How long the group has left unread records alone, no less than `min_ms` and no more than `max_ms`."""

    last_commit_ms: int
    unread_by_ms: int
    min_ms: int
    max_ms: int

    @classmethod
    def of(cls, window: CommitWindow, now_ms: int) -> "_Silence":
        last_ms = window.commits[-1].timestamp
        caught_up_ms, unread_by_ms = _arrival(window, now_ms)
        return cls(
            last_commit_ms=last_ms,
            unread_by_ms=unread_by_ms,
            min_ms=now_ms - max(last_ms, unread_by_ms),
            max_ms=now_ms - max(last_ms, caught_up_ms),
        )

    def stopped(self, limit_ms: int) -> Stopped:
        return Stopped(
            last_commit_ms=self.last_commit_ms,
            unread_by_ms=self.unread_by_ms,
            silent_ms=self.min_ms,
            limit_ms=limit_ms,
        )

    def perhaps_stopped(self, limit_ms: int) -> PerhapsStopped:
        return PerhapsStopped(
            last_commit_ms=self.last_commit_ms,
            silent_min_ms=self.min_ms,
            silent_max_ms=self.max_ms,
            limit_ms=limit_ms,
        )


def _arrival(window: CommitWindow, now_ms: int) -> tuple[int, int]:
    """When the first unread record was not there yet, and when it was there, as closely as is known.

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
