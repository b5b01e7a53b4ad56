"""The classic group protocol: join and sync rounds, heartbeats, leaving.

Behaves as Kafka 4.3's coordinator (GroupMetadataManager, the classic part): KIP-62, KIP-134,
KIP-345, KIP-394, KIP-559, KIP-800, KIP-814. Every method that takes a request answers it through the
turn, at once or by a later call.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from kgroup.group.classic_group import CONSUMER_PROTOCOL, ClassicGroup, Member
from kgroup.group.events import GenerationFormed, GroupStable, MemberAdded, MemberRemoved, RebalanceStarted
from kgroup.group.requests import (
    UNKNOWN_MEMBER_ID,
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroup,
    LeaveGroupResponse,
    LeavingMember,
    MemberResponse,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.group.settings import GroupSettings
from kgroup.group.states import GroupState
from kgroup.group.step import Request, Turn
from kgroup.group.subscribed import is_readable, subscribed_topics
from kgroup.group.timers import Timers
from kgroup.protocol.entries import OffsetsEntry
from kgroup.protocol.error_codes import ErrorCode

S = GroupState
E = ErrorCode

JOIN: Final = "join"  # the round's own deadline
SYNC: Final = "sync"  # members that joined must have synced by then
SESSION: Final = "session"


class TimerKey(NamedTuple):
    """What a deadline is about; `member_id` is set for sessions only."""

    kind: str
    group_id: str
    member_id: str = ""


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
        new_uuid: Callable[[], str],
    ) -> None:
        self._settings = settings
        self._timers = timers
        self._turn = turn
        self._log = log
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
        error = self.check_member(group, member_id, body.group_instance_id)
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
                members = self._members_for_leader(group) if leads else []
                self._turn.reply(request.id, self._joined(group, member_id, members))
            case S.STABLE if unchanged and not leads:
                self._turn.reply(request.id, self._joined(group, member_id, []))
            case S.COMPLETING_REBALANCE | S.STABLE:
                why = (
                    f"leader {member_id} joins again" if leads else f"member {member_id} changed its metadata"
                )
                self._update_member(group, member, request, body, why)
            case S.EMPTY | S.DEAD:
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
        self._extend_session(group, member, self._settings.new_member_join_timeout_ms)
        self._rebalance_or_complete(group, f"new member {member_id}")

    def _update_member(
        self, group: ClassicGroup, member: Member, request: Request, body: JoinGroup, why: str
    ) -> None:
        self._take_over_settings(group, member, body)
        group.park_join(member, request.id)
        self._rebalance_or_complete(group, why)

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
        self._answer_join(group, old, JoinGroupResponse(error_code=E.FENCED_INSTANCE_ID, member_id=old_id))
        if old.sync_request is not None:
            self._turn.reply(old.sync_request, SyncGroupResponse(error_code=E.FENCED_INSTANCE_ID))
        self._timers.cancel(TimerKey(SESSION, group.group_id, old_id))
        member = group.rename_static(instance_id, old_id, new_id)
        self._extend_session(group, member, member.session_timeout_ms)
        self._take_over_settings(group, member, body)
        if group.state is S.STABLE and group.choose_protocol() == group.protocol_name:
            self._log(group.record({id_: each.assignment for id_, each in group.members.items()}))
            leads = group.leader_id == new_id
            if body.can_skip_assignment:
                members = self._members_for_leader(group) if leads else []
                reply = self._joined(group, new_id, members, skip_assignment=leads)
            else:
                # The old client believes it follows, so that it does not assign without the others.
                reply = self._joined(group, new_id, [], leader=leader_before)
            self._turn.reply(request.id, reply)
            return
        group.park_join(member, request.id)
        if group.state is S.PREPARING_REBALANCE:
            self._complete_if_ready(group)
        else:
            self._prepare_rebalance(group, f"static member {instance_id} came back changed")

    # ---- rounds -------------------------------------------------------------------------------

    def _rebalance_or_complete(self, group: ClassicGroup, why: str) -> None:
        if group.state is S.PREPARING_REBALANCE:
            self._complete_if_ready(group)
        else:
            self._prepare_rebalance(group, why)

    def _prepare_rebalance(self, group: ClassicGroup, why: str) -> None:
        if group.state is S.COMPLETING_REBALANCE:
            self._clear_assignments(group, E.REBALANCE_IN_PROGRESS)
        group.pending_syncs.clear()
        self._timers.cancel(TimerKey(SYNC, group.group_id))
        first_round = group.is_empty
        group.move_to(S.PREPARING_REBALANCE, self._turn.now_ms)
        self._turn.events.append(
            RebalanceStarted(group_id=group.group_id, generation_id=group.generation_id, why=why)
        )
        if first_round:
            delay_ms = self._settings.initial_rebalance_delay_ms
            group.newcomer_during_wait = False
            group.initial_wait_ms = delay_ms
            group.initial_wait_left_ms = max(group.rebalance_timeout_ms() - delay_ms, 0)
            self._wait_for_joins(group, delay_ms)
        elif group.everyone_joined:
            self._complete_join(group)
        else:
            self._wait_for_joins(group, group.rebalance_timeout_ms())

    def _wait_for_joins(self, group: ClassicGroup, wait_ms: int) -> None:
        self._timers.schedule(TimerKey(JOIN, group.group_id), self._turn.now_ms + wait_ms)

    def _complete_if_ready(self, group: ClassicGroup) -> None:
        # The first round of an empty group waits out its delay whoever is there (KIP-134).
        if group.previous_state is not S.EMPTY and group.everyone_joined:
            self._complete_join(group)

    def join_deadline(self, group: ClassicGroup) -> None:
        """The round's time is up, or the initial delay's, which newcomers extend."""
        if group.state is not S.PREPARING_REBALANCE:
            return
        if group.previous_state is S.EMPTY and group.newcomer_during_wait and group.initial_wait_left_ms:
            group.newcomer_during_wait = False
            waited_ms = group.initial_wait_ms
            group.initial_wait_ms = min(self._settings.initial_rebalance_delay_ms, group.initial_wait_left_ms)
            group.initial_wait_left_ms = max(group.initial_wait_left_ms - waited_ms, 0)
            self._wait_for_joins(group, group.initial_wait_ms)
            return
        self._complete_join(group)

    def _complete_join(self, group: ClassicGroup) -> None:
        self._timers.cancel(TimerKey(JOIN, group.group_id))
        absent = [
            member
            for member in group.members.values()
            if not member.awaits_join and member.group_instance_id is None
        ]
        for member in absent:
            self._drop(group, member.member_id, "did not rejoin before the rebalance timeout")
        if group.members and not group.elect_joined_leader():
            # Only static members are left and none has joined: their sessions decide.
            self._wait_for_joins(group, group.rebalance_timeout_ms())
            return
        group.generation_id += 1
        group.pending_syncs.clear()
        if not group.members:
            group.protocol_name = None
            group.subscribed_topics = group_subscriptions(group)
            group.move_to(S.EMPTY, self._turn.now_ms)
            self._log(group.record(None))
        else:
            group.protocol_name = group.choose_protocol()
            group.subscribed_topics = group_subscriptions(group)
            group.move_to(S.COMPLETING_REBALANCE, self._turn.now_ms)
            self._hand_out_generation(group)
        self._turn.events.append(
            GenerationFormed(
                group_id=group.group_id,
                generation_id=group.generation_id,
                protocol=group.protocol_name,
                leader=group.leader_id,
                members=len(group.members),
            )
        )

    def _hand_out_generation(self, group: ClassicGroup) -> None:
        for member in group.members.values():
            members = self._members_for_leader(group) if member.member_id == group.leader_id else []
            self._answer_join(group, member, self._joined(group, member.member_id, members))
            self._extend_session(group, member, member.session_timeout_ms)
            member.is_new = False
            group.pending_syncs[member.member_id] = None
        deadline_ms = self._turn.now_ms + group.rebalance_timeout_ms()
        self._timers.schedule(TimerKey(SYNC, group.group_id), deadline_ms)

    # ---- SyncGroup ----------------------------------------------------------------------------

    def sync(self, group: ClassicGroup, request: Request, body: SyncGroup) -> None:
        """Park the member until the leader's assignment is there; the leader's own brings it."""
        error = self._check_sync(group, body)
        if error:
            self._turn.reply(request.id, SyncGroupResponse(error_code=error))
            return
        member = group.members[body.member_id]
        if group.state is S.PREPARING_REBALANCE:
            self._turn.reply(request.id, SyncGroupResponse(error_code=E.REBALANCE_IN_PROGRESS))
            return
        group.pending_syncs.pop(body.member_id, None)
        if not group.pending_syncs:
            self._timers.cancel(TimerKey(SYNC, group.group_id))
        if group.state is S.STABLE:
            self._turn.reply(request.id, self._assigned(group, member))
            return
        member.sync_request = request.id
        if body.member_id == group.leader_id:
            self._store_assignment(group, dict(body.assignments))

    def _check_sync(self, group: ClassicGroup, body: SyncGroup) -> ErrorCode:
        if group.is_empty:
            return E.UNKNOWN_MEMBER_ID
        error = self.check_member(group, body.member_id, body.group_instance_id)
        if error:
            return error
        if body.generation_id != group.generation_id:
            return E.ILLEGAL_GENERATION
        if body.protocol_type is not None and body.protocol_type != group.protocol_type:
            return E.INCONSISTENT_GROUP_PROTOCOL
        if (
            body.protocol_name is not None
            and group.protocol_name is not None
            and body.protocol_name != group.protocol_name
        ):
            return E.INCONSISTENT_GROUP_PROTOCOL
        return E.NONE

    def _store_assignment(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        # Members the leader left out get an empty assignment, strangers it named are not stored.
        self._log(group.record({id_: assignment.get(id_, b"") for id_ in group.members}))
        group.state_timestamp_ms = self._turn.now_ms
        for member in group.members.values():
            if member.sync_request is not None:
                self._turn.reply(member.sync_request, self._assigned(group, member))
                member.sync_request = None
                self._extend_session(group, member, member.session_timeout_ms)
        self._turn.events.append(GroupStable(group_id=group.group_id, generation_id=group.generation_id))

    def _clear_assignments(self, group: ClassicGroup, error: ErrorCode) -> None:
        for member in group.members.values():
            member.assignment = b""
            if member.sync_request is not None:
                self._turn.reply(member.sync_request, SyncGroupResponse(error_code=error))
                member.sync_request = None
                self._extend_session(group, member, member.session_timeout_ms)

    def sync_deadline(self, group: ClassicGroup) -> None:
        """Whoever joined and did not sync in time is out, also when the leader did."""
        if group.state not in (S.COMPLETING_REBALANCE, S.STABLE) or not group.pending_syncs:
            return
        for member_id in list(group.pending_syncs):
            self._drop(group, member_id, "did not sync before the rebalance timeout")
        self._prepare_rebalance(group, "members did not sync in time")

    # ---- Heartbeat, LeaveGroup, sessions ------------------------------------------------------

    def heartbeat(self, group: ClassicGroup, request: Request, body: Heartbeat) -> None:
        """Keep the session, and say whether a round is on."""
        error = self.check_member(group, body.member_id, body.group_instance_id)
        if not error and body.generation_id != group.generation_id:
            error = E.ILLEGAL_GENERATION
        if not error:
            self.keep_alive(group, body.member_id)
            if group.state is S.PREPARING_REBALANCE:
                error = E.REBALANCE_IN_PROGRESS
        self._turn.reply(request.id, HeartbeatResponse(error_code=error))

    def keep_alive(self, group: ClassicGroup, member_id: str) -> None:
        """Count a request of this member as a heartbeat."""
        member = group.members[member_id]
        self._extend_session(group, member, member.session_timeout_ms)

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
            self._after_removal(group, "members left")

    def _leave_one(self, group: ClassicGroup, leaving: LeavingMember) -> ErrorCode:
        member_id = leaving.member_id
        if member_id == UNKNOWN_MEMBER_ID:
            if leaving.group_instance_id not in group.static_members:
                return E.UNKNOWN_MEMBER_ID
            member_id = group.static_members[leaving.group_instance_id]
        elif member_id in group.pending_joins:
            self._drop(group, member_id, "left before it joined")
            return E.NONE
        else:
            error = self.check_member(group, member_id, leaving.group_instance_id)
            if error:
                return error
        self._answer_join(group, group.members[member_id], JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID))
        self._drop(group, member_id, f"left: {leaving.reason or 'no reason given'}")
        return E.NONE

    def session_deadline(self, group: ClassicGroup, member_id: str) -> None:
        """No sign of life for a session: the member, or the id that nobody came back with, is out."""
        if member_id in group.pending_joins:
            self._drop(group, member_id, "did not come back with its member id")
            if group.state is S.PREPARING_REBALANCE and group.everyone_joined:
                self._complete_join(group)
            return
        member = group.members.get(member_id)
        if member is None or member.keeps_session_by_waiting:
            return
        self._answer_join(group, member, JoinGroupResponse(error_code=E.UNKNOWN_MEMBER_ID))
        self._drop(group, member_id, "session expired")
        if group.state is S.PREPARING_REBALANCE:
            if group.everyone_joined:
                self._complete_join(group)
        else:
            self._after_removal(group, f"session of {member_id} expired")

    def _after_removal(self, group: ClassicGroup, why: str) -> None:
        match group.state:
            case S.STABLE | S.COMPLETING_REBALANCE:
                self._prepare_rebalance(group, why)
            case S.PREPARING_REBALANCE:
                self._complete_if_ready(group)
            case S.EMPTY | S.DEAD:
                pass

    def loaded(self, group: ClassicGroup) -> None:
        """The group came from the log: give every member a session, and shed members over the limit."""
        for member in group.members.values():
            self._extend_session(group, member, member.session_timeout_ms)
        if len(group.members) > self._settings.max_size:
            self._prepare_rebalance(group, "more members than group.max.size after loading")

    def unload(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Answer everything parked with `error`: this node no longer decides for the group."""
        for member in group.members.values():
            self._answer_join(group, member, JoinGroupResponse(error_code=error, member_id=member.member_id))
            if member.sync_request is not None:
                self._turn.reply(member.sync_request, SyncGroupResponse(error_code=error))
                member.sync_request = None

    # ---- small pieces -------------------------------------------------------------------------

    def check_member(self, group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
        """Unknown instance, then fenced instance, then unknown member."""
        if instance_id is not None:
            current = group.static_members.get(instance_id)
            if current is None:
                return E.UNKNOWN_MEMBER_ID
            if current != member_id:
                return E.FENCED_INSTANCE_ID
        return E.NONE if member_id in group.members else E.UNKNOWN_MEMBER_ID

    def _drop(self, group: ClassicGroup, member_id: str, why: str) -> None:
        group.remove(member_id)
        self._timers.cancel(TimerKey(SESSION, group.group_id, member_id))
        self._turn.events.append(MemberRemoved(group_id=group.group_id, member_id=member_id, why=why))

    def _extend_session(self, group: ClassicGroup, member: Member, timeout_ms: int) -> None:
        key = TimerKey(SESSION, group.group_id, member.member_id)
        self._timers.schedule(key, self._turn.now_ms + timeout_ms)

    def _refuse_join(self, request: Request, error: ErrorCode, member_id: str) -> None:
        self._turn.reply(request.id, JoinGroupResponse(error_code=error, member_id=member_id))

    def _answer_join(self, group: ClassicGroup, member: Member, response: JoinGroupResponse) -> None:
        request_id = group.unpark_join(member)
        if request_id is not None:
            self._turn.reply(request_id, response)

    def _members_for_leader(self, group: ClassicGroup) -> list[JoinGroupResponseMember]:
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(group.protocol_name),
            )
            for member in group.members.values()
        ]

    def _joined(
        self,
        group: ClassicGroup,
        member_id: str,
        members: list[JoinGroupResponseMember],
        *,
        leader: str | None = None,
        skip_assignment: bool = False,
    ) -> JoinGroupResponse:
        return JoinGroupResponse(
            generation_id=group.generation_id,
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            leader=leader or group.leader_id or "",
            skip_assignment=skip_assignment,
            member_id=member_id,
            members=members,
        )

    def _assigned(self, group: ClassicGroup, member: Member) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            assignment=member.assignment,
        )


def group_subscriptions(group: ClassicGroup) -> frozenset[str] | None:
    """All topics that the members of a consumer group read; None where that cannot be known."""
    if not group.uses_consumer_protocol:
        return None
    if not group.members:
        return frozenset()
    if group.protocol_name is None:
        return None
    topics: set[str] = set()
    for member in group.members.values():
        metadata = member.metadata(group.protocol_name)
        subscribed = subscribed_topics(metadata) if is_readable(metadata) else None
        if subscribed is None:
            return None
        topics |= subscribed
    return frozenset(topics)
