"""Checks that a generation's members hear the same about it, and get what their leader assigned to them."""

from dataclasses import dataclass, field

from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.events import GroupDeleted, GroupEvent
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.keys import GroupMetadataKey
from kgroup.protocol.records.values import GroupMetadataValue
from kgroup.protocol.requests.coordinator import (
    JoinGroup,
    JoinGroupResponse,
    ReplyBody,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.sim.watch.coordinators import CoordinatorChecker, Scene, Ticket
from kgroup.sim.watch.log_model import Written
from kgroup.sim.watch.result import SHARES_FIT

_GENERATIONS_KEPT = 4


@dataclass(slots=True)
class _Generation:
    """The members as their leader was told of them, and the assignment it made."""

    leader: str
    protocol: str | None
    members: dict[str, tuple[tuple[str, bytes], ...]] = field(default_factory=dict)
    listed: dict[str, bytes] | None = None
    assigned: dict[str, bytes] | None = None


class SharesFit(CoordinatorChecker):
    """JoinGroup's answers agree; the leader knows everybody's metadata; SyncGroup brings what it assigned."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._generations: dict[str, dict[int, _Generation]] = {}
        self._due: dict[int, bytes | None] = {}  # by request: the share in the log when it came
        self._last: dict[str, GroupMetadataValue] = {}  # what was written last, though the group is gone

    def answered(self, ticket: Ticket, reply: ReplyBody, now_ms: int) -> None:
        """A member is in a generation, or has its share of it."""
        if ticket.of_consumer:
            return
        match ticket.body, reply:
            case JoinGroup() as body, JoinGroupResponse(error_code=ErrorCode.NONE):
                if reply.generation_id > ticket.generation or ticket.state is GroupState.PREPARING_REBALANCE:
                    self._joined(body, reply)
            case SyncGroup() as body, SyncGroupResponse(error_code=ErrorCode.NONE):
                self._synced(ticket, body, reply)
            case _:
                pass

    def _joined(self, body: JoinGroup, reply: JoinGroupResponse) -> None:
        generations = self._generations.setdefault(body.group_id, {})
        generation = generations.get(reply.generation_id)
        if generation is None:
            generation = _Generation(reply.leader, reply.protocol_name)
            generations[reply.generation_id] = generation
            while len(generations) > _GENERATIONS_KEPT:
                del generations[min(generations)]
        if (reply.leader, reply.protocol_name) != (generation.leader, generation.protocol):
            self._report(body.group_id, f"two leaders or protocols of generation {reply.generation_id}")
        if reply.protocol_name not in [name for name, _ in body.protocols]:
            self._report(body.group_id, f"{reply.member_id} does not know {reply.protocol_name}")
        generation.members[reply.member_id] = body.protocols
        group = self.scene.group(body.group_id)
        member = group.members.get(reply.member_id) if group is not None else None
        if member is not None:
            held = (member.session_timeout_ms, member.rebalance_timeout_ms)
            if held != (body.session_timeout_ms, body.rebalance_timeout_ms):
                self._report(body.group_id, f"{reply.member_id} asked for other timeouts than it has")
        if reply.member_id == reply.leader:
            generation.listed = {member.member_id: member.metadata for member in reply.members}

    def heard(self, event: GroupEvent, now_ms: int) -> None:
        """A group that is deleted counts from 1 again."""
        if isinstance(event, GroupDeleted):
            self._generations.pop(event.group_id, None)

    def asked(self, ticket: Ticket) -> None:
        """The leader's SyncGroup says who gets what."""
        body = ticket.body
        if not isinstance(body, SyncGroup):
            return
        if ticket.state is GroupState.STABLE:
            logged = self.scene.model.groups.get(body.group_id)
            if logged is not None and logged.generation == body.generation_id:
                shares = {member.member_id: member.assignment for member in logged.members}
                self._due[ticket.request_id] = shares.get(body.member_id)
        if ticket.state is not GroupState.COMPLETING_REBALANCE:
            return
        generation = self._generations.get(body.group_id, {}).get(body.generation_id)
        if generation is None or body.generation_id != ticket.generation or not ticket.was_leader:
            return
        generation.assigned = dict(body.assignments)
        for member_id, protocols in generation.members.items():
            metadata = dict(protocols).get(generation.protocol or "")
            if generation.listed is not None and generation.listed.get(member_id) != metadata:
                self._report(body.group_id, f"the leader was told something else of {member_id}")

    def written(self, written: Written, now_ms: int) -> None:
        """A generation's assignment is in the log."""
        value, before = written.value, written.before
        if not isinstance(written.key, GroupMetadataKey) or not isinstance(value, GroupMetadataValue):
            return
        assert before is None or isinstance(before, GroupMetadataValue)
        self._last[written.key.group] = value
        generation = self._generations.get(written.key.group, {}).get(value.generation)
        is_new = before is None or before.generation != value.generation
        if generation is None or generation.assigned is None or not value.members or not is_new:
            return
        for member in value.members:
            if member.assignment != generation.assigned.get(member.member_id, b""):
                self._report(written.key.group, f"{member.member_id} is to have what the leader did not say")

    def _synced(self, ticket: Ticket, body: SyncGroup, reply: SyncGroupResponse) -> None:
        due = self._due.pop(ticket.request_id, None)
        if due is not None:
            if due != reply.assignment:
                self._report(body.group_id, f"{body.member_id} gets another share than the log had")
            return
        # One batch may bring the share, and the end of the classic group that a newcomer upgrades.
        group = self.scene.model.groups.get(body.group_id) or self._last.get(body.group_id)
        if group is None or group.generation != body.generation_id:
            self._report(
                body.group_id, f"a share of generation {body.generation_id}, which is not in the log"
            )
            return
        for member in group.members:
            if member.member_id == body.member_id:
                if member.assignment != reply.assignment:
                    self._report(body.group_id, f"{body.member_id} gets another share than the log has")
                return

    def _report(self, group_id: str, why: str) -> None:
        self.scene.report(SHARES_FIT, f"{group_id}: {why}")
