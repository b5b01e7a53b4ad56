"""The rounds of a classic group: waiting for joins, forming a generation, handing out assignments.

Behaves as Kafka 4.3's coordinator (GroupMetadataManager, the classic part): KIP-62, KIP-134.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from kgroup.group.coordinator.classic.answers import (
    assigned,
    check_sync,
    group_subscriptions,
    joined,
    members_for_leader,
)
from kgroup.group.coordinator.classic.group import ClassicGroup, Member
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.events import GenerationFormed, GroupStable, MemberRemoved, RebalanceStarted
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.coordinator.step import Request, Turn
from kgroup.group.coordinator.timers import Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.requests.coordinator import JoinGroupResponse, SyncGroup, SyncGroupResponse

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

    def rebalance_or_complete(self, group: ClassicGroup, why: str) -> None:
        """A member joins: end the round that waits for it, or begin one."""
        if group.state is S.PREPARING_REBALANCE:
            self.complete_if_ready(group)
        else:
            self.prepare_rebalance(group, why)

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
            self.complete_join(group)
        else:
            self._wait_for_joins(group, group.rebalance_timeout_ms())

    def _wait_for_joins(self, group: ClassicGroup, wait_ms: int) -> None:
        self._timers.schedule(TimerKey(JOIN, group.group_id), self._turn.now_ms + wait_ms)

    def complete_if_ready(self, group: ClassicGroup) -> None:
        """End the joining if nobody is missing."""
        # The first round of an empty group waits out its delay whoever is there (KIP-134).
        if group.previous_state is not S.EMPTY and group.everyone_joined:
            self.complete_join(group)

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
        self.complete_join(group)

    def complete_join(self, group: ClassicGroup) -> None:
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
            members = members_for_leader(group) if member.member_id == group.leader_id else []
            self.answer_join(group, member, joined(group, member.member_id, members))
            self.extend_session(group, member, member.session_timeout_ms)
            member.is_new = False
            group.pending_syncs[member.member_id] = None
        deadline_ms = self._turn.now_ms + group.rebalance_timeout_ms()
        self._timers.schedule(TimerKey(SYNC, group.group_id), deadline_ms)

    def after_removal(self, group: ClassicGroup, why: str) -> None:
        """A member is gone: begin a round, or end the one that waited for it."""
        match group.state:
            case S.STABLE | S.COMPLETING_REBALANCE:
                self.prepare_rebalance(group, why)
            case S.PREPARING_REBALANCE:
                self.complete_if_ready(group)
            case S.EMPTY | S.DEAD:
                pass

    # ---- syncing ------------------------------------------------------------------------------

    def sync(self, group: ClassicGroup, request: Request, body: SyncGroup) -> None:
        """Park the member until the leader's assignment is there; the leader's own brings it."""
        error = check_sync(group, body)
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
            self._turn.reply(request.id, assigned(group, member))
            return
        member.sync_request = request.id
        if body.member_id == group.leader_id:
            self._store_assignment(group, dict(body.assignments))

    def _store_assignment(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        # Members the leader left out get an empty assignment, strangers it named are not stored.
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
        """Whoever joined and did not sync in time is out, also when the leader did."""
        if group.state not in (S.COMPLETING_REBALANCE, S.STABLE) or not group.pending_syncs:
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
