"""Classic groups, whose members join in rounds and whose leader assigns: all the coordinator sees of them.

Theory of operation. A *generation* is a set of members with one protocol and one leader. A round of two
halves makes it, and in both halves the coordinator *parks* requests: it keeps their ids with the member and
answers them later.

- PreparingRebalance collects JoinGroups. It ends when every member has one parked and every member id that
  was given out has come back (KIP-394), or at the join deadline, the longest rebalance timeout of any member.
  Members that have not joined by then are removed, except static ones (KIP-345), which keep their seats until
  their sessions end. The first round of an Empty group lasts for the initial delay instead, and newcomers
  extend it (KIP-134). At its end the generation goes up by one, the members' votes choose the protocol, and
  all parked JoinGroups are answered; only the leader learns who the members are.
- CompletingRebalance collects SyncGroups while the leader assigns. The leader's SyncGroup brings the
  assignment, which is logged; the group becomes Stable, and all parked SyncGroups are answered. Members that
  have not synced by the sync deadline are removed, and another round starts.

A round starts when a member joins, leaves, is silent for its session timeout or comes back with other
protocols, and when the leader joins again. The coordinator never calls a member: REBALANCE_IN_PROGRESS, in
answer to a Heartbeat, a SyncGroup or an OffsetCommit, tells it to join again.

Who waits for what:

- a member with a parked JoinGroup waits for the other members, one with a parked SyncGroup for the leader;
- a round waits for JoinGroups until the join deadline, and for SyncGroups until the sync deadline;
- the group waits for the next request of each member until the session deadline; a parked request keeps the
  session, except that of a member's first join, which has a longer limit;
- the join half also waits for each id that was given out, until a session timeout has passed.

Only the log outlives a coordinator: generation, protocol, leader, members and their assignments. The two
rebalance states, parked requests and deadlines are lost when another node takes over: parked requests are
answered with NOT_COORDINATOR, and the group is Stable or Empty again, as last logged, with new sessions.

`answer_table.py` has the answer to each request and deadline in each state, `rules.py` members,
`rounds.py` rounds, and `group.py` the state of one group.
"""

from collections.abc import Callable, Iterator

from kgroup.group.coordinator.classic.answer_table import ANSWERS, Action, Answer, Trigger
from kgroup.group.coordinator.classic.answers import absent_group, check_request, group_subscriptions
from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.rounds import JOIN, SESSION, SYNC, ClassicRounds
from kgroup.group.coordinator.classic.rules import ClassicRules
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.events import GroupCreated, GroupDeleted, GroupEvent
from kgroup.group.coordinator.kinds import OffsetRetention
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request, Turn
from kgroup.group.coordinator.timers import TimerKey, Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey, Key
from kgroup.protocol.records.values import GroupMetadataValue, Value
from kgroup.protocol.requests.coordinator import (
    UNKNOWN_MEMBER_ID,
    DescribedGroup,
    DescribedGroupMember,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListedGroup,
    OffsetCommit,
    SyncGroup,
    TxnOffsetCommit,
    refusal,
)

S = GroupState
E = ErrorCode
A = Action
T = Trigger


class ClassicGroups:
    """The classic groups of one offsets partition: `GroupsOfKind`.

    `log` appends an entry and applies it; it is the only way logged state changes. `new_uuid` gives the
    random part of a member id.
    """

    group_type: str = "classic"
    record_keys: tuple[type[Key], ...] = (GroupMetadataKey,)

    def __init__(
        self,
        settings: GroupSettings,
        timers: Timers[TimerKey],
        turn: Turn,
        log: Callable[[OffsetsEntry], None],
        new_uuid: Callable[[], str],
    ) -> None:
        self._turn = turn
        self._log = log
        self._groups: dict[str, ClassicGroup] = {}
        self._rounds = ClassicRounds(settings, timers, turn, log)
        self._rules = ClassicRules(settings, timers, turn, log, self._rounds, new_uuid)

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._groups

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def _answer(self, trigger: Trigger, group_id: str) -> Answer:
        group = self._groups.get(group_id)
        return ANSWERS[trigger][S.DEAD if group is None else group.state]

    # ---- requests of members ------------------------------------------------------------------

    def join(self, request: Request, body: JoinGroup) -> None:
        """Let a member in, or back in, or tell it why not; the first member founds the group."""
        if body.group_id not in self._groups:
            trigger = T.JOIN if body.member_id == UNKNOWN_MEMBER_ID else T.REJOIN
            answer = ANSWERS[trigger][S.DEAD]
            if answer.action is not A.FOUND:
                self._turn.reply(request.id, refusal(body, answer.error))
                return
            # The group exists from here on, whatever becomes of this join: Kafka logs it, too.
            self._log(ClassicGroup(body.group_id, self._turn.now_ms).record(None))
        self._rules.join(self._groups[body.group_id], request, body)

    def sync(self, request: Request, body: SyncGroup) -> None:
        """Give a member its part of the assignment, at once or when the leader has brought it."""
        group = self._groups.get(body.group_id)
        if group is None:
            self._turn.reply(request.id, refusal(body, ANSWERS[T.SYNC][S.DEAD].error))
            return
        self._rounds.sync(group, request, body)

    def heartbeat(self, request: Request, body: Heartbeat) -> None:
        """Keep the session, and say whether a round is on."""
        group = self._groups.get(body.group_id)
        if group is None:
            self._turn.reply(request.id, refusal(body, ANSWERS[T.HEARTBEAT][S.DEAD].error))
            return
        self._rules.heartbeat(group, request, body)

    def leave(self, request: Request, body: LeaveGroup) -> None:
        """Take the named members out, each with an error of its own."""
        self._rules.leave(self._groups.get(body.group_id), request, body)

    # ---- a say in offsets and deletion --------------------------------------------------------

    def check_commit(self, body: OffsetCommit | TxnOffsetCommit) -> ErrorCode:
        """The reason the sender may not commit, or NONE.

        A member that commits proves that it lives, except in a transaction: that is the producer's request.
        """
        group = self._groups.get(body.group_id)
        as_member = body.generation_id >= 0 or (
            # Without a generation, in a group without members, it is an admin client or a simple consumer.
            group is not None
            and not group.is_empty
            and (bool(body.member_id) or body.group_instance_id is not None)
        )
        if isinstance(body, TxnOffsetCommit):
            trigger = T.TXN_COMMIT if as_member else T.OUTSIDE_TXN_COMMIT
        else:
            trigger = T.COMMIT if as_member else T.OUTSIDE_COMMIT
        if group is None:
            error = ANSWERS[trigger][S.DEAD].error
            is_old = isinstance(body, OffsetCommit) and not body.knows_group_not_found
            return E.ILLEGAL_GENERATION if error is E.GROUP_ID_NOT_FOUND and is_old else error
        error = check_request(group, trigger, body) or ANSWERS[trigger][group.state].error
        if not error and trigger is T.COMMIT:
            self._rules.keep_alive(group, body.member_id)
        return error

    def check_fetch(self, group_id: str, member_id: str | None, member_epoch: int) -> ErrorCode:
        """Everybody may read the offsets of a classic group."""
        return E.NONE

    def check_offset_delete(self, group_id: str) -> ErrorCode:
        """The error if no offsets can be deleted; consumers' can where no member reads them (KIP-496)."""
        group = self._groups.get(group_id)
        of_consumers = group is None or group.uses_consumer_protocol
        return self._answer(T.OFFSET_DELETE if of_consumers else T.OTHERS_DELETE, group_id).error

    def check_delete(self, group_id: str) -> ErrorCode:
        """The reason the group cannot be deleted, or NONE: it must be Empty."""
        return self._answer(T.DELETE, group_id).error

    def subscribes(self, group_id: str, topic: str) -> bool:
        """Whether some member may be reading `topic`; unknown subscriptions count as yes."""
        return self._groups[group_id].subscribes(topic)

    def retention(self, group_id: str) -> OffsetRetention | None:
        """The time from which offsets are kept (KIP-211); None: for as long as the group stays as it is."""
        group = self._groups[group_id]
        if group.protocol_type is None:
            return OffsetRetention(None)  # nobody has ever joined: simple consumers
        match self._answer(T.RETENTION, group_id).action:
            case A.EXPIRE:
                return OffsetRetention(group.state_timestamp_ms)
            case A.EXPIRE_UNREAD if group.uses_consumer_protocol and group.subscribed_topics is not None:
                return OffsetRetention(None)
            case _:
                return None

    def is_deserted(self, group_id: str) -> bool:
        """The group has no members, and no member id that was given out may still come back."""
        group = self._groups[group_id]
        return group.is_empty and not group.pending_joins

    def tombstones(self, group_id: str) -> list[OffsetsEntry]:
        """The entry that deletes the group: a classic group has one record."""
        return [
            OffsetsEntry(
                type=RecordType.GROUP_METADATA,
                key=GroupMetadataKey(group=group_id),
                value=None,
                value_version=None,
            )
        ]

    # ---- the log ------------------------------------------------------------------------------

    def ensure(self, group_id: str, now_ms: int) -> tuple[GroupEvent, ...]:
        """Make sure that a group exists: its first commit is enough to found one."""
        if group_id in self._groups:
            return ()
        self._groups[group_id] = ClassicGroup(group_id, now_ms)
        return (GroupCreated(group_id=group_id),)

    def apply(self, key: Key, value: Value | None, timestamp_ms: int) -> tuple[GroupEvent, ...]:
        """Take over a group's record, live and when loading; None deletes the group."""
        assert isinstance(key, GroupMetadataKey)
        if value is None:
            return (GroupDeleted(group_id=key.group),) if self._groups.pop(key.group, None) else ()
        assert isinstance(value, GroupMetadataValue)
        events = self.ensure(key.group, timestamp_ms)
        group = self._groups[key.group]
        group.restore(value)
        group.subscribed_topics = group_subscriptions(group)
        return events

    # ---- changing the protocol ----------------------------------------------------------------

    def new_group(self, group_id: str) -> ClassicGroup:
        """A group without members that nobody knows of yet."""
        return ClassicGroup(group_id, self._turn.now_ms)

    def abandon(self, group_id: str) -> None:
        """Another kind takes the group over, in which nobody waits any more: its deadlines are void."""
        group = self._groups.get(group_id)
        if group is not None:
            self._rules.forget_deadlines(group)

    def send_back(self, group_id: str, error: ErrorCode) -> None:
        """Whoever waits in a round hears `error`; the round goes on, and waits for those who join again."""
        group = self._groups.get(group_id)
        if group is not None:
            self._rules.unload(group, error)
            self._rules.renew_sessions(group)

    def adopt(self, group_id: str, group: ClassicGroup, rebalance: str | None) -> None:
        """Take a group over whose record is in the log: with all that its members sent, and new sessions.

        `rebalance` is why its members have to join again, if they have to.
        """
        group.state = S.STABLE
        group.subscribed_topics = group_subscriptions(group)
        self._groups[group_id] = group
        self._rules.loaded(group)
        if rebalance is not None and group.state is S.STABLE:
            self._rounds.prepare_rebalance(group, rebalance)

    def drop(self, group_id: str) -> None:
        """Forget a group whose records another kind has written over."""
        self._groups.pop(group_id, None)

    def loaded(self) -> None:
        """The whole log has been applied: sessions begin, and groups over the size limit shed members."""
        for group in self._groups.values():
            self._rules.loaded(group)

    def unload(self, error: ErrorCode) -> None:
        """Answer everything parked with `error`: this node no longer decides for the groups."""
        for group in self._groups.values():
            self._rules.unload(group, error)

    # ---- time ---------------------------------------------------------------------------------

    def on_deadline(self, key: TimerKey) -> None:
        """The time to join or to sync is up, or the session of a member."""
        group = self._groups.get(key.group_id)
        if group is None:
            return
        if key.kind == JOIN:
            self._rounds.join_deadline(group)
        elif key.kind == SYNC:
            self._rounds.sync_deadline(group)
        elif key.kind == SESSION:
            self._rules.session_deadline(group, key.member_id)

    # ---- reading ------------------------------------------------------------------------------

    def watched(self, group_id: str) -> ClassicGroup | None:
        """The group as it stands, for those who watch: it is not theirs to change."""
        return self._groups.get(group_id)

    def describe(self, group_id: str) -> DescribedGroup:
        """The group; GROUP_ID_NOT_FOUND and Dead if there is none. Metadata shows in Stable only."""
        answer = self._answer(T.DESCRIBE, group_id)
        if answer.error:
            return absent_group(group_id)
        group = self._groups[group_id]
        shows_all = answer.action is A.SHOW_ALL
        return DescribedGroup(
            group_id=group_id,
            group_state=group.state,
            protocol_type=group.protocol_type or "",
            protocol_data=(group.protocol_name or "") if shows_all else "",
            members=[
                DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata(group.protocol_name) if shows_all else b"",
                    member_assignment=member.assignment,
                )
                for member in group.members.values()
            ],
        )

    def listing(self, states: frozenset[str]) -> list[ListedGroup]:
        """All groups, or those in `states`, which are lower case."""
        return [
            ListedGroup(
                group_id=group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.state,
                group_type=self.group_type,
            )
            for group_id, group in self._groups.items()
            if not states or group.state.lower() in states
        ]
