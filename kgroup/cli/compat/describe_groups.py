"""`--describe`: offsets, members or states of groups."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kgroup.assignors.java_order import sorted_strings, string_order
from kgroup.cli.compat.failure import ToolError
from kgroup.cli.compat.given import Given
from kgroup.errors import SourceError
from kgroup.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from kgroup.history.groups.model import Group, GroupKind
    from kgroup.lag.measures.rows import Commit
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.admin.group_asks import GroupAsks, Refused
    from kgroup.report.compat.described import Described

_EXCEPTIONS: Final = {
    ErrorCode.GROUP_ID_NOT_FOUND: "GroupIdNotFoundException",
    ErrorCode.INVALID_GROUP_ID: "InvalidGroupIdException",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "GroupAuthorizationException",
}
_MESSAGES: Final = {
    ErrorCode.GROUP_ID_NOT_FOUND: "Group {group_id} not found.",
    ErrorCode.INVALID_GROUP_ID: "The group id is invalid.",
    # The coordinator is looked up first, and that is refused.
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "FindCoordinator request for groupId"
    " `CoordinatorKey(idValue='{group_id}', type=GROUP)` failed due to authorization failure",
}
"""What the client says of errors that come without words of the broker's."""


def run(given: Given, cluster: "Cluster") -> None:
    """Print the groups in order of their names."""
    from kgroup.report.compat.described import member_lines, offset_lines, state_lines, state_warning

    verbose = given.has("verbose")
    with_offsets = not given.has("members") and not given.has("state")
    described = describe(given, cluster, with_offsets=with_offsets)
    for each in described:
        if (warning := state_warning(each.group)) is not None:
            sys.stdout.flush()
            print(f"\n{warning}", file=sys.stderr)
        if given.has("members"):
            lines = member_lines(each.group, verbose=verbose)
        elif given.has("state"):
            lines = state_lines(each, verbose=verbose)
        else:
            lines = offset_lines(each, verbose=verbose)
        for line in lines:
            print(line)


def chosen_groups(given: Given, cluster: "Cluster") -> "dict[str, GroupKind | None]":
    """The groups that --group or --all-groups chooses, and their kinds as far as they are listed."""
    from kgroup.net.admin.group_listing import list_groups

    if not given.has("all-groups"):
        return dict.fromkeys(given.all("group"))
    return {group.group_id: group.kind for group in list_groups(cluster).values() if group.is_of_consumers}


def describe(given: Given, cluster: "Cluster", *, with_offsets: bool) -> "list[Described]":
    """The groups, in the order of their names. Raises ToolError if one of them cannot be described."""
    from kgroup.net.admin.group_asks import GroupAsks, Refused
    from kgroup.net.admin.group_descriptions import describe_groups
    from kgroup.report.compat.described import Described

    chosen = chosen_groups(given, cluster)
    asks = GroupAsks(cluster)
    answers = describe_groups(asks, chosen, lambda done: None)
    groups: dict[str, Group] = {}
    for group_id in string_order(answers):
        answer = answers[group_id]
        if isinstance(answer, Refused):
            raise failure_of(cluster, group_id, answer)
        groups[group_id] = answer
    commits = _commits(cluster, asks, list(groups)) if with_offsets else {}
    topics = {commit.topic for of_group in commits.values() for commit in of_group}
    topics |= {owned.topic for group in groups.values() for member in group.members for owned in member.owned}
    ends = {
        (log.topic, log.partition): log.log_end_offset
        for log in (cluster.log_listing(topics).logs if with_offsets and topics else ())
        if log.log_end_offset is not None
    }
    brokers = cluster.brokers()
    described = []
    for group_id in sorted_strings(groups):
        node_id = asks.coordinators[group_id]
        broker = brokers.get(node_id)
        where = f"{broker.host}:{broker.port}" if broker is not None else "-"
        described.append(
            Described(
                group=groups[group_id],
                coordinator=f"{where}  ({node_id})",
                commits={(each.topic, each.partition): each for each in commits.get(group_id, ())},
                ends=ends,
            )
        )
    return described


def _commits(cluster: "Cluster", asks: "GroupAsks", groups: Sequence[str]) -> "dict[str, tuple[Commit, ...]]":
    from kgroup.net.admin.group_asks import Refused
    from kgroup.net.admin.group_offsets import committed

    commits = {}
    for group_id, answer in committed(asks, groups, lambda done: None).items():
        if isinstance(answer, Refused):
            raise failure_of(cluster, group_id, answer)
        commits[group_id] = answer
    return commits


def failure_of(cluster: "Cluster", group_id: str, refused: "Refused") -> ToolError | SourceError:
    """The tool's error for this refusal, where it is known; otherwise kgroup's own words."""
    if refused.error_code not in _EXCEPTIONS:
        return SourceError(f"{cluster.name}: group {group_id}: {refused.why}")
    code = ErrorCode(refused.error_code)
    message = refused.message or _MESSAGES[code].format(group_id=group_id)
    return ToolError.of_future(_EXCEPTIONS[code], message)
