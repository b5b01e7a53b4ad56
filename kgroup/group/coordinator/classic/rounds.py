"""The rounds of a classic group: waiting for joins, forming a generation, distributing assignments.

Behaves as Kafka 4.3's coordinator (GroupMetadataManager, the classic part): KIP-62, KIP-134.
"""

from collections.abc import Callable
from typing import Final

from kgroup.group.coordinator.classic.answer_table import ANSWERS, Action, Trigger
from kgroup.group.coordinator.classic.answers import (
    assigned,
    check_request,
    group_subscriptions,
    joined,
    members_for_leader,
)
from kgroup.group.coordinator.classic.group import ClassicGroup, Member
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.events import (
    GenerationFormed,
    GroupStable,
    MemberRemoved,
    MembersLeftOut,
    RebalanceStarted,
)
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request, Turn
from kgroup.group.coordinator.timers import TimerKey, Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.requests.coordinator import JoinGroupResponse, SyncGroup, SyncGroupResponse

S = GroupState
E = ErrorCode
A = Action

JOIN: Final = "join"  # the round's own deadline
SYNC: Final = "sync"  # members that joined must have synced by then
SESSION: Final = "session"


class ClassicRounds:
    """Takes classic groups from one generation to the next.

    `log` appends an entry and applies it; it is the only way logged state changes.
    """

    def __init__(
        self,
        settings: GroupSettings,
        timers: Timers[TimerKey],
        turn: Turn,
        log: Callable[[OffsetsEntry], None],
    ) -> None:
        self._settings = settings
        self._timers = timers
        self._turn = turn
        self._log = log

    # ---- joining ------------------------------------------------------------------------------

    def go_on(self, group: ClassicGroup, action: Action, why: str) -> None:
        """Start a round, or end the one that is on, as the table says."""
        match action:
            case A.START_ROUND:
                self.prepare_rebalance(group, why)
            case A.WAIT | A.END_IF_READY:
                self._complete_if_ready(group)
            case A.END_IF_JOINED:
                if group.everyone_joined:
                    self._complete_join(group)
            case _:
                assert action is A.NOTHING, f"{action} is no move of a round"

    def prepare_rebalance(self, group: ClassicGroup, why: str) -> None:
        """Begin a round: all have to join again."""
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
        """End the joining if nobody is missing."""
        # The first round of an empty group waits out its delay, no matter who is there (KIP-134).
        if group.previous_state is not S.EMPTY and group.everyone_joined:
            self._complete_join(group)

    def join_deadline(self, group: ClassicGroup) -> None:
        """The round's time is up, or the initial delay's, which newcomers extend."""
        if ANSWERS[Trigger.JOIN_DEADLINE][group.state].action is not A.END_ROUND:
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
        """Form the generation of those who joined; the others are out."""
        self._timers.cancel(TimerKey(JOIN, group.group_id))
        absent = [
            member
            for member in group.members.values()
            if not member.awaits_join and member.group_instance_id is None
        ]
        for member in absent:
            self.drop(group, member.member_id, "did not rejoin before the rebalance timeout")
        if group.members and not group.elect_joined_leader():
            # Only static members are left and none has joined: their sessions decide. The time of an initial
            # delay is over all the same; Kafka's completeClassicGroupJoin asks for itself again, no more.
            group.initial_wait_left_ms = 0
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
            members = members_for_leader(group) if member.member_id == group.leader_id else []
            self.answer_join(group, member, joined(group, member.member_id, members))
            self.extend_session(group, member, member.session_timeout_ms)
            member.is_new = False
            group.pending_syncs[member.member_id] = None
        deadline_ms = self._turn.now_ms + group.rebalance_timeout_ms()
        self._timers.schedule(TimerKey(SYNC, group.group_id), deadline_ms)

    # ---- syncing ------------------------------------------------------------------------------

    def sync(self, group: ClassicGroup, request: Request, body: SyncGroup) -> None:
        """Park the member until the leader's assignment is there; the leader's own brings it."""
        trigger = Trigger.LEADER_SYNC if body.member_id == group.leader_id else Trigger.SYNC
        answer = ANSWERS[trigger][group.state]
        error = check_request(group, trigger, body) or answer.error
        if error:
            self._turn.reply(request.id, SyncGroupResponse(error_code=error))
            return
        member = group.members[body.member_id]
        group.pending_syncs.pop(body.member_id, None)
        if not group.pending_syncs:
            self._timers.cancel(TimerKey(SYNC, group.group_id))
        match answer.action:
            case A.GIVE_SHARE:
                self._turn.reply(request.id, assigned(group, member))
            case A.AWAIT_LEADER:
                member.sync_request = request.id
            case A.ASSIGN:
                member.sync_request = request.id
                self._store_assignment(group, dict(body.assignments))
            case _:  # pragma: no cover  the table has no other for this
                raise AssertionError(f"{answer.action} answers no SyncGroup")

    def _store_assignment(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        # Members the leader left out get an empty assignment, strangers it named are not stored.
        if missing := tuple(id_ for id_ in group.members if id_ not in assignment):
            self._turn.events.append(
                MembersLeftOut(group_id=group.group_id, generation_id=group.generation_id, member_ids=missing)
            )
        self._log(group.record({id_: assignment.get(id_, b"") for id_ in group.members}))
        group.state_timestamp_ms = self._turn.now_ms
        for member in group.members.values():
            if member.sync_request is not None:
                self._turn.reply(member.sync_request, assigned(group, member))
                member.sync_request = None
                self.extend_session(group, member, member.session_timeout_ms)
        self._turn.events.append(GroupStable(group_id=group.group_id, generation_id=group.generation_id))

    def _clear_assignments(self, group: ClassicGroup, error: ErrorCode) -> None:
        for member in group.members.values():
            member.assignment = b""
            if member.sync_request is not None:
                self._turn.reply(member.sync_request, SyncGroupResponse(error_code=error))
                member.sync_request = None
                self.extend_session(group, member, member.session_timeout_ms)

    def sync_deadline(self, group: ClassicGroup) -> None:
        """Members that joined and did not sync in time are removed, even if the leader did."""
        action = ANSWERS[Trigger.SYNC_DEADLINE][group.state].action
        if action is not A.DROP_UNSYNCED or not group.pending_syncs:
            return
        for member_id in list(group.pending_syncs):
            self.drop(group, member_id, "did not sync before the rebalance timeout")
        self.prepare_rebalance(group, "members did not sync in time")

    # ---- members ------------------------------------------------------------------------------

    def drop(self, group: ClassicGroup, member_id: str, why: str) -> None:
        """Take a member out, with its session."""
        group.remove(member_id)
        self._timers.cancel(TimerKey(SESSION, group.group_id, member_id))
        self._turn.events.append(MemberRemoved(group_id=group.group_id, member_id=member_id, why=why))

    def extend_session(self, group: ClassicGroup, member: Member, timeout_ms: int) -> None:
        """The member lives: its session ends `timeout_ms` from now."""
        key = TimerKey(SESSION, group.group_id, member.member_id)
        self._timers.schedule(key, self._turn.now_ms + timeout_ms)

    def answer_join(self, group: ClassicGroup, member: Member, response: JoinGroupResponse) -> None:
        """Answer the join that the member waits for, if it does."""
        request_id = group.unpark_join(member)
        if request_id is not None:
            self._turn.reply(request_id, response)
