"""The group coordinator of one offsets partition: dispatch, records, deadlines. No clock, no I/O."""

from collections.abc import Callable
from typing import Final, assert_never

from kgroup.group.coordinator.classic.answers import group_subscriptions
from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.rounds import JOIN, SYNC, ClassicRounds, TimerKey
from kgroup.group.coordinator.classic.rules import ClassicRules
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.commits import CommitRules
from kgroup.group.coordinator.events import GroupCreated, GroupDeleted, GroupEvent
from kgroup.group.coordinator.offsets import FetchTopic, Offsets
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    OffsetsRecord,
    Request,
    Step,
    Turn,
)
from kgroup.group.coordinator.timers import Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import (
    LoggedEntry,
    OffsetsEntry,
    RecordType,
    TransactionMarker,
    Undecodable,
)
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue
from kgroup.protocol.requests.coordinator import (
    UNKNOWN_MEMBER_ID,
    DeletableGroupResult,
    DeleteGroups,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    Done,
    EndTransaction,
    FetchedTopic,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    ListedGroup,
    MemberResponse,
    OffsetCommit,
    OffsetDelete,
    PartitionsDeleted,
    RequestBody,
    SyncGroup,
    SyncGroupResponse,
    TxnOffsetCommit,
    refusal,
)

E = ErrorCode
EXPIRY: Final = TimerKey("expiry", "")


def precheck(body: RequestBody, settings: GroupSettings) -> ErrorCode:
    """What Kafka refuses before it asks which coordinator, if any, a request is for."""
    match body:
        case JoinGroup():
            if not body.group_id:
                return E.INVALID_GROUP_ID
            bounds = (settings.min_session_timeout_ms, settings.max_session_timeout_ms)
            if not bounds[0] <= body.session_timeout_ms <= bounds[1]:
                return E.INVALID_SESSION_TIMEOUT
        case SyncGroup() | Heartbeat() | LeaveGroup() | TxnOffsetCommit() | OffsetDelete():
            return E.NONE if body.group_id else E.INVALID_GROUP_ID
        case OffsetCommit() | DeleteGroups() | EndTransaction() | PartitionsDeleted():
            pass  # offsets may live under the empty group id
        case _:
            assert_never(body)
    return E.NONE


class GroupCoordinator:
    """The groups of one `__consumer_offsets` partition.

    Append `Step.append` to the log before you send `Step.replies`. If the append fails, drop this
    object and build a new one by applying the log. `now_ms` is epoch ms and never goes back.
    `end_offset` is the log's end: live records are taken to land there, one after the other.
    `new_uuid` gives the random part of member ids.
    """

    def __init__(self, partition: int, settings: GroupSettings, new_uuid: Callable[[], str]) -> None:
        self.partition = partition
        self.end_offset = 0
        self._settings = settings
        self._groups: dict[str, ClassicGroup] = {}
        self._unlogged: set[str] = set()
        self._offsets = Offsets(settings.offset_metadata_max_bytes)
        self._timers: Timers[TimerKey] = Timers()
        self._turn = Turn()
        self._rounds = ClassicRounds(settings, self._timers, self._turn, self._log)
        self._rules = ClassicRules(settings, self._timers, self._turn, self._log, self._rounds, new_uuid)
        self._commits = CommitRules(settings, self._turn, self._log, self._offsets, self._rules.keep_alive)

    # ---- requests -----------------------------------------------------------------------------

    def handle(self, request: Request, now_ms: int) -> Step:
        """Decide on one request; its answer may come in a later step."""
        self._turn.now_ms = now_ms
        body = request.body
        error = precheck(body, self._settings)
        if error:
            self._turn.reply(request.id, refusal(body, error))
            return self._turn.finish()
        match body:
            case Heartbeat():
                self._heartbeat(request, body)
            case OffsetCommit():
                if self._commits.commit(self._groups.get(body.group_id), request, body):
                    self._found_unlogged(body.group_id)
            case JoinGroup():
                self._join(request, body)
            case SyncGroup():
                self._sync(request, body)
            case LeaveGroup():
                self._leave(request, body)
            case TxnOffsetCommit():
                if self._commits.commit_in_transaction(self._groups.get(body.group_id), request, body):
                    self._found_unlogged(body.group_id)
            case OffsetDelete():
                self._commits.delete(self._groups.get(body.group_id), request, body)
            case DeleteGroups():
                self._delete_groups(request, body)
            case EndTransaction():
                self._end_transaction(request, body)
            case PartitionsDeleted():
                self._commits.forget_topics(request, body)
            case _:
                assert_never(body)
        return self._turn.finish()

    def _join(self, request: Request, body: JoinGroup) -> None:
        group = self._groups.get(body.group_id)
        if group is None:
            if body.member_id != UNKNOWN_MEMBER_ID:
                response = JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID, member_id=body.member_id)
                self._turn.reply(request.id, response)
                return
            # The group exists from here on, whatever becomes of this join: Kafka logs it, too.
            self._log(ClassicGroup(body.group_id, self._turn.now_ms).record(None))
            group = self._groups[body.group_id]
        self._rules.join(group, request, body)

    def _sync(self, request: Request, body: SyncGroup) -> None:
        group = self._groups.get(body.group_id)
        if group is None:
            self._turn.reply(request.id, SyncGroupResponse(error_code=E.UNKNOWN_MEMBER_ID))
            return
        self._rounds.sync(group, request, body)

    def _heartbeat(self, request: Request, body: Heartbeat) -> None:
        group = self._groups.get(body.group_id)
        if group is None:
            self._turn.reply(request.id, HeartbeatResponse(error_code=E.UNKNOWN_MEMBER_ID))
            return
        self._rules.heartbeat(group, request, body)

    def _leave(self, request: Request, body: LeaveGroup) -> None:
        group = self._groups.get(body.group_id)
        if group is not None:
            self._rules.leave(group, request, body)
            return
        if not body.batched:
            self._turn.reply(request.id, LeaveGroupResponse(error_code=E.UNKNOWN_MEMBER_ID))
            return
        results = [
            MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=E.UNKNOWN_MEMBER_ID,
            )
            for member in body.members
        ]
        self._turn.reply(request.id, LeaveGroupResponse(members=results))

    def _delete_groups(self, request: Request, body: DeleteGroups) -> None:
        results = []
        for group_id in body.group_ids:
            group = self._groups.get(group_id)
            error = E.NONE
            if group is None:
                error = E.GROUP_ID_NOT_FOUND
            elif not group.is_empty:
                error = E.NON_EMPTY_GROUP
            else:
                for entry in self._offsets.tombstones(group_id):
                    self._log(entry)
                self._log(_group_tombstone(group_id))
            results.append(DeletableGroupResult(group_id=group_id, error_code=error))
        self._turn.reply(request.id, DeleteGroupsResponse(results=results))

    def _end_transaction(self, request: Request, body: EndTransaction) -> None:
        marker = TransactionMarker(
            producer_id=body.producer_id,
            producer_epoch=body.producer_epoch,
            committed=body.committed,
            coordinator_epoch=body.coordinator_epoch,
        )
        self._log(marker, body.producer_id, body.producer_epoch)
        self._turn.reply(request.id, Done())

    # ---- reading ------------------------------------------------------------------------------

    def fetch_offsets(
        self, group_id: str, topics: tuple[FetchTopic, ...] | None, require_stable: bool
    ) -> list[FetchedTopic]:
        """Committed offsets of the topics, or of all with None; a group that is not there has none."""
        if topics is None:
            return self._offsets.fetch_all(group_id, require_stable)
        return self._offsets.fetch(group_id, topics, require_stable)

    def describe(self, group_id: str) -> DescribedGroup:
        """The group; GROUP_ID_NOT_FOUND and Dead if there is none. Metadata shows in Stable only."""
        group = self._groups.get(group_id)
        if group is None or group_id in self._unlogged:
            return DescribedGroup(
                group_id=group_id,
                group_state=GroupState.DEAD,
                error_code=E.GROUP_ID_NOT_FOUND,
                error_message=f"Group {group_id} not found.",
            )
        stable = group.state is GroupState.STABLE
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state,
            protocol_type=group.protocol_type or "",
            protocol_data=(group.protocol_name or "") if stable else "",
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata(group.protocol_name) if stable else b"",
                    member_assignment=member.assignment,
                )
                for member in group.members.values()
            ],
        )

    def listing(
        self, states: frozenset[str] = frozenset(), types: frozenset[str] = frozenset()
    ) -> list[ListedGroup]:
        """All groups, or those in `states` and of `types`; both filters are lower case."""
        if types and "classic" not in types:
            return []
        return [
            ListedGroup(group_id=group_id, protocol_type=group.protocol_type or "", group_state=group.state)
            for group_id, group in self._groups.items()
            if group_id not in self._unlogged and (not states or group.state.lower() in states)
        ]

    # ---- time ---------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> Step:
        """Act on every deadline at or before `now_ms`, oldest first."""
        self._turn.now_ms = now_ms
        while (key := self._timers.pop_due(now_ms)) is not None:
            self._on_deadline(key)
        return self._turn.finish()

    def next_deadline_ms(self) -> int | None:
        """When `expire` is next due, or None."""
        return self._timers.next_deadline_ms()

    def _on_deadline(self, key: TimerKey) -> None:
        if key == EXPIRY:
            self._expire_offsets()
            return
        group = self._groups.get(key.group_id)
        if group is None:
            return
        if key.kind == JOIN:
            self._rounds.join_deadline(group)
        elif key.kind == SYNC:
            self._rounds.sync_deadline(group)
        else:
            self._rules.session_deadline(group, key.member_id)

    def _expire_offsets(self) -> None:
        """Delete offsets past their retention, and empty groups that have none left (KIP-211)."""
        now_ms = self._turn.now_ms
        for group in list(self._groups.values()):
            entries, none_left = self._commits.expired(group, now_ms)
            for entry in entries:
                self._log(entry)
            if none_left and group.is_empty and not group.pending_joins:
                self._log(_group_tombstone(group.group_id))
        self._timers.schedule(EXPIRY, now_ms + self._settings.offsets_retention_check_interval_ms)

    # ---- records ------------------------------------------------------------------------------

    def _log(
        self,
        entry: OffsetsEntry | TransactionMarker,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> None:
        """Append an entry to the step and apply it: the only way logged state changes."""
        now_ms = self._turn.now_ms
        record = OffsetsRecord(
            entry=entry, timestamp_ms=now_ms, producer_id=producer_id, producer_epoch=producer_epoch
        )
        self._turn.records.append(record)
        transactional = None if producer_id == NO_PRODUCER_ID else producer_id
        self._turn.events.extend(self._apply(entry, transactional, self.end_offset, now_ms))
        self.end_offset += 1
        self._unlogged.clear()

    def apply(self, record: LoggedEntry) -> tuple[GroupEvent, ...]:
        """Take over one record of the log, in log order: when loading, and in replay."""
        self.end_offset = record.offset + 1
        if isinstance(record.entry, Undecodable):
            return ()
        return self._apply(record.entry, record.producer_id, record.offset, record.timestamp_ms)

    def _apply(
        self, entry: OffsetsEntry | TransactionMarker, producer_id: int | None, offset: int, timestamp_ms: int
    ) -> tuple[GroupEvent, ...]:
        if isinstance(entry, TransactionMarker):
            self._offsets.apply_marker(entry.producer_id, entry.committed)
            return ()
        key, value = entry.key, entry.value
        if isinstance(key, OffsetCommitKey):
            assert value is None or isinstance(value, OffsetCommitValue)
            self._offsets.apply(key, value, producer_id, offset)
            return () if value is None else self._found(key.group, timestamp_ms)
        if isinstance(key, GroupMetadataKey):
            assert value is None or isinstance(value, GroupMetadataValue)
            return self._apply_group(key.group, value, timestamp_ms)
        return ()  # records of other group kinds are not this protocol's to understand

    def _apply_group(
        self, group_id: str, value: GroupMetadataValue | None, timestamp_ms: int
    ) -> tuple[GroupEvent, ...]:
        if value is None:
            return (GroupDeleted(group_id=group_id),) if self._groups.pop(group_id, None) else ()
        events = self._found(group_id, timestamp_ms)
        group = self._groups[group_id]
        group.restore(value)
        group.subscribed_topics = group_subscriptions(group)
        return events

    def _found(self, group_id: str, now_ms: int) -> tuple[GroupEvent, ...]:
        """Make sure that a group exists: its first commit is enough to found one."""
        if group_id in self._groups:
            return ()
        self._groups[group_id] = ClassicGroup(group_id, now_ms)
        return (GroupCreated(group_id=group_id),)

    def _found_unlogged(self, group_id: str) -> None:
        """Kafka has the group of a commit also where it refuses every partition of it, and logs nothing.

        Whoever describes or lists groups sees the state as of the last record of the log, so it shows up
        with the next one, whatever group that is of. Seen with brokers of 4.3.1.
        """
        if group_id not in self._groups:
            self._turn.events.extend(self._found(group_id, self._turn.now_ms))
            self._unlogged.add(group_id)

    # ---- leadership ---------------------------------------------------------------------------

    def loaded(self, now_ms: int) -> Step:
        """The whole log has been applied: from here on requests and deadlines count."""
        self._turn.now_ms = now_ms
        for group in self._groups.values():
            self._rules.loaded(group)
        self._timers.schedule(EXPIRY, now_ms + self._settings.offsets_retention_check_interval_ms)
        return self._turn.finish()

    def unload(self, error: ErrorCode, now_ms: int) -> Step:
        """Answer all that is parked with `error`; use the object no more."""
        self._turn.now_ms = now_ms
        for group in self._groups.values():
            self._rules.unload(group, error)
        return self._turn.finish()


def _group_tombstone(group_id: str) -> OffsetsEntry:
    return OffsetsEntry(
        type=RecordType.GROUP_METADATA, key=GroupMetadataKey(group=group_id), value=None, value_version=None
    )
