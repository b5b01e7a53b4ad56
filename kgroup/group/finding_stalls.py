"""Groups, members and partitions that stand still while records wait."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgroup.group.finding_model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.group.finding_text import counted, lasting, listed
from kgroup.group.membership import GroupKind, GroupState
from kgroup.group.standstill import How, Standstill, is_behind, standstill, usual_step
from kgroup.group.timeline_model import Grade

_TRY_GROUP = (
    "Look at the members' logs and take a thread dump: they heartbeat, so the process lives, and what it does"
    " between two polls does not end or does not commit. If nothing else helps, restart them one by one."
)
_TRY_MEMBER = (
    "Look at this member's log and take a thread dump; compare its version and settings with the others'."
    " The others take over its partitions once it is stopped."
)
_TRY_PARTITION = (
    "Look for a record that cannot be processed at the committed offset, for a pause() without resume(), or"
    " a worker of this partition that hangs. To step over one record: stop the group, and"
    " kafka-consumer-groups --reset-offsets --to-offset."
)
_TRY_SIMPLE = (
    "Offsets are committed without membership, so no log says who reads: find the process that used to"
    " commit, by the commits' metadata or its deployment."
)


@dataclass(frozen=True, slots=True)
class _Standing:
    facts: PartitionFacts
    still: Standstill


def stalls(facts: GroupFacts) -> Iterator[Finding]:
    """The widest description of what stands still: the group, else members, else partitions."""
    step = usual_step(facts.partitions)
    standing = [
        _Standing(partition, still)
        for partition in _of_live_readers(facts)
        if (still := standstill(partition, step, facts.now_ms)) is not None
    ]
    if not standing:
        return
    if not _goes_on(facts.partitions, standing):
        yield _stopped_group(facts, standing)
        return
    yield from _members_and_partitions(facts, standing, step)


def _of_live_readers(facts: GroupFacts) -> list[PartitionFacts]:
    """Partitions that somebody reads as far as is known; nobody reads those that no member owns."""
    if facts.group.kind is GroupKind.SIMPLE:
        return list(facts.partitions)
    if facts.group.state is GroupState.EMPTY:
        return []
    return [partition for partition in facts.partitions if partition.row.member_id is not None]


def _goes_on(partitions: Sequence[PartitionFacts], standing: Sequence[_Standing]) -> bool:
    """Whether other partitions were committed clearly after the last commit of those that stand still."""
    places = {one.facts.place for one in standing}
    others = [
        partition.window.commits[-1].timestamp
        for partition in partitions
        if partition.place not in places and partition.window.commits
    ]
    if any(one.still.repeats for one in standing):
        return bool(others)
    silent_ms = max(one.facts.window.commits[-1].timestamp for one in standing)
    longest_ms = max(
        (one.facts.window.span_ms // max(len(one.facts.window.commits) - 1, 1) for one in standing), default=0
    )
    return any(at_ms > silent_ms + 2 * longest_ms for at_ms in others)


def _stopped_group(facts: GroupFacts, standing: Sequence[_Standing]) -> Finding:
    lag = sum(one.still.lag for one in standing)
    topics = sorted({one.facts.row.topic for one in standing})
    last = max(standing, key=lambda one: (one.still.since_ms, one.still.lag))
    simple = facts.group.kind is GroupKind.SIMPLE
    members = "commits without membership" if simple else counted(len(facts.group.members), "live member")
    return Finding(
        kind=FindingKind.STOPPED_GROUP,
        group=facts.group.group_id,
        topic=topics[0] if len(topics) == 1 else None,
        partition=last.facts.row.partition if len(standing) == 1 else None,
        since_ms=last.still.since_ms,
        grade=Grade.INFERRED,
        evidence=f"{members}; {last.still.evidence}; {lag:,} unread on {counted(len(standing), 'partition')}",
        numbers={**last.still.numbers, "partitions": len(standing), "total_lag": lag},
        try_this=_TRY_SIMPLE if simple else _TRY_GROUP,
    )


def _members_and_partitions(facts: GroupFacts, standing: Sequence[_Standing], step: int) -> Iterator[Finding]:
    by_member: dict[str | None, list[_Standing]] = {}
    for one in standing:
        by_member.setdefault(one.facts.row.member_id, []).append(one)
    for member_id, of_member in by_member.items():
        others = [
            partition
            for partition in facts.partitions
            if partition.row.member_id == member_id
            and partition.place not in {one.facts.place for one in of_member}
        ]
        if member_id is not None and not _goes_on(others, of_member):
            yield _stalled_member(facts, member_id, of_member)
            continue
        # A slow member that reads one partition after the other lets the rest wait meanwhile.
        is_busy = any(
            is_behind(partition, step) and _moved(partition) and _goes_on([partition], of_member)
            for partition in others
        )
        for one in of_member:
            if not is_busy or (one.still.how is How.PATIENCE and not one.still.repeats):
                yield _stalled_partition(facts, one)


def _moved(partition: PartitionFacts) -> bool:
    commits = partition.window.commits
    return len(commits) > 1 and commits[-1].offset > commits[0].offset


def _stalled_member(facts: GroupFacts, member_id: str, standing: Sequence[_Standing]) -> Finding:
    last = max(standing, key=lambda one: (one.still.since_ms, one.still.lag))
    only = standing[0].facts.row if len(standing) == 1 else None
    lag = sum(one.still.lag for one in standing)
    places = listed([f"{one.facts.row.topic}-{one.facts.row.partition}" for one in standing])
    return Finding(
        kind=FindingKind.STALLED_MEMBER,
        group=facts.group.group_id,
        topic=only.topic if only else None,
        partition=only.partition if only else None,
        member_id=member_id,
        since_ms=last.still.since_ms,
        grade=Grade.INFERRED,
        evidence=f"{last.still.evidence}; {lag:,} unread on all that it could read ({places}), and the other"
        " members go on",
        numbers={**last.still.numbers, "partitions": len(standing), "total_lag": lag},
        try_this=_TRY_MEMBER,
    )


def _stalled_partition(facts: GroupFacts, one: _Standing) -> Finding:
    row = one.facts.row
    newest_ms = max(
        partition.window.commits[-1].timestamp for partition in facts.partitions if partition.window.commits
    )
    later_ms = newest_ms - one.facts.window.commits[-1].timestamp
    goes_on = f"; others were committed for {lasting(later_ms)} more" if later_ms > 0 else ""
    simple = facts.group.kind is GroupKind.SIMPLE
    return Finding(
        kind=FindingKind.STALLED_PARTITION,
        group=facts.group.group_id,
        topic=row.topic,
        partition=row.partition,
        member_id=row.member_id,
        since_ms=one.still.since_ms,
        grade=Grade.INFERRED,
        evidence=f"{one.still.evidence}; {one.still.lag:,} unread{goes_on}",
        numbers=one.still.numbers,
        try_this=_TRY_SIMPLE if simple else _TRY_PARTITION,
    )
