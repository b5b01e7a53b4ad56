"""Group requests on their way to coordinators, and the answers back."""

from dataclasses import dataclass, replace
from typing import Final

from kgroup.broker.apis.coordination import ask_coordinator
from kgroup.broker.node import BrokerNode
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    DeletableGroupResult,
    DeleteGroups,
    DeleteGroupsResponse,
    DescribedGroup,
    Heartbeat,
    JoinGroup,
    JoinGroupResponse,
    LeaveGroup,
    LeavingMember,
    ListedGroup,
    ReplyBody,
    SyncGroup,
    SyncGroupResponse,
)
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, blob, required, text

E = ErrorCode
# READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: all that can be done to a group.
ALL_OPERATIONS: Final = frozenset({3, 6, 8, 10, 11})


# ---- members ----------------------------------------------------------------------------------


def join_group(node: BrokerNode, call: Call, now_ms: int) -> None:
    """JoinGroup v0 to v9."""
    request = call.body
    rebalance_ms = request.rebalance_timeout_ms if call.version >= 1 else request.session_timeout_ms
    body = JoinGroup(
        group_id=text(request.group_id),
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=text(request.member_id),
        group_instance_id=request.group_instance_id,
        protocol_type=text(request.protocol_type),
        protocols=tuple((text(each.name), blob(each.metadata)) for each in required(request.protocols)),
        reason=request.reason,
        needs_known_id=call.version >= 4,
        can_skip_assignment=call.version >= 9,
    )

    def answer(reply: ReplyBody) -> None:
        assert isinstance(reply, JoinGroupResponse)
        if call.version < 7 and reply.protocol_name is None:
            reply = replace(reply, protocol_name="")  # null is new in version 7
        node.answer(call, reply)

    ask_coordinator(node, call, body.group_id, body, now_ms, answer)


def sync_group(node: BrokerNode, call: Call, now_ms: int) -> None:
    """SyncGroup v0 to v5."""
    request = call.body
    body = SyncGroup(
        group_id=text(request.group_id),
        generation_id=request.generation_id,
        member_id=text(request.member_id),
        group_instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocol_name=request.protocol_name,
        assignments=tuple(
            (text(each.member_id), blob(each.assignment)) for each in required(request.assignments)
        ),
    )
    if call.version >= 5 and (body.protocol_type is None or body.protocol_name is None):
        node.answer(call, SyncGroupResponse(error_code=E.INCONSISTENT_GROUP_PROTOCOL))
        return
    ask_coordinator(node, call, body.group_id, body, now_ms, lambda reply: node.answer(call, reply))


def heartbeat(node: BrokerNode, call: Call, now_ms: int) -> None:
    """Heartbeat v0 to v4."""
    request = call.body
    body = Heartbeat(
        group_id=text(request.group_id),
        generation_id=request.generation_id,
        member_id=text(request.member_id),
        group_instance_id=request.group_instance_id,
    )
    ask_coordinator(node, call, body.group_id, body, now_ms, lambda reply: node.answer(call, reply))


def leave_group(node: BrokerNode, call: Call, now_ms: int) -> None:
    """LeaveGroup v0 to v5."""
    request = call.body
    batched = call.version >= 3
    if batched:
        members = tuple(
            LeavingMember(
                member_id=text(each.member_id), group_instance_id=each.group_instance_id, reason=each.reason
            )
            for each in required(request.members)
        )
    else:
        members = (LeavingMember(member_id=text(request.member_id), group_instance_id=None),)
    body = LeaveGroup(group_id=text(request.group_id), members=members, batched=batched)
    ask_coordinator(node, call, body.group_id, body, now_ms, lambda reply: node.answer(call, reply))


# ---- administration ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsResponse:
    """The answer to DescribeGroups and, with an error code, to ListGroups."""

    groups: list[DescribedGroup] | list[ListedGroup]
    error_code: ErrorCode = ErrorCode.NONE
    throttle_time_ms: int = 0


def describe_groups(node: BrokerNode, call: Call, now_ms: int) -> None:
    """DescribeGroups v0 to v6; before v6 a group that is not there is Dead and no error."""
    operations = ALL_OPERATIONS if call.version >= 3 and call.body.include_authorized_operations else None
    described = []
    for group_id in required(call.body.groups):
        hosted = node.cluster.coordinator(text(group_id), node.node_id, now_ms)
        if isinstance(hosted, ErrorCode):
            described.append(DescribedGroup(group_id=group_id, group_state="", error_code=hosted))
            continue
        group = hosted.coordinator.describe(group_id)
        if group.error_code and call.version < 6:
            group = replace(group, error_code=E.NONE, error_message=None)
        if not group.error_code:
            group = replace(group, authorized_operations=operations)
        described.append(group)
    node.answer(call, GroupsResponse(groups=described))


def list_groups(node: BrokerNode, call: Call, now_ms: int) -> None:
    """ListGroups v0 to v5: the groups whose coordinator this node is."""
    states = frozenset(state.lower() for state in required(call.body.states_filter or []))
    types = frozenset(kind.lower() for kind in required(call.body.types_filter or []))
    listed: list[ListedGroup] = []
    for _, hosted in sorted(node.cluster.coordinators.hosted.items()):
        if hosted.node_id != node.node_id:
            continue
        if hosted.is_loading:
            node.answer(call, GroupsResponse(groups=listed, error_code=E.COORDINATOR_LOAD_IN_PROGRESS))
            return
        listed += hosted.coordinator.listing(states, types)
    node.answer(call, GroupsResponse(groups=listed))


def delete_groups(node: BrokerNode, call: Call, now_ms: int) -> None:
    """DeleteGroups v0 to v2: each group by its own coordinator."""
    names = [text(name) for name in required(call.body.groups_names)]
    results: dict[str, ErrorCode] = {}

    def collect(reply: ReplyBody) -> None:
        assert isinstance(reply, DeleteGroupsResponse)
        results.update({result.group_id: result.error_code for result in reply.results})
        if len(results) == len(set(names)):
            node.answer(
                call,
                DeleteGroupsResponse(
                    results=[
                        DeletableGroupResult(group_id=name, error_code=results[name])
                        for name in dict.fromkeys(names)
                    ]
                ),
            )

    if not names:
        node.answer(call, DeleteGroupsResponse())
    for name in dict.fromkeys(names):
        ask_coordinator(node, call, name, DeleteGroups(group_ids=(name,)), now_ms, collect)


HANDLERS: Final = {
    api.JOIN_GROUP: join_group,
    api.SYNC_GROUP: sync_group,
    api.HEARTBEAT: heartbeat,
    api.LEAVE_GROUP: leave_group,
    api.DESCRIBE_GROUPS: describe_groups,
    api.LIST_GROUPS: list_groups,
    api.DELETE_GROUPS: delete_groups,
}
