"""Groups of the consumer protocol (KIP-848): the coordinator's whole view of them.

Theory of operation. Three epochs follow one another. The *group epoch* goes up when the group changes: a
member comes, goes or subscribes to other topics, or a topic gets more partitions. The *target assignment*
is worked out for it by a server-side assignor, and has the group epoch it was worked out for. Each *member*
then comes to that epoch by itself, one heartbeat at a time: it is told what to give up, says that it has,
and gets what is free by then (`reconciliation.py`). There are no rounds, and nobody waits for everybody:

- a member waits for the owners of the partitions that it shall get, as long as they have them;
- the group waits for each member's next heartbeat until its session ends, and for a member that has
  something to give up, until its rebalance timeout does. Who does not make it is out, and what it had is
  free.

A heartbeat is the only request. It says what has changed, and is answered at once. It carries the member's
epoch: one that is not the coordinator's is fenced and comes back with epoch 0 and nothing. A static member
that leaves for a while (epoch −2) keeps its place, which only its instance id can take.

All of it is in the log: the group's epoch (3), each member and what it subscribes to (5), the target's
epoch (6) and each member's part of it (7), what each member has (8), and the topics behind regular
expressions (16). So a coordinator that takes over knows everything but how long ago each member was heard
of.

Members of the classic protocol may be in such a group, too (`classic_members.py`), and a group changes from
one kind to the other with its members in it (`migration.py`). `rules.py` has the members, `group.py` the
state.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final
from uuid import UUID

from kgroup.group.coordinator.classic.answers import absent_group
from kgroup.group.coordinator.classic.groups import ClassicGroups
from kgroup.group.coordinator.consumer import classic_members
from kgroup.group.coordinator.consumer.classic_members import ClassicMembers
from kgroup.group.coordinator.consumer.description import described
from kgroup.group.coordinator.consumer.entries import group_tombstones
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import (
    AWAY,
    JOINING,
    LEAVING,
    ConsumerMember,
    MemberState,
)
from kgroup.group.coordinator.consumer.migration import Migration
from kgroup.group.coordinator.consumer.plan import Plan
from kgroup.group.coordinator.consumer.records import RECORD_KEYS, apply_record
from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.group.coordinator.consumer.rules import (
    REBALANCE,
    REGEX,
    SESSION,
    ConsumerRules,
    known_static_member,
    unknown_member,
)
from kgroup.group.coordinator.events import GroupCreated, GroupDeleted, GroupEvent, MemberAdded, MemberRemoved
from kgroup.group.coordinator.kinds import OffsetRetention
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.group.coordinator.settings import GroupSettings, SettingsOf
from kgroup.group.coordinator.step import Request, Turn
from kgroup.group.coordinator.timers import TimerKey, Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.keys import ConsumerGroupMemberMetadataKey, Key
from kgroup.protocol.records.values import Value
from kgroup.protocol.requests.consumer_group import (
    AssignedTopic,
    ConsumerAssignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
    DescribedConsumerGroup,
)
from kgroup.protocol.requests.coordinator import (
    DescribedGroup,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    ListedGroup,
    OffsetCommit,
    ReplyBody,
    SyncGroup,
    TxnOffsetCommit,
    refusal,
)
from kgroup.protocol.topic_id import topic_id_text

E = ErrorCode
_NEWS: Final = slice(3, 9)  # of a heartbeat: `instance_id` to `server_assignor`
_NO_NEWS: Final = ConsumerGroupHeartbeat(group_id="", member_id="", member_epoch=0)[_NEWS]
_KINDS = (SESSION, REBALANCE, classic_members.JOIN, classic_members.SYNC)


class ConsumerGroups:
    """The consumer groups of one offsets partition: `GroupsOfKind`.

    `log` appends an entry and applies it; it is the only way logged state changes. `classic` are the groups
    of the other kind, which may become these. `image` has the topics. A group's own settings (`settings_of`)
    hold from each member's next heartbeat on, as with Kafka; a session that runs ends when it would have.
    """

    group_type: str = "consumer"
    record_keys: tuple[type[Key], ...] = RECORD_KEYS

    def __init__(
        self,
        settings: GroupSettings,
        timers: Timers[TimerKey],
        turn: Turn,
        log: Callable[[OffsetsEntry], None],
        new_uuid: Callable[[], str],
        image: MetadataImage,
        classic: ClassicGroups,
        settings_of: SettingsOf,
    ) -> None:
        self._settings = settings
        self._settings_of = settings_of
        self._timers = timers
        self._turn = turn
        self._log = log
        self._new_uuid = new_uuid
        self._image = image
        self._classic = classic
        self._groups: dict[str, ConsumerGroup] = {}
        self._rules = ConsumerRules(settings, settings_of, timers, image, lambda: turn.now_ms)
        self._migration = Migration(settings, classic, image)
        self._classic_members = ClassicMembers(
            self._rules, self._migration, timers, lambda: turn.now_ms, self._new_id
        )

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._groups

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def _new_id(self) -> str:
        return topic_id_text(UUID(self._new_uuid()))  # 22 letters, as Kafka's

    # ---- heartbeats of the consumer protocol --------------------------------------------------

    def consumer_heartbeat(self, request: Request, body: ConsumerGroupHeartbeat) -> None:
        """Answer a member: let it in, tell it what to give up or to take up, or take it out."""
        self._rules.may_describe = body.may_describe
        if self._has_no_news(request, body):
            self._stay(request, body)
            return
        plan = Plan()
        try:
            if body.member_epoch in (LEAVING, AWAY):
                group, answer = self._leave(body, plan)
            else:
                group, answer = self._heartbeat(request, body, plan)
        except Refused as refused:
            words = refused.words or None
            error = ConsumerGroupHeartbeatResponse(error_code=refused.error, error_message=words)
            self._turn.reply(request.id, error)
            return
        self._carry_out(group, plan)
        self._turn.reply(request.id, answer)

    def _has_no_news(self, request: Request, body: ConsumerGroupHeartbeat) -> bool:
        """Whether a member wants nothing else than before, and there is nothing to tell it.

        What it owns does not matter once it has all that it is to have.
        """
        if body[_NEWS] != _NO_NEWS:
            return False
        epoch = body.member_epoch
        group = self._groups.get(body.group_id)
        member = None if group is None else group.members.get(body.member_id)
        if group is None or member is None or not member.is_reconciled_to(epoch):
            return False
        is_settled = epoch == group.epoch == group.assignment_epoch and not group.has_regexes
        is_known = (
            request.client_id == member.client_id
            and request.client_host == member.client_host
            and member.classic is None
        )
        return is_settled and is_known and not group.metadata_is_old(self._turn.now_ms)

    def _stay(self, request: Request, body: ConsumerGroupHeartbeat) -> None:
        """Answer a heartbeat without news, as nearly all are. `_heartbeat` comes to the same, but slowly."""
        member_id, epoch = body.member_id, body.member_epoch
        settings = self._settings_of(body.group_id)
        self._begin_session(body.group_id, member_id, settings)
        interval_ms = settings.consumer_heartbeat_interval_ms
        self._turn.reply(
            request.id, ConsumerGroupHeartbeatResponse(E.NONE, None, member_id, epoch, interval_ms)
        )

    def _begin_session(self, group_id: str, member_id: str, settings: GroupSettings) -> None:
        session_ms = self._turn.now_ms + settings.consumer_session_timeout_ms
        self._timers.schedule(TimerKey(SESSION, group_id, member_id), session_ms)

    def _heartbeat(
        self, request: Request, body: ConsumerGroupHeartbeat, plan: Plan
    ) -> tuple[ConsumerGroup, ConsumerGroupHeartbeatResponse]:
        group = self._group_for(body, plan)
        self._rules.check_room(group, body.member_id)
        member_id = body.member_id or self._new_id()
        if body.instance_id is None:
            member = self._rules.dynamic_member(group, member_id, body)
        else:
            member = self._rules.static_member(group, member_id, body, plan)
        wish = self._rules.subscribe(group, member, _as_it_says(member, request, body), plan)
        epoch, target = self._rules.target_of(group, wish, plan)
        owned = None
        if body.topic_partitions is not None:
            owned = {topic_id: set(partitions) for topic_id, partitions in body.topic_partitions}
        updated = self._rules.reconcile(group, wish, epoch, target, owned, plan)
        settings = self._settings_of(group.group_id)
        plan.afterwards.append(lambda live: self._begin_session(group.group_id, member_id, settings))
        is_full = (
            body.rebalance_timeout_ms != -1
            and (body.subscribed_topic_names is not None or body.subscribed_topic_regex is not None)
            and body.topic_partitions is not None
        )
        shows = body.member_epoch == JOINING or is_full or updated.assigned != member.assigned
        return group, ConsumerGroupHeartbeatResponse(
            member_id=updated.member_id,
            member_epoch=updated.member_epoch,
            heartbeat_interval_ms=settings.consumer_heartbeat_interval_ms,
            assignment=_assignment(updated) if shows else None,
        )

    def _group_for(self, body: ConsumerGroupHeartbeat, plan: Plan) -> ConsumerGroup:
        """The group, or the one that the first member's joining founds or makes of a classic one."""
        group = self._groups.get(body.group_id)
        if group is not None:
            return group
        classic = self._classic.watched(body.group_id)
        if body.member_epoch != JOINING:
            raise _no_group(body, is_there=classic is not None)
        if classic is None:
            return ConsumerGroup(body.group_id)
        if not classic.is_empty:
            return self._migration.upgraded(body.group_id, plan)
        plan.before.append(lambda: self._classic.abandon(body.group_id))
        plan.entries += self._classic.tombstones(body.group_id)
        return ConsumerGroup(body.group_id)

    def _leave(
        self, body: ConsumerGroupHeartbeat, plan: Plan
    ) -> tuple[ConsumerGroup, ConsumerGroupHeartbeatResponse]:
        group = self._groups.get(body.group_id)
        if group is None:
            raise _no_group(body, is_there=self._classic.watched(body.group_id) is not None)
        if body.instance_id is None:
            member = group.members.get(body.member_id)
            if member is None:
                raise unknown_member(group, body.member_id)
        else:
            member = known_static_member(group, body.member_id, body.instance_id)
        if body.instance_id is not None and body.member_epoch == AWAY:
            self._rules.leave_for_a_while(group, member, plan)
        else:
            self._remove(group, [member], "left", plan)
        return group, ConsumerGroupHeartbeatResponse(member_id=body.member_id, member_epoch=body.member_epoch)

    # ---- requests of classic members ----------------------------------------------------------

    def join(self, request: Request, body: JoinGroup) -> None:
        """Let a classic member in, or back in: it is answered at once.

        An Empty group is one that only turns classic, for a member without an id: it knows nobody by an id.
        """
        group = self._groups[body.group_id]
        if not group.members:
            self._turn.reply(request.id, refusal(body, E.UNKNOWN_MEMBER_ID))
            return
        plan = Plan()
        self._rules.may_describe = None
        try:
            answer = self._classic_members.join(group, request, body, plan)
        except Refused as refused:  # says no member id, other than a classic group's
            self._turn.reply(request.id, JoinGroupResponse(error_code=refused.error))
            return
        self._carry_out(group, plan)
        self._turn.reply(request.id, answer)

    def sync(self, request: Request, body: SyncGroup) -> None:
        """Tell a classic member what it has."""
        group = self._groups[body.group_id]
        self._answer(request, body, lambda: self._classic_members.sync(group, body))

    def heartbeat(self, request: Request, body: Heartbeat) -> None:
        """Keep a classic member's session, and tell it when it has to join again."""
        group = self._groups[body.group_id]
        self._answer(request, body, lambda: self._classic_members.heartbeat(group, body))

    def _answer(self, request: Request, body: SyncGroup | Heartbeat, decide: Callable[[], ReplyBody]) -> None:
        try:
            self._turn.reply(request.id, decide())
        except Refused as refused:
            self._turn.reply(request.id, refusal(body, refused.error))

    def leave(self, request: Request, body: LeaveGroup) -> None:
        """Take the named members out, whichever protocol they speak."""
        group = self._groups[body.group_id]
        leaving, answer = self._classic_members.leave(group, body)
        if leaving:
            plan = Plan()
            self._remove(group, leaving, "left", plan)
            self._carry_out(group, plan)
        self._turn.reply(request.id, answer)

    # ---- removing and carrying out ------------------------------------------------------------

    def _remove(self, group: ConsumerGroup, leaving: list[ConsumerMember], why: str, plan: Plan) -> None:
        """Take members out, and with the last of the consumer protocol the group becomes classic."""
        if self._migration.may_downgrade_without(group, leaving):
            self._migration.downgrade(group, leaving, None, True, plan)
        else:
            self._rules.remove(group, leaving, plan)

        def forget(live: ConsumerGroup) -> None:
            for member in leaving:
                self._forget_deadlines(group.group_id, member.member_id)
                self._turn.events.append(
                    MemberRemoved(group_id=group.group_id, member_id=member.member_id, why=why)
                )

        plan.afterwards.append(forget)

    def _carry_out(self, group: ConsumerGroup, plan: Plan) -> None:
        """Log a plan as a whole; nothing of it can be refused any more."""
        for before in plan.before:
            before()
        if not plan.entries:
            for afterwards in plan.afterwards:
                afterwards(group)
            return
        known = list(group.members) if group.group_id in self._groups else []
        # A member that takes another's place has two records.
        added = dict.fromkeys(
            key.member_id
            for key in (entry.key for entry in plan.entries)
            if isinstance(key, ConsumerGroupMemberMetadataKey)
            and (not known or key.member_id not in group.members)
        )
        for entry in plan.entries:
            self._log(entry)
        live = self._groups.get(group.group_id)
        for afterwards in plan.afterwards:
            afterwards(live or group)
        if live is None:
            for member_id in known:
                self._forget_deadlines(group.group_id, member_id)
            return
        for member in filter(None, map(live.members.get, added)):
            self._turn.events.append(
                MemberAdded(
                    group_id=group.group_id,
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                )
            )
        for member in live.members.values() if not known else ():
            if member.classic is not None:  # of a group that was classic until now
                session = TimerKey(SESSION, live.group_id, member.member_id)
                self._timers.schedule(session, self._turn.now_ms + member.classic.session_timeout_ms)

    def _forget_deadlines(self, group_id: str, member_id: str) -> None:
        for kind in _KINDS:
            self._timers.cancel(TimerKey(kind, group_id, member_id))

    # ---- a say in offsets and deletion --------------------------------------------------------

    def check_commit(self, body: OffsetCommit | TxnOffsetCommit) -> ErrorCode:
        """The reason the sender may not commit, or NONE.

        The epoch is the member's, or an older one at which it had all that it commits (KIP-1251). A commit is
        no sign of life: heartbeats have their own thread.
        """
        group = self._groups[body.group_id]
        in_transaction = isinstance(body, TxnOffsetCommit)
        epoch = body.generation_id
        if epoch < 0 and not group.members:
            return E.NONE
        if in_transaction and epoch < 0 and not body.member_id and body.group_instance_id is None:
            return E.NONE
        member = group.members.get(body.member_id)
        if member is None:
            return E.UNKNOWN_MEMBER_ID
        if isinstance(body, OffsetCommit) and member.classic is None and not body.knows_group_not_found:
            return E.UNSUPPORTED_VERSION  # of an api without epochs
        if epoch == member.member_epoch:
            return E.NONE
        is_stale = E.ILLEGAL_GENERATION if in_transaction or member.classic else E.STALE_MEMBER_EPOCH
        if epoch > member.member_epoch:
            return is_stale
        for topic in body.topics:
            for partition in topic.partitions:
                since = member.given_since(topic.topic_id, partition.partition_index)
                if since is None or epoch < since:
                    return is_stale
        return E.NONE

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> ErrorCode:
        """The reason the sender may not read offsets, or NONE; a request without a member id always may.

        An epoch of no member at all is a failure of Kafka's own, which it answers as such.
        """
        if member_id is None:
            return E.NONE if member_epoch < 0 else E.UNKNOWN_SERVER_ERROR
        member = self._groups[group_id].members.get(member_id)
        if member is None:
            return E.UNKNOWN_MEMBER_ID
        if member_epoch == member.member_epoch:
            return E.NONE
        return E.STALE_MEMBER_EPOCH if member.classic is None else E.ILLEGAL_GENERATION

    def check_offset_delete(self, group_id: str) -> ErrorCode:
        """Offsets can always be deleted, but for topics that members read."""
        return E.NONE

    def check_delete(self, group_id: str) -> ErrorCode:
        """The error unless the group is Empty: only then can it be deleted."""
        return E.NON_EMPTY_GROUP if self._groups[group_id].members else E.NONE

    def subscribes(self, group_id: str, topic: str) -> bool:
        """Whether some member reads `topic`."""
        return topic in self._groups[group_id].subscribed_names()

    def retention(self, group_id: str) -> OffsetRetention | None:
        """Each offset is kept from its own commit."""
        return OffsetRetention(None)

    def is_deserted(self, group_id: str) -> bool:
        """The group has no members."""
        return not self._groups[group_id].members

    def tombstones(self, group_id: str) -> list[OffsetsEntry]:
        """The entries that delete the group."""
        return group_tombstones(self._groups[group_id])

    # ---- the log ------------------------------------------------------------------------------

    def ensure(self, group_id: str, now_ms: int) -> tuple[GroupEvent, ...]:
        """Commits found classic groups only; this group is there."""
        return ()

    def apply(self, key: Key, value: Value | None, timestamp_ms: int) -> tuple[GroupEvent, ...]:
        """Take over a record, live and when loading.

        A group of the other kind makes way: commits that came first have founded it, or it was upgraded.
        """
        group_id: str = key.group_id  # type: ignore[union-attr]  # all of RECORD_KEYS have it
        group = self._groups.get(group_id)
        if group is None:
            if value is None:
                return ()
            self._classic.drop(group_id)
            group = self._groups[group_id] = ConsumerGroup(group_id)
            apply_record(group, key, value)
            return (GroupCreated(group_id=group_id),)
        if apply_record(group, key, value):
            return ()
        del self._groups[group_id]
        self._rules.forget(group_id)
        self._timers.cancel(TimerKey(REGEX, group_id))
        return (GroupDeleted(group_id=group_id),)

    def loaded(self) -> None:
        """The whole log has been applied: sessions begin, and the time to give up what was asked for."""
        self._rules.topics_made_at = self._image.version()
        for group in self._groups.values():
            session_ms = self._turn.now_ms + self._settings_of(group.group_id).consumer_session_timeout_ms
            for member in group.members.values():
                session = TimerKey(SESSION, group.group_id, member.member_id)
                self._timers.schedule(session, session_ms)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    rebalance = TimerKey(REBALANCE, group.group_id, member.member_id)
                    self._timers.schedule(rebalance, self._turn.now_ms + member.rebalance_timeout_ms)

    def unload(self, error: ErrorCode) -> None:
        """Nothing to do, as no request waits: all are answered at once."""

    def drop(self, group_id: str) -> None:
        """Forget a group whose records another kind has written over."""
        self._groups.pop(group_id, None)

    # ---- time and topics ----------------------------------------------------------------------

    def on_deadline(self, key: TimerKey) -> None:
        """A session or the time to give up, to join or to sync is over; or expressions are to be resolved."""
        group = self._groups.get(key.group_id)
        if group is None:
            return
        if key.kind == REGEX:
            plan = Plan()
            self._rules.resolve_regexes(group, plan)
            self._carry_out(group, plan)
            return
        member = group.members.get(key.member_id)
        why = _WHY.get(key.kind)
        if member is None or why is None:
            return
        plan = Plan()
        self._remove(group, [member], why, plan)
        self._carry_out(group, plan)

    def topics_changed(self, names: frozenset[str], made: bool) -> None:
        """Topics came, went or changed: groups that read them look again with their next heartbeat."""
        if made:
            self._rules.topics_made_at = self._image.version()
        for group in self._groups.values():
            if not names.isdisjoint(group.subscribed_names()):
                group.refresh_ms, group.refresh_epoch = 0, 0

    # ---- reading ------------------------------------------------------------------------------

    def watched(self, group_id: str) -> ConsumerGroup | None:
        """The group as it stands, for those who watch: it is not theirs to change."""
        return self._groups.get(group_id)

    def is_empty(self, group_id: str) -> bool:
        """Whether there is such a group without members."""
        group = self._groups.get(group_id)
        return group is not None and not group.members

    def describe(self, group_id: str) -> DescribedGroup:
        """The answer to DescribeGroups: a consumer group does not exist there."""
        return replace(absent_group(group_id), error_message=f"Group {group_id} is not a classic group.")

    def describe_consumer_group(self, group_id: str) -> DescribedConsumerGroup:
        """The group; GROUP_ID_NOT_FOUND if there is none of this kind."""
        group = self._groups.get(group_id)
        if group is None:
            words = f"Group {group_id} is not a consumer group."
            if group_id not in self._classic:
                words = f"Group {group_id} not found."
            return DescribedConsumerGroup(
                group_id=group_id, error_code=E.GROUP_ID_NOT_FOUND, error_message=words
            )
        return described(group, self._settings.consumer_assignors[0], self._image)

    def listing(self, states: frozenset[str]) -> list[ListedGroup]:
        """All groups, or those in `states`, which are lower case."""
        return [
            ListedGroup(
                group_id=group_id,
                protocol_type="consumer",
                group_state=state,
                group_type=self.group_type,
            )
            for group_id, group in self._groups.items()
            if (state := group.state) and (not states or state.lower() in states)
        ]


_WHY = {
    SESSION: "session expired",
    REBALANCE: "did not give up its partitions before the rebalance timeout",
    classic_members.JOIN: "did not rejoin before the rebalance timeout",
    classic_members.SYNC: "did not sync before the rebalance timeout",
}


def _as_it_says(member: ConsumerMember, request: Request, body: ConsumerGroupHeartbeat) -> ConsumerMember:
    """The member with what its heartbeat brings; itself, if that is nothing new."""
    changes: dict[str, object] = {}
    if body.instance_id not in (None, member.instance_id):
        changes["instance_id"] = body.instance_id
    if body.rack_id not in (None, member.rack_id):
        changes["rack_id"] = body.rack_id
    if body.subscribed_topic_regex not in (None, member.regex):
        changes["regex"] = body.subscribed_topic_regex
    if body.server_assignor not in (None, member.assignor):
        changes["assignor"] = body.server_assignor
    if body.rebalance_timeout_ms not in (-1, member.rebalance_timeout_ms):
        changes["rebalance_timeout_ms"] = body.rebalance_timeout_ms
    if body.subscribed_topic_names is not None:
        changes["topics"] = frozenset(body.subscribed_topic_names)
    if request.client_id != member.client_id:
        changes["client_id"] = request.client_id
    if request.client_host != member.client_host:
        changes["client_host"] = request.client_host
    if member.classic is not None:
        changes["classic"] = None
    return replace(member, **changes) if changes else member  # type: ignore[arg-type]


def _assignment(member: ConsumerMember) -> ConsumerAssignment:
    return ConsumerAssignment(
        topic_partitions=[
            AssignedTopic(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in member.assigned.items()
        ]
    )


def _no_group(body: ConsumerGroupHeartbeat, *, is_there: bool) -> Refused:
    """In a broker's words; `is_there` are groups of the other kind."""
    if is_there:
        return Refused(E.GROUP_ID_NOT_FOUND, f"Group {body.group_id} is not a consumer group.")
    what = "Group" if body.member_epoch < JOINING else "Consumer group"
    return Refused(E.GROUP_ID_NOT_FOUND, f"{what} {body.group_id} not found.")
