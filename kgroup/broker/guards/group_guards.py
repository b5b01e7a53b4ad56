"""Rights to groups: READ to be a member, DESCRIBE to look, DELETE to delete."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from kafka.protocol.metadata import FindCoordinatorResponse

from kgroup.broker.apis.group_apis import GroupsResponse
from kgroup.broker.guards.rights import MESSAGES, Guard, Rights, apart
from kgroup.broker.security.acls import Operation, ResourceType
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    DeletableGroupResult,
    DeleteGroupsResponse,
    DescribedGroup,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    ListedGroup,
    SyncGroupResponse,
)
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required, text

_GROUP_KEY: Final = 0
_TRANSACTION_KEY: Final = 1
_REFUSED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED


def _of_members(refusal: Callable[[int], Any]) -> Guard:
    """The guard of a request that only members send; `refusal` makes an answer for a version."""

    def guard(rights: Rights) -> Call | None:
        if rights.group(Operation.READ, text(rights.call.body.group_id)):
            return rights.call
        rights.refuse(refusal(rights.call.version))
        return None

    return guard


def _join_refusal(version: int) -> JoinGroupResponse:
    return JoinGroupResponse(error_code=_REFUSED, protocol_name=None if version >= 7 else "")


def _describe_groups(rights: Rights) -> Call:
    body = rights.call.body
    body.groups, refused = apart(
        required(body.groups), lambda name: rights.group(Operation.DESCRIBE, text(name))
    )
    with_operations = rights.call.version >= 3 and body.include_authorized_operations

    def amend(answer: GroupsResponse) -> GroupsResponse:
        hidden = [DescribedGroup(group_id=name, group_state="", error_code=_REFUSED) for name in refused]
        return replace(answer, groups=hidden + [described(group) for group in answer.groups])

    def described(group: DescribedGroup | ListedGroup) -> DescribedGroup:
        assert isinstance(group, DescribedGroup)
        if not with_operations or group.error_code:
            return group
        operations = rights.operations(ResourceType.GROUP, group.group_id)
        return replace(group, authorized_operations=operations)

    return rights.amended(amend)


def _list_groups(rights: Rights) -> Call:
    if rights.cluster(Operation.DESCRIBE):
        return rights.call

    def amend(answer: GroupsResponse) -> GroupsResponse:
        visible = [
            group
            for group in answer.groups
            if isinstance(group, ListedGroup) and rights.group(Operation.DESCRIBE, group.group_id)
        ]
        return replace(answer, groups=visible)

    return rights.amended(amend)


def _delete_groups(rights: Rights) -> Call:
    body = rights.call.body
    body.groups_names, refused = apart(
        required(body.groups_names), lambda name: rights.group(Operation.DELETE, text(name))
    )

    def amend(answer: DeleteGroupsResponse) -> DeleteGroupsResponse:
        results = [
            DeletableGroupResult(group_id=name, error_code=_REFUSED) for name in dict.fromkeys(refused)
        ]
        return replace(answer, results=[*answer.results, *results])

    return rights.amended(amend)


def _find_coordinator(rights: Rights) -> Call | None:
    body, version = rights.call.body, rights.call.version
    key_type = body.key_type if version >= 1 else _GROUP_KEY
    may = {_GROUP_KEY: rights.group, _TRANSACTION_KEY: rights.transactional_id}.get(key_type)
    if may is None:
        return rights.call
    error = _REFUSED if key_type == _GROUP_KEY else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    nowhere = {"error_code": error, "node_id": -1, "host": "", "port": -1}
    if version < 4:
        if may(Operation.DESCRIBE, text(body.key)):
            return rights.call
        message = MESSAGES[error]
        rights.refuse(FindCoordinatorResponse(version=version, error_message=message, **nowhere))
        return None
    body.coordinator_keys, refused = apart(
        required(body.coordinator_keys), lambda key: may(Operation.DESCRIBE, text(key))
    )

    def amend(answer: Any) -> Any:
        answer.coordinators = [
            *answer.coordinators,
            *(
                FindCoordinatorResponse.Coordinator(version=version, key=key, error_message="", **nowhere)
                for key in refused
            ),
        ]
        return answer

    return rights.amended(amend)


GUARDS: Final[dict[int, Guard]] = {
    api.JOIN_GROUP: _of_members(_join_refusal),
    api.SYNC_GROUP: _of_members(lambda version: SyncGroupResponse(error_code=_REFUSED)),
    api.HEARTBEAT: _of_members(lambda version: HeartbeatResponse(error_code=_REFUSED)),
    api.LEAVE_GROUP: _of_members(lambda version: LeaveGroupResponse(error_code=_REFUSED)),
    api.DESCRIBE_GROUPS: _describe_groups,
    api.LIST_GROUPS: _list_groups,
    api.DELETE_GROUPS: _delete_groups,
    api.FIND_COORDINATOR: _find_coordinator,
}
