"""Every commit of a group, with its step and its rate since the one before."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from kgroup.history.timeline.model import Cause, CauseKind, Partition, Timeline
from kgroup.protocol.records.entries import (
    LoggedEntry,
    OffsetGap,
    OffsetsEntry,
    TransactionMarker,
    TransactionOutcome,
)
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitStep:
    """One commit, or the deletion of one: then `offset` is None. `at_ms` is epoch ms.

    `step` is from the offset that counted before (negative for a rewind), `gap_ms` since that was committed;
    both None for the first of a partition, after a deletion, and for what does not count; and where `is_cut`:
    the log skips offsets since then, which may have held commits. `transaction` is None for a commit outside
    of one; of those inside only committed ones count. The record is at `log_offset` of `offsets_partition`,
    None where only the commit is known.
    """

    group: str
    topic: str
    partition: int
    at_ms: int
    offset: int | None
    step: int | None
    gap_ms: int | None
    metadata: str | None = None
    transaction: TransactionOutcome | None = None
    is_cut: bool = False
    offsets_partition: int | None = None
    log_offset: int | None = None
    removal: Cause | None = None
    """Of a deletion why, as the group's timeline has it."""

    @property
    def records_per_s(self) -> float | None:
        """The group's pace; None without a step, for a step back, and for commits at the same time."""
        if self.step is None or self.step < 0 or self.gap_ms is None or self.gap_ms <= 0:
            return None
        return self.step * 1000 / self.gap_ms


_REMOVALS: Final = frozenset(
    {
        CauseKind.TOPIC_DELETED,
        CauseKind.OFFSETS_DELETED,
        CauseKind.OFFSETS_EXPIRED,
        CauseKind.OFFSETS_REMOVED,
        CauseKind.GROUP_DELETED,
        CauseKind.GROUP_EXPIRED,
        CauseKind.GROUP_REMOVED,
    }
)


def with_removals(steps: Iterable[CommitStep], timeline: Timeline) -> list[CommitStep]:
    """A group's steps, of which deletions have the cause that its timeline gives for that partition then."""
    removals = [each for each in timeline.occurrences if each.cause.kind in _REMOVALS]

    def removal_of(step: CommitStep) -> Cause | None:
        place = Partition(step.topic, step.partition)
        # One deletion is several records: of the offsets, and of the group, at which the cause may stand.
        near = [
            (abs(each.offset - (step.log_offset or 0)), number)
            for number, each in enumerate(removals)
            if each.offsets_partition == step.offsets_partition and place in each.partitions
        ]
        return removals[min(near)[1]].cause if near else None

    return [step if step.offset is not None else replace(step, removal=removal_of(step)) for step in steps]


class _Before(NamedTuple):
    """A commit that counts, its time (epoch ms), and how many gaps the log had by then."""

    offset: int
    at_ms: int
    gaps: int


def commit_steps(items: Iterable[LoggedEntry | OffsetGap]) -> list[CommitStep]:
    """The commits among a group's entries, which come in log order with the markers of transactions.

    A commit in a transaction is in its place in the log, and counts from there on.
    """
    commits: list[LoggedEntry | OffsetGap] = []
    outcomes: dict[tuple[int, int], TransactionOutcome] = {}
    waiting: dict[tuple[int, int], list[int]] = {}
    for item in items:
        if isinstance(item, OffsetGap):
            commits.append(item)
        elif isinstance(item.entry, TransactionMarker):
            ended = TransactionOutcome.COMMITTED if item.entry.committed else TransactionOutcome.ABORTED
            for offset in waiting.pop((item.partition, item.entry.producer_id), ()):
                outcomes[item.partition, offset] = ended
        elif isinstance(item.entry, OffsetsEntry) and isinstance(item.entry.key, OffsetCommitKey):
            commits.append(item)
            if item.producer_id is not None:
                waiting.setdefault((item.partition, item.producer_id), []).append(item.offset)
    return list(_steps(commits, outcomes))


def _steps(
    commits: Iterable[LoggedEntry | OffsetGap], outcomes: dict[tuple[int, int], TransactionOutcome]
) -> Iterator[CommitStep]:
    before: dict[tuple[str, str, int], _Before] = {}
    gaps: Counter[int] = Counter()
    for logged in commits:
        if isinstance(logged, OffsetGap):
            gaps[logged.partition] += 1
            continue
        entry = logged.entry
        assert isinstance(entry, OffsetsEntry)
        assert isinstance(entry.key, OffsetCommitKey)
        place = entry.key.group, entry.key.topic, entry.key.partition
        outcome = None
        if logged.producer_id is not None:
            outcome = outcomes.get((logged.partition, logged.offset), TransactionOutcome.PENDING)
        value = entry.value if isinstance(entry.value, OffsetCommitValue) else None
        at_ms = logged.timestamp_ms if value is None else value.commit_timestamp
        counts = outcome in (None, TransactionOutcome.COMMITTED)
        known = before.get(place) if value is not None and counts else None
        is_cut = known is not None and known.gaps != gaps[logged.partition]
        last = None if is_cut else known
        yield CommitStep(
            group=entry.key.group,
            topic=entry.key.topic,
            partition=entry.key.partition,
            at_ms=at_ms,
            offset=None if value is None else value.offset,
            step=None if last is None or value is None else value.offset - last.offset,
            gap_ms=None if last is None else at_ms - last.at_ms,
            metadata=None if value is None else value.metadata,
            transaction=outcome,
            is_cut=is_cut,
            offsets_partition=logged.partition,
            log_offset=logged.offset,
        )
        if value is None:
            before.pop(place, None)
        elif counts:
            before[place] = _Before(value.offset, at_ms, gaps[logged.partition])
