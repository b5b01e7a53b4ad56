"""Members taken out of a group. There is no undo: a member that still runs joins again by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgroup.api.operations.asked import existing_group
from kgroup.errors import RefusedError
from kgroup.history.groups.model import GroupKind, Member
from kgroup.lag.findings.text import listed
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.group_changes import LeavingMember, remove_members
from kgroup.net.admin.group_states import present_group


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRemoval:
    """The members that will be taken out, of those that are in the group."""

    group: str
    state: str
    members: tuple[Member, ...]
    staying: int


def plan_removal(
    cluster: Cluster, group: str, *, member_ids: Sequence[str], instance_ids: Sequence[str], every: bool
) -> PlannedRemoval:
    """Find the members by their ids, the static ones by their instance ids, or all of them.

    Raises RefusedError for a group or member that is not there, and a kind of group that takes nobody out.
    """
    found = existing_group(cluster, group)
    if found.kind not in (GroupKind.CLASSIC, GroupKind.SIMPLE):
        raise RefusedError(
            f"group {group!r} is of the {found.kind.value} protocol, of which Kafka takes no member out on"
            " request: stop the member, or wait for its session to end"
        )
    if not found.members:
        raise RefusedError(f"group {group!r} is {found.state.value}: nobody is in it")
    by_id = {member.member_id: member for member in found.members}
    by_instance = {member.instance_id: member for member in found.members if member.instance_id}
    for name in member_ids:
        if name not in by_id:
            raise RefusedError(f"--member {name}: not in group {group!r}; {_there(found.members)}")
    for name in instance_ids:
        if name not in by_instance:
            raise RefusedError(f"--instance {name}: not in group {group!r}; {_there(found.members)}")
    chosen = set(member_ids) | {by_instance[name].member_id for name in instance_ids}

    leaving = tuple(member for member in found.members if every or member.member_id in chosen)
    return PlannedRemoval(
        group=group, state=found.state.value, members=leaving, staying=len(found.members) - len(leaving)
    )


def _there(members: Sequence[Member]) -> str:
    names = [
        member.member_id + (f" [{member.instance_id}]" if member.instance_id else "") for member in members
    ]
    return f"there are {listed(names)}"


def remove(cluster: Cluster, planned: PlannedRemoval, reason: str) -> dict[str, str]:
    """Take them out, and look who is left: by member id why one was not removed.

    Raises SourceError if the coordinator does not answer or refuses all.
    """
    leaving = {
        member.member_id: LeavingMember(member_id=member.member_id, instance_id=member.instance_id)
        for member in planned.members
    }
    refused = remove_members(cluster, planned.group, list(leaving.values()), reason)
    after = present_group(cluster, planned.group)
    left = {member.member_id for member in after.members} if after is not None else set()
    return {
        member_id: refused.get(member, "is still in the group" if member_id in left else "")
        for member_id, member in leaving.items()
        if member in refused or member_id in left
    }
