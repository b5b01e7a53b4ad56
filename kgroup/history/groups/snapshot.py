"""The groups a coordinator would hold at the end of a log: kinds, states, members and their partitions.

Offsets are not here (`lag/measures/rows.py`). Read from the newest entry of each key (`newest.py`); what the
log cannot know is None, and oddities are listed in `notes` and never fail.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from kgroup.history.groups.member_blobs import member_topics
from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition
from kgroup.history.groups.modern import consumer_group, share_group, streams_group, with_reconciliations
from kgroup.protocol.records import keys, values
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry

_KINDS: Mapping[type, GroupKind] = {
    keys.GroupMetadataKey: GroupKind.CLASSIC,
    keys.ConsumerGroupMetadataKey: GroupKind.CONSUMER,
    keys.ConsumerGroupPartitionMetadataKey: GroupKind.CONSUMER,
    keys.ConsumerGroupMemberMetadataKey: GroupKind.CONSUMER,
    keys.ConsumerGroupTargetAssignmentMetadataKey: GroupKind.CONSUMER,
    keys.ConsumerGroupTargetAssignmentMemberKey: GroupKind.CONSUMER,
    keys.ConsumerGroupCurrentMemberAssignmentKey: GroupKind.CONSUMER,
    keys.ConsumerGroupRegularExpressionKey: GroupKind.CONSUMER,
    keys.ShareGroupMetadataKey: GroupKind.SHARE,
    keys.ShareGroupMemberMetadataKey: GroupKind.SHARE,
    keys.ShareGroupTargetAssignmentMetadataKey: GroupKind.SHARE,
    keys.ShareGroupTargetAssignmentMemberKey: GroupKind.SHARE,
    keys.ShareGroupCurrentMemberAssignmentKey: GroupKind.SHARE,
    keys.ShareGroupStatePartitionMetadataKey: GroupKind.SHARE,
    keys.StreamsGroupMetadataKey: GroupKind.STREAMS,
    keys.StreamsGroupMemberMetadataKey: GroupKind.STREAMS,
    keys.StreamsGroupTargetAssignmentMetadataKey: GroupKind.STREAMS,
    keys.StreamsGroupTargetAssignmentMemberKey: GroupKind.STREAMS,
    keys.StreamsGroupCurrentMemberAssignmentKey: GroupKind.STREAMS,
    keys.StreamsGroupTopologyKey: GroupKind.STREAMS,
}
_EPOCH_KEYS = (
    keys.GroupMetadataKey,
    keys.ConsumerGroupMetadataKey,
    keys.ShareGroupMetadataKey,
    keys.StreamsGroupMetadataKey,
)


def read_groups(entries: Iterable[LoggedEntry], topic_names: Mapping[UUID, str]) -> dict[str, Group]:
    """The groups that have records of their own, by group id in order.

    `entries`: the newest of each key, tombstones left out; commits among them are passed over. Groups that
    have nothing but commits are not here (`model.simple_group`).
    """
    by_group: dict[str, dict[int, list[LoggedEntry]]] = {}
    for logged in entries:
        entry = logged.entry
        if isinstance(entry, OffsetsEntry) and entry.value is not None and type(entry.key) in _KINDS:
            by_partition = by_group.setdefault(keys.group_of(entry.key), {})
            by_partition.setdefault(logged.partition, []).append(logged)
    return {group_id: _read_group(group_id, by_group[group_id], topic_names) for group_id in sorted(by_group)}


def logged_topic_names(entries: Iterable[LoggedEntry]) -> dict[UUID, str]:
    """Topic id to name, of all records that carry both: commits, and partition metadata of 3.x brokers."""
    return {topic_id: name for logged in entries for topic_id, name in _names_in(logged)}


def _names_in(logged: LoggedEntry) -> Iterator[tuple[UUID, str]]:
    if not isinstance(logged.entry, OffsetsEntry):
        return
    match logged.entry.key, logged.entry.value:
        case keys.OffsetCommitKey(topic=topic), values.OffsetCommitValue(topic_id=topic_id):
            if topic_id is not None:
                yield topic_id, topic
        case _, values.ConsumerGroupPartitionMetadataValue(topics=topics):
            for named in topics:
                if named.topic_id is not None:
                    yield named.topic_id, named.topic_name
        case _, values.ShareGroupStatePartitionMetadataValue() as shared:
            listed = [(topic.topic_id, topic.topic_name) for topic in shared.initializing_topics]
            listed += [(topic.topic_id, topic.topic_name) for topic in shared.initialized_topics]
            listed += [(topic.topic_id, topic.topic_name) for topic in shared.deleting_topics]
            yield from ((topic_id, name) for topic_id, name in listed if topic_id is not None)
        case _:
            return


def _read_group(
    group_id: str, by_partition: Mapping[int, list[LoggedEntry]], topic_names: Mapping[UUID, str]
) -> Group:
    """Read what was written last, and say what else there is.

    A group is in two offsets partitions only if that topic has grown, and of two kinds only where compaction
    or damage took the tombstones that a group leaves behind when it changes its protocol.
    """
    partition = max(by_partition, key=lambda number: (_last_time(by_partition[number]), number))
    notes = [
        f"an older state of it is in offsets partition {other}"
        for other in sorted(by_partition)
        if other != partition
    ]
    by_kind: dict[GroupKind, list[LoggedEntry]] = {}
    for logged in by_partition[partition]:
        assert isinstance(logged.entry, OffsetsEntry)
        by_kind.setdefault(_KINDS[type(logged.entry.key)], []).append(logged)
    kind = max(by_kind, key=lambda kind: (max(logged.offset for logged in by_kind[kind]), kind))
    notes += [f"remains of a {other} group" for other in sorted(by_kind) if other is not kind]
    entries = [logged.entry for logged in by_kind[kind] if isinstance(logged.entry, OffsetsEntry)]
    group = _of_kind(kind, group_id, entries, topic_names, notes)
    if kind is GroupKind.CONSUMER:
        group = with_reconciliations(group, by_kind[kind], topic_names)
    return replace(group, since_ms=_state_ms(by_kind[kind]))


def _of_kind(
    kind: GroupKind,
    group_id: str,
    entries: Sequence[OffsetsEntry],
    topic_names: Mapping[UUID, str],
    notes: Sequence[str],
) -> Group:
    match kind:
        case GroupKind.CONSUMER:
            return consumer_group(group_id, entries, topic_names, notes)
        case GroupKind.SHARE:
            return share_group(group_id, entries, topic_names, notes)
        case GroupKind.STREAMS:
            return streams_group(group_id, entries, notes)
        case _:
            return _classic_group(group_id, entries[-1].value, notes)


def _state_ms(entries: Sequence[LoggedEntry]) -> int:
    """The time the group got into its state: that of its epoch's record, of a classic group its only one.

    Brokers since 2.1 say it in GroupMetadata, and count the retention of offsets from it (KIP-211).
    """
    times: list[int] = []
    for logged in entries:
        assert isinstance(logged.entry, OffsetsEntry)
        value = logged.entry.value
        if isinstance(value, values.GroupMetadataValue) and value.current_state_timestamp >= 0:
            times.append(value.current_state_timestamp)
        elif isinstance(logged.entry.key, _EPOCH_KEYS):
            times.append(logged.timestamp_ms)
    return max(times or [logged.timestamp_ms for logged in entries])


def _last_time(entries: Iterable[LoggedEntry]) -> int:
    return max(logged.timestamp_ms for logged in entries)


def _classic_group(group_id: str, value: values.Value | None, notes: Sequence[str]) -> Group:
    assert isinstance(value, values.GroupMetadataValue)
    members = tuple(
        classic_member(member, value.protocol_type)
        for member in sorted(value.members, key=lambda member: member.member_id)
    )
    if members and value.protocol_type != "consumer":
        notes = [
            *notes,
            f"protocol type '{value.protocol_type}': its members' assignments are not partitions",
        ]
    return Group(
        group_id=group_id,
        kind=GroupKind.CLASSIC if members or value.protocol_type else GroupKind.SIMPLE,
        state=GroupState.STABLE if members else GroupState.EMPTY,
        epoch=value.generation,
        protocol_type=value.protocol_type,
        protocol=value.protocol,
        leader=value.leader,
        members=members,
        notes=tuple(notes),
    )


def classic_member(member: values.MemberMetadata, protocol_type: str) -> Member:
    """A member of a classic group, with what its bytes say if the group is one of consumers."""
    subscribed: tuple[str, ...] | None = None
    owned: tuple[OwnedPartition, ...] = ()
    notes: tuple[str, ...] = ()
    if protocol_type == "consumer":
        topics = member_topics(member.subscription, member.assignment)
        subscribed, owned = topics.subscribed, topics.owned
        if topics.subscription_error is not None:
            notes += (f"subscription unreadable: {topics.subscription_error}",)
        if topics.assignment_error is not None:
            notes += (f"assignment unreadable: {topics.assignment_error}",)
    return Member(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed=subscribed,
        owned=owned,
        notes=notes,
    )
