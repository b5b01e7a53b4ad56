"""Makes rosters from records: a group's members at one generation or epoch, and what each was given."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, TypeVar
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.history.groups.member_blobs import member_topics
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.handovers import Handovers
from kgroup.history.timeline.model import ConnectWorker, Partition, Roster, TimelineMember
from kgroup.protocol.connect_protocol import (
    CONFIG_MISMATCH,
    decode_connect_assignment,
    decode_worker_state,
)
from kgroup.protocol.records import keys, values
from kgroup.protocol.records.consumer_group import AWAY_EPOCH, TopicPartitions
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry
from kgroup.protocol.records.streams_group import TaskIds
from kgroup.protocol.topic_id import topic_id_text

NO_EPOCH = -1
_CACHED_MEMBERS: Final = 128
GroupEpoch = (
    values.ConsumerGroupMetadataValue | values.ShareGroupMetadataValue | values.StreamsGroupMetadataValue
)
"""What the record of an epoch may have."""
V = TypeVar("V")

_MODERN_KINDS: Mapping[type, GroupKind] = {
    keys.ConsumerGroupMetadataKey: GroupKind.CONSUMER,
    keys.ConsumerGroupMemberMetadataKey: GroupKind.CONSUMER,
    keys.ConsumerGroupPartitionMetadataKey: GroupKind.CONSUMER,
    keys.ConsumerGroupRegularExpressionKey: GroupKind.CONSUMER,
    keys.ConsumerGroupTargetAssignmentMetadataKey: GroupKind.CONSUMER,
    keys.ConsumerGroupTargetAssignmentMemberKey: GroupKind.CONSUMER,
    keys.ConsumerGroupCurrentMemberAssignmentKey: GroupKind.CONSUMER,
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
}

EPOCH_KEYS = (keys.ConsumerGroupMetadataKey, keys.ShareGroupMetadataKey, keys.StreamsGroupMetadataKey)
TARGET_KEYS = (
    keys.ConsumerGroupTargetAssignmentMetadataKey,
    keys.ShareGroupTargetAssignmentMetadataKey,
    keys.StreamsGroupTargetAssignmentMetadataKey,
)
_MEMBER_KEYS = (
    keys.ConsumerGroupMemberMetadataKey,
    keys.ShareGroupMemberMetadataKey,
    keys.StreamsGroupMemberMetadataKey,
)
_TARGET_MEMBER_KEYS = (
    keys.ConsumerGroupTargetAssignmentMemberKey,
    keys.ShareGroupTargetAssignmentMemberKey,
    keys.StreamsGroupTargetAssignmentMemberKey,
)


def time_of(logged: LoggedEntry) -> int | None:
    """Epoch ms of a record; in message format 0, the time in its value, else None."""
    if logged.timestamp_ms >= 0:
        return logged.timestamp_ms
    value = logged.entry.value if isinstance(logged.entry, OffsetsEntry) else None
    match value:
        case (
            values.OffsetCommitValue(commit_timestamp=timestamp_ms)
            | values.GroupMetadataValue(current_state_timestamp=timestamp_ms)
        ):
            return timestamp_ms if timestamp_ms >= 0 else None
        case _:
            return None


def modern_kind(key: keys.Key) -> GroupKind | None:
    """The kind of the group that a key is of, None for commits and classic groups."""
    return _MODERN_KINDS.get(type(key))


def classic_roster(logged: LoggedEntry, value: values.GroupMetadataValue) -> Roster:
    """The group as a GroupMetadata record has it."""
    roster = _roster(
        logged,
        GroupKind.CLASSIC,
        value.generation,
        (_classic_member(member, value.protocol_type) for member in value.members),
    )
    return replace(roster, protocol_type=value.protocol_type, protocol=value.protocol, leader=value.leader)


def _roster(
    logged: LoggedEntry, kind: GroupKind, generation: int, members: Iterable[TimelineMember]
) -> Roster:
    """A group of these members, in order, as of a record."""
    return Roster(
        kind=kind,
        generation=generation,
        at_ms=time_of(logged),
        offset=logged.offset,
        offsets_partition=logged.partition,
        leader_epoch=logged.leader_epoch,
        members=tuple(sorted(members, key=lambda member: (member.client_id, member.member_id))),
    )


@lru_cache(maxsize=_CACHED_MEMBERS)  # a member that stays brings the same bytes to every rebalance
def _read_blobs(
    subscription: bytes, assignment: bytes
) -> tuple[frozenset[str] | None, frozenset[Partition], str | None]:
    """What a member subscribes to and owns, and why one of these cannot be read."""
    topics = member_topics(subscription, assignment)
    unreadable = topics.subscription_error or topics.assignment_error
    if topics.subscribed is None:
        return None, frozenset(), unreadable
    return (
        frozenset(topics.subscribed),
        frozenset(Partition(each.topic, each.partition) for each in topics.owned),
        unreadable,
    )


def _classic_member(member: values.MemberMetadata, protocol_type: str) -> TimelineMember:
    subscribed: frozenset[str] | None = None
    owned: frozenset[Partition] = frozenset()
    unreadable: str | None = None
    if protocol_type == "consumer":
        subscribed, owned, unreadable = _read_blobs(member.subscription, member.assignment)
    return TimelineMember(
        member_id=member.member_id,
        instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.session_timeout,
        # Version 0 has no timeout for rejoining: the session's counts (Kafka before 0.10.1).
        rebalance_timeout_ms=member.rebalance_timeout
        if member.rebalance_timeout >= 0
        else member.session_timeout,
        subscribed=subscribed,
        owned=owned,
        unreadable=unreadable,
        worker=_connect_worker(member) if protocol_type == "connect" else None,
    )


def _connect_worker(member: values.MemberMetadata) -> ConnectWorker | None:
    """None where the leader gave it nothing, or where its bytes are not Connect's."""
    try:
        state = decode_worker_state(member.subscription)
        assignment = decode_connect_assignment(member.assignment)
    except DecodeError:
        return None
    return ConnectWorker(state.config_offset, assignment.error == CONFIG_MISMATCH)


@dataclass(slots=True)
class ModernGroup:
    """The sum of the records of a group whose broker assigns; `apply` them in log order."""

    kind: GroupKind
    topic_names: Mapping[UUID, str]
    epoch: int = NO_EPOCH
    _metadata_hash: int = 0
    _validated_topology: int = -1
    _share_state: frozenset[Partition] = frozenset()
    _members: dict[str, values.Value] = field(default_factory=dict)
    _targets: dict[str, frozenset[Partition]] = field(default_factory=dict)
    _matched: dict[str, frozenset[str]] = field(default_factory=dict)
    unrevoked_since: dict[str, int] = field(default_factory=dict)
    away_since: dict[str, int] = field(default_factory=dict)
    """Of static members that have left to come back (epoch −2; KIP-848), since when, epoch ms."""
    handovers: Handovers = field(default_factory=Handovers)
    topic_ids: dict[str, UUID] = field(default_factory=dict)
    """Of the topics that were assigned, by name."""

    def apply(self, logged: LoggedEntry, entry: OffsetsEntry) -> None:
        """Take a record that is of this group's kind."""
        key, value = entry.key, entry.value
        if isinstance(key, _MEMBER_KEYS):
            _set(self._members, key.member_id, value)
        elif isinstance(key, _TARGET_MEMBER_KEYS):
            _set(self._targets, key.member_id, None if value is None else self._partitions(value))
        elif isinstance(key, keys.ConsumerGroupRegularExpressionKey):
            matched = (
                frozenset(value.topics)
                if isinstance(value, values.ConsumerGroupRegularExpressionValue)
                else None
            )
            _set(self._matched, key.regular_expression, matched)
        elif isinstance(value, values.ShareGroupStatePartitionMetadataValue):
            self._share_state = frozenset(
                Partition(topic.topic_name, partition)
                for topic in value.initialized_topics
                for partition in topic.partitions
            )
        elif isinstance(key, keys.ConsumerGroupCurrentMemberAssignmentKey):
            self._note_revocation(logged, key.member_id, value)
            self._note_owned(logged, key.member_id, value)
            self._note_absence(logged, key.member_id, value)
        elif isinstance(key, keys.StreamsGroupCurrentMemberAssignmentKey):
            self._note_absence(logged, key.member_id, value)

    def has_returned(self, key: keys.Key, known: Roster) -> bool:
        """Whether the record of `key`, which was taken, has an instance that `known` has under another id."""
        if not isinstance(key, _MEMBER_KEYS):
            return False
        instance_id = getattr(self._members.get(key.member_id), "instance_id", None)
        return instance_id is not None and any(
            member.instance_id == instance_id and member.member_id != key.member_id
            for member in known.members
        )

    def begin(self, value: GroupEpoch) -> None:
        """An epoch, and what it begins with."""
        self.epoch, self._metadata_hash = value.epoch, value.metadata_hash
        if isinstance(value, values.StreamsGroupMetadataValue):
            self._validated_topology = value.validated_topology_epoch

    def roster(self, logged: LoggedEntry) -> Roster:
        """The group with its members and their targets as they are now."""
        assignors = sorted(
            {
                value.server_assignor
                for value in self._members.values()
                if isinstance(value, values.ConsumerGroupMemberMetadataValue) and value.server_assignor
            }
        )
        members = (self._member(member_id, value) for member_id, value in self._members.items())
        roster = _roster(logged, self.kind, self.epoch, members)
        return replace(
            roster,
            protocol_type=self.kind.value,
            protocol=", ".join(assignors) or None,
            metadata_hash=self._metadata_hash,
            validated_topology=self._validated_topology,
            share_state=self._share_state,
        )

    def _member(self, member_id: str, value: values.Value) -> TimelineMember:
        owned = self._targets.get(member_id, frozenset())
        match value:
            case values.ConsumerGroupMemberMetadataValue():
                classic = value.classic_member_metadata
                regex = value.subscribed_topic_regex or None
                subscribed = frozenset(value.subscribed_topic_names)
                if regex:
                    subscribed |= self._matched.get(regex, frozenset())
                return TimelineMember(
                    member_id=member_id,
                    instance_id=value.instance_id,
                    client_id=value.client_id,
                    client_host=value.client_host,
                    session_timeout_ms=classic.session_timeout_ms if classic else None,
                    rebalance_timeout_ms=value.rebalance_timeout_ms,
                    subscribed=subscribed,
                    regex=regex,
                    owned=owned,
                )
            case values.ShareGroupMemberMetadataValue():
                return TimelineMember(
                    member_id=member_id,
                    client_id=value.client_id,
                    client_host=value.client_host,
                    subscribed=frozenset(value.subscribed_topic_names),
                    owned=owned,
                )
            case values.StreamsGroupMemberMetadataValue():
                return TimelineMember(
                    member_id=member_id,
                    instance_id=value.instance_id,
                    client_id=value.client_id,
                    client_host=value.client_host,
                    rebalance_timeout_ms=value.rebalance_timeout_ms,
                    owned=owned,
                )
            case _:
                return TimelineMember(member_id=member_id, owned=owned)

    def _partitions(self, value: values.Value) -> frozenset[Partition]:
        match value:
            case (
                values.ConsumerGroupTargetAssignmentMemberValue(topic_partitions=given)
                | values.ShareGroupTargetAssignmentMemberValue(topic_partitions=given)
            ):
                return frozenset(self._named(given))
            case values.StreamsGroupTargetAssignmentMemberValue(active_tasks=tasks):
                return frozenset(_tasks(tasks))
            case _:
                return frozenset()

    def _named(self, given: Iterable[TopicPartitions]) -> Iterable[Partition]:
        for topic in given:
            name = "" if topic.topic_id is None else self.topic_names.get(topic.topic_id)
            if name is None:
                name = topic_id_text(topic.topic_id)
            if topic.topic_id is not None:
                self.topic_ids[name] = topic.topic_id
            for partition in topic.partitions:
                yield Partition(name, partition)

    def _note_owned(self, logged: LoggedEntry, member_id: str, value: values.Value | None) -> None:
        owned: frozenset[Partition] = frozenset()
        if isinstance(value, values.ConsumerGroupCurrentMemberAssignmentValue):
            given = (*value.assigned_partitions, *value.partitions_pending_revocation)
            owned = frozenset(self._named(given))
        at_ms = time_of(logged)
        if at_ms is not None:
            self.handovers.has(member_id, owned, at_ms)

    def _note_revocation(self, logged: LoggedEntry, member_id: str, value: values.Value | None) -> None:
        at_ms = time_of(logged)
        pending = (
            isinstance(value, values.ConsumerGroupCurrentMemberAssignmentValue)
            and value.partitions_pending_revocation
        )
        if pending and at_ms is not None:
            self.unrevoked_since.setdefault(member_id, at_ms)
        elif value is not None:
            self.unrevoked_since.pop(member_id, None)

    def _note_absence(self, logged: LoggedEntry, member_id: str, value: values.Value | None) -> None:
        if not isinstance(
            value,
            values.ConsumerGroupCurrentMemberAssignmentValue
            | values.StreamsGroupCurrentMemberAssignmentValue,
        ):
            return  # its tombstone comes with its end, which asks since when it was away
        at_ms = time_of(logged)
        if value.member_epoch != AWAY_EPOCH:
            self.away_since.pop(member_id, None)
        elif at_ms is not None:
            self.away_since.setdefault(member_id, at_ms)


def _tasks(tasks: Iterable[TaskIds]) -> Iterable[Partition]:
    return (Partition(task.subtopology_id, partition) for task in tasks for partition in task.partitions)


def _set(mapping: dict[str, V], name: str, value: V | None) -> None:
    if value is None:
        mapping.pop(name, None)
    else:
        mapping[name] = value
