"""Whether a group stands still on a partition though there is something to read: the ground of most findings.

A partition of which nothing is unread never stands still, however long ago its last commit is. Two ways lead
to the verdict, and both want proof that records waited all the time:

- *by patience*: the rules' own, `KgroupRules`: for longer than a member may take from one poll to the next.
- *by rhythm*, much sooner: the group committed regularly, and now many of its own intervals have passed in
  which others, or the log itself, are known to have gone on, and many commits' worth of records is waiting.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median
from typing import Final

from kgroup.group.commit_window import CommitWindow
from kgroup.group.finding_model import PartitionFacts
from kgroup.group.finding_text import lasting
from kgroup.group.lag_rules import COMMITS_BEHIND, SHORTEST_MS
from kgroup.group.log_ends import TopicState
from kgroup.group.reach import passed_until, unread_by
from kgroup.group.status import PartitionStatus, RhythmBroken

INTERVALS_MISSED: Final = 10
"""So many times its longest interval is a group silent before its rhythm counts as broken."""
_RHYTHM_COMMITS: Final = 4


class How(StrEnum):
    """By what a standstill was told."""

    PATIENCE = "patience"
    RHYTHM = "rhythm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Since when nothing has moved though records wait, and what says so. Times are epoch ms.

    `proof` is for the status of the partition, which has said so itself if it is None.
    """

    how: How
    since_ms: int
    repeats: bool
    """The offset is committed again and again; else there are no commits any more."""
    lag: int
    evidence: str
    numbers: dict[str, int | float | str | None]
    proof: RhythmBroken | None = None


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The longest interval between the commits of a window (ms), of which there are enough to tell."""

    longest_ms: int

    @property
    def broken_after_ms(self) -> int:
        """A silence that is no pause in the rhythm any more."""
        return max(SHORTEST_MS, INTERVALS_MISSED * self.longest_ms)

    @classmethod
    def of(cls, window: CommitWindow) -> "Rhythm | None":
        """None if there are too few commits, or their clocks disagree."""
        times = [commit.timestamp for commit in window.commits]
        intervals = [after - before for before, after in pairwise(times)]
        if len(times) < _RHYTHM_COMMITS or min(intervals) < 0 or max(intervals) <= 0:
            return None
        return cls(max(intervals))


def usual_step(partitions: Iterable[PartitionFacts]) -> int:
    """How many records further a group's commits usually go, over all of its partitions; at least 1."""
    steps = [
        after.offset - before.offset
        for facts in partitions
        for before, after in pairwise(facts.window.commits)
        if after.offset > before.offset
    ]
    return max(int(median(steps)), 1) if steps else 1


def has_unread(facts: PartitionFacts) -> bool:
    """Whether records of a topic that exists are known to wait."""
    return (facts.row.lag or 0) > 0 and facts.row.topic_state in (TopicState.EXISTS, TopicState.UNKNOWN)


def is_behind(facts: PartitionFacts, step: int) -> bool:
    """Whether more waits than what the group reads at once."""
    return has_unread(facts) and (facts.row.lag or 0) >= COMMITS_BEHIND * step


def standstill(facts: PartitionFacts, step: int, now_ms: int) -> Standstill | None:
    """Whether the group stands still here, the surer way first; `step` is its `usual_step`."""
    if not has_unread(facts) or not facts.window.commits:
        return None
    return _by_patience(facts, now_ms) or _by_rhythm(facts, step)


def _by_patience(facts: PartitionFacts, now_ms: int) -> Standstill | None:
    verdict, commits = facts.verdict, facts.window.commits
    if verdict is None or verdict.status not in (PartitionStatus.STOP, PartitionStatus.STALL):
        return None
    repeats = verdict.status is PartitionStatus.STALL
    moved_ms = commits[0].timestamp if repeats else commits[-1].timestamp
    waiting_ms = _unread_ms(facts)
    since_ms = max(moved_ms, waiting_ms) if waiting_ms is not None else moved_ms
    return _standstill(facts, How.PATIENCE, since_ms, now_ms - since_ms, repeats=repeats)


def _by_rhythm(facts: PartitionFacts, step: int) -> Standstill | None:
    commits, offset = facts.window.commits, facts.window.commits[-1].offset
    rhythm, waiting_ms = Rhythm.of(facts.window), _unread_ms(facts)
    last_seen_ms = passed_until(facts.seen_ends, offset)
    if rhythm is None or waiting_ms is None or last_seen_ms is None or not is_behind(facts, step):
        return None
    since_ms = max(commits[-1].timestamp, waiting_ms)
    silent_ms = last_seen_ms - since_ms
    if silent_ms < rhythm.broken_after_ms:
        return None
    proof = RhythmBroken(
        last_commit_ms=commits[-1].timestamp,
        unread_by_ms=waiting_ms,
        went_on_until_ms=last_seen_ms,
        silent_ms=silent_ms,
        limit_ms=rhythm.broken_after_ms,
        longest_interval_ms=rhythm.longest_ms,
        usual_step=step,
    )
    return _standstill(facts, How.RHYTHM, since_ms, silent_ms, repeats=False, proof=proof)


def _unread_ms(facts: PartitionFacts) -> int | None:
    """When the first unread record was there at the latest."""
    known = [
        facts.window.unread_since_ms,
        facts.window.unread_by_ms,
        unread_by(facts.seen_ends, facts.window.commits[-1].offset),
    ]
    return min((time for time in known if time is not None), default=None)


def _standstill(
    facts: PartitionFacts,
    how: How,
    since_ms: int,
    lasted_ms: int,
    *,
    repeats: bool,
    proof: RhythmBroken | None = None,
) -> Standstill:
    commits, lag = facts.window.commits, facts.row.lag or 0
    offset = commits[-1].offset
    if repeats:
        what = f"offset {offset} committed again and again for {lasting(lasted_ms)}"
    elif proof is None:
        what = f"no commit after offset {offset} for {lasting(lasted_ms)}"
    else:
        what = (
            f"no commit after offset {offset} for {lasting(lasted_ms)} in which the log went on, before that"
            f" every {lasting(proof.longest_interval_ms)} or sooner"
        )
    return Standstill(
        how=how,
        since_ms=since_ms,
        repeats=repeats,
        lag=lag,
        evidence=what,
        numbers={
            "told_by": how.value,
            "committed_offset": offset,
            "lag": lag,
            "last_commit_ms": commits[-1].timestamp,
            "standing_ms": lasted_ms,
            "longest_interval_ms": proof.longest_interval_ms if proof else None,
            "usual_step": proof.usual_step if proof else None,
        },
        proof=proof,
    )
