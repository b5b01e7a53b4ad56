"""The members of a classic group: who is let in and back in, who lives, who leaves.

Behaves as Kafka 4.3's coordinator (GroupMetadataManager, the classic part): KIP-345, KIP-394, KIP-559,
KIP-800, KIP-814. Every method that takes a request answers it through the turn, at once or by a later call;
`classic_rounds` has the rounds that they set off.
"""

from collections.abc import Callable
from typing import Final

from kgroup.group.coordinator.classic.answers import check_member, joined, members_for_leader
from kgroup.group.coordinator.classic.group import CONSUMER_PROTOCOL, ClassicGroup, Member
from kgroup.group.coordinator.classic.rounds import SESSION, ClassicRounds, TimerKey
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.classic.subscribed_topics import is_readable
from kgroup.group.coordinator.events import MemberAdded
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request, Turn
from kgroup.group.coordinator.timers import Timers
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
        match group.state:
            case S.EMPTY | S.DEAD:
                return True
            case S.PREPARING_REBALANCE:
                # Those who have not rejoined yet do not hold a seat: first come, first served.
                return (member is not None and member.awaits_join) or (
                    group.joins_parked < self._settings.max_size
                )
            case S.COMPLETING_REBALANCE | S.STABLE:
                return member is not None or len(group.members) < self._settings.max_size

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
        error = check_member(group, member_id, body.group_instance_id)
        if error:
            self._refuse_join(request, error, member_id)
            return
        member = group.members[member_id]
        unchanged = member.protocols == body.protocols
        leads = group.leader_id == member_id
        match group.state:
            case S.PREPARING_REBALANCE:
                self._update_member(group, member, request, body, f"member {member_id} joins again")
            case S.COMPLETING_REBALANCE if unchanged:
                # The answer to its join may have been lost: give it again.
                members = members_for_leader(group) if leads else []
                self._turn.reply(request.id, joined(group, member_id, members))
            case S.STABLE if unchanged and not leads:
                self._turn.reply(request.id, joined(group, member_id, []))
            case S.COMPLETING_REBALANCE | S.STABLE:
                why = (
                    f"leader {member_id} joins again" if leads else f"member {member_id} changed its metadata"
                )
                self._update_member(group, member, request, body, why)
            case S.EMPTY | S.DEAD:  # pragma: no cover  check_member finds nobody in a group without members
                self._refuse_join(request, E.UNKNOWN_MEMBER_ID, member_id)

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
        if group.state is S.PREPARING_REBALANCE and group.previous_state is S.EMPTY:
            group.newcomer_during_wait = True
        group.add(member, body.protocol_type)
        self._turn.events.append(
            MemberAdded(
                group_id=group.group_id, member_id=member_id, group_instance_id=body.group_instance_id
            )
        )
        self._rounds.extend_session(group, member, self._settings.new_member_join_timeout_ms)
        self._rounds.rebalance_or_complete(group, f"new member {member_id}")

    def _update_member(
        self, group: ClassicGroup, member: Member, request: Request, body: JoinGroup, why: str
    ) -> None:
        self._take_over_settings(group, member, body)
        group.park_join(member, request.id)
        self._rounds.rebalance_or_complete(group, why)

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
        if group.state is S.STABLE and group.choose_protocol() == group.protocol_name:
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
        if group.state is S.PREPARING_REBALANCE:
            self._rounds.complete_if_ready(group)
        else:
            self._rounds.prepare_rebalance(group, f"static member {instance_id} came back changed")

    # ---- Heartbeat, LeaveGroup, sessions ------------------------------------------------------

    def heartbeat(self, group: ClassicGroup, request: Request, body: Heartbeat) -> None:
        """Keep the session, and say whether a round is on."""
        error = check_member(group, body.member_id, body.group_instance_id)
        if not error and body.generation_id != group.generation_id:
            error = E.ILLEGAL_GENERATION
        if not error:
            self.keep_alive(group, body.member_id)
            if group.state is S.PREPARING_REBALANCE:
                error = E.REBALANCE_IN_PROGRESS
        self._turn.reply(request.id, _ALIVE if not error else HeartbeatResponse(error_code=error))

    def keep_alive(self, group: ClassicGroup, member_id: str) -> None:
        """Count a request of this member as a heartbeat."""
        member = group.members[member_id]
        self._rounds.extend_session(group, member, member.session_timeout_ms)

    def leave(self, group: ClassicGroup, request: Request, body: LeaveGroup) -> None:
        """Take the named members out; one that is unknown does not stop the others."""
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
        if any(result.error_code == E.NONE for result in results):
            self._rounds.after_removal(group, "members left")

    def _leave_one(self, group: ClassicGroup, leaving: LeavingMember) -> ErrorCode:
        member_id = leaving.member_id
        if member_id == UNKNOWN_MEMBER_ID:
            if leaving.group_instance_id not in group.static_members:
                return E.UNKNOWN_MEMBER_ID
            member_id = group.static_members[leaving.group_instance_id]
        elif member_id in group.pending_joins:
            self._rounds.drop(group, member_id, "left before it joined")
            return E.NONE
        else:
            error = check_member(group, member_id, leaving.group_instance_id)
            if error:
                return error
        self._rounds.answer_join(
            group, group.members[member_id], JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID)
        )
        self._rounds.drop(group, member_id, f"left: {leaving.reason or 'no reason given'}")
        return E.NONE

    def session_deadline(self, group: ClassicGroup, member_id: str) -> None:
        """No sign of life for a session: the member, or the id that nobody came back with, is out."""
        if member_id in group.pending_joins:
            self._rounds.drop(group, member_id, "did not come back with its member id")
            if group.state is S.PREPARING_REBALANCE and group.everyone_joined:
                self._rounds.complete_join(group)
            return
        member = group.members.get(member_id)
        if member is None or member.keeps_session_by_waiting:
            return
        self._rounds.answer_join(group, member, JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID))
        self._rounds.drop(group, member_id, "session expired")
        if group.state is S.PREPARING_REBALANCE:
            if group.everyone_joined:
                self._rounds.complete_join(group)
        else:
            self._rounds.after_removal(group, f"session of {member_id} expired")

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

    def _refuse_join(self, request: Request, error: ErrorCode, member_id: str) -> None:
        self._turn.reply(request.id, JoinGroupResponse(error_code=error, member_id=member_id))
