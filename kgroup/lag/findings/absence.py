"""Records that nobody reads: groups without members, members that never commit."""

from collections.abc import Iterator, Sequence
from typing import Final

from kgroup.durations import lasting
from kgroup.history.groups.model import GroupKind, GroupState
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.standstill import has_unread, unread_text
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.measures.log_ends import TopicState
from kgroup.lag.measures.offset_expiry import Expiry, expiry
from kgroup.lag.measures.rows import Note
from kgroup.lag.patience import PATIENCE_MS
from kgroup.lag.status.window_evidence import SHORTEST_MS

EXPIRES_SOON_MS: Final = 86_400_000
"""A day, or the last quarter of its time if that is less: what expires later is no news yet."""
FIRST_COMMIT_MS: Final = 60_000
"""A member with records to read for this long has had twelve auto-commits (5 s) to make."""

_TRY_DEAD: Final = (
    "Start its consumers, or find out why they left: kgroup replay --group. If it is no longer needed,"
    " delete it; otherwise its offsets expire offsets.retention.minutes after it became empty."
)
_TRY_EMPTY: Final = (
    "Nothing to do if it runs only occasionally. Its offsets expire offsets.retention.minutes (7 days by"
    " default) after it became empty, and it then starts at auto.offset.reset."
)
_TRY_EXPIRING: Final = (
    "Start a consumer of the group, which stops the clock, or raise offsets.retention.minutes. To save a"
    " copy: kgroup lag-report -o json. If the retention is not 7 days, use --offsets-retention."
)
_TRY_NEVER: Final = (
    "Check enable.auto.commit, the commit calls in its code, and its log for failed commits. If it keeps its"
    " offsets elsewhere, or has not finished its first poll's records, nothing is wrong."
)


def without_members(facts: GroupFacts) -> Iterator[Finding]:
    """A group that all members have left: dead if records wait for it, else empty."""
    if not is_abandoned(facts):
        return
    group, committed = facts.group, _committed(facts)
    empty_ms = _empty_ms(facts, committed)
    waiting = [partition for partition in committed if has_unread(partition)]
    since = f"no members for {lasting(facts.now_ms - empty_ms)}" if empty_ms is not None else "no members"
    if not waiting:
        all_known = all(partition.row.lag is not None for partition in committed)
        yield Finding(
            kind=FindingKind.EMPTY_GROUP,
            group=group.group_id,
            topic=_only_topic(committed),
            since_ms=empty_ms,
            grade=Grade.RECORDED,
            evidence=f"{since}; nothing {'' if all_known else 'known to be '}unread",
            numbers={"partitions": len(committed)},
            try_this=_TRY_EMPTY,
        )
        return
    lag = sum(partition.row.lag or 0 for partition in waiting)
    yield Finding(
        kind=FindingKind.DEAD_WITH_LAG,
        group=group.group_id,
        topic=_only_topic(waiting),
        since_ms=empty_ms,
        grade=Grade.RECORDED,
        evidence=f"{since}; {unread_text(waiting)} on {counted(len(waiting), 'partition')}",
        numbers={"total_lag": lag, "partitions": len(waiting)},
        try_this=_TRY_DEAD,
    )


def is_abandoned(facts: GroupFacts) -> bool:
    """Whether nobody has been in a group for longer than a restart takes; it has offsets then."""
    if facts.group.kind in (GroupKind.SIMPLE, GroupKind.SHARE) or facts.group.state is not GroupState.EMPTY:
        return False
    committed = _committed(facts)
    empty_ms = _empty_ms(facts, committed)
    return bool(committed) and (empty_ms is None or facts.now_ms - empty_ms >= SHORTEST_MS)


def expiring(facts: GroupFacts) -> Iterator[Finding]:
    """Offsets that the broker is about to delete, of topics that still exist."""
    due: list[tuple[int, PartitionFacts]] = []
    for partition in facts.partitions:
        expires = expiry(facts.group, partition.row, facts.retention_ms)
        exists = partition.row.topic_state not in (TopicState.DELETED, TopicState.RECREATED)
        if exists and expires is not None and _is_soon(expires, facts.now_ms):
            due.append((expires.at_ms, partition))
    if not due:
        return
    first_ms = min(at_ms for at_ms, _ in due)
    partitions = [partition for _, partition in due]
    places = listed([f"{partition.row.topic}-{partition.row.partition}" for partition in partitions])
    yield Finding(
        kind=FindingKind.OFFSETS_EXPIRE,
        group=facts.group.group_id,
        topic=_only_topic(partitions),
        partition=partitions[0].row.partition if len(partitions) == 1 else None,
        grade=Grade.INFERRED,
        evidence=f"offsets of {counted(len(due), 'partition')} ({places}) may be deleted in"
        f" {lasting(first_ms - facts.now_ms)}",
        numbers={"expires_ms": first_ms, "retention_ms": facts.retention_ms, "partitions": len(due)},
        try_this=_TRY_EXPIRING,
    )


def _is_soon(expires: Expiry, now_ms: int) -> bool:
    left_ms = expires.at_ms - now_ms
    return 0 < left_ms <= min(EXPIRES_SOON_MS, (expires.at_ms - expires.counts_from_ms) // 4)


def never_commits(facts: GroupFacts) -> Iterator[Finding]:
    """Members that own partitions with records in them, of which the group has no offset."""
    group = facts.group
    # What streams members own is worked out from tasks, and may be of topics that they only write.
    if group.kind in (GroupKind.SHARE, GroupKind.STREAMS) or facts.group.since_ms is None:
        return
    owned_ms = facts.now_ms - facts.group.since_ms
    for member in group.members:
        own = [partition for partition in facts.partitions if partition.row.member_id == member.member_id]
        never = [partition for partition in own if _could_commit(partition)]
        if not never or owned_ms < FIRST_COMMIT_MS:
            continue
        records = sum(_records(partition) for partition in never)
        only = never[0].row if len(never) == 1 else None
        places = listed([f"{partition.row.topic}-{partition.row.partition}" for partition in never])
        these = counted(len(never), "partition")
        if len(never) < len(own):
            these = f"{len(never)} of its {len(own)} partitions"
        yield Finding(
            kind=FindingKind.NEVER_COMMITS,
            group=group.group_id,
            topic=_only_topic(never),
            partition=only.partition if only else None,
            member_id=member.member_id,
            since_ms=facts.group.since_ms,
            grade=Grade.INFERRED if owned_ms >= PATIENCE_MS else Grade.UNKNOWN,
            evidence=f"has owned {these} ({places}) with"
            f" {counted(records, 'offset')} for {lasting(owned_ms)} and committed none of them",
            numbers={"owned_ms": owned_ms, "partitions": len(never), "records": records},
            try_this=_TRY_NEVER,
        )


def _committed(facts: GroupFacts) -> list[PartitionFacts]:
    return [partition for partition in facts.partitions if partition.row.current_offset is not None]


def _empty_ms(facts: GroupFacts, committed: Sequence[PartitionFacts]) -> int | None:
    if facts.group.since_ms is not None:
        return facts.group.since_ms
    return max((partition.row.commit_timestamp or -1 for partition in committed), default=None)


def _could_commit(partition: PartitionFacts) -> bool:
    row = partition.row
    exists = row.topic_state in (TopicState.EXISTS, TopicState.UNKNOWN)
    return exists and Note.NEVER_COMMITTED in row.notes and _records(partition) > 0


def _records(partition: PartitionFacts) -> int:
    row = partition.row
    return (row.log_end_offset or 0) - (row.log_start_offset or 0)


def _only_topic(partitions: Sequence[PartitionFacts]) -> str | None:
    topics = {partition.row.topic for partition in partitions}
    return topics.pop() if len(topics) == 1 else None
