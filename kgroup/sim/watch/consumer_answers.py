"""The answers of consumer groups, to members of both protocols, and the deadlines behind them.

The rules stand here a second time, in words of their own: GroupMetadataManager of Kafka 4.3,
`throwIfConsumerGroupMemberEpochIsInvalid`, `validateOffsetCommit`, `classicGroupHeartbeatToConsumerGroup`,
`classicGroupSyncToConsumerGroup`.
"""

from collections.abc import Callable
from uuid import UUID

from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import AWAY, ConsumerMember, MemberState, Owned
from kgroup.group.coordinator.consumer.rules import REBALANCE, SESSION
from kgroup.group.coordinator.timers import TimerKey
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat, ConsumerGroupHeartbeatResponse
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    OffsetCommit,
    OffsetCommitResponse,
    ReplyBody,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.subscription import assigned_partitions
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.coordinators import CoordinatorChecker, Scene, Ticket
from kgroup.sim.watch.first_rounds import fails
from kgroup.sim.watch.result import ANSWERS_FIT, DEADLINES, UNREVOKED

E = ErrorCode
_OF_THE_NODE = frozenset({E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS})


class ConsumerAnswers(CoordinatorChecker):
    """Members with an old epoch are fenced, commits for others' partitions refused, classic members informed.

    `_told`: what a classic member of a consumer group heard last that it has, until it joins again, by group
    and member: the generation and the partitions.
    """

    def __init__(self, scene: Scene, name_of: Callable[[UUID], str | None]) -> None:
        super().__init__(scene)
        self._name_of = name_of
        self._expected: dict[int, ErrorCode] = {}
        self._told: dict[tuple[str, str], tuple[int, frozenset[TopicPartition]]] = {}

    def asked(self, ticket: Ticket) -> None:
        """The answer depends on the group as it is now."""
        body = ticket.body
        if isinstance(body, JoinGroup):
            self._told.pop((body.group_id, body.member_id), None)
        if not isinstance(body, ConsumerGroupHeartbeat | OffsetCommit | Heartbeat):
            return
        group = self.scene.consumer_group(body.group_id)
        if group is None and fails(body, self.scene.group(body.group_id), self.scene.settings):
            self._expected[ticket.request_id] = E.UNKNOWN_SERVER_ERROR
        member = None if group is None else group.members.get(body.member_id)
        if group is None or member is None:
            return
        error: ErrorCode | None
        match body:
            case ConsumerGroupHeartbeat():
                error = _fenced(member, body)
            case OffsetCommit():
                error = _commit(member, body)
            case Heartbeat():
                error = _classic_heartbeat(group, member, body)
        if error is not None:
            self._expected[ticket.request_id] = error

    def answered(self, ticket: Ticket, reply: ReplyBody, now_ms: int) -> None:
        """Compare, and remember what a classic member has."""
        body = ticket.body
        wanted = self._expected.pop(ticket.request_id, None)
        if isinstance(body, SyncGroup) and isinstance(reply, SyncGroupResponse):
            if reply.error_code is E.NONE:
                told = frozenset(assigned_partitions(reply.assignment))
                self._told[body.group_id, body.member_id] = body.generation_id, told
            return
        match reply:
            case ConsumerGroupHeartbeatResponse() | HeartbeatResponse():
                error = reply.error_code
            case OffsetCommitResponse():
                errors = [each.error_code for topic in reply.topics for each in topic.partitions]
                error = errors[0] if errors else E.NONE
            case _:
                return
        if wanted is None or error in _OF_THE_NODE or error is wanted:
            return
        if wanted is E.NONE and error is E.OFFSET_METADATA_TOO_LARGE:
            return
        what = type(body).__name__
        self.scene.report(
            ANSWERS_FIT, f"{_who(body)}: {what} is answered {error.name}, and {wanted.name} is due"
        )

    def look(self, now_ms: int, is_awake: bool) -> None:
        """Deadlines, and what classic members think that they have."""
        for group in self.scene.consumer_groups():
            for member in group.members.values():
                if member.classic is not None:
                    self._need(group, SESSION, member)
                    self._look_at_classic(group, member)
                elif member.state is MemberState.UNREVOKED_PARTITIONS and member.member_epoch != AWAY:
                    self._need(group, REBALANCE, member)

    def _need(self, group: ConsumerGroup, kind: str, member: ConsumerMember) -> None:
        key = TimerKey(kind, group.group_id, member.member_id)
        if self.scene.coordinator.deadline_ms(key) is None:
            self.scene.report(DEADLINES, f"{group.group_id}: no {kind} deadline {member.member_id}")

    def _look_at_classic(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        told = self._told.get((group.group_id, member.member_id))
        if told is None or told[0] != member.member_epoch:
            return
        held = {
            (name, partition)
            for owned in (member.assigned, member.revoking)
            for topic_id, partitions in owned.items()
            if (name := self._name_of(topic_id)) is not None
            for partition in partitions
        }
        more = {(topic, partition) for topic, partition in told[1] if (topic, partition) not in held}
        if more:
            names = " ".join(f"{topic}-{partition}" for topic, partition in sorted(more))
            self.scene.report(
                UNREVOKED,
                f"{group.group_id}: classic member {member.member_id} was told that it has {names} at epoch "
                f"{member.member_epoch}, and the coordinator thinks that it gave that up",
            )


def _who(body: object) -> str:
    return f"{getattr(body, 'group_id', '')}: {getattr(body, 'member_id', '')}"


def _has(owned: Owned, topic_id: UUID | None, partition: int) -> int | None:
    return None if topic_id is None else owned.get(topic_id, {}).get(partition)


def _fenced(member: ConsumerMember, body: ConsumerGroupHeartbeat) -> ErrorCode | None:
    """FENCED_MEMBER_EPOCH for an epoch that is neither its own nor, with nothing else, the one before."""
    epoch = body.member_epoch
    if epoch <= 0 or (body.instance_id is None) != (member.instance_id is None):
        return None
    if epoch == member.member_epoch:
        return None  # fine, unless its expression or its state is not
    claims = body.topic_partitions
    if (
        epoch < member.member_epoch
        and epoch == member.previous_member_epoch
        and claims is not None
        and all(_has(member.assigned, id_, each) is not None for id_, parts in claims for each in parts)
    ):
        return None
    return E.FENCED_MEMBER_EPOCH


def _commit(member: ConsumerMember, body: OffsetCommit) -> ErrorCode | None:
    """The epoch is its own, or an older one at which it had all of it (KIP-1251)."""
    if body.generation_id < 0 or (member.classic is None and not body.knows_group_not_found):
        return None
    if body.generation_id == member.member_epoch:
        return E.NONE
    stale = E.STALE_MEMBER_EPOCH if member.classic is None else E.ILLEGAL_GENERATION
    if body.generation_id > member.member_epoch:
        return stale
    for topic in body.topics:
        for each in topic.partitions:
            places = (
                _has(owned, topic.topic_id, each.partition_index)
                for owned in (member.assigned, member.revoking)
            )
            since = [epoch for epoch in places if epoch is not None]
            if not since or body.generation_id < since[0]:
                return stale
    return E.NONE


def _classic_heartbeat(group: ConsumerGroup, member: ConsumerMember, body: Heartbeat) -> ErrorCode | None:
    """REBALANCE_IN_PROGRESS to give up, to get what is free by now, or to catch up with the target."""
    if member.classic is None or body.group_instance_id != member.instance_id:
        return None
    if body.generation_id != member.member_epoch:
        return E.ILLEGAL_GENERATION
    behind = member.member_epoch < group.assignment_epoch
    gets = member.state is MemberState.UNRELEASED_PARTITIONS and not _waits(group, member)
    if behind or gets or member.state is MemberState.UNREVOKED_PARTITIONS:
        return E.REBALANCE_IN_PROGRESS
    return E.NONE


def _waits(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether another member has, or is giving up, what it shall get."""
    return any(
        _has(member.assigned, topic_id, partition) is None
        and any(
            _has(owned, topic_id, partition) is not None
            for other in group.members.values()
            for owned in (other.assigned, other.revoking)
        )
        for topic_id, partitions in group.target(member.member_id).items()
        for partition in partitions
    )
