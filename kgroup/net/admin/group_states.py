"""The state and members of a group of any kind: they decide whether it may be changed."""

from collections.abc import Callable, Iterable
from typing import Final

from kgroup.errors import SourceError
from kgroup.history.groups.model import Group, GroupKind, GroupState
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.coordinated import CoordinatorError
from kgroup.net.admin.group_asks import GroupAsks, Refused
from kgroup.net.admin.group_descriptions import describe_groups
from kgroup.net.admin.group_listing import list_groups
from kgroup.protocol.error_codes import ErrorCode

_IDLE: Final = (GroupState.EMPTY, GroupState.DEAD)
_OF_THEIR_OWN: Final = (GroupKind.SHARE, GroupKind.STREAMS)
"""Kinds of which a request for consumer or classic groups says that there is no such group."""


def is_idle(group: Group) -> bool:
    """Whether a group's offsets may be changed from outside: nobody is in it."""
    return group.state in _IDLE


def present_groups(
    cluster: Cluster, groups: Iterable[str], advance: Callable[[int], None] = lambda done: None
) -> dict[str, Group | SourceError | None]:
    """Each of these groups as its coordinator describes it, None if there is none; in their order.

    They are asked for as consumer or classic groups first, many to a request; only if some are neither, the
    groups of the cluster are listed, once, for what these are. A SourceError is in the place of a group whose
    coordinator does not answer, or refuses. Raises SourceError if the groups cannot be listed.
    """
    asks = GroupAsks(cluster)
    described = describe_groups(asks, dict.fromkeys(groups), advance)
    missing = [group for group, answer in described.items() if _is_missing(answer)]
    if missing:
        listed = list_groups(cluster)
        kinds = {group: listed[group].kind for group in missing if group in listed}
        others = {group: kind for group, kind in kinds.items() if kind in _OF_THEIR_OWN}
        described |= describe_groups(asks, others, lambda done: None)
    return {group: _present(cluster, group, answer) for group, answer in described.items()}


def present_group(cluster: Cluster, group: str) -> Group | None:
    """The same of one group. Raises SourceError if its coordinator does not answer, or refuses."""
    (found,) = present_groups(cluster, [group]).values()
    if isinstance(found, SourceError):
        raise found
    return found


def _is_missing(answer: Group | Refused) -> bool:
    return isinstance(answer, Refused) and answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def _present(cluster: Cluster, group: str, answer: Group | Refused) -> Group | SourceError | None:
    if not isinstance(answer, Refused):
        return answer
    if _is_missing(answer):
        return None
    why = f"{cluster.name}: cannot describe group {group!r}: {answer.why}"
    return SourceError(why) if answer.error_code is None else CoordinatorError(why, answer.error_code)
