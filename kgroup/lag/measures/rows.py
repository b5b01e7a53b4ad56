"""The lag of each group, partition by partition, as `kafka-consumer-groups --describe` computes it.

A row for every partition that a group has committed or that a member owns. Lag is the log end offset less
the committed offset, and nothing else: negative where somebody committed beyond the end, as Kafka's tool
prints it, and unknown (None) wherever one of the two is unknown or they are of two different topics.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition, simple_group
from kgroup.lag.measures.log_ends import LogEnds, TopicState
from kgroup.protocol.log_listing import LogEndSource
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.topic_id import TopicId
from kgroup.protocol.topic_partition import TopicPartition

_INVALID_OFFSET = -1  # what Kafka answers for "nothing committed"; a log may hold it, too


class Note(StrEnum):
    """A remark on a row."""

    NEVER_COMMITTED = "never-committed"
    """A member owns the partition and the group has no offset for it."""
    NO_MEMBERS = "no-members"
    """Offsets of a group without members."""
    NO_OWNER = "no-owner"
    """The group has members, and none of them owns the partition."""
    TWO_OWNERS = "two-owners"
    """More than one member owns the partition; the first by member id is shown."""
    BELOW_LOG_START = "below-log-start"
    """What comes next is deleted already: the reader will be sent elsewhere (auto.offset.reset)."""
    BEYOND_LOG_END = "beyond-log-end"
    """The committed offset is past the end of the log."""
    TOPIC_DELETED = "topic-deleted"
    TOPIC_NOT_AUTHORIZED = "topic-not-authorized"
    """The user may not describe the topic, so nobody here knows its end, nor whether it is there."""
    TOPIC_RECREATED = "topic-recreated"
    """The offset was committed for an earlier topic of this name; Kafka 4.1+ no longer hands it out."""
    PENDING_COMMIT = "pending-commit"
    """A newer offset was committed in a transaction that is still open."""
    TWO_COORDINATORS = "two-coordinators"
    """Commits stand in two offsets partitions; the one with the newer commit time is shown."""


class Commit(NamedTuple):
    """A committed offset that counts. Times are epoch ms; `leader_epoch` is None where unknown.

    A tuple, as one is made for every row, and a dataclass takes three times as long.

    `expire_timestamp` is None unless the commit says when it expires, as those of old clients do.

    `log_offset` is the offset of the record itself in offsets partition `offsets_partition`.
    """

    group: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int | None = None
    metadata: str = ""
    commit_timestamp: int = -1
    expire_timestamp: int | None = None
    topic_id: TopicId = None
    offsets_partition: int = -1
    log_offset: int = -1


class LagRow(NamedTuple):
    """One partition of one group; what is unknown, or not there, is None. A tuple, as a Commit is.

    Times are epoch ms; `expire_timestamp` is what the commit itself says, if it does. `log_end_source` says
    where `log_end_offset` is from.
    """

    group: str
    topic: str
    partition: int
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None
    log_start_offset: int | None
    leader_epoch: int | None
    metadata: str | None
    commit_timestamp: int | None
    member_id: str | None
    group_instance_id: str | None
    host: str | None
    client_id: str | None
    group_kind: GroupKind
    group_state: GroupState
    topic_id: TopicId
    topic_state: TopicState
    log_end_source: LogEndSource | None
    notes: tuple[Note, ...]
    expire_timestamp: int | None = None


def commit_of(logged: LoggedEntry) -> Commit:
    """The commit in a logged offset commit with a value."""
    assert isinstance(logged.entry, OffsetsEntry)
    key, value = logged.entry.key, logged.entry.value
    assert isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue)
    return Commit(
        group=key.group,
        topic=key.topic,
        partition=key.partition,
        offset=value.offset,
        leader_epoch=None if value.leader_epoch < 0 else value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp=value.commit_timestamp,
        expire_timestamp=None if value.expire_timestamp < 0 else value.expire_timestamp,
        topic_id=value.topic_id,
        offsets_partition=logged.partition,
        log_offset=logged.offset,
    )


def lag_rows(
    groups: Mapping[str, Group],
    commits: Iterable[Commit],
    ends: LogEnds,
    pending: Collection[tuple[str, str, int]] = (),
) -> Iterator[LagRow]:
    """The rows of all groups, sorted by group, topic, partition.

    `commits` come sorted by group, so that only one group's are held at a time; `pending` are the (group,
    topic, partition) with a newer commit in an open transaction. A group with neither commits nor owned
    partitions has no row, and neither has a share group: it keeps its progress in another topic.
    """
    unvisited = sorted(groups, reverse=True)
    for group_id, of_group in groupby(commits, key=lambda commit: commit.group):
        while unvisited and unvisited[-1] < group_id:
            yield from _group_rows(groups[unvisited.pop()], (), ends, pending)
        if unvisited and unvisited[-1] == group_id:
            unvisited.pop()
        yield from _group_rows(groups.get(group_id) or simple_group(group_id), of_group, ends, pending)
    while unvisited:
        yield from _group_rows(groups[unvisited.pop()], (), ends, pending)


def _group_rows(
    group: Group, commits: Iterable[Commit], ends: LogEnds, pending: Collection[tuple[str, str, int]]
) -> Iterator[LagRow]:
    committed: dict[TopicPartition, Commit] = {}
    in_two: set[TopicPartition] = set()
    for commit in commits:
        topic_partition = commit.topic, commit.partition
        known = committed.get(topic_partition)
        if known is not None:
            in_two.add(topic_partition)
        if known is None or commit.commit_timestamp > known.commit_timestamp:
            committed[topic_partition] = commit
    owners = owners_of(group, ends)
    for topic_partition in sorted(committed.keys() | owners.keys() if owners else committed):
        also = []
        if pending and (group.group_id, *topic_partition) in pending:
            also.append(Note.PENDING_COMMIT)
        if topic_partition in in_two:
            also.append(Note.TWO_COORDINATORS)
        yield _row(
            group,
            topic_partition,
            committed.get(topic_partition),
            owners.get(topic_partition, ()),
            ends,
            also,
        )


_Owner = tuple[Member, OwnedPartition]


def owners_of(group: Group, ends: LogEnds) -> dict[TopicPartition, list[_Owner]]:
    """The owner of each partition, members in order of their ids.

    What streams members own is worked out from task numbers, which may be more than a source topic has
    partitions: only those count that a source says exist. Share groups commit nothing here.
    """
    owners: dict[TopicPartition, list[_Owner]] = {}
    if group.kind is GroupKind.SHARE:
        return owners
    for member in sorted(group.members, key=lambda member: member.member_id):
        for owned in member.owned:
            if group.kind is GroupKind.STREAMS and ends.find(owned.topic, owned.partition) is None:
                continue
            owners.setdefault((owned.topic, owned.partition), []).append((member, owned))
    return owners


def _row(
    group: Group,
    topic_partition: TopicPartition,
    commit: Commit | None,
    owners: Sequence[_Owner],
    ends: LogEnds,
    also: Sequence[Note],
) -> LagRow:
    topic, partition = topic_partition
    log = ends.find(topic, partition)
    start = log.log_start_offset if log else None
    end = log.log_end_offset if log else None
    if commit is not None and commit.offset == _INVALID_OFFSET:
        commit = None
    topic_id = commit.topic_id if commit else next((owned.topic_id for _, owned in owners), None)
    state = ends.topic_state(topic, partition, topic_id)
    current = commit.offset if commit else None
    member = owners[0][0] if owners else None
    return LagRow(  # by place, which takes half as long as by name
        group.group_id,
        topic,
        partition,
        current,
        end,
        _lag(current, end, state),
        start,
        commit.leader_epoch if commit else None,
        commit.metadata if commit else None,
        commit.commit_timestamp if commit else None,
        member.member_id if member else None,
        member.instance_id if member else None,
        member.client_host if member else None,
        member.client_id if member else None,
        group.kind,
        group.state,
        topic_id,
        state,
        log.source if log and end is not None else None,
        (*_notes(group, current, start, end, len(owners), state), *also),
        commit.expire_timestamp if commit else None,
    )


def _lag(current: int | None, end: int | None, state: TopicState) -> int | None:
    if current is None or end is None or state is TopicState.RECREATED:
        return None
    return end - current


def _notes(
    group: Group, current: int | None, start: int | None, end: int | None, owners: int, state: TopicState
) -> list[Note]:
    notes = []
    if current is None and owners:
        notes.append(Note.NEVER_COMMITTED)
    if not group.members:
        notes.append(Note.NO_MEMBERS)
    elif not owners:
        notes.append(Note.NO_OWNER)
    elif owners > 1:
        notes.append(Note.TWO_OWNERS)
    if state is TopicState.DELETED:
        notes.append(Note.TOPIC_DELETED)
    elif state is TopicState.RECREATED:
        notes.append(Note.TOPIC_RECREATED)
    elif state is TopicState.NOT_AUTHORIZED:
        notes.append(Note.TOPIC_NOT_AUTHORIZED)
    elif current is not None:
        if start is not None and current < start:
            notes.append(Note.BELOW_LOG_START)
        if end is not None and current > end:
            notes.append(Note.BEYOND_LOG_END)
    return notes
