"""Groups with broker-side assignment: consumer (KIP-848), share (KIP-932) and streams (KIP-1071).

Their state is no record of its own: a coordinator works it out from epochs and members whenever a record
is applied, by the rules of `maybeUpdateGroupState` of Kafka 4.x's group classes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from kgroup.history.groups.model import (
    Group,
    GroupKind,
    GroupState,
    Member,
    OwnedPartition,
    Reconciliation,
    ReconciliationState,
)
from kgroup.history.groups.topology import tasks_of, topology_of
from kgroup.protocol.records import keys, values
from kgroup.protocol.records.consumer_group import TopicPartitions
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.topic_id import topic_id_text

_STABLE_MEMBER = 0  # MemberState of consumer and share group members
_STABLE_STREAMS_MEMBER = 1
_MEMBER_STATES: Mapping[int, ReconciliationState] = {
    _STABLE_MEMBER: ReconciliationState.STABLE,
    1: ReconciliationState.UNREVOKED_PARTITIONS,
    2: ReconciliationState.UNRELEASED_PARTITIONS,
}

_MEMBER_KEYS = (
    keys.ConsumerGroupMemberMetadataKey,
    keys.ConsumerGroupCurrentMemberAssignmentKey,
    keys.ConsumerGroupTargetAssignmentMemberKey,
    keys.ShareGroupMemberMetadataKey,
    keys.ShareGroupCurrentMemberAssignmentKey,
    keys.StreamsGroupMemberMetadataKey,
    keys.StreamsGroupCurrentMemberAssignmentKey,
)

V = TypeVar("V")


def consumer_group(
    group_id: str, entries: Sequence[OffsetsEntry], topic_names: Mapping[UUID, str], notes: Sequence[str]
) -> Group:
    """A group of the consumer protocol from its living records."""
    epoch = _only(entries, values.ConsumerGroupMetadataValue)
    target = _only(entries, values.ConsumerGroupTargetAssignmentMetadataValue)
    metadata = _by_member(entries, values.ConsumerGroupMemberMetadataValue)
    current = _by_member(entries, values.ConsumerGroupCurrentMemberAssignmentValue)
    targets = _by_member(entries, values.ConsumerGroupTargetAssignmentMemberValue)
    members = tuple(
        replace(
            _member(member_id, member, current.get(member_id), topic_names),
            instance_id=member.instance_id,
            subscribed_regex=member.subscribed_topic_regex,
            target=_named(targets[member_id].topic_partitions, topic_names) if member_id in targets else (),
        )
        for member_id, member in sorted(metadata.items())
    )
    return Group(
        group_id=group_id,
        kind=GroupKind.CONSUMER,
        state=_state(
            members,
            epoch.epoch if epoch else 0,
            target.assignment_epoch if target else 0,
            {member_id for member_id, held in current.items() if held.state == _STABLE_MEMBER},
        ),
        epoch=epoch.epoch if epoch else None,
        target_epoch=target.assignment_epoch if target else None,
        protocol_type="consumer",
        protocol=_preferred(member.server_assignor for _, member in sorted(metadata.items())),
        members=members,
        notes=tuple(notes),
    )


def with_reconciliations(
    group: Group, entries: Iterable[LoggedEntry], topic_names: Mapping[UUID, str]
) -> Group:
    """A consumer group with how far each member is on its way to its target, by the same living records.

    A coordinator writes a member's assignment whenever it changes and at no other time, so that the time
    of the newest such record is since when the member has been where it is.
    """
    held: list[tuple[str, values.ConsumerGroupCurrentMemberAssignmentValue, int | None]] = []
    timeouts: dict[str, int] = {}
    target_ms: int | None = None
    for logged in entries:
        assert isinstance(logged.entry, OffsetsEntry)
        at_ms = logged.timestamp_ms if logged.timestamp_ms >= 0 else None
        match logged.entry.key, logged.entry.value:
            case (
                keys.ConsumerGroupCurrentMemberAssignmentKey(member_id=member_id),
                values.ConsumerGroupCurrentMemberAssignmentValue() as value,
            ):
                held.append((member_id, value, at_ms))
            case (
                keys.ConsumerGroupMemberMetadataKey(member_id=member_id),
                values.ConsumerGroupMemberMetadataValue(rebalance_timeout_ms=timeout_ms),
            ) if timeout_ms >= 0:
                timeouts[member_id] = timeout_ms
            case _, values.ConsumerGroupTargetAssignmentMetadataValue():
                target_ms = at_ms
            case _:
                pass
    reconciliations = (
        Reconciliation(
            member_id=member_id,
            state=_MEMBER_STATES.get(value.state, ReconciliationState.UNKNOWN),
            revoking=_named(value.partitions_pending_revocation, topic_names),
            since_ms=at_ms,
            rebalance_timeout_ms=timeouts.get(member_id),
        )
        for member_id, value, at_ms in sorted(held, key=lambda each: each[0])
    )
    return replace(group, reconciliations=tuple(reconciliations), target_ms=target_ms)


def share_group(
    group_id: str, entries: Sequence[OffsetsEntry], topic_names: Mapping[UUID, str], notes: Sequence[str]
) -> Group:
    """A share group from its living records. Its progress is in `__share_group_state`, not here."""
    epoch = _only(entries, values.ShareGroupMetadataValue)
    state = _only(entries, values.ShareGroupStatePartitionMetadataValue)
    target = _only(entries, values.ShareGroupTargetAssignmentMetadataValue)
    metadata = _by_member(entries, values.ShareGroupMemberMetadataValue)
    current = _by_member(entries, values.ShareGroupCurrentMemberAssignmentValue)
    members = tuple(
        _member(member_id, member, current.get(member_id), topic_names)
        for member_id, member in sorted(metadata.items())
    )
    return Group(
        group_id=group_id,
        kind=GroupKind.SHARE,
        state=GroupState.STABLE if members else GroupState.EMPTY,
        epoch=epoch.epoch if epoch else None,
        target_epoch=target.assignment_epoch if target else None,
        protocol_type="share",
        members=members,
        shared=_shared(state.initialized_topics if state else ()),
        share_waiting=_shared(state.initializing_topics if state else ()),
        notes=tuple(notes),
    )


def streams_group(group_id: str, entries: Sequence[OffsetsEntry], notes: Sequence[str]) -> Group:
    """A streams group from its living records; members own the source partitions of their active tasks."""
    metadata = _only(entries, values.StreamsGroupMetadataValue)
    target = _only(entries, values.StreamsGroupTargetAssignmentMetadataValue)
    topology = _only(entries, values.StreamsGroupTopologyValue)
    by_member = _by_member(entries, values.StreamsGroupMemberMetadataValue)
    current = _by_member(entries, values.StreamsGroupCurrentMemberAssignmentValue)
    sources = source_topics(topology.subtopologies if topology else ())
    members = tuple(
        Member(
            member_id=member_id,
            instance_id=member.instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            epoch=current[member_id].member_epoch if member_id in current else None,
            subscribed=tuple(sorted({topic for topics in sources.values() for topic in topics})),
            owned=task_partitions(current[member_id].active_tasks, sources) if member_id in current else (),
            tasks=tasks_of(current[member_id]) if member_id in current else None,
        )
        for member_id, member in sorted(by_member.items())
    )
    state = _state(
        members,
        metadata.epoch if metadata else 0,
        target.assignment_epoch if target else 0,
        {member_id for member_id, held in current.items() if held.state == _STABLE_STREAMS_MEMBER},
    )
    validated = metadata.validated_topology_epoch if metadata else None
    if members and (topology is None or topology.epoch != validated):
        state = GroupState.NOT_READY
    return Group(
        group_id=group_id,
        kind=GroupKind.STREAMS,
        state=state,
        epoch=metadata.epoch if metadata else None,
        target_epoch=target.assignment_epoch if target else None,
        protocol_type="streams",
        members=members,
        topology=None
        if topology is None
        else topology_of(topology.epoch, topology.subtopologies, -1 if validated is None else validated),
        notes=tuple(notes),
    )


def _member(
    member_id: str,
    metadata: values.ConsumerGroupMemberMetadataValue | values.ShareGroupMemberMetadataValue,
    held: values.ConsumerGroupCurrentMemberAssignmentValue
    | values.ShareGroupCurrentMemberAssignmentValue
    | None,
    topic_names: Mapping[UUID, str],
) -> Member:
    """The fields that members of consumer and share groups have in common."""
    return Member(
        member_id=member_id,
        instance_id=None,
        client_id=metadata.client_id,
        client_host=metadata.client_host,
        epoch=held.member_epoch if held else None,
        subscribed=tuple(sorted(metadata.subscribed_topic_names)),
        owned=_named(held.assigned_partitions, topic_names) if held else (),
    )


def _state(members: Sequence[Member], epoch: int, target_epoch: int, settled: set[str]) -> GroupState:
    """`settled` are the members who hold all that their epoch gives them."""
    if not members:
        return GroupState.EMPTY
    if epoch > target_epoch:
        return GroupState.ASSIGNING
    if all(member.member_id in settled and member.epoch == target_epoch for member in members):
        return GroupState.STABLE
    return GroupState.RECONCILING


def _only(entries: Iterable[OffsetsEntry], kind: type[V]) -> V | None:
    """The value of a record type of which a group has one."""
    return next((entry.value for entry in entries if isinstance(entry.value, kind)), None)


def _by_member(entries: Iterable[OffsetsEntry], kind: type[V]) -> dict[str, V]:
    """The values of a record type of which each member has one."""
    return {
        entry.key.member_id: entry.value
        for entry in entries
        if isinstance(entry.key, _MEMBER_KEYS) and isinstance(entry.value, kind)
    }


def _shared(topics: Iterable[Any]) -> tuple[OwnedPartition, ...]:
    return tuple(
        sorted(
            OwnedPartition(topic.topic_name, partition, topic.topic_id)
            for topic in topics
            for partition in topic.partitions
        )
    )


def _named(
    assigned: Iterable[TopicPartitions], topic_names: Mapping[UUID, str]
) -> tuple[OwnedPartition, ...]:
    return tuple(
        OwnedPartition(
            topic_names.get(topic.topic_id, topic_id_text(topic.topic_id)) if topic.topic_id else "",
            partition,
            topic.topic_id,
        )
        for topic in assigned
        for partition in topic.partitions
    )


def source_topics(subtopologies: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    """Subtopology id to the topics its tasks read. Regular expressions name no topic that a log knows.

    `subtopologies` are those of a record or of an answer.
    """
    return {
        part.subtopology_id: (*part.source_topics, *(topic.name for topic in part.repartition_source_topics))
        for part in subtopologies
    }


def task_partitions(
    active_tasks: Iterable[Any], sources: Mapping[str, tuple[str, ...]]
) -> tuple[OwnedPartition, ...]:
    """Task n of a subtopology reads partition n of its source topics, of those that have that many.

    `active_tasks` have `subtopology_id` and `partitions`, of a record or of an answer.
    """
    return tuple(
        OwnedPartition(topic, partition)
        for tasks in active_tasks
        for topic in sources.get(tasks.subtopology_id, ())
        for partition in tasks.partitions
    )


def _preferred(assignors: Iterable[str | None]) -> str | None:
    """The assignor most members ask for (the first by name of those), None if nobody asks."""
    votes = Counter(assignor for assignor in assignors if assignor)
    return min(votes, key=lambda assignor: (-votes[assignor], assignor), default=None)
