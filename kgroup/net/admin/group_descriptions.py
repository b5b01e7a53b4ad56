"""Groups as their coordinators describe them, each kind with its own request."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kafka.protocol.admin import DescribeGroupsRequest

from kgroup.history.groups.model import Group, GroupKind, GroupState, Member, OwnedPartition
from kgroup.history.groups.modern import source_topics, task_partitions
from kgroup.history.groups.snapshot import classic_member
from kgroup.history.groups.topology import tasks_of, topology_of
from kgroup.net.admin.cluster import UnsupportedError, error_name
from kgroup.net.admin.group_asks import Answers, GroupAsks, Refused
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.values import MemberMetadata
from kgroup.wire.consumer_group_messages import ConsumerGroupDescribeRequest
from kgroup.wire.other_group_messages import ShareGroupDescribeRequest, StreamsGroupDescribeRequest

_AT_ONCE: Final = 100
_IS_CLASSIC: Final = {0: True, 1: False}  # by the type of a member
Described = dict[str, Group | Refused]


def describe_groups(
    asks: GroupAsks, kinds: Mapping[str, GroupKind | None], advance: Callable[[int], None]
) -> Described:
    """Each of these groups by its listed kind, in their order; Refused if its coordinator refuses.
    Members are in the order in which it names them.

    None is a kind that nobody knows: such a group is asked for as a consumer group first, then as a classic
    one, as Kafka's own admin client does. A group that is not there is Refused with GROUP_ID_NOT_FOUND.
    """
    described: Described = {}
    of_kind: dict[GroupKind | None, list[str]] = {}
    for group_id, kind in kinds.items():
        of_kind.setdefault(kind, []).append(group_id)
    for kind, groups in of_kind.items():
        if kind is None:
            described |= _of_unknown_kind(asks, groups, advance)
        else:
            described |= _ASKED_AS[kind](asks, groups, advance)
    return {group_id: described[group_id] for group_id in kinds}


def _of_unknown_kind(asks: GroupAsks, groups: Sequence[str], advance: Callable[[int], None]) -> Described:
    try:
        described = _consumer_groups(asks, groups, lambda done: None)
    except UnsupportedError:
        return _classic_groups(asks, groups, advance)
    others = [group for group, answer in described.items() if _is_not_there(answer)]
    advance(len(groups) - len(others))
    classic = _classic_groups(asks, others, advance)
    # Of a group that is neither, the first answer is the one that the admin client gives, too.
    return described | {group: each for group, each in classic.items() if not _is_not_there(each)}


def _is_not_there(answer: Group | Refused) -> bool:
    return isinstance(answer, Refused) and answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def _classic_groups(asks: GroupAsks, groups: Sequence[str], advance: Callable[[int], None]) -> Described:
    return asks.ask(
        groups,
        lambda some: DescribeGroupsRequest(groups=list(some)),
        _classic_answers,
        groups_at_once=_AT_ONCE,
        advance=advance,
    )


def _classic_answers(answer: Any, _: Sequence[str]) -> Answers[Group]:
    for group in answer.groups:
        error = _error(group)
        # Brokers before 4.1 call a group Dead that they do not know, later ones have an error for it.
        if not error.error_code and group.group_state == GroupState.DEAD:
            error = Refused(ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND.name)
        yield group.group_id, error, _classic(group)


def _error(group: Any) -> Refused:
    message = getattr(group, "error_message", None) or None
    return Refused(group.error_code, error_name(group.error_code), message)


def _classic(group: Any) -> Group:
    return Group(
        group_id=group.group_id,
        kind=GroupKind.CLASSIC if group.members or group.protocol_type else GroupKind.SIMPLE,
        state=_state(group.group_state),
        protocol_type=group.protocol_type,
        protocol=group.protocol_data or None,
        members=tuple(_classic_member(member, group.protocol_type) for member in group.members),
    )


def _classic_member(member: Any, protocol_type: str) -> Member:
    """The coordinator hands out the bytes of members only while the group is stable."""
    subscription, assignment = bytes(member.member_metadata or b""), bytes(member.member_assignment or b"")
    metadata = MemberMetadata(
        member_id=member.member_id,
        group_instance_id=getattr(member, "group_instance_id", None),
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout=-1,
        subscription=subscription,
        assignment=assignment,
    )
    has_bytes = bool(subscription and assignment)
    return classic_member(metadata, protocol_type if has_bytes else "")


def _consumer_groups(asks: GroupAsks, groups: Sequence[str], advance: Callable[[int], None]) -> Described:
    return asks.ask(
        groups,
        lambda some: ConsumerGroupDescribeRequest(group_ids=list(some), include_authorized_operations=False),
        lambda answer, _: _modern_answers(answer, GroupKind.CONSUMER, _consumer_member),
        groups_at_once=_AT_ONCE,
        advance=advance,
    )


def _share_groups(asks: GroupAsks, groups: Sequence[str], advance: Callable[[int], None]) -> Described:
    return asks.ask(
        groups,
        lambda some: ShareGroupDescribeRequest(group_ids=list(some), include_authorized_operations=False),
        lambda answer, _: _modern_answers(answer, GroupKind.SHARE, _share_member),
        groups_at_once=_AT_ONCE,
        advance=advance,
    )


def _modern_answers(answer: Any, kind: GroupKind, read_member: Callable[[Any], Member]) -> Answers[Group]:
    for group in answer.groups:
        yield (
            group.group_id,
            _error(group),
            Group(
                group_id=group.group_id,
                kind=kind,
                state=_state(group.group_state),
                epoch=group.group_epoch,
                target_epoch=group.assignment_epoch,
                protocol_type=kind.value,
                protocol=group.assignor_name or None,
                members=tuple(map(read_member, group.members)),
            ),
        )


def _consumer_member(member: Any) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        epoch=member.member_epoch,
        subscribed=tuple(sorted(member.subscribed_topic_names)),
        subscribed_regex=member.subscribed_topic_regex or None,
        owned=_owned(member.assignment),
        target=_owned(member.target_assignment),
        is_classic=_IS_CLASSIC.get(getattr(member, "member_type", -1)),
    )


def _share_member(member: Any) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=None,
        client_id=member.client_id,
        client_host=member.client_host,
        epoch=member.member_epoch,
        subscribed=tuple(sorted(member.subscribed_topic_names)),
        owned=_owned(member.assignment),
    )


def _streams_groups(asks: GroupAsks, groups: Sequence[str], advance: Callable[[int], None]) -> Described:
    return asks.ask(
        groups,
        lambda some: StreamsGroupDescribeRequest(group_ids=list(some), include_authorized_operations=False),
        _streams_answers,
        groups_at_once=_AT_ONCE,
        advance=advance,
    )


def _streams_answers(answer: Any, _: Sequence[str]) -> Answers[Group]:
    for group in answer.groups:
        subtopologies = (group.topology.subtopologies or ()) if group.topology is not None else ()
        sources = source_topics(subtopologies)
        yield (
            group.group_id,
            _error(group),
            Group(
                group_id=group.group_id,
                kind=GroupKind.STREAMS,
                state=_state(group.group_state),
                epoch=group.group_epoch,
                target_epoch=group.assignment_epoch,
                protocol_type=GroupKind.STREAMS.value,
                topology=None if group.topology is None else topology_of(group.topology.epoch, subtopologies),
                members=tuple(_streams_member(member, sources) for member in group.members),
            ),
        )


def _streams_member(member: Any, sources: Mapping[str, tuple[str, ...]]) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        epoch=member.member_epoch,
        subscribed=tuple(sorted({topic for topics in sources.values() for topic in topics})),
        owned=task_partitions(member.assignment.active_tasks, sources),
        target=task_partitions(member.target_assignment.active_tasks, sources),
        tasks=tasks_of(member.assignment),
    )


def _owned(assignment: Any) -> tuple[OwnedPartition, ...]:
    return tuple(
        sorted(
            OwnedPartition(topic.topic_name, partition, topic.topic_id)
            for topic in assignment.topic_partitions
            for partition in topic.partitions
        )
    )


def _state(name: str) -> GroupState:
    """UNKNOWN for a state of a later version."""
    return GroupState(name) if name in [*GroupState] else GroupState.UNKNOWN


_ASKED_AS: Final = {
    GroupKind.CLASSIC: _classic_groups,
    GroupKind.SIMPLE: _classic_groups,
    GroupKind.CONSUMER: _consumer_groups,
    GroupKind.SHARE: _share_groups,
    GroupKind.STREAMS: _streams_groups,
}
