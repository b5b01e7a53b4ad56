"""Records skipped or read twice: the proven trouble among what `kgroup ledger` accounts for."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.leap import Leap
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.text import counted
from kgroup.lag.measures.log_ends import TopicState

CHANGES: Final = 2
"""Who comes back to an empty group has left a generation without members behind, and begins another."""

_TRY_SKIPPED: Final = (
    "kgroup ledger --group has the ranges. Deleted records can only come from elsewhere; the rest can be"
    " reread after kafka-consumer-groups --reset-offsets. To prevent it, raise retention.ms or keep readers"
    " away for less; with auto.offset.reset=earliest a reader resumes at the first record left."
)
_TRY_DOUBLED: Final = (
    "kgroup ledger --group has the ranges. Unless someone reset the offsets on purpose, look for seek(), for"
    " auto.offset.reset after an out-of-range offset, and for commits of offsets computed by the application."
)


def passed_over(facts: GroupFacts) -> Iterator[Finding]:
    """Partitions whose reader was away while records that it had not read were deleted."""
    for partition in facts.partitions:
        leap, log_start = partition.leap, partition.row.log_start_offset
        if leap is not None and log_start is not None and is_loss(partition, leap, log_start):
            yield _skipped(facts, partition, leap, log_start)


def is_loss(partition: PartitionFacts, leap: Leap, log_start: int) -> bool:
    """Whether the log's start was above the committed offset when the reader came back.

    Every group has passed the log's present start at some time, and most while it was there. So the step over
    it must be the longest of all, and just after the group came back; and deletion must explain it: by
    request, or as more was waiting than retention leaves of the whole log.
    """
    row = partition.row
    if row.topic_state not in (TopicState.EXISTS, TopicState.UNKNOWN) or row.log_end_offset is None:
        return False
    if not leap.from_offset < log_start <= leap.to_offset or leap.membership_changes < CHANGES:
        return False
    if leap.next_longest is None or leap.length <= leap.next_longest:
        return False
    return leap.was_cut_by_request or leap.length >= row.log_end_offset - log_start


def _skipped(facts: GroupFacts, partition: PartitionFacts, leap: Leap, log_start: int) -> Finding:
    row = partition.row
    lost = log_start - leap.from_offset
    return Finding(
        kind=FindingKind.SKIPPED_RECORDS,
        group=facts.group.group_id,
        topic=row.topic,
        partition=row.partition,
        member_id=row.member_id,
        since_ms=leap.to_ms,
        grade=Grade.INFERRED,
        evidence=f"after {leap.from_offset} nothing was committed until members had changed, and then"
        f" {leap.to_offset}; the log begins at {log_start}: {counted(lost, 'offset')} deleted before they"
        f" were committed, and up to {leap.length:,} passed over",
        numbers={
            "from_offset": leap.from_offset,
            "to_offset": leap.to_offset,
            "log_start_offset": log_start,
            "at_least": lost,
            "at_most": leap.length,
            "last_before_ms": leap.from_ms,
            "cause": "out-of-range",
        },
        try_this=_TRY_SKIPPED,
    )


def read_twice(facts: GroupFacts) -> Iterator[Finding]:
    """Partitions whose commits went back once, as members changed, and came up again step by step.

    A reader that goes back within its generation does so by itself: it has called seek().
    """
    for partition in facts.partitions:
        commits = () if partition.window is None else partition.window.commits
        falls = [
            place for place, (one, other) in enumerate(pairwise(commits), 1) if other.offset < one.offset
        ]
        if len(falls) != 1:
            continue  # two that commit in turn are another finding
        before, after, later = commits[falls[0] - 1], commits[falls[0]], commits[falls[0] + 1 :]
        if not any(after.offset < each.offset < before.offset for each in later):
            continue  # one late commit looks the same
        to_offset = min(before.offset, max(each.offset for each in later))
        if to_offset < before.offset:
            continue  # it is still below where it was: rewound
        changes = partition.window.membership_changes if partition.window is not None else None
        if not any(before.order < change < later[0].order for change in changes or ()):
            continue
        again = to_offset - after.offset
        row = partition.row
        yield Finding(
            kind=FindingKind.DOUBLED_RECORDS,
            group=facts.group.group_id,
            topic=row.topic,
            partition=row.partition,
            member_id=row.member_id,
            since_ms=after.timestamp,
            grade=Grade.RECORDED,
            evidence=f"the committed offset went back from {before.offset} to {after.offset} and"
            f" recovered as members changed: {counted(again, 'offset')} handed out twice",
            numbers={"from_offset": after.offset, "to_offset": to_offset, "at_least": again},
            try_this=_TRY_DOUBLED,
        )
