"""Deletes groups of a live cluster, and removes members from them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DeleteGroupsRequest
from kafka.protocol.consumer import LeaveGroupRequest

from kgroup.net.admin.cluster import Cluster, error_name
from kgroup.net.admin.coordinated import Sleep, ask_coordinator, refuse
from kgroup.protocol.error_codes import ErrorCode


def delete_group(cluster: Cluster, group: str, sleep: Sleep = time.sleep) -> None:
    """Delete a group with its offsets (KIP-229). A second try that finds none is a first that got through.

    Raises SourceError if no coordinator answers, CoordinatorError if it refuses.
    """
    tries = 0

    def request() -> Any:
        nonlocal tries
        tries += 1
        return DeleteGroupsRequest(groups_names=[group])

    answer = ask_coordinator(
        cluster, group, request, lambda answer: [each.error_code for each in answer.results], sleep
    )
    (result,) = answer.results
    if result.error_code != ErrorCode.GROUP_ID_NOT_FOUND or tries == 1:
        refuse(cluster, result.error_code, f"delete group {group!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavingMember:
    """A member to take out: by its instance id if it is static, else by its member id."""

    member_id: str
    instance_id: str | None


def remove_members(
    cluster: Cluster, group: str, members: Sequence[LeavingMember], reason: str, sleep: Sleep = time.sleep
) -> dict[LeavingMember, str]:
    """Take members out of a classic group (KIP-345, the reason KIP-800): why each refused one was refused.

    Raises SourceError if no coordinator answers, or it refuses the whole request.
    """
    identity = LeaveGroupRequest.MemberIdentity

    def request() -> Any:
        return LeaveGroupRequest(
            group_id=group,
            members=[
                identity(
                    # Kafka's AdminClient leaves the id of a static member empty: its instance id is enough.
                    member_id="" if member.instance_id else member.member_id,
                    group_instance_id=member.instance_id,
                    reason=reason,
                )
                for member in members
            ],
            min_version=3,
        )

    answer = ask_coordinator(cluster, group, request, lambda answer: [answer.error_code], sleep)
    refuse(cluster, answer.error_code, f"remove members of group {group!r}")
    codes = {(each.group_instance_id or each.member_id): each.error_code for each in answer.members}
    return {
        member: error_name(code)
        for member in members
        if (code := codes.get(member.instance_id or member.member_id, ErrorCode.UNKNOWN_SERVER_ERROR))
    }
