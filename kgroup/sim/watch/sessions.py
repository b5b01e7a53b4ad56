"""Checks of sessions, deadlines and rebalance times, by what the coordinator heard and said."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.rounds import JOIN, SESSION, SYNC
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.coordinator import EXPIRY
from kgroup.group.coordinator.events import (
    GenerationFormed,
    GroupDeleted,
    GroupEvent,
    MemberAdded,
    MemberRemoved,
    RebalanceStarted,
)
from kgroup.group.coordinator.timers import TimerKey
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    OffsetCommit,
    OffsetCommitResponse,
    ReplyBody,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.sim.watch.coordinators import LOOK_EVERY_MS, SLACK_MS, CoordinatorChecker, Scene, Ticket
from kgroup.sim.watch.first_rounds import sends_back
from kgroup.sim.watch.result import ALIVE_STAY, DEADLINES, ROUNDS_END, SESSIONS_END

S = GroupState
E = ErrorCode
_SIGNS: Final = frozenset({E.NONE, E.REBALANCE_IN_PROGRESS})


@dataclass(slots=True)
class _Session:
    """The soonest and the latest end of a session. Some requests leave it open which of the two applies."""

    soonest_ms: int
    latest_ms: int


class Sessions(CoordinatorChecker):
    """The dead are out in time (sessions-end), and who shows that it lives is not (alive-stay)."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._sessions: dict[tuple[str, str], _Session] = {}
        self._given_out: dict[tuple[str, str], int] = {}
        self._seats: dict[int, int] = {}  # by request: the session timeout of the member before
        self._of_known: set[int] = set()  # requests of members that were there, or whose id was given out
        self._out_before_answer: dict[int, str] = {}  # by request: what is wrong if it waited
        self._sent_back: set[int] = set()  # requests that an upgrade, tried or done, gives up

    def loaded(self, now_ms: int) -> None:
        """Everybody has a session more."""
        for group in self.scene.groups():
            for member in group.members.values():
                end_ms = now_ms + member.session_timeout_ms
                self._sessions[group.group_id, member.member_id] = _Session(end_ms, end_ms)

    def asked(self, ticket: Ticket) -> None:
        """A static member takes over the session of the member it replaces."""
        body = ticket.body
        if isinstance(body, ConsumerGroupHeartbeat):
            if sends_back(body, self.scene.group(body.group_id), self.scene.settings):
                self._send_back(body.group_id)
            return
        group = self.scene.group(body.group_id) if isinstance(body, JoinGroup | SyncGroup) else None
        if group is None or not isinstance(body, JoinGroup | SyncGroup):
            return
        if body.member_id in group.members or body.member_id in group.pending_joins:
            self._of_known.add(ticket.request_id)
        if not isinstance(body, JoinGroup) or body.group_instance_id is None:
            return
        seat = group.members.get(group.static_members.get(body.group_instance_id, ""))
        if seat is not None and not body.member_id:
            self._seats[ticket.request_id] = seat.session_timeout_ms

    def _send_back(self, group_id: str) -> None:
        for request_id, ticket in self.scene.tickets.items():
            if isinstance(ticket.body, SyncGroup) and ticket.body.group_id == group_id:
                self._sent_back.add(request_id)

    def answered(self, ticket: Ticket, reply: ReplyBody, now_ms: int) -> None:
        """Some answers prove that the coordinator knows that the member lives."""
        body = ticket.body
        was_sent_back = ticket.request_id in self._sent_back
        self._sent_back.discard(ticket.request_id)
        why = self._out_before_answer.pop(ticket.request_id, None)
        self._of_known.discard(ticket.request_id)
        refused = E.NONE
        if isinstance(reply, JoinGroupResponse | SyncGroupResponse):
            refused = reply.error_code
        if why is not None and refused is E.UNKNOWN_MEMBER_ID:
            self.scene.report(ALIVE_STAY, why)
        match body, reply:
            case Heartbeat(), HeartbeatResponse() if reply.error_code in _SIGNS:
                self._sign(body.group_id, body.member_id, ticket.asked_ms)
            case OffsetCommit(), OffsetCommitResponse() if body.generation_id >= 0:
                errors = [each.error_code for topic in reply.topics for each in topic.partitions]
                if E.NONE in errors:
                    self._sign(body.group_id, body.member_id, ticket.asked_ms)
            case JoinGroup(), JoinGroupResponse():
                self._joined(ticket, body, reply, now_ms)
            case SyncGroup(), SyncGroupResponse() if reply.error_code in _SIGNS:
                # A rebalance that begins extends the sessions of those who wait for the leader. An upgrade
                # that is tried only gives their requests up, as Kafka's completeAllSyncFutures does.
                was_given_up = was_sent_back and reply.error_code is E.REBALANCE_IN_PROGRESS
                is_sure = ticket.state is S.COMPLETING_REBALANCE and not was_given_up
                self._sign(body.group_id, body.member_id, now_ms, is_sure=is_sure)
            case _:
                pass

    def _joined(self, ticket: Ticket, body: JoinGroup, reply: JoinGroupResponse, now_ms: int) -> None:
        key = (body.group_id, reply.member_id)
        if reply.error_code is E.MEMBER_ID_REQUIRED:
            self._given_out[key] = ticket.asked_ms + body.session_timeout_ms
            return
        if reply.error_code is E.NONE:
            self._given_out.pop(key, None)
        before_ms = self._seats.pop(ticket.request_id, None)
        if reply.error_code is E.REBALANCE_IN_PROGRESS:  # a new session, if the one before ended meanwhile
            self._sign(body.group_id, reply.member_id, now_ms, is_sure=False)
            session = self._sessions.get(key)
            if before_ms is not None and session is not None:
                session.latest_ms = max(session.latest_ms, now_ms + before_ms)
        elif reply.error_code is E.NONE and before_ms is not None:
            timeouts_ms = (before_ms, body.session_timeout_ms)
            self._sessions[key] = _Session(now_ms + min(timeouts_ms), now_ms + max(timeouts_ms))
        elif reply.error_code is E.NONE:
            is_sure = reply.generation_id > ticket.generation or ticket.state is S.PREPARING_REBALANCE
            self._sign(body.group_id, reply.member_id, now_ms, is_sure=is_sure)

    def _sign(self, group_id: str, member_id: str, at_ms: int, *, is_sure: bool = True) -> None:
        group = self.scene.group(group_id)
        member = group.members.get(member_id) if group is not None else None
        if member is None:
            return
        end_ms = at_ms + member.session_timeout_ms
        session = self._sessions.get((group_id, member_id))
        if session is None:
            self._sessions[group_id, member_id] = _Session(end_ms if is_sure else at_ms, end_ms)
            return
        session.latest_ms = max(session.latest_ms, end_ms) if not is_sure else end_ms
        if is_sure:
            session.soonest_ms = end_ms

    def heard(self, event: GroupEvent, now_ms: int) -> None:
        """Members come and go."""
        match event:
            case MemberAdded() if self.scene.consumer_group(event.group_id) is not None:
                # `ConsumerSessions` looks after these, also after those that were classic until now.
                self._sessions.pop((event.group_id, event.member_id), None)
            case MemberAdded():
                end_ms = now_ms + self.scene.settings.new_member_join_timeout_ms
                self._sessions[event.group_id, event.member_id] = _Session(end_ms, end_ms)
            case MemberRemoved():
                self._removed(event, now_ms)
            case GenerationFormed():
                # Static members that have not joined have a new session, too, as in Kafka. It is shorter than
                # a newcomer's time, for one that was sent back and did not come again.
                group = self.scene.group(event.group_id)
                for member in group.members.values() if group is not None else ():
                    session = self._sessions.get((event.group_id, member.member_id))
                    if session is not None:
                        end_ms = now_ms + member.session_timeout_ms
                        session.soonest_ms = min(session.soonest_ms, end_ms)
                        session.latest_ms = max(session.latest_ms, end_ms)
            case _:
                pass

    def _removed(self, event: MemberRemoved, now_ms: int) -> None:
        key = (event.group_id, event.member_id)
        session = self._sessions.pop(key, None)
        given_out_ms = self._given_out.pop(key, None)
        if event.why.startswith("session expired"):
            if session is not None and now_ms < session.soonest_ms:
                left_ms = session.soonest_ms - now_ms
                self.scene.report(
                    ALIVE_STAY, f"{event.group_id}: {event.member_id} is out, {left_ms} ms before its session"
                )
            # A coordinator tells what it did before it gives out what it has answered by then: whether
            # this request waited shows in its answer. Kafka's hasSatisfiedHeartbeat asks what is parked only.
            for ticket in self.scene.tickets.values():
                if (
                    isinstance(ticket.body, JoinGroup | SyncGroup)
                    and (ticket.body.group_id, ticket.body.member_id) == key
                    and ticket.request_id in self._of_known
                    and now_ms - ticket.asked_ms < self.scene.settings.new_member_join_timeout_ms
                ):
                    why = f"{event.group_id}: {event.member_id} is out while it waits"
                    self._out_before_answer[ticket.request_id] = why
        elif event.why.startswith("did not come back") and (given_out_ms is None or now_ms < given_out_ms):
            self.scene.report(ALIVE_STAY, f"{event.group_id}: the id {event.member_id} ended too early")
        elif event.why.startswith("left") and not self._leaves(event):
            self.scene.report(ALIVE_STAY, f"{event.group_id}: {event.member_id} is out and did not leave")

    def _leaves(self, event: MemberRemoved) -> bool:
        return any(
            (
                isinstance(ticket.body, ConsumerGroupHeartbeat)
                and ticket.body.member_epoch < 0
                and ticket.body.member_id == event.member_id
            )
            or (
                isinstance(ticket.body, LeaveGroup)
                and ticket.body.group_id == event.group_id
                and any(
                    leaving.member_id == event.member_id
                    or (
                        not leaving.member_id and event.member_id.startswith(leaving.group_instance_id or "?")
                    )
                    for leaving in ticket.body.members
                )
            )
            for ticket in self.scene.tickets.values()
        )

    def look(self, now_ms: int, is_awake: bool) -> None:
        """Every member has a running session, and every removed one has its answer."""
        for request_id, why in self._out_before_answer.items():
            if request_id in self.scene.tickets:
                self.scene.report(ALIVE_STAY, why)
        self._out_before_answer.clear()
        for key in [key for key in self._sessions if self.scene.consumer_group(key[0]) is not None]:
            del self._sessions[key]  # sessions of another kind; back in a classic group they start over
        self._of_known &= self.scene.tickets.keys()
        self._sent_back &= self.scene.tickets.keys()
        for group in self.scene.groups():
            for member in group.members.values():
                key = (group.group_id, member.member_id)
                if key not in self._sessions:
                    end_ms = now_ms + member.session_timeout_ms
                    self._sessions[key] = _Session(now_ms, end_ms)
                if member.keeps_session_by_waiting:
                    continue
                late_ms = now_ms - self._sessions[key].latest_ms
                if is_awake and late_ms > SLACK_MS:
                    self.scene.report(
                        SESSIONS_END, f"{group.group_id}: {member.member_id} is {late_ms} ms past its session"
                    )
                    self._sessions[key].latest_ms = now_ms
            for member_id in group.pending_joins:
                given_out_ms = self._given_out.get((group.group_id, member_id), now_ms)
                if is_awake and now_ms - given_out_ms > SLACK_MS:
                    self.scene.report(SESSIONS_END, f"{group.group_id}: the id {member_id} waits for ever")
                    self._given_out[group.group_id, member_id] = now_ms


class Deadlines(CoordinatorChecker):
    """Every member, every id that was given out and every round has a deadline, and is watched."""

    def __init__(self, scene: Scene, watched_ms: Callable[[int], int]) -> None:
        """`watched_ms`: when a node will act on the deadlines of its coordinators, by its own clock."""
        super().__init__(scene)
        self._watched_ms = watched_ms

    def look(self, now_ms: int, is_awake: bool) -> None:
        """All of them."""
        if self.scene.coordinator.deadline_ms(EXPIRY) is None:
            self.scene.report(DEADLINES, "no deadline for the expiry of offsets")
        for group in self.scene.groups():
            self._look_at(group, now_ms)
        due_ms = self.scene.hosted.next_deadline_ms()
        watched_ms = self._watched_ms(self.scene.hosted.node_id)
        if due_ms is not None and watched_ms > due_ms:
            self.scene.report(DEADLINES, f"nobody watches the next deadline, {due_ms - now_ms} ms from now")

    def _look_at(self, group: ClassicGroup, now_ms: int) -> None:
        for member in group.members.values():
            if not member.keeps_session_by_waiting:
                most_ms = now_ms + member.session_timeout_ms
                if member.is_new:
                    most_ms = now_ms + self.scene.settings.new_member_join_timeout_ms
                elif member.group_instance_id is not None:
                    most_ms += 2 * member.session_timeout_ms  # it may have the session of whom it replaced
                self._need(group, SESSION, member.member_id, most_ms)
        for member_id in group.pending_joins:
            self._need(group, SESSION, member_id, now_ms + self.scene.settings.max_session_timeout_ms)
        most_ms = now_ms + max(
            self.scene.settings.initial_rebalance_delay_ms,
            max((member.rebalance_timeout_ms for member in group.members.values()), default=0),
        )
        if group.state is S.PREPARING_REBALANCE:
            self._need(group, JOIN, "", most_ms if group.members else None)
        elif group.state is S.COMPLETING_REBALANCE:
            self._need(group, SYNC, "", None)

    def _need(self, group: ClassicGroup, kind: str, member_id: str, most_ms: int | None) -> None:
        deadline_ms = self.scene.coordinator.deadline_ms(TimerKey(kind, group.group_id, member_id))
        if deadline_ms is None:
            self.scene.report(DEADLINES, f"{group.group_id}: {group.state}: no {kind} deadline {member_id}")
        elif kind == SESSION and most_ms is not None and deadline_ms > most_ms:
            self.scene.report(DEADLINES, f"{group.group_id}: {kind} deadline {member_id} is too far away")


@dataclass(slots=True)
class _Round:
    """Half a rebalance. `most_ms`: the longest rebalance timeout of any member at its beginning.

    `due_ms`: when it is over at the latest, with those who came since. `is_formed`: the half of SyncGroups.
    `may_end`: whoever was missing is gone. `leapt_ms`: how far the clock went on while nobody could act.
    `sent_back`: who waited for the first generation and was told to join again: the group was to be upgraded.
    """

    began_ms: int
    of_first: bool
    most_ms: int
    timeouts_ms: dict[str, int] = field(default_factory=dict)
    is_formed: bool = False
    may_end: bool = False
    due_ms: int = 0
    leapt_ms: int = 0
    sent_back: set[str] = field(default_factory=set)
    deserted_to_ms: int | None = None
    """When the wait ends that goes on with nobody there, as all who waited were sent back; None if not.

    In a first round and in later ones.
    """


class RoundsEnd(CoordinatorChecker):
    """A rebalance takes no longer than its members' rebalance timeout, for each half; nor is it cut short."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._rounds: dict[str, _Round] = {}
        self._generations: dict[str, int] = {}
        self._changed_over: set[str] = set()
        self._peopled: set[str] = set()
        self._pending: dict[str, frozenset[str]] = {}  # ids given out before the last request of the round
        self._looked_ms = scene.loaded_ms
        self._timeouts_ms: dict[str, dict[str, int]] = {}  # of members, before the last request

    def asked(self, ticket: Ticket) -> None:
        """Ids that are given out once the generation is formed do not count."""
        group = self.scene.group(getattr(ticket.body, "group_id", ""))
        if ticket.of_consumer and self.scene.hosted.is_idle:  # else it is yet to be heard how it came to it
            self._changes_over(ticket.body.group_id)  # type: ignore[union-attr]  # all of a group have it
        if group is not None:
            self._timeouts_ms[group.group_id] = _rebalance_timeouts_ms(group)
        if ticket.state is S.PREPARING_REBALANCE:
            self._pending[getattr(ticket.body, "group_id", "")] = ticket.pending
        began = self._rounds.get(getattr(ticket.body, "group_id", ""))
        if began is None:
            return
        if isinstance(ticket.body, JoinGroup):
            began.sent_back.discard(ticket.body.member_id)  # it waits again
            self._look_whether_deserted(group, began, ticket.asked_ms)
            began.deserted_to_ms = None
            if group is not None and not began.of_first and _is_kept_by_static(group):
                # The first to wait again: a wait may have ended just now with nobody there, and begun anew.
                longest_ms = max(_rebalance_timeouts_ms(group).values())
                began.due_ms = max(began.due_ms, ticket.asked_ms + longest_ms)
        if group is not None and sends_back(ticket.body, group, self.scene.settings):
            # They hear of it with the flush; a wait may end before, or a node that stood still the round.
            waiting = {name for name, member in group.members.items() if member.awaits_join}
            if began.of_first:
                began.sent_back |= waiting
            if waiting:
                began.deserted_to_ms = self._wait_ends_ms(group.group_id)

    def answered(self, ticket: Ticket, reply: ReplyBody, now_ms: int) -> None:
        """A newcomer sent back has until the end of the initial delay, like all who wait in a first round."""
        if not isinstance(ticket.body, JoinGroup) or not isinstance(reply, JoinGroupResponse):
            return
        began = self._rounds.get(ticket.body.group_id)
        if began is not None and reply.error_code is E.REBALANCE_IN_PROGRESS:
            if began.of_first:
                began.sent_back.add(reply.member_id)
            group = self.scene.group(ticket.body.group_id)
            if group is not None and not group.joins_parked:
                self._look_whether_deserted(group, began, now_ms)
                began.deserted_to_ms = self._wait_ends_ms(group.group_id)

    def _wait_ends_ms(self, group_id: str) -> int | None:
        return self.scene.coordinator.deadline_ms(TimerKey(JOIN, group_id))

    def _look_whether_deserted(self, group: ClassicGroup | None, began: _Round, now_ms: int) -> None:
        """A wait that ends with nobody there is followed by one of a rebalance timeout (static members)."""
        if group is not None and began.deserted_to_ms is not None and began.deserted_to_ms <= now_ms:
            longest_ms = max(_rebalance_timeouts_ms(group).values(), default=0)
            began.due_ms = max(began.due_ms, began.deserted_to_ms + longest_ms)
            began.deserted_to_ms = None

    def _changes_over(self, group_id: str) -> None:
        """A group of the consumer protocol has no rounds; classic again, it continues with its epoch."""
        self._rounds.pop(group_id, None)
        self._generations.pop(group_id, None)
        self._changed_over.add(group_id)
        self._peopled.add(group_id)

    def loaded(self, now_ms: int) -> None:
        """Groups begin where the log leaves them."""
        for group in self.scene.groups():
            if group.members:
                self._peopled.add(group.group_id)
            self._generations[group.group_id] = group.generation_id
        for of_consumer in self.scene.consumer_groups():
            self._changes_over(of_consumer.group_id)

    def heard(self, event: GroupEvent, now_ms: int) -> None:
        """Rounds begin, form a generation, and end."""
        group = self.scene.group(event.group_id)
        match event:
            case RebalanceStarted():
                timeouts_ms = _rebalance_timeouts_ms(group) if group is not None else {}
                of_first = event.group_id not in self._peopled
                self._rounds[event.group_id] = _Round(
                    now_ms, of_first, max(timeouts_ms.values(), default=0), timeouts_ms
                )
            case GenerationFormed():
                self._formed(event, group, now_ms)
            case GroupDeleted():
                self._generations.pop(event.group_id, None)
                self._rounds.pop(event.group_id, None)
                if self.scene.consumer_group(event.group_id) is not None:
                    self._changes_over(event.group_id)
                elif group is None or not group.generation_id:  # else it has become a classic group
                    self._peopled.discard(event.group_id)
                    self._changed_over.discard(event.group_id)
            case MemberRemoved() if event.why.startswith(("session expired", "did not come back")):
                # Kafka forms the generation then, also within the initial delay, if all others have joined.
                began = self._rounds.get(event.group_id)
                if began is not None:
                    began.may_end = True
                    if began.began_ms == now_ms:  # of one batch: the group was without it when it was heard
                        was_ms = self._timeouts_ms.get(event.group_id, {}).get(event.member_id, 0)
                        began.most_ms = max(began.most_ms, was_ms)
            case MemberRemoved() if event.why.startswith(("did not rejoin", "did not sync")):
                self._removed(event, now_ms)
            case _:
                pass

    def _formed(self, event: GenerationFormed, group: ClassicGroup | None, now_ms: int) -> None:
        before = self._generations.get(event.group_id, 0)
        changed_over = event.group_id in self._changed_over and event.group_id not in self._generations
        if event.generation_id != before + 1 and not changed_over:
            self._report(event.group_id, f"generation {event.generation_id} after {before}")
        self._generations[event.group_id] = event.generation_id
        if event.members:
            self._peopled.add(event.group_id)
        else:
            self._peopled.discard(event.group_id)
        began = self._rounds.pop(event.group_id, None)
        if began is None or began.is_formed:
            self._report(event.group_id, f"generation {event.generation_id} without a rebalance")
            return
        waited_ms = now_ms - began.began_ms
        if group is None or not event.members:
            return
        delay_ms = self.scene.settings.initial_rebalance_delay_ms
        if group.state is S.COMPLETING_REBALANCE and group.generation_id == event.generation_id:
            if began.of_first and not began.may_end and waited_ms < delay_ms:
                self._report(event.group_id, f"the first rebalance took {waited_ms} ms and not {delay_ms}")
            pending = self._pending.get(event.group_id, frozenset()) & group.pending_joins.keys()
            if not began.of_first and pending and waited_ms < began.most_ms:
                self._report(event.group_id, "a generation without those who were given an id")
        timeouts_ms = _rebalance_timeouts_ms(group)
        formed = _Round(now_ms, False, max(timeouts_ms.values(), default=0), timeouts_ms, is_formed=True)
        self._rounds[event.group_id] = formed

    def _removed(self, event: MemberRemoved, now_ms: int) -> None:
        began = self._rounds.get(event.group_id)
        if began is None:
            return
        timeout_ms = began.timeouts_ms.get(event.member_id, 0)
        if event.member_id in began.sent_back:
            timeout_ms = 0 if began.may_end else self.scene.settings.initial_rebalance_delay_ms
        if now_ms - began.began_ms < timeout_ms:
            why = f"{event.member_id} is out after {now_ms - began.began_ms} of {timeout_ms} ms"
            self.scene.report(ALIVE_STAY, f"{event.group_id}: {why}")

    def look(self, now_ms: int, is_awake: bool) -> None:
        """Check that no round takes too long."""
        before_ms, self._looked_ms = self._looked_ms, now_ms
        for group in self.scene.groups():
            began = self._rounds.get(group.group_id)
            if began is None or group.state in (S.EMPTY, S.STABLE):
                continue
            if group.state is S.PREPARING_REBALANCE and not began.of_first:
                parked = [member.awaits_join for member in group.members.values()]
                # Who finds no room is out without a word to the round, in Kafka, too.
                has_room = len(parked) < self.scene.settings.max_size
                if parked and all(parked) and has_room and not group.pending_joins:
                    self._report(group.group_id, "all have joined, and there is no generation")
            longest_ms = max((member.rebalance_timeout_ms for member in group.members.values()), default=0)
            longest_ms = max(began.most_ms, longest_ms, self.scene.settings.initial_rebalance_delay_ms)
            if began.of_first and group.state is S.PREPARING_REBALANCE:
                # Its time is a sum of waits, each from the end of the one before, as in Kafka's
                # tryCompleteInitialRebalanceElseSchedule: what comes late delays all that follow.
                began.leapt_ms += max(now_ms - max(before_ms, began.began_ms) - LOOK_EVERY_MS, 0)
            self._look_whether_deserted(group, began, now_ms)
            began.due_ms = max(began.due_ms, began.began_ms + longest_ms + began.leapt_ms)
            if group.state is S.PREPARING_REBALANCE and not group.joins_parked:
                began.due_ms = now_ms + longest_ms  # static members alone: their sessions decide
            late_ms = now_ms - began.due_ms
            if is_awake and late_ms > SLACK_MS:
                self._report(group.group_id, f"{group.state} takes {late_ms} ms too long")
                began.due_ms = now_ms

    def _report(self, group_id: str, why: str) -> None:
        self.scene.report(ROUNDS_END, f"{group_id}: {why}")


def _rebalance_timeouts_ms(group: ClassicGroup) -> dict[str, int]:
    return {member.member_id: member.rebalance_timeout_ms for member in group.members.values()}


def _is_kept_by_static(group: ClassicGroup) -> bool:
    """Whether nobody waits to join, and static members keep the group: each wait is followed by another."""
    return group.state is S.PREPARING_REBALANCE and not group.joins_parked and bool(group.static_members)
