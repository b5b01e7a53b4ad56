"""What a group is now and who is in it, whatever kind it is: whether it may be changed hangs on that."""

from typing import Final

from kgroup.errors import SourceError
from kgroup.history.groups.model import Group, GroupKind, GroupState
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.group_asks import GroupAsks, Refused
from kgroup.net.admin.group_descriptions import describe_groups
from kgroup.net.admin.group_listing import list_groups
from kgroup.protocol.error_codes import ErrorCode

_IDLE: Final = (GroupState.EMPTY, GroupState.DEAD)


def is_idle(group: Group) -> bool:
    """Whether a group's offsets may be changed from outside: nobody is in it."""
    return group.state in _IDLE


def present_group(cluster: Cluster, group: str) -> Group | None:
    """The group as its coordinator describes it, None if there is none.

    It is asked for as a consumer or a classic group first; only what is neither is looked for in the list of
    groups. Raises SourceError if its coordinator does not answer, or refuses.
    """
    found = _described(cluster, group, None)
    if found is not None:
        return found
    listed = list_groups(cluster).get(group)
    if listed is None or listed.kind not in (GroupKind.SHARE, GroupKind.STREAMS):
        return None
    return _described(cluster, group, listed.kind)


def _described(cluster: Cluster, group: str, kind: GroupKind | None) -> Group | None:
    (answer,) = describe_groups(GroupAsks(cluster), {group: kind}, lambda done: None).values()
    if not isinstance(answer, Refused):
        return answer
    if answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return None
    raise SourceError(f"{cluster.name}: cannot describe group {group!r}: {answer.why}")
