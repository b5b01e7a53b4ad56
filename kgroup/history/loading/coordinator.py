"""A coordinator's work on each record while loading, as far as it can fail there.

Of a group only that is kept which a later record can clash with: its kind, its members with their epochs and
what they own, the members of its target assignment. Source: `GroupMetadataManager.replay` and
`OffsetMetadataManager.replay` of Kafka 4.0 to 4.4; `GroupMetadataManager.doLoadGroupsAndOffsets` of 3.9.
"""

from collections.abc import Callable, Iterable
from typing import Final

from kgroup.history.loading.groups import (
    ClassicGroup,
    ConsumerGroup,
    RefusedError,
    ShareGroup,
    State,
    StreamsGroup,
)
from kgroup.history.loading.model import Obstacle, Outcome, Why
from kgroup.history.loading.releases import Release
from kgroup.history.loading.subscription import why_unreadable
from kgroup.protocol.records import keys as k
from kgroup.protocol.records import values as v
from kgroup.protocol.records.codec import decode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, TransactionMarker, Undecodable

_SHARE_PARTITIONS: Final = 9
_OFFSET_COMMIT_TYPE: Final = b"\0\1"
_MAKE_SHARE_GROUPS: Final = (k.ShareGroupMetadataKey, k.ShareGroupMemberMetadataKey)
"""Keys whose values make the group in 4.0, where others need it to be there."""
_MARKER_KEY_BYTES: Final = 4


class Loading:
    """The state while the records of one partition are replayed in the order of the log."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self._state: State = {}

    def commits(self, groups: Iterable[str]) -> None:
        """Commits of these groups, plain or in a transaction: a group that is not there comes into being."""
        if self.release.is_partial:
            return
        for group in groups:
            if group not in self._state:
                self._state[group] = ClassicGroup(is_simple=True)

    def record(
        self, offset: int, entry: OffsetsEntry | Undecodable | TransactionMarker, *, control: bool = False
    ) -> Obstacle | None:
        """The obstacle of any other record, or of one that cannot be decoded; None if it is replayed.

        `control`: whether it stands in a control batch. What fails is passed over, so that the records behind
        it can be looked at as well.
        """
        if isinstance(entry, TransactionMarker):
            return None
        if isinstance(entry, Undecodable):
            return self._undecodable(offset, entry, control=control)
        if entry.type not in self.release.types:
            is_lost = entry.value is not None
            return self._ignored(offset, int(entry.type), k.group_of(entry.key), is_lost=is_lost)
        if (
            entry.type is RecordType.LEGACY_OFFSET_COMMIT
            and (entry.value_version or 0) > self.release.legacy_value_version
        ):
            text = f"a commit under key type 0 has a value of version {entry.value_version}"
            return self._stops(offset, Why.VERSION, text, k.group_of(entry.key))
        try:
            self._replay(entry)
        except RefusedError as refused:
            return self._stops(offset, Why.ORDER, refused.text, k.group_of(entry.key), refused.issue)
        return None

    def _undecodable(self, offset: int, entry: Undecodable, *, control: bool) -> Obstacle | None:
        if control:
            if entry.key is not None and len(entry.key) >= _MARKER_KEY_BYTES:
                return None  # of a type that the loader passes over
            return self._stops(offset, Why.UNREADABLE, "a control record with too short a key")
        kind = entry.key_version
        if kind is not None and kind not in self.release.types:
            return self._ignored(offset, kind, None, is_lost=False)
        if kind == _SHARE_PARTITIONS and entry.key is not None:
            return self._share_partitions(offset, entry.key)
        if kind == RecordType.LEGACY_OFFSET_COMMIT and 0 < (entry.value_version or 0) <= (
            self.release.legacy_value_version
        ):
            assert entry.key is not None
            return self.record(offset, decode_entry(_OFFSET_COMMIT_TYPE + entry.key[2:], entry.value))
        why = Why.VERSION if kind is not None and "version" in entry.why else Why.UNREADABLE
        return self._stops(offset, why, entry.why)

    def _share_partitions(self, offset: int, key: bytes) -> Obstacle | None:
        size = int.from_bytes(key[2:4], signed=True)
        group_id = key[4 : 4 + size].decode(errors="replace")
        if isinstance(self._state.get(group_id), ShareGroup):
            return None
        text = f"a record of share group {group_id} comes before the group"
        return self._stops(offset, Why.ORDER, text, group_id)

    def _ignored(self, offset: int, kind: int, group: str | None, *, is_lost: bool) -> Obstacle:
        text = f"record type {kind} is unknown to {self.release.version} and passed over"
        outcome = Outcome.LOADS_LESS if is_lost else Outcome.LOADS
        return Obstacle(outcome=outcome, why=Why.IGNORED, text=text, offset=offset, group=group)

    def _stops(
        self, offset: int, why: Why, text: str, group: str | None = None, issue: str | None = None
    ) -> Obstacle:
        outcome = Outcome.EMPTY if self.release.is_partial else Outcome.FAILS
        return Obstacle(outcome=outcome, why=why, text=text, offset=offset, group=group, issue=issue)

    def _replay(self, entry: OffsetsEntry) -> None:
        match entry.key:
            case k.OffsetCommitKey(group=group):
                if entry.value is not None:
                    self.commits([group])
            case k.GroupMetadataKey(group=group):
                self._classic(group, entry.value)
            case _:
                replay, kind = _BY_KEY[type(entry.key)]
                group_id = k.group_of(entry.key)
                creates = entry.value is not None
                if self.release.strict_share and kind is ShareGroup:
                    if isinstance(entry.key, k.ShareGroupStatePartitionMetadataKey):
                        raise RefusedError("record type 15, which 4.0 can read and has no use for")
                    creates &= isinstance(entry.key, _MAKE_SHARE_GROUPS)
                held = kind.of(self._state, group_id, self.release, creates=creates)
                if held is not None:
                    replay(held, entry, self)

    def _classic(self, group_id: str, value: v.Value | None) -> None:
        if value is None:
            self._state.pop(group_id, None)
            return
        assert isinstance(value, v.GroupMetadataValue)
        instances = [member.group_instance_id for member in value.members if member.group_instance_id]
        if len(set(instances)) < len(instances):
            twice = next(each for each in instances if instances.count(each) > 1)
            raise RefusedError(f"two members of {group_id} have the instance id {twice}")
        is_read = value.protocol_type == "consumer" and value.protocol is not None
        if is_read and self.release.strict_subscriptions:
            for member in value.members:
                why = why_unreadable(member.subscription)
                if why is not None:
                    raise RefusedError(f"the subscription of member {member.member_id} of {group_id}: {why}")
        is_simple = not value.members and not value.protocol_type
        self._state[group_id] = ClassicGroup(is_simple=is_simple)

    def remove(self, group_id: str) -> None:
        """The group's last record said so."""
        self._state.pop(group_id, None)


def _consumer(group: object, entry: OffsetsEntry, loading: Loading) -> None:
    assert isinstance(group, ConsumerGroup)
    match entry.key, entry.value:
        case k.ConsumerGroupMetadataKey(group_id=group_id), None:
            group.check_deleted(group_id, targets=True)
            loading.remove(group_id)
        case k.ConsumerGroupMemberMetadataKey(member_id=member), None:
            group.remove_member(member, loading.release)
        case k.ConsumerGroupMemberMetadataKey(member_id=member), _:
            group.update(member, loading.release)
        case k.ConsumerGroupTargetAssignmentMetadataKey(), value:
            epoch = (
                value.assignment_epoch
                if isinstance(value, v.ConsumerGroupTargetAssignmentMetadataValue)
                else None
            )
            group.set_target_epoch(epoch)
        case k.ConsumerGroupTargetAssignmentMemberKey(member_id=member), value:
            group.set_target(member, is_there=value is not None)
        case k.ConsumerGroupCurrentMemberAssignmentKey(member_id=member), None:
            group.leave(member, loading.release)
        case (
            k.ConsumerGroupCurrentMemberAssignmentKey(member_id=member),
            v.ConsumerGroupCurrentMemberAssignmentValue() as value,
        ):
            owned = [(t.topic_id, p) for t in value.assigned_partitions for p in t.partitions]
            revoked = [(t.topic_id, p) for t in value.partitions_pending_revocation for p in t.partitions]
            group.assign(
                member, value.member_epoch, dict.fromkeys(owned), dict.fromkeys(revoked), loading.release
            )
        case _:
            pass


def _streams(group: object, entry: OffsetsEntry, loading: Loading) -> None:
    assert isinstance(group, StreamsGroup)
    match entry.key, entry.value:
        case k.StreamsGroupMetadataKey(group_id=group_id), None:
            group.check_deleted(group_id, targets=False)
            loading.remove(group_id)
        case k.StreamsGroupMemberMetadataKey(member_id=member), None:
            group.remove_member(member, loading.release)
        case k.StreamsGroupMemberMetadataKey(member_id=member), v.StreamsGroupMemberMetadataValue() as value:
            group.describe(member, value.process_id, loading.release)
        case k.StreamsGroupTargetAssignmentMetadataKey(), value:
            epoch = (
                value.assignment_epoch
                if isinstance(value, v.StreamsGroupTargetAssignmentMetadataValue)
                else None
            )
            group.set_target_epoch(epoch)
        case k.StreamsGroupTargetAssignmentMemberKey(member_id=member), value:
            group.set_target(member, is_there=value is not None)
        case k.StreamsGroupCurrentMemberAssignmentKey(member_id=member), None:
            group.leave(member, loading.release)
        case (
            k.StreamsGroupCurrentMemberAssignmentKey(member_id=member),
            v.StreamsGroupCurrentMemberAssignmentValue() as value,
        ):
            tasks = [(t.subtopology_id, p) for t in value.active_tasks for p in t.partitions]
            revoked = [
                (t.subtopology_id, p) for t in value.active_tasks_pending_revocation for p in t.partitions
            ]
            group.assign(
                member, value.member_epoch, dict.fromkeys(tasks), dict.fromkeys(revoked), loading.release
            )
        case _:
            pass


def _share(group: object, entry: OffsetsEntry, loading: Loading) -> None:
    assert isinstance(group, ShareGroup)
    match entry.key, entry.value:
        case k.ShareGroupMetadataKey(group_id=group_id), None:
            group.check_deleted(group_id, targets=True)
            loading.remove(group_id)
        case k.ShareGroupMemberMetadataKey(member_id=member), None:
            group.remove_member(member, loading.release)
        case k.ShareGroupMemberMetadataKey(member_id=member), _:
            group.epochs.setdefault(member, 0)
        case k.ShareGroupTargetAssignmentMetadataKey(), value:
            epoch = (
                value.assignment_epoch
                if isinstance(value, v.ShareGroupTargetAssignmentMetadataValue)
                else None
            )
            group.set_target_epoch(epoch)
        case k.ShareGroupTargetAssignmentMemberKey(member_id=member), value:
            group.set_target(member, is_there=value is not None)
        case k.ShareGroupCurrentMemberAssignmentKey(member_id=member), value:
            epoch = (
                value.member_epoch if isinstance(value, v.ShareGroupCurrentMemberAssignmentValue) else None
            )
            group.set_epoch(member, epoch, loading.release)
        case _:
            pass


_Replay = Callable[[object, OffsetsEntry, Loading], None]
_Kind = type[ConsumerGroup] | type[StreamsGroup] | type[ShareGroup]
_BY_KEY: Final[dict[type, tuple[_Replay, _Kind]]] = {
    key: (replay, kind)
    for replay, kind, prefix in (
        (_consumer, ConsumerGroup, "ConsumerGroup"),
        (_streams, StreamsGroup, "StreamsGroup"),
        (_share, ShareGroup, "ShareGroup"),
    )
    for name, key in vars(k).items()
    if isinstance(key, type) and name.startswith(prefix) and name.endswith("Key")
}
