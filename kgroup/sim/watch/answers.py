"""Checks that each answer is the one the group's state calls for, and that each request gets one.

The rules stand here a second time, in words of their own: ClassicGroup and GroupMetadataManager of Kafka 4.3,
`validateMember`, `validateOffsetCommit`, `classicGroupHeartbeat`, `classicGroupSync`.
"""

from typing import Final

from kgroup.group.coordinator.classic.group import ClassicGroup
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.events import GroupEvent, MemberRemoved
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeaveGroupResponse,
    OffsetCommit,
    OffsetCommitResponse,
    ReplyBody,
    RequestBody,
    SyncGroup,
    SyncGroupResponse,
    TxnOffsetCommit,
)
from kgroup.sim.watch.coordinators import CoordinatorChecker, Scene, Ticket
from kgroup.sim.watch.result import ANSWERS_FIT, NOBODY_FORGOTTEN

S = GroupState
E = ErrorCode
_OF_THE_NODE: Final = frozenset({E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE})
"""The answers of a coordinator that ends, to whatever it was asked."""


def _sender(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    """The error for the sender of a request, or NONE."""
    owners = [member for member in group.members.values() if member.group_instance_id == instance_id]
    if instance_id is not None:
        if not owners:
            return E.UNKNOWN_MEMBER_ID
        if owners[-1].member_id != member_id:
            return E.FENCED_INSTANCE_ID
    return E.NONE if member_id in group.members else E.UNKNOWN_MEMBER_ID


def expected(group: ClassicGroup | None, body: RequestBody) -> ErrorCode | None:
    """The error that the request has to be answered with; None: it may wait, or there is no rule here."""
    match body:
        case Heartbeat():
            if group is None or group.state is S.EMPTY:
                return E.UNKNOWN_MEMBER_ID
            error = _in_generation(group, body)
            busy = E.REBALANCE_IN_PROGRESS if group.state is S.PREPARING_REBALANCE else E.NONE
            return error or busy
        case SyncGroup():
            if group is None or group.state is S.EMPTY:
                return E.UNKNOWN_MEMBER_ID
            error = _in_generation(group, body)
            if error:
                return error
            if body.protocol_name not in (None, group.protocol_name) or body.protocol_type not in (
                None,
                group.protocol_type,
            ):
                return E.INCONSISTENT_GROUP_PROTOCOL
            if group.state is S.PREPARING_REBALANCE:
                return E.REBALANCE_IN_PROGRESS
            return E.NONE if group.state is S.STABLE else None
        case OffsetCommit() | TxnOffsetCommit():
            return _commit(group, body)
        case _:
            return None


def _in_generation(group: ClassicGroup, body: Heartbeat | SyncGroup | OffsetCommit | TxnOffsetCommit) -> E:
    error = _sender(group, body.member_id, body.group_instance_id)
    if not error and body.generation_id != group.generation_id:
        return E.ILLEGAL_GENERATION
    return error


def _commit(group: ClassicGroup | None, body: OffsetCommit | TxnOffsetCommit) -> ErrorCode | None:
    in_transaction = isinstance(body, TxnOffsetCommit)
    if group is None:
        if body.generation_id < 0:
            return E.NONE
        old = isinstance(body, TxnOffsetCommit) or not body.knows_group_not_found
        return E.ILLEGAL_GENERATION if old else E.GROUP_ID_NOT_FOUND
    if body.generation_id < 0 and not body.member_id and body.group_instance_id is None:
        # From outside of the group: of an admin client, or of a producer that does not say for whom.
        return E.NONE if in_transaction or group.state is S.EMPTY else E.UNKNOWN_MEMBER_ID
    if group.state is S.EMPTY:
        return E.NONE if body.generation_id < 0 else E.UNKNOWN_MEMBER_ID
    error = _in_generation(group, body)
    if error:
        return error
    if group.state is S.COMPLETING_REBALANCE and not in_transaction:
        return E.REBALANCE_IN_PROGRESS
    return E.NONE


def error_of(reply: ReplyBody) -> ErrorCode:
    """The error of an answer, or of its first partition."""
    match reply:
        case HeartbeatResponse() | SyncGroupResponse() | JoinGroupResponse() | LeaveGroupResponse():
            return reply.error_code
        case OffsetCommitResponse():
            errors = [each.error_code for topic in reply.topics for each in topic.partitions]
            return errors[0] if errors else E.NONE
        case _:
            return E.NONE


class AnswersFit(CoordinatorChecker):
    """Fences who must be fenced, lets in who must be let in, and starts a round where one is due."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._expected: dict[int, ErrorCode] = {}
        self._unchanged: dict[int, bool] = {}
        self._joins_of_known: dict[int, tuple[str, str]] = {}  # group and member, by the request's id

    def asked(self, ticket: Ticket) -> None:
        """The answer depends on the group as it is now."""
        body = ticket.body
        if ticket.of_consumer:
            return  # other rules
        group = self.scene.group(getattr(body, "group_id", ""))
        error = expected(group, body)
        if error is not None:
            self._expected[ticket.request_id] = error
        if isinstance(body, JoinGroup) and group is not None and body.member_id in group.members:
            known = group.members[body.member_id]
            self._unchanged[ticket.request_id] = known.protocols == body.protocols
        if isinstance(body, JoinGroup) and group is not None and body.member_id:
            is_member = _sender(group, body.member_id, body.group_instance_id) is E.NONE
            if is_member or body.member_id in group.pending_joins:
                self._joins_of_known[ticket.request_id] = group.group_id, body.member_id

    def heard(self, event: GroupEvent, now_ms: int) -> None:
        """Forget joins of a removed member: even while it waits, others can leave in its name."""
        if isinstance(event, MemberRemoved):
            out = event.group_id, event.member_id
            self._joins_of_known = {id_: who for id_, who in self._joins_of_known.items() if who != out}

    def answered(self, ticket: Ticket, reply: ReplyBody, now_ms: int) -> None:
        """Compare."""
        if ticket.of_consumer:
            return
        error, wanted = error_of(reply), self._expected.pop(ticket.request_id, None)
        unchanged = self._unchanged.pop(ticket.request_id, None)
        was_known = self._joins_of_known.pop(ticket.request_id, None) is not None
        if error in _OF_THE_NODE:
            return
        if wanted is not None and error is not wanted:
            if wanted is E.NONE and error is E.OFFSET_METADATA_TOO_LARGE:
                return
            self._report(ticket, f"{error.name} where {wanted.name} is due")
        if was_known and error is E.UNKNOWN_MEMBER_ID:
            self._report(ticket, "UNKNOWN_MEMBER_ID for one who is known and was not put out")
        match ticket.body, reply:
            case JoinGroup(), JoinGroupResponse():
                self._joined(ticket, ticket.body, reply, unchanged)
            case LeaveGroup(), LeaveGroupResponse():
                self._left(ticket, ticket.body, reply)
            case _:
                pass

    def _joined(
        self, ticket: Ticket, body: JoinGroup, reply: JoinGroupResponse, unchanged: bool | None
    ) -> None:
        if reply.error_code is E.NONE:
            at_once = reply.generation_id == ticket.generation
            if at_once and ticket.state is S.STABLE and body.member_id:
                if unchanged is False:
                    self._report(ticket, "no round though the member has changed")
                elif ticket.was_leader:
                    self._report(ticket, "no round though the leader joins again")
            elif at_once and ticket.state is S.STABLE and body.group_instance_id is None:
                self._report(ticket, "a new member, and no round")
            if at_once and ticket.state is S.PREPARING_REBALANCE:
                self._report(ticket, "the generation has not gone up")
            if body.member_id and reply.member_id != body.member_id:
                self._report(ticket, f"the answer is for {reply.member_id}")
        elif reply.error_code is E.MEMBER_ID_REQUIRED and (body.member_id or not body.needs_known_id):
            self._report(ticket, "sent back for a member id")

    def _left(self, ticket: Ticket, body: LeaveGroup, reply: LeaveGroupResponse) -> None:
        results = [each.error_code for each in reply.members] or [reply.error_code]
        group = self.scene.group(body.group_id)
        for leaving, error in zip(body.members, results, strict=True):
            if error is E.NONE and group is not None and leaving.member_id in group.members:
                self._report(ticket, f"{leaving.member_id} left and is there")
        if E.NONE in results and group is not None and ticket.state in (S.STABLE, S.COMPLETING_REBALANCE):
            stays = group.state is ticket.state and group.generation_id == ticket.generation
            if stays and any(each.member_id not in group.pending_joins for each in body.members):
                was_member = any(
                    each.error_code is E.NONE and not self._was_pending(ticket, each.member_id)
                    for each in reply.members
                )
                if was_member:
                    self._report(ticket, "members left, and no round")

    def _was_pending(self, ticket: Ticket, member_id: str) -> bool:
        return member_id in ticket.pending

    def _report(self, ticket: Ticket, why: str) -> None:
        body = ticket.body
        who = getattr(body, "member_id", "") or ticket.client_id
        name = type(body).__name__
        group_id = getattr(body, "group_id", "")
        self.scene.report(
            ANSWERS_FIT, f"{group_id}: {name} of {who} in {ticket.state} {ticket.generation}: {why}"
        )


class NobodyForgotten(CoordinatorChecker):
    """Every request is answered, or held by the coordinator until its time comes.

    But for the SyncGroup of a member that has left meanwhile: it waits no more.
    """

    def heard(self, event: GroupEvent, now_ms: int) -> None:
        """A member has left."""
        if isinstance(event, MemberRemoved) and event.why.startswith("left"):
            for request_id, ticket in list(self.scene.tickets.items()):
                body = ticket.body
                if isinstance(body, SyncGroup) and body.member_id == event.member_id:
                    del self.scene.tickets[request_id]

    def look(self, now_ms: int, is_awake: bool) -> None:
        """Each one without an answer is a parked JoinGroup or SyncGroup."""
        held: set[int | None] = set()
        for group in self.scene.groups():
            for member in group.members.values():
                held |= {member.join_request, member.sync_request}
                if member.join_request is not None and group.state is not S.PREPARING_REBALANCE:
                    self._report(f"{group.group_id}: {member.member_id} waits to join in {group.state}")
                if member.sync_request is not None and group.state is not S.COMPLETING_REBALANCE:
                    self._report(f"{group.group_id}: {member.member_id} waits to sync in {group.state}")
            self._count(group)
        for request_id, ticket in list(self.scene.tickets.items()):
            if request_id not in held:
                del self.scene.tickets[request_id]
                name = type(ticket.body).__name__
                self._report(f"{name} of {ticket.client_id}, {now_ms - ticket.asked_ms} ms ago: no answer")

    def _count(self, group: ClassicGroup) -> None:
        """The group's own books agree with each other."""
        statics = {
            member.group_instance_id: member.member_id
            for member in group.members.values()
            if member.group_instance_id is not None
        }
        if statics != group.static_members:
            self._report(f"{group.group_id}: static members {statics} and {group.static_members}")
        parked = sum(member.awaits_join for member in group.members.values())
        if parked != group.joins_parked:
            self._report(f"{group.group_id}: {parked} wait to join, and {group.joins_parked} are counted")
        if group.members and group.leader_id not in group.members:
            self._report(f"{group.group_id}: the leader {group.leader_id} is no member")
        if group.state is S.EMPTY and group.members:
            self._report(f"{group.group_id}: Empty with {len(group.members)} members")

    def _report(self, why: str) -> None:
        self.scene.report(NOBODY_FORGOTTEN, why)
