"""The group coordinator of one offsets partition: routes by kind of group. No clock, no I/O.

It owns the offsets, the log and the step in the making, and knows which kind a group id is; the kind decides
about its groups (`kinds.py`).
"""

from collections.abc import Callable, Iterator
from typing import Final, assert_never

from kgroup.group.coordinator.classic.answers import absent_group
from kgroup.group.coordinator.classic.groups import ClassicGroups
from kgroup.group.coordinator.commits import CommitRules
from kgroup.group.coordinator.consumer.groups import ConsumerGroups
from kgroup.group.coordinator.events import GroupEvent
from kgroup.group.coordinator.kinds import GroupsOfKind
from kgroup.group.coordinator.metadata_image import FixedImage, MetadataImage
from kgroup.group.coordinator.offsets import FetchTopic, Offsets
from kgroup.group.coordinator.settings import GroupSettings, SettingsOf
from kgroup.group.coordinator.step import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    CommitRun,
    OffsetsRecord,
    Reply,
    Request,
    Step,
    Turn,
)
from kgroup.group.coordinator.timers import TimerKey, Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.protocol.records.keys import GroupMetadataKey, Key, OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, DescribedConsumerGroup
from kgroup.protocol.requests.coordinator import (
    UNKNOWN_MEMBER_ID,
    DeletableGroupResult,
    DeleteGroups,
    DeleteGroupsResponse,
    DescribedGroup,
    Done,
    EndTransaction,
    FetchedTopic,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListedGroup,
    OffsetCommit,
    OffsetDelete,
    PartitionsDeleted,
    RequestBody,
    SyncGroup,
    TxnOffsetCommit,
    refusal,
)

E = ErrorCode
EXPIRY: Final = TimerKey("expiry", "")


def precheck(body: RequestBody, settings: GroupSettings) -> ErrorCode:
    """The error of a request that Kafka refuses before it looks for its coordinator, or NONE."""
    match body:
        case ConsumerGroupHeartbeat():
            pass  # has words of its own: `consumer/request_checks.py`
        case JoinGroup():
            if not body.group_id:
                return E.INVALID_GROUP_ID
            bounds = (settings.min_session_timeout_ms, settings.max_session_timeout_ms)
            if not bounds[0] <= body.session_timeout_ms <= bounds[1]:
                return E.INVALID_SESSION_TIMEOUT
            names = [name for name, _ in body.protocols]
            if len(set(names)) < len(names):
                # A broker of 4.3.1 counts its vote twice and never completes the rebalance.
                return E.INCONSISTENT_GROUP_PROTOCOL
        case SyncGroup() | Heartbeat() | LeaveGroup() | TxnOffsetCommit() | OffsetDelete():
            return E.NONE if body.group_id else E.INVALID_GROUP_ID
        case OffsetCommit() | DeleteGroups() | EndTransaction() | PartitionsDeleted():
            pass  # offsets may live under the empty group id
        case _:
            assert_never(body)
    return E.NONE


class GroupKinds:
    """The kinds of one coordinator. The first is Kafka's default: it answers for ids that no kind has."""

    def __init__(self, *kinds: GroupsOfKind) -> None:
        self._kinds = kinds
        self._by_key = {key: kind for kind in kinds for key in kind.record_keys}

    def __iter__(self) -> Iterator[GroupsOfKind]:
        return iter(self._kinds)

    def of(self, group_id: str) -> GroupsOfKind:
        """The kind of a group, else the default."""
        for kind in self._kinds:
            if group_id in kind:
                return kind
        return self._kinds[0]

    def of_record(self, key: Key) -> GroupsOfKind | None:
        """The kind whose record has this key; None for kinds that this coordinator does not have."""
        return self._by_key.get(type(key))


class GroupCoordinator:
    """The groups of one `__consumer_offsets` partition.

    Append `Step.append` to the log before you send `Step.replies`. If the append fails, drop this
    object and build a new one by applying the log. `now_ms` is epoch ms and never goes back.
    `end_offset` is the log's end: live records are taken to land there, one after the other.
    `new_uuid` gives the random part of member ids. `image` has the cluster's topics. `settings_of` is what
    holds for single groups; without it `settings` hold for all.
    """

    def __init__(
        self,
        partition: int,
        settings: GroupSettings,
        new_uuid: Callable[[], str],
        image: MetadataImage | None = None,
        settings_of: SettingsOf | None = None,
    ) -> None:
        self.partition = partition
        self.end_offset = 0
        self._settings = settings
        self._unlogged: set[str] = set()
        self._offsets = Offsets(settings.offset_metadata_max_bytes)
        self._timers: Timers[TimerKey] = Timers()
        self._turn = Turn()
        # Another kind is one more argument; the first answers for groups that do not exist.
        self.classic = ClassicGroups(settings, self._timers, self._turn, self._log, new_uuid)
        self.consumer = ConsumerGroups(
            settings,
            self._timers,
            self._turn,
            self._log,
            new_uuid,
            image or FixedImage(),
            self.classic,
            settings_of or (lambda group_id: settings),
        )
        self._kinds = GroupKinds(self.classic, self.consumer)
        self._commits = CommitRules(settings, self._turn, self._log, self._log_run, self._offsets)

    # ---- requests -----------------------------------------------------------------------------

    def handle(self, request: Request, now_ms: int) -> Step:
        """Check and decide on one request; its answer may come in a later step.

        For callers without a broker. A broker has to `precheck` before it looks for a coordinator, and calls
        `decide`, so that each request is checked once.
        """
        error = precheck(request.body, self._settings)
        if error:
            return Step(replies=(Reply(request_id=request.id, body=refusal(request.body, error)),))
        return self.decide(request, now_ms)

    def decide(self, request: Request, now_ms: int) -> Step:
        """Decide on a request that has passed `precheck`; its answer may come in a later step."""
        self._turn.now_ms = now_ms
        body = request.body
        match body:
            case Heartbeat():
                self._kinds.of(body.group_id).heartbeat(request, body)
            case OffsetCommit():
                if self._commits.commit(self._kinds.of(body.group_id), request, body):
                    self._ensure_unlogged(body.group_id)
            case ConsumerGroupHeartbeat():
                self.consumer.consumer_heartbeat(request, body)
            case JoinGroup():
                self._make_way_for_classic(body)
                self._kinds.of(body.group_id).join(request, body)
            case SyncGroup():
                self._kinds.of(body.group_id).sync(request, body)
            case LeaveGroup():
                self._kinds.of(body.group_id).leave(request, body)
            case TxnOffsetCommit():
                if self._commits.commit_in_transaction(self._kinds.of(body.group_id), request, body):
                    self._ensure_unlogged(body.group_id)
            case OffsetDelete():
                self._commits.delete(self._kinds.of(body.group_id), request, body)
            case DeleteGroups():
                self._delete_groups(request, body)
            case EndTransaction():
                self._end_transaction(request, body)
            case PartitionsDeleted():
                self._commits.forget_topics(request, body)
            case _:
                assert_never(body)
        return self._turn.finish()

    def _make_way_for_classic(self, body: JoinGroup) -> None:
        """The first classic member of an Empty consumer group gets a classic group of its own."""
        if body.member_id == UNKNOWN_MEMBER_ID and self.consumer.is_empty(body.group_id):
            for entry in self.consumer.tombstones(body.group_id):
                self._log(entry)

    def _delete_groups(self, request: Request, body: DeleteGroups) -> None:
        results = []
        for group_id in body.group_ids:
            groups = self._kinds.of(group_id)
            error = groups.check_delete(group_id)
            if not error:
                for entry in self._offsets.tombstones(group_id) + groups.tombstones(group_id):
                    self._log(entry)
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

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> ErrorCode:
        """The reason a member may not read the group's offsets, or NONE (KIP-848)."""
        return self._kinds.of(group_id).check_fetch(group_id, member_id, member_epoch)

    def describe_consumer_group(self, group_id: str) -> DescribedConsumerGroup:
        """A group of the consumer protocol; GROUP_ID_NOT_FOUND if there is none of that kind."""
        return self.consumer.describe_consumer_group(group_id)

    def size(self, group_id: str) -> int:
        """The number of members of a group of any kind."""
        of_consumers = self.consumer.watched(group_id)
        if of_consumers is not None:
            return len(of_consumers.members)
        return len(self.describe(group_id).members)

    def describe(self, group_id: str) -> DescribedGroup:
        """The group; GROUP_ID_NOT_FOUND and Dead if there is none."""
        if group_id in self._unlogged:
            return absent_group(group_id)
        return self._kinds.of(group_id).describe(group_id)

    def listing(
        self, states: frozenset[str] = frozenset(), types: frozenset[str] = frozenset()
    ) -> list[ListedGroup]:
        """All groups, or those in `states` and of `types`; both filters are lower case."""
        return [
            listed
            for groups in self._kinds
            if not types or groups.group_type in types
            for listed in groups.listing(states)
            if listed.group_id not in self._unlogged
        ]

    @property
    def offsets_count(self) -> int:
        """The number of committed offsets, of all groups."""
        return self._offsets.count

    # ---- time ---------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> Step:
        """Act on every deadline at or before `now_ms`, oldest first."""
        self._turn.now_ms = now_ms
        while (key := self._timers.pop_due(now_ms)) is not None:
            self._on_deadline(key)
        return self._turn.finish()

    @property
    def deadlines_set(self) -> int:
        """Grows whenever `next_deadline_ms` may have come nearer."""
        return self._timers.set_earlier

    def next_deadline_ms(self) -> int | None:
        """The next time `expire` is due, or None."""
        return self._timers.next_deadline_ms()

    def deadline_ms(self, key: TimerKey) -> int | None:
        """The deadline of a group, of a member or of the expiry, if it has one."""
        return self._timers.deadline_ms(key)

    def _on_deadline(self, key: TimerKey) -> None:
        if key == EXPIRY:
            self._expire_offsets()
        else:
            self._kinds.of(key.group_id).on_deadline(key)

    def _expire_offsets(self) -> None:
        """Delete offsets past their retention, and empty groups that have none left (KIP-211)."""
        for groups in self._kinds:
            for group_id in list(groups):
                entries, none_left = self._commits.expired(groups, group_id)
                if none_left and groups.is_deserted(group_id):
                    entries = entries + groups.tombstones(group_id)
                for entry in entries:
                    self._log(entry)
        next_check_ms = self._turn.now_ms + self._settings.offsets_retention_check_interval_ms
        self._timers.schedule(EXPIRY, next_check_ms)

    def topics_changed(self, names: frozenset[str], made: bool) -> None:
        """Topics of the image came (`made`), went, or have other partitions now."""
        self.consumer.topics_changed(names, made)

    # ---- records ------------------------------------------------------------------------------

    def _log(
        self,
        entry: OffsetsEntry | TransactionMarker,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
    ) -> None:
        """Append an entry to the step and apply it: with `_log_run` the only way logged state changes."""
        now_ms = self._turn.now_ms
        record = OffsetsRecord(
            entry=entry, timestamp_ms=now_ms, producer_id=producer_id, producer_epoch=producer_epoch
        )
        self._turn.records.append(record)
        transactional = None if producer_id == NO_PRODUCER_ID else producer_id
        self._turn.events.extend(self._apply(entry, transactional, self.end_offset, now_ms))
        self.end_offset += 1
        self._unlogged.clear()

    def _log_run(self, run: CommitRun) -> None:
        """The same of many commits, as if each were logged by itself."""
        self._turn.records.append(run)
        self._offsets.apply_run(run, self.end_offset)
        self._turn.events.extend(self._kinds.of(run.group).ensure(run.group, run.timestamp_ms))
        self.end_offset += len(run.partitions)
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
            return () if value is None else self._kinds.of(key.group).ensure(key.group, timestamp_ms)
        groups = self._kinds.of_record(key)
        if isinstance(key, GroupMetadataKey) and value is not None:
            self.consumer.drop(key.group)  # if there is one, it has become a classic group
        # Records of kinds that it does not have are not this coordinator's to understand.
        return () if groups is None else groups.apply(key, value, timestamp_ms)

    def _ensure_unlogged(self, group_id: str) -> None:
        """Kafka has the group of a commit also where it refuses every partition of it, and logs nothing.

        Whoever describes or lists groups sees the state as of the last record of the log, so it shows up
        with the next one, whatever group that is of. Seen with brokers of 4.3.1.
        """
        events = self._kinds.of(group_id).ensure(group_id, self._turn.now_ms)
        if events:
            self._turn.events.extend(events)
            self._unlogged.add(group_id)

    # ---- leadership ---------------------------------------------------------------------------

    def loaded(self, now_ms: int) -> Step:
        """The whole log has been applied: from here on requests and deadlines count."""
        self._turn.now_ms = now_ms
        for groups in self._kinds:
            groups.loaded()
        self._timers.schedule(EXPIRY, now_ms + self._settings.offsets_retention_check_interval_ms)
        return self._turn.finish()

    def unload(self, error: ErrorCode, now_ms: int) -> Step:
        """Answer all that is parked with `error`; use the object no more."""
        self._turn.now_ms = now_ms
        for groups in self._kinds:
            groups.unload(error)
        return self._turn.finish()
