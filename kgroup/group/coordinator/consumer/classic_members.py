"""Classic-protocol members in a consumer group: their joins, syncs, heartbeats and leaves.

Nobody leads: the coordinator assigns, and a JoinGroup is answered at once, with the member's epoch for a
generation. Behaves as GroupMetadataManager of Kafka 4.3.1 (KIP-848, online upgrade).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.group.coordinator.classic.group import CONSUMER_PROTOCOL
from kgroup.group.coordinator.consumer.group import ConsumerGroup
from kgroup.group.coordinator.consumer.member import ConsumerMember, MemberState
from kgroup.group.coordinator.consumer.migration import Migration, assignment_bytes
from kgroup.group.coordinator.consumer.plan import Plan
from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.group.coordinator.consumer.rules import (
    SESSION,
    ConsumerRules,
    OwnedPartitions,
    Subscribed,
    known_static_member,
    last_target,
    replaced,
    unknown_member,
)
from kgroup.group.coordinator.metadata_image import MetadataImage
from kgroup.group.coordinator.step import Request
from kgroup.group.coordinator.timers import TimerKey, Timers
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.consumer_group import ClassicMemberMetadata, ClassicProtocol
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
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.protocol.subscription import NamedTopicPartitions, decode_subscription

E = ErrorCode
JOIN: Final = "consumer-join"  # a classic member that was told to join again has to by then
SYNC: Final = "consumer-sync"  # and to sync by then


class ClassicMembers:
    """Works out plans and answers for classic members; keeps no group."""

    def __init__(
        self,
        rules: ConsumerRules,
        migration: Migration,
        timers: Timers[TimerKey],
        now_ms: Callable[[], int],
        new_id: Callable[[], str],
    ) -> None:
        self._rules = rules
        self._migration = migration
        self._timers = timers
        self._now_ms = now_ms
        self._new_id = new_id

    # ---- joining ------------------------------------------------------------------------------

    def join(self, group: ConsumerGroup, request: Request, body: JoinGroup, plan: Plan) -> JoinGroupResponse:
        """Let a member in, or back in; with a static member's return the group may become classic again."""
        if self._rules.settings.consumer_migration_policy == "disabled":
            raise Refused(E.INCONSISTENT_GROUP_PROTOCOL, "the migration of groups is disabled")
        is_unknown = body.member_id == UNKNOWN_MEMBER_ID
        member_id = self._new_id() if is_unknown else body.member_id
        self._rules.check_room(group, member_id)
        names = [name for name, _ in body.protocols]
        if body.protocol_type != CONSUMER_PROTOCOL or not group.supports(names):
            raise Refused(E.INCONSISTENT_GROUP_PROTOCOL, "the other classic members have other protocols")
        if is_unknown and body.needs_known_id and body.group_instance_id is None:
            return JoinGroupResponse(error_code=E.MEMBER_ID_REQUIRED, member_id=member_id)
        member, static = self._member(group, member_id, body, is_unknown, plan)
        downgrades = static is not None and self._migration.may_downgrade_by_replacing(group, static)
        updated, owned = self._as_it_joins(member, request, body)
        wish = self._rules.subscribe(group, member, updated, plan, any_regex_counts=True)
        if downgrades:
            rebalances = group.assignment_epoch < wish.epoch
            if not rebalances:
                target = last_target(group, wish.member)
                updated = self._rules.reconcile(group, wish, group.assignment_epoch, target, owned, plan)
            self._migration.downgrade(group, (), updated, rebalances, plan)
        else:
            updated = self._reconciled(group, wish, owned, plan)
            self._watch(group.group_id, updated, body, plan)
        return JoinGroupResponse(
            generation_id=updated.member_epoch,
            protocol_type=CONSUMER_PROTOCOL,
            protocol_name=body.protocols[0][0],
            member_id=updated.member_id,
        )

    def _member(
        self, group: ConsumerGroup, member_id: str, body: JoinGroup, is_unknown: bool, plan: Plan
    ) -> tuple[ConsumerMember, ConsumerMember | None]:
        """The member that joins, and who had its instance id until now."""
        instance_id = body.group_instance_id
        if instance_id is None:
            return group.members.get(member_id) or ConsumerMember(member_id=member_id), None
        static = group.static_member(instance_id)
        if not is_unknown:
            return known_static_member(group, member_id, instance_id), static
        if static is None:
            return ConsumerMember(member_id=member_id), None
        return replaced(group, static, member_id, plan), static

    def _as_it_joins(
        self, member: ConsumerMember, request: Request, body: JoinGroup
    ) -> tuple[ConsumerMember, OwnedPartitions]:
        try:
            subscription = decode_subscription(body.protocols[0][1])
        except DecodeError as error:  # as Kafka has it; in a classic group nobody reads it
            raise Refused(E.UNKNOWN_SERVER_ERROR, str(error)) from error
        updated = replace(
            member,
            instance_id=member.instance_id if body.group_instance_id is None else body.group_instance_id,
            rack_id=subscription.rack or member.rack_id,
            rebalance_timeout_ms=body.rebalance_timeout_ms,
            topics=frozenset(subscription.topics),
            regex="",
            client_id=request.client_id,
            client_host=request.client_host,
            classic=ClassicMemberMetadata(
                session_timeout_ms=body.session_timeout_ms,
                supported_protocols=tuple(
                    ClassicProtocol(name=name, metadata=metadata) for name, metadata in body.protocols
                ),
            ),
        )
        return updated, ids_owned(subscription.owned_partitions, self._rules.image)

    def _reconciled(
        self, group: ConsumerGroup, wish: Subscribed, owned: OwnedPartitions, plan: Plan
    ) -> ConsumerMember:
        epoch, target = self._rules.target_of(group, wish, plan)
        return self._rules.reconcile(group, wish, epoch, target, owned, plan)

    def _watch(self, group_id: str, member: ConsumerMember, body: JoinGroup, plan: Plan) -> None:
        now_ms = self._now_ms()

        def watch(live: ConsumerGroup) -> None:
            self._timers.cancel(TimerKey(JOIN, group_id, member.member_id))
            session = TimerKey(SESSION, group_id, member.member_id)
            self._timers.schedule(session, now_ms + body.session_timeout_ms)
            sync = TimerKey(SYNC, group_id, member.member_id)
            self._timers.schedule(sync, now_ms + body.rebalance_timeout_ms)

        plan.afterwards.append(watch)

    # ---- syncs and heartbeats -----------------------------------------------------------------

    def sync(self, group: ConsumerGroup, body: SyncGroup) -> SyncGroupResponse:
        """Give a member what it has at its epoch."""
        member, classic = self._classic(group, body.member_id, body.group_instance_id, body.generation_id)
        first = classic.supported_protocols[0]
        if body.protocol_type is not None and body.protocol_type != CONSUMER_PROTOCOL:
            raise Refused(E.INCONSISTENT_GROUP_PROTOCOL, "another protocol type than the group's")
        if body.protocol_name is not None and body.protocol_name != first.name:
            raise Refused(E.INCONSISTENT_GROUP_PROTOCOL, "another protocol than in the join's answer")
        if (
            group.assignment_epoch > member.member_epoch
            and member.state is not MemberState.UNREVOKED_PARTITIONS
        ):
            self._await_join(group, member)
            raise Refused(E.REBALANCE_IN_PROGRESS, "there is a newer assignment")
        self._timers.cancel(TimerKey(SYNC, group.group_id, member.member_id))
        self._keep_session(group, member.member_id, classic)
        return SyncGroupResponse(
            protocol_type=body.protocol_type,
            protocol_name=body.protocol_name,
            assignment=assignment_bytes(member.assigned, first.metadata, self._rules.image),
        )

    def heartbeat(self, group: ConsumerGroup, body: Heartbeat) -> HeartbeatResponse:
        """Keep a member's session, and say whether it has to join: to give up, to get, or to catch up."""
        member, classic = self._classic(group, body.member_id, body.group_instance_id, body.generation_id)
        self._keep_session(group, member.member_id, classic)
        if (
            member.member_epoch < group.assignment_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member))
        ):
            self._await_join(group, member)
            return HeartbeatResponse(error_code=E.REBALANCE_IN_PROGRESS)
        return HeartbeatResponse()

    def _classic(
        self, group: ConsumerGroup, member_id: str, instance_id: str | None, generation_id: int
    ) -> tuple[ConsumerMember, ClassicMemberMetadata]:
        """The member, which has to speak the classic protocol and to be in this generation."""
        if instance_id is None:
            member = group.members.get(member_id)
            if member is None:
                raise unknown_member(group, member_id)
        else:
            member = known_static_member(group, member_id, instance_id)
        if member.classic is None:
            raise Refused(E.UNKNOWN_MEMBER_ID, f"Member {member_id} does not speak the classic protocol.")
        if member.member_epoch != generation_id:
            raise Refused(E.ILLEGAL_GENERATION, f"The member's epoch is {member.member_epoch}.")
        return member, member.classic

    def _keep_session(self, group: ConsumerGroup, member_id: str, classic: ClassicMemberMetadata) -> None:
        session = TimerKey(SESSION, group.group_id, member_id)
        self._timers.schedule(session, self._now_ms() + classic.session_timeout_ms)

    def _await_join(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        key = TimerKey(JOIN, group.group_id, member.member_id)
        if self._timers.deadline_ms(key) is None:
            self._timers.schedule(key, self._now_ms() + member.rebalance_timeout_ms)

    # ---- leaving ------------------------------------------------------------------------------

    def leave(
        self, group: ConsumerGroup, body: LeaveGroup
    ) -> tuple[list[ConsumerMember], LeaveGroupResponse]:
        """The members that are to go, and the answer with an error for each that cannot."""
        leaving: dict[str, ConsumerMember] = {}
        answers = []
        for each in body.members:
            error = E.NONE
            try:
                member = _leaving_member(group, each)
                leaving[member.member_id] = member
            except Refused as refused:
                error = refused.error
            answers.append(
                MemberResponse(
                    member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=error
                )
            )
        if body.batched:
            return list(leaving.values()), LeaveGroupResponse(members=answers)
        error_code = answers[0].error_code if answers else E.NONE
        return list(leaving.values()), LeaveGroupResponse(error_code=error_code)


def _leaving_member(group: ConsumerGroup, leaving: LeavingMember) -> ConsumerMember:
    """An administrator may name the instance id alone."""
    if leaving.group_instance_id is not None and leaving.member_id:
        return known_static_member(group, leaving.member_id, leaving.group_instance_id)
    if leaving.group_instance_id is None:
        member = group.members.get(leaving.member_id)
    else:
        member = group.static_member(leaving.group_instance_id)
    if member is None:
        raise unknown_member(group, leaving.member_id)
    return member


def ids_owned(partitions: Iterable[NamedTopicPartitions], image: MetadataImage) -> OwnedPartitions:
    """The partitions a subscription claims to own, by topic id; topics that are gone are left out."""
    owned: dict[UUID, set[int]] = {}
    for named in partitions:
        topic = image.topic(named.topic)
        if topic is not None:
            owned.setdefault(topic.topic_id, set()).update(named.partitions)
    return owned
