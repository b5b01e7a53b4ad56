"""Whether a group stands still on a partition with something to read: the basis of most findings.

A partition of which nothing is unread never stands still, however long ago its last commit is. Three ways
lead to the verdict, and all want proof that records waited all the time:

- *by patience*: the rules' own, `KgroupRules`: for longer than a member may take from one poll to the next.
- *by repeats*: the rules' own of commits that repeat one offset, of a group that commits every second or two:
  its last commits span less than the rules want, and all of its commits together do not.
- *by rhythm*, much sooner: the group committed regularly, and now many of its own intervals have passed in
  which others, or the log itself, are known to have gone on, and many commits' worth of records is waiting.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kgroup.durations import lasting
from kgroup.lag.findings.model import PartitionFacts
from kgroup.lag.findings.text import counted
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.patience import PATIENCE_MS
from kgroup.lag.status.model import PartitionStatus, Repeated, RhythmBroken
from kgroup.lag.status.window_evidence import COMMITS_BEHIND, SHORTEST_MS

INTERVALS_MISSED: Final = 10
"""A group is silent this many times its longest interval before its rhythm counts as broken."""


class How(StrEnum):
    """The evidence by which a standstill was recognized."""

    PATIENCE = "patience"
    REPEATS = "repeats"
    RHYTHM = "rhythm"


# Not frozen, which takes three times as long to make: there are as many as rows. Nobody changes one.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class Standstill:
    """The time since which nothing has moved though records wait, and the evidence. Times are epoch ms.

    `proof` is for the status of the partition, which has said so itself if it is None.
    """

    how: How
    since_ms: int
    lasted_ms: int
    repeats: bool
    """The offset is committed again and again; else there are no commits any more."""
    lag: int
    offset: int
    last_commit_ms: int
    proof: RhythmBroken | Repeated | None = None

    @property
    def evidence(self) -> str:
        """The evidence, in words."""
        if self.repeats:
            return f"offset {self.offset} committed again and again for {lasting(self.lasted_ms)}"
        silence = f"no commit after offset {self.offset} for {lasting(self.lasted_ms)}"
        if not isinstance(self.proof, RhythmBroken):
            return silence
        longest = lasting(self.proof.longest_interval_ms)
        return f"{silence} while the log kept growing, before that at least one every {longest}"

    @property
    def numbers(self) -> dict[str, int | float | str | None]:
        """The same as values."""
        rhythm = self.proof if isinstance(self.proof, RhythmBroken) else None
        return {
            "told_by": self.how.value,
            "committed_offset": self.offset,
            "lag": self.lag,
            "last_commit_ms": self.last_commit_ms,
            "standing_ms": self.lasted_ms,
            "longest_interval_ms": rhythm.longest_interval_ms if rhythm else None,
            "usual_step": rhythm.usual_step if rhythm else None,
        }


def broken_after_ms(longest_interval_ms: int) -> int:
    """A silence that is no pause in the rhythm any more."""
    return max(SHORTEST_MS, INTERVALS_MISSED * longest_interval_ms)


def has_unread(facts: PartitionFacts) -> bool:
    """Whether records of a topic that exists are known to wait."""
    return (facts.row.lag or 0) > 0 and facts.row.topic_state in (TopicState.EXISTS, TopicState.UNKNOWN)


def unread_text(partitions: Sequence[PartitionFacts]) -> str:
    """The amount unread on some partitions: offsets, and the records where these are known to be fewer."""
    lag = sum(partition.row.lag or 0 for partition in partitions)
    records = sum(
        (partition.row.lag or 0) if partition.unread_records is None else partition.unread_records
        for partition in partitions
    )
    compacted = f" ({counted(records, 'record')}: compacted)" if records != lag else ""
    return f"{lag:,} unread{compacted}"


def is_behind(facts: PartitionFacts, step: int) -> bool:
    """Whether more waits than what the group reads at once."""
    return has_unread(facts) and (facts.row.lag or 0) >= COMMITS_BEHIND * step


def standstill(facts: PartitionFacts, step: int, now_ms: int) -> Standstill | None:
    """Whether the group stands still here, the surer way first; `step` is its `usual_step`."""
    if not facts.commits or not has_unread(facts):
        return None
    return _by_patience(facts, now_ms) or _by_repeats(facts, now_ms) or _by_rhythm(facts, step)


def _by_patience(facts: PartitionFacts, now_ms: int) -> Standstill | None:
    if facts.status is not PartitionStatus.STOP and facts.status is not PartitionStatus.STALL:
        return None
    repeats = facts.status is PartitionStatus.STALL
    since_ms = (facts.stood_since_ms or facts.first_ms) if repeats else facts.last_ms
    if facts.unread_by_ms is not None:
        since_ms = max(since_ms, facts.unread_by_ms)
    return _standstill(facts, How.PATIENCE, since_ms, now_ms - since_ms, repeats=repeats)


def _by_repeats(facts: PartitionFacts, now_ms: int) -> Standstill | None:
    stood_ms, waiting_ms = facts.stood_since_ms, facts.unread_by_ms
    if stood_ms is None or waiting_ms is None:
        return None
    since_ms = max(stood_ms, waiting_ms)
    if facts.last_ms - since_ms < SHORTEST_MS:
        return None
    if waiting_ms > stood_ms and now_ms - waiting_ms <= PATIENCE_MS:
        return None  # it may be at what came later: as with commits of a longer rhythm
    proof = Repeated(offset=facts.last_offset, since_ms=stood_ms, unread_by_ms=waiting_ms)
    return _standstill(facts, How.REPEATS, since_ms, now_ms - since_ms, repeats=True, proof=proof)


def _by_rhythm(facts: PartitionFacts, step: int) -> Standstill | None:
    longest_ms, waiting_ms, seen_ms = facts.longest_interval_ms, facts.unread_by_ms, facts.passed_until_ms
    if longest_ms is None or waiting_ms is None or seen_ms is None or not is_behind(facts, step):
        return None
    since_ms, limit_ms = max(facts.last_ms, waiting_ms), broken_after_ms(longest_ms)
    silent_ms = seen_ms - since_ms
    if silent_ms < limit_ms:
        return None
    proof = RhythmBroken(
        last_commit_ms=facts.last_ms,
        unread_by_ms=waiting_ms,
        went_on_until_ms=seen_ms,
        silent_ms=silent_ms,
        limit_ms=limit_ms,
        longest_interval_ms=longest_ms,
        usual_step=step,
    )
    return _standstill(facts, How.RHYTHM, since_ms, silent_ms, repeats=False, proof=proof)


def _standstill(
    facts: PartitionFacts,
    how: How,
    since_ms: int,
    lasted_ms: int,
    *,
    repeats: bool,
    proof: RhythmBroken | Repeated | None = None,
) -> Standstill:
    return Standstill(
        how=how,
        since_ms=since_ms,
        lasted_ms=lasted_ms,
        repeats=repeats,
        lag=facts.row.lag or 0,
        offset=facts.last_offset,
        last_commit_ms=facts.last_ms,
        proof=proof,
    )
