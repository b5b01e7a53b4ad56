"""Members of a classic group: who may join or rejoin, who is alive, who leaves.

Behaves as Kafka 4.3's coordinator (GroupMetadataManager, the classic part): KIP-345, KIP-394, KIP-559,
KIP-800, KIP-814. Every method that takes a request answers it through the turn, at once or by a later call;
`classic_rounds` has the rounds that they set off.
"""

from collections.abc import Callable
from typing import Final

from kgroup.group.coordinator.classic.answer_table import ANSWERS, Action, Trigger
from kgroup.group.coordinator.classic.answers import check_request, joined, members_for_leader
from kgroup.group.coordinator.classic.group import CONSUMER_PROTOCOL, ClassicGroup, Member
from kgroup.group.coordinator.classic.rounds import JOIN, SESSION, SYNC, ClassicRounds
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.classic.subscribed_topics import is_readable
from kgroup.group.coordinator.events import MemberAdded
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request, Turn
from kgroup.group.coordinator.timers import TimerKey, Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.requests.coordinator import (
    UNKNOWN_MEMBER_ID,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    LeavingMember,
    MemberResponse,
    SyncGroupResponse,
)

S = GroupState
E = ErrorCode
A = Action
_ALIVE: Final = HeartbeatResponse()


class ClassicRules:
    """Decides what requests and deadlines do to classic groups.

    `log` appends an entry and applies it; it is the only way logged state changes. `new_uuid` gives
    the random part of a member id.
    """

    def __init__(
        self,
        settings: GroupSettings,
        timers: Timers[TimerKey],
        turn: Turn,
        log: Callable[[OffsetsEntry], None],
        rounds: ClassicRounds,
        new_uuid: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._timers = timers
        self._turn = turn
        self._log = log
        self._rounds = rounds
        self._new_uuid = new_uuid

    # ---- JoinGroup ----------------------------------------------------------------------------

    def join(self, group: ClassicGroup, request: Request, body: JoinGroup) -> None:
        """Let a member in, or back in, or tell it why not."""
        if not self._has_room(group, body.member_id):
            group.remove(body.member_id)
            self._refuse_join(request, E.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER_ID)
            return
        if not group.supports(body.protocol_type, [name for name, _ in body.protocols]):
            self._refuse_join(request, E.INCONSISTENT_GROUP_PROTOCOL, body.member_id)
            return
        if body.protocol_type == CONSUMER_PROTOCOL and not all(
            is_readable(data) for _, data in body.protocols
        ):
            # Kafka finds out only when the round ends, and leaves everybody's JoinGroup unanswered.
            self._refuse_join(request, E.INCONSISTENT_GROUP_PROTOCOL, body.member_id)
            return
        if body.member_id == UNKNOWN_MEMBER_ID:
            self._join_new(group, request, body)
        else:
            self._join_known(group, request, body)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        member = group.members.get(member_id)
        match ANSWERS[Trigger.SEAT][group.state].action:
            case A.NO_LIMIT:
                return True
            case A.COUNT_JOINED:
                # Those who have not rejoined yet do not hold a seat: first come, first served.
                return (member is not None and member.awaits_join) or (
                    group.joins_parked < self._settings.max_size
                )
            case A.COUNT_MEMBERS:
                return member is not None or len(group.members) < self._settings.max_size
            case action:  # pragma: no cover  the table has no other for this
                raise AssertionError(f"{action} counts no seats")

    def _join_new(self, group: ClassicGroup, request: Request, body: JoinGroup) -> None:
        prefix = request.client_id if body.group_instance_id is None else body.group_instance_id
        member_id = f"{prefix}-{self._new_uuid()}"
        if body.group_instance_id is not None:
            replaced = group.static_members.get(body.group_instance_id)
            if replaced is not None:
                self._rejoin_static(group, request, body, body.group_instance_id, replaced, member_id)
                return
        elif body.needs_known_id:
            # KIP-394: the first join gets an id and must come back with it, so that abandoned joins
            # leave no member.
            group.pending_joins[member_id] = None
            key = TimerKey(SESSION, group.group_id, member_id)
            self._timers.schedule(key, self._turn.now_ms + body.session_timeout_ms)
            self._refuse_join(request, E.MEMBER_ID_REQUIRED, member_id)
            return
        self._add_member(group, request, body, member_id)

    def _join_known(self, group: ClassicGroup, request: Request, body: JoinGroup) -> None:
        member_id = body.member_id
        if member_id in group.pending_joins and body.group_instance_id is None:
            self._add_member(group, request, body, member_id)
            return
        unchanged = member_id in group.members and group.members[member_id].protocols == body.protocols
        leads = group.leader_id == member_id
        trigger = _rejoin(unchanged=unchanged, leads=leads)
        answer = ANSWERS[trigger][group.state]
        error = check_request(group, trigger, body) or answer.error
        if error:
            self._refuse_join(request, error, member_id)
            return
        if answer.action is A.ANSWER_AGAIN:
            # The last answer may have been lost.
            members = members_for_leader(group) if leads else []
            self._turn.reply(request.id, joined(group, member_id, members))
            return
        member = group.members[member_id]
        self._take_over_settings(group, member, body)
        group.park_join(member, request.id)
        why = f"leader {member_id} joins again" if leads else f"member {member_id} changed its metadata"
        self._rounds.go_on(group, answer.action, why)

    def _add_member(self, group: ClassicGroup, request: Request, body: JoinGroup, member_id: str) -> None:
        member = Member(
            member_id=member_id,
            group_instance_id=body.group_instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            rebalance_timeout_ms=body.rebalance_timeout_ms,
            session_timeout_ms=body.session_timeout_ms,
            protocols=body.protocols,
            join_request=request.id,
            is_new=True,
        )
        action = ANSWERS[Trigger.JOIN][group.state].action
        if action is A.WAIT and group.previous_state is S.EMPTY:
            group.newcomer_during_wait = True
        group.add(member, body.protocol_type)
        self._turn.events.append(
            MemberAdded(
                group_id=group.group_id, member_id=member_id, group_instance_id=body.group_instance_id
            )
        )
        self._rounds.extend_session(group, member, self._settings.new_member_join_timeout_ms)
        self._rounds.go_on(group, action, f"new member {member_id}")

    def _take_over_settings(self, group: ClassicGroup, member: Member, body: JoinGroup) -> None:
        group.set_protocols(member, body.protocols)
        member.rebalance_timeout_ms = body.rebalance_timeout_ms
        member.session_timeout_ms = body.session_timeout_ms

    def _rejoin_static(
        self,
        group: ClassicGroup,
        request: Request,
        body: JoinGroup,
        instance_id: str,
        old_id: str,
        new_id: str,
    ) -> None:
        """A static member is back with no memory of its id: it takes its old place (KIP-345)."""
        leader_before = group.leader_id
        old = group.members[old_id]
        self._rounds.answer_join(
            group, old, JoinGroupResponse(error_code=E.FENCED_INSTANCE_ID, member_id=old_id)
        )
        if old.sync_request is not None:
            self._turn.reply(old.sync_request, SyncGroupResponse(error_code=E.FENCED_INSTANCE_ID))
        self._timers.cancel(TimerKey(SESSION, group.group_id, old_id))
        member = group.rename_static(instance_id, old_id, new_id)
        self._rounds.extend_session(group, member, member.session_timeout_ms)
        self._take_over_settings(group, member, body)
        action = ANSWERS[Trigger.STATIC_RETURN][group.state].action
        if action is A.TAKE_SEAT and group.choose_protocol() != group.protocol_name:
            action = A.START_ROUND
        if action is A.TAKE_SEAT:
            self._log(group.record({id_: each.assignment for id_, each in group.members.items()}))
            leads = group.leader_id == new_id
            if body.can_skip_assignment:
                members = members_for_leader(group) if leads else []
                reply = joined(group, new_id, members, skip_assignment=leads)
            else:
                # The old client believes it follows, so that it does not assign without the others.
                reply = joined(group, new_id, [], leader=leader_before)
            self._turn.reply(request.id, reply)
            return
        group.park_join(member, request.id)
        self._rounds.go_on(group, action, f"static member {instance_id} came back changed")

    # ---- Heartbeat, LeaveGroup, sessions ------------------------------------------------------

    def heartbeat(self, group: ClassicGroup, request: Request, body: Heartbeat) -> None:
        """Keep the session, and say whether a round is on."""
        answer = ANSWERS[Trigger.HEARTBEAT][group.state]
        error = check_request(group, Trigger.HEARTBEAT, body)
        if not error and answer.action is A.KEEP_SESSION:
            self.keep_alive(group, body.member_id)
        error = error or answer.error
        self._turn.reply(request.id, _ALIVE if not error else HeartbeatResponse(error_code=error))

    def keep_alive(self, group: ClassicGroup, member_id: str) -> None:
        """Count a request of this member as a heartbeat."""
        member = group.members[member_id]
        self._rounds.extend_session(group, member, member.session_timeout_ms)

    def leave(self, group: ClassicGroup | None, request: Request, body: LeaveGroup) -> None:
        """Take the named members out; one that is unknown does not stop the others.

        Without a group nobody is known.
        """
        results = [
            MemberResponse(
                member_id=leaving.member_id,
                group_instance_id=leaving.group_instance_id,
                error_code=self._leave_one(group, leaving),
            )
            for leaving in body.members
        ]
        if body.batched:
            response = LeaveGroupResponse(members=results)
        else:
            response = LeaveGroupResponse(error_code=results[0].error_code)
        self._turn.reply(request.id, response)
        if group is not None and any(result.error_code == E.NONE for result in results):
            self._rounds.go_on(group, ANSWERS[Trigger.LEFT][group.state].action, "members left")

    def _leave_one(self, group: ClassicGroup | None, leaving: LeavingMember) -> ErrorCode:
        if group is None:
            return ANSWERS[Trigger.LEAVE][S.DEAD].error
        member_id = leaving.member_id
        if member_id in group.pending_joins:
            self._rounds.drop(group, member_id, "left before it joined")
            return ANSWERS[Trigger.LEAVE_PENDING][group.state].error
        if member_id == UNKNOWN_MEMBER_ID:
            if leaving.group_instance_id not in group.static_members:
                return E.UNKNOWN_MEMBER_ID
            member_id = group.static_members[leaving.group_instance_id]
        else:
            error = check_request(group, Trigger.LEAVE, leaving) or ANSWERS[Trigger.LEAVE][group.state].error
            if error:
                return error
        self._rounds.answer_join(
            group, group.members[member_id], JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID)
        )
        self._rounds.drop(group, member_id, f"left: {leaving.reason or 'no reason given'}")
        return E.NONE

    def session_deadline(self, group: ClassicGroup, member_id: str) -> None:
        """Remove the member, or the id nobody came back with, after a session without a sign of life."""
        if member_id in group.pending_joins:
            self._rounds.drop(group, member_id, "did not come back with its member id")
            self._rounds.go_on(group, ANSWERS[Trigger.PENDING_DEADLINE][group.state].action, "an id expired")
            return
        member = group.members.get(member_id)
        if member is None or member.keeps_session_by_waiting:
            return
        self._rounds.answer_join(group, member, JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID))
        self._rounds.drop(group, member_id, "session expired")
        action = ANSWERS[Trigger.SESSION_DEADLINE][group.state].action
        self._rounds.go_on(group, action, f"session of {member_id} expired")

    def loaded(self, group: ClassicGroup) -> None:
        """The group came from the log: give every member a session, and shed members over the limit."""
        for member in group.members.values():
            self._rounds.extend_session(group, member, member.session_timeout_ms)
        if len(group.members) > self._settings.max_size:
            self._rounds.prepare_rebalance(group, "more members than group.max.size after loading")

    def unload(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Answer everything parked with `error`: this node no longer decides for the group."""
        for member in group.members.values():
            self._rounds.answer_join(
                group, member, JoinGroupResponse(error_code=error, member_id=member.member_id)
            )
            if member.sync_request is not None:
                self._turn.reply(member.sync_request, SyncGroupResponse(error_code=error))
                member.sync_request = None

    def renew_sessions(self, group: ClassicGroup) -> None:
        """Nobody waits any more: whose session ended while it did has a new one.

        Without one a static member that does not come again would stay until a generation is formed.
        """
        for member in group.members.values():
            key = TimerKey(SESSION, group.group_id, member.member_id)
            if self._timers.deadline_ms(key) is None:
                self.keep_alive(group, member.member_id)

    def forget_deadlines(self, group: ClassicGroup) -> None:
        """The group is no longer this kind's: nothing of it is due any more."""
        for kind in (JOIN, SYNC):
            self._timers.cancel(TimerKey(kind, group.group_id))
        for member_id in (*group.members, *group.pending_joins):
            self._timers.cancel(TimerKey(SESSION, group.group_id, member_id))

    def _refuse_join(self, request: Request, error: ErrorCode, member_id: str) -> None:
        self._turn.reply(request.id, JoinGroupResponse(error_code=error, member_id=member_id))


def _rejoin(*, unchanged: bool, leads: bool) -> Trigger:
    if not unchanged:
        return Trigger.CHANGED_REJOIN
    return Trigger.LEADER_REJOIN if leads else Trigger.REJOIN
