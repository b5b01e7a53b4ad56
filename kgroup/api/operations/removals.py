"""Removes members from groups. There is no undo: a member that still runs rejoins by itself."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kgroup.api.operations.asked import existing_groups
from kgroup.api.operations.each_group import each_group
from kgroup.errors import RefusedError, SourceError
from kgroup.history.groups.model import Group, GroupKind, Member
from kgroup.lag.findings.text import listed
from kgroup.net.admin.cluster import Cluster, error_name
from kgroup.net.admin.coordinated import CoordinatorError
from kgroup.net.admin.group_changes import LeavingMember, remove_members
from kgroup.net.admin.group_states import present_group
from kgroup.report.progress import NO_PROGRESS, Progress

REMOVED: Final = "removed"
NOT_TRIED: Final = "not tried"
UNKNOWN: Final = "unknown: no answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRemoval:
    """The members that will be taken out, of those that are in the group."""

    group: str
    state: str
    members: tuple[Member, ...]
    staying: int


def plan_removals(
    cluster: Cluster,
    groups: Sequence[str],
    *,
    member_ids: Sequence[str],
    instance_ids: Sequence[str],
    every: bool,
    progress: Progress = NO_PROGRESS,
) -> list[PlannedRemoval]:
    """Find the members of each group by their ids, the static ones by their instance ids, or all of them.

    Raises RefusedError for a group that is not there, has no members, or is of a kind that takes nobody out,
    and for an id that none of the groups has.
    """
    found = list(existing_groups(cluster, groups, progress=progress).values())
    for group in found:
        _require_members(group)
    ids = {member.member_id for group in found for member in group.members}
    instances = {member.instance_id for group in found for member in group.members}
    for name in member_ids:
        if name not in ids:
            raise RefusedError(f"--member {name}: {_nowhere(found)}")
    for name in instance_ids:
        if name not in instances:
            raise RefusedError(f"--instance {name}: {_nowhere(found)}")
    planned = []
    for group in found:
        leaving = tuple(
            member
            for member in group.members
            if every or member.member_id in member_ids or member.instance_id in instance_ids
        )
        staying = len(group.members) - len(leaving)
        planned.append(
            PlannedRemoval(group=group.group_id, state=group.state.value, members=leaving, staying=staying)
        )
    return planned


def _require_members(group: Group) -> None:
    if group.kind not in (GroupKind.CLASSIC, GroupKind.SIMPLE):
        raise RefusedError(
            f"group {group.group_id!r} is of the {group.kind.value} protocol, of which Kafka takes no member"
            " out on request: stop the member, or wait for its session to end"
        )
    if not group.members:
        raise RefusedError(f"group {group.group_id!r} is {group.state.value}: nobody is in it")


def _nowhere(groups: Sequence[Group]) -> str:
    if len(groups) == 1:
        return f"not in group {groups[0].group_id!r}; {_there(groups[0].members)}"
    return f"in none of the {len(groups)} groups"


def _there(members: Sequence[Member]) -> str:
    names = [
        member.member_id + (f" [{member.instance_id}]" if member.instance_id else "") for member in members
    ]
    return f"there are {listed(names)}"


@dataclass(slots=True, kw_only=True)
class Removed:
    """The outcome of a removal by group and member id, and the line that stopped it, None if nothing did."""

    results: dict[tuple[str, str], str] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def left(self) -> dict[tuple[str, str], str]:
        """The members that were not taken out, and why."""
        return {member: result for member, result in self.results.items() if result != REMOVED}


def remove(
    cluster: Cluster, planned: Sequence[PlannedRemoval], reason: str, progress: Progress = NO_PROGRESS
) -> Removed:
    """Take them out, some groups at a time, and look who is left.

    A coordinator that refuses a group or does not answer ends it: what is under way for other groups is
    finished, and no other is begun.
    """
    of_group = {each.group: each for each in planned if each.members}
    failures: dict[str, SourceError] = {}

    def of_one(group: str) -> dict[str, str]:
        if failures:
            return {}
        try:
            return _remove(cluster, of_group[group], reason)
        except SourceError as error:
            failures[group] = error
            result = f"refused: {error_name(error.code)}" if isinstance(error, CoordinatorError) else UNKNOWN
            return dict.fromkeys((member.member_id for member in of_group[group].members), result)

    removed = Removed()
    for group, results in zip(
        of_group, each_group("removing members", list(of_group), of_one, progress), strict=True
    ):
        for member in of_group[group].members:
            removed.results[group, member.member_id] = results.get(member.member_id, NOT_TRIED)
    if failures:
        removed.stopped = str(next(failures[group] for group in of_group if group in failures))
    return removed


def _remove(cluster: Cluster, planned: PlannedRemoval, reason: str) -> dict[str, str]:
    leaving = {
        member.member_id: LeavingMember(member_id=member.member_id, instance_id=member.instance_id)
        for member in planned.members
    }
    refused = remove_members(cluster, planned.group, list(leaving.values()), reason)
    after = present_group(cluster, planned.group)
    left = {member.member_id for member in after.members} if after is not None else set()
    results = {}
    for member_id, member in leaving.items():
        if member in refused:
            results[member_id] = f"refused: {refused[member]}"
        else:
            results[member_id] = "refused: is still in the group" if member_id in left else REMOVED
    return results
