"""Steps between two commits that are longer than the group can have read.

How fast a group can read is known where it had more to read: who keeps up reads as fast as is written, which
says nothing of what it can do. Without such a pace, and records by which past log ends are known, nothing is
told.
"""

from collections.abc import Iterator
from typing import Final, Literal

from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.leap import Step
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.passed_over import is_loss
from kgroup.lag.findings.text import counted
from kgroup.lag.measures.log_ends import TopicState

LEAST: Final = 100
"""A step of fewer offsets may be one fetch, which is handed out at once."""
FASTER: Final = 2
"""A reader may be this many times as fast as it was ever seen to be, for each partition that it shares its
time among: one alone gets all of it.
"""
LEAST_SHARES: Final = 2
"""A reader of one partition may have had another one then."""
LONGER: Final = 4
"""Such a step is this many times as long as any other of its partition."""
CAUGHT_UP: Final = 2
"""Steps of the group in which it became less far behind, though much was left: it read all that it can."""
LONGER_BEHIND_THE_START: Final = 10
"""The same as `LONGER`, of a step in which records were deleted, which needs no pace while behind."""
OTHERS: Final = 2
"""Other steps of the partition that this one is held against."""

Cause = Literal["first-commit", "out-of-range", "leap"]

_TRY: Final = {
    "first-commit": "To read a new partition from its first record, consumers need"
    " auto.offset.reset=earliest; what was passed over can be reread after kafka-consumer-groups"
    " --reset-offsets. A lower metadata.max.age.ms finds new partitions earlier.",
    "out-of-range": "Longer retention.ms, or faster readers, keep the reader within the log; with"
    " auto.offset.reset=earliest it resumes at the first record left, not at the end.",
    "leap": "Look for seekToEnd() and for auto.offset.reset=latest in a client that found no committed"
    " offset; what was passed over can be reread after kafka-consumer-groups --reset-offsets.",
}


def too_far(facts: GroupFacts) -> Iterator[Finding]:
    """Partitions whose commits went further than could be read, each at its longest step."""
    pace = best_pace(facts)
    for partition in facts.partitions:
        if not partition.steps or partition.row.topic_state is not TopicState.EXISTS:
            continue
        if _is_told(partition):
            continue
        for step in partition.steps[:1]:
            cause = _cause(partition, step, pace)
            if cause is not None:
                yield _skipped(facts, partition, step, cause, pace)


def best_pace(facts: GroupFacts) -> float | None:
    """Offsets a second that one partition can get of a reader, generously; None if nothing shows it.

    By the fastest of all steps after which as much again was left to read. Some of them must have brought the
    group nearer to the log's end, else something may have held it up.
    """
    behind = [
        step
        for partition in facts.partitions
        for step in partition.steps
        if not step.is_first and step.waiting_after is not None and step.waiting_after >= step.length
    ]
    nearer = [step for step in behind if step.waiting_before is not None and _came_nearer(step)]
    if len(nearer) < CAUGHT_UP:
        return None
    newest_ms = max(step.to_ms for step in behind)
    partitions = sum(not _came_after(partition, newest_ms) for partition in facts.partitions)
    shares = max(-(-partitions // max(len(facts.group.members), 1)), LEAST_SHARES)
    return FASTER * shares * max(step.per_s for step in behind)


def _came_after(partition: PartitionFacts, time_ms: int) -> bool:
    return any(step.is_first and step.from_ms >= time_ms for step in partition.steps)


def _came_nearer(step: Step) -> bool:
    return (
        step.waiting_before is not None
        and step.waiting_after is not None
        and step.waiting_after < step.waiting_before
    )


def _is_told(partition: PartitionFacts) -> bool:
    """Whether a finding says that the partition's reader was away while records were deleted."""
    start = partition.row.log_start_offset
    return partition.leap is not None and start is not None and is_loss(partition, partition.leap, start)


def _cause(partition: PartitionFacts, step: Step, pace: float | None) -> Cause | None:
    if step.length < LEAST:
        return None
    if step.is_first:
        return "first-commit" if pace is not None and _is_too_far(step, pace) else None
    # A jump to the end goes to where the log ended by then, which is no less than before.
    before = step.waiting_before
    others = partition.steps[1:]
    if before is None or before <= 0 or step.length < before or len(others) < OTHERS:
        return None
    if _fell_behind_the_start(partition, step, others, before):
        return "out-of-range"
    if step.membership_changes and pace is not None and _is_too_far(step, pace):
        return "leap" if _is_longer(step, others, LONGER) else None
    return None


def _is_too_far(step: Step, pace: float) -> bool:
    return step.length > _readable(step, pace)


def _readable(step: Step, pace: float) -> int:
    return int(pace * max(step.to_ms - step.from_ms, 1000) / 1000)


def _is_longer(step: Step, others: tuple[Step, ...], times: int) -> bool:
    """Than all others, and faster, too: it is no reader that was away for long."""
    return all(step.length > times * other.length and step.per_s > times * other.per_s for other in others)


def _fell_behind_the_start(
    partition: PartitionFacts, step: Step, others: tuple[Step, ...], before: int
) -> bool:
    """Whether records were deleted that a slow reader still had to read, and it went to the end.

    More waited for it than the log has at all now, and for long: it took its usual steps in that time. The
    log begins within the step: at its end it begins for a topic of which readers have records deleted.
    """
    start, end = partition.row.log_start_offset, partition.row.log_end_offset
    if start is None or end is None or not step.from_offset < start < step.to_offset:
        return False
    if before < end - start or step.waiting_long is None or 2 * step.waiting_long < before:
        return False
    return _is_longer(step, others, LONGER_BEHIND_THE_START)


def _skipped(
    facts: GroupFacts, partition: PartitionFacts, step: Step, cause: Cause, pace: float | None
) -> Finding:
    row = partition.row
    start = row.log_start_offset or 0
    if cause == "out-of-range":
        at_least = start - step.from_offset
    else:
        at_least = step.length - _readable(step, pace or 0)
    return Finding(
        kind=FindingKind.SKIPPED_RECORDS,
        group=facts.group.group_id,
        topic=row.topic,
        partition=row.partition,
        member_id=row.member_id,
        since_ms=step.to_ms,
        grade=Grade.INFERRED,
        evidence=_evidence(partition, step, cause, at_least),
        numbers={
            "from_offset": step.from_offset,
            "to_offset": step.to_offset,
            "at_least": at_least,
            "at_most": step.length,
            "last_before_ms": step.from_ms,
            "per_s_at_most": None if pace is None else round(pace, 1),
            "cause": cause,
        },
        try_this=_TRY[cause],
    )


def _evidence(partition: PartitionFacts, step: Step, cause: Cause, at_least: int) -> str:
    seconds = lasting(step.to_ms - step.from_ms)
    match cause:
        case "first-commit":
            return (
                f"the topic grew, and {seconds} after the group was given the partition its first"
                f" commit was {step.to_offset}: {counted(at_least, 'offset')} or more beyond what it can"
                f" have read at its best pace, and up to {step.length:,} passed over"
            )
        case "out-of-range":
            longest = max(other.length for other in partition.steps[1:])
            start = partition.row.log_start_offset
            return (
                f"it was {step.waiting_before:,} behind at {step.from_offset}, and {seconds} later"
                f" it committed {step.to_offset}, the log's end then; no other step was longer than"
                f" {longest:,}. The log begins at {start}: {counted(at_least, 'offset')} deleted,"
                f" and up to {step.length:,} passed over"
            )
        case "leap":
            return (
                f"it was {step.waiting_before:,} behind at {step.from_offset}, members changed, and {seconds}"
                f" later it committed {step.to_offset}, the log's end then: {counted(at_least, 'offset')} or"
                f" more beyond what it can have read at its best pace, and up to {step.length:,} passed over"
            )
