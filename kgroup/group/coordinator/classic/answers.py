"""A classic group's answers, derived from its state alone: Kafka 4.3's `ClassicGroup`."""

from kgroup.group.coordinator.classic.answer_table import CHECKS, Check, Trigger
from kgroup.group.coordinator.classic.group import ClassicGroup, Member
from kgroup.group.coordinator.classic.states import GroupState
from kgroup.group.coordinator.classic.subscribed_topics import is_readable, subscribed_topics
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    DescribedGroup,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeavingMember,
    OffsetCommit,
    SyncGroup,
    SyncGroupResponse,
    TxnOffsetCommit,
)

E = ErrorCode
MemberRequest = JoinGroup | SyncGroup | Heartbeat | LeavingMember | OffsetCommit | TxnOffsetCommit


def _check_member(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    """Unknown instance, then fenced instance, then unknown member."""
    if instance_id is not None:
        current = group.static_members.get(instance_id)
        if current is None:
            return E.UNKNOWN_MEMBER_ID
        if current != member_id:
            return E.FENCED_INSTANCE_ID
    return E.NONE if member_id in group.members else E.UNKNOWN_MEMBER_ID


def check_request(group: ClassicGroup, trigger: Trigger, body: MemberRequest) -> ErrorCode:
    """The first of the trigger's checks that fails, or NONE.

    NONE also in a group without members, where there is nobody to check: the table refuses there.
    """
    if group.is_empty:
        return E.NONE
    for check in CHECKS.get(trigger, ()):
        error = _failed(check, group, body)
        if error:
            return error
    return E.NONE


def _failed(check: Check, group: ClassicGroup, body: MemberRequest) -> ErrorCode:
    match check:
        case Check.MEMBER:
            return _check_member(group, body.member_id, body.group_instance_id)
        case Check.GENERATION:
            assert not isinstance(body, JoinGroup | LeavingMember)
            return E.NONE if body.generation_id == group.generation_id else E.ILLEGAL_GENERATION
        case Check.PROTOCOL:
            assert isinstance(body, SyncGroup)
            return _check_protocol(group, body)


def _check_protocol(group: ClassicGroup, body: SyncGroup) -> ErrorCode:
    if body.protocol_type is not None and body.protocol_type != group.protocol_type:
        return E.INCONSISTENT_GROUP_PROTOCOL
    if (
        body.protocol_name is not None
        and group.protocol_name is not None
        and body.protocol_name != group.protocol_name
    ):
        return E.INCONSISTENT_GROUP_PROTOCOL
    return E.NONE


def joined(
    group: ClassicGroup,
    member_id: str,
    members: list[JoinGroupResponseMember],
    *,
    leader: str | None = None,
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    """The answer to a member that is in the generation; `members` is empty but for the leader."""
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader or group.leader_id or "",
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=members,
    )


def members_for_leader(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    """All that the leader has to know of the members in order to assign."""
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            metadata=member.metadata(group.protocol_name),
        )
        for member in group.members.values()
    ]


def assigned(group: ClassicGroup, member: Member) -> SyncGroupResponse:
    """The answer with the member's part of the assignment."""
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


def absent_group(group_id: str) -> DescribedGroup:
    """The description of a group that is not there, as of Kafka 4.3."""
    return DescribedGroup(
        group_id=group_id,
        group_state=GroupState.DEAD,
        error_code=E.GROUP_ID_NOT_FOUND,
        error_message=f"Group {group_id} not found.",
    )
