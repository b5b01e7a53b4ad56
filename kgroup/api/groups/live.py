"""Groups of a live cluster: listed, described, with their offsets and log ends."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kgroup.api.groups.share_rows import share_rows
from kgroup.api.lag.options import LagOptions, matcher
from kgroup.api.names import is_pattern
from kgroup.api.opened import OpenedLogs, looked_into
from kgroup.history.groups.model import Group, GroupKind, GroupState
from kgroup.lag.findings.kinds import kind_notes
from kgroup.lag.measures.log_ends import LogEnds
from kgroup.lag.measures.rows import LagRow, lag_rows
from kgroup.lag.measures.seen_groups import SeenGroup, SeenGroups
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.group_asks import GroupAsks, Refused
from kgroup.net.admin.group_descriptions import describe_groups
from kgroup.net.admin.group_listing import ListedGroup, list_groups
from kgroup.net.admin.group_offsets import committed, share_offsets
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.log_listing import LogListing
from kgroup.report.progress import Progress

CommitTimes = Mapping[tuple[str, str, int], int]
"""Group, topic and partition to epoch ms."""


def live_groups(
    logs: OpenedLogs,
    *,
    groups: Sequence[str] | None,
    wanted: Callable[[ListedGroup], bool] = lambda group: True,
    offsets: bool,
    commit_times: bool,
    clock_ms: int,
    progress: Progress,
) -> SeenGroups:
    """Ask a cluster. `groups` are names or patterns; a name is asked for even where no broker lists it.

    `wanted` chooses among those that are listed. Without `offsets` groups have no rows. With `commit_times`
    the offsets topic is read, too, which alone knows when something was committed. Raises SourceError if
    brokers do not answer.
    """
    cluster = logs.cluster
    assert cluster is not None
    sent_before = cluster.requests_sent
    listed = list_groups(cluster)
    chosen = _chosen(listed, groups, wanted)
    asks = GroupAsks(
        cluster, {group_id: listed[group_id].node_id for group_id in chosen if group_id in listed}
    )
    with progress.counted("describing groups", len(chosen)) as advance:
        described = describe_groups(asks, chosen, advance)
    absent = [group_id for group_id, group in described.items() if _is_absent(group)]
    known = {group_id: group for group_id, group in described.items() if group_id not in absent}
    found = _Found(
        groups={
            group_id: _as_group(group_id, group, listed.get(group_id)) for group_id, group in known.items()
        },
        problems={group_id: group.why for group_id, group in known.items() if isinstance(group, Refused)},
    )
    if offsets:
        _add_offsets(
            found, cluster, asks, _commit_times(logs, groups, progress) if commit_times else {}, progress
        )
    elif needed := _of_topologies(found):
        _note_kinds(found, LogEnds([_listing(cluster, needed)]))
    return SeenGroups(
        groups=tuple(
            SeenGroup(
                group=group,
                rows=found.rows.get(group_id, ()),
                coordinator=asks.coordinators.get(group_id),
                problem=found.problems.get(group_id),
                is_described=isinstance(known[group_id], Group),
            )
            for group_id, group in sorted(found.groups.items())
        ),
        now_ms=clock_ms,
        hosts={node_id: f"{broker.host}:{broker.port}" for node_id, broker in cluster.brokers().items()},
        requests=cluster.requests_sent - sent_before,
        times_known=commit_times,
        absent=tuple(absent),
        known_ids=tuple(sorted(listed)),
    )


@dataclass(slots=True, kw_only=True)
class _Found:
    groups: dict[str, Group]
    problems: dict[str, str]
    rows: Mapping[str, tuple[LagRow, ...]] = field(default_factory=dict)


def _chosen(
    listed: Mapping[str, ListedGroup], groups: Sequence[str] | None, wanted: Callable[[ListedGroup], bool]
) -> dict[str, GroupKind | None]:
    is_named = matcher(groups)
    chosen = {
        group_id: group.kind for group_id, group in listed.items() if is_named(group_id) and wanted(group)
    }
    return chosen | {name: None for name in groups or () if not is_pattern(name) and name not in listed}


def _is_absent(group: Group | Refused) -> bool:
    """Whether there is no such group. One that was listed a moment ago has been deleted meanwhile."""
    return isinstance(group, Refused) and group.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def _as_group(group_id: str, group: Group | Refused, listed: ListedGroup | None) -> Group:
    """The group as described, or what the list of groups says about one its coordinator does not describe."""
    if isinstance(group, Group):
        return group
    state = listed.state if listed is not None and listed.state is not None else ""
    return Group(
        group_id=group_id,
        kind=(listed.kind if listed is not None else None) or GroupKind.CLASSIC,
        state=GroupState(state) if state in [*GroupState] else GroupState.UNKNOWN,
        protocol_type=listed.protocol_type if listed is not None else "",
    )


def _add_offsets(
    found: _Found, cluster: Cluster, asks: GroupAsks, times: CommitTimes, progress: Progress
) -> None:
    shares = [group_id for group_id, group in found.groups.items() if group.kind is GroupKind.SHARE]
    others = [group_id for group_id in found.groups if group_id not in set(shares)]
    with progress.counted("reading offsets", len(found.groups)) as advance:
        commits = committed(asks, others, advance)
        starts = share_offsets(asks, shares, advance) if shares else {}
    for group_id, answer in (*commits.items(), *starts.items()):
        if isinstance(answer, Refused):
            found.problems.setdefault(group_id, f"offsets: {answer.why}")
    of_groups = [
        commit._replace(commit_timestamp=times.get((commit.group, commit.topic, commit.partition), -1))
        if times
        else commit
        for group_id in sorted(commits)
        if not isinstance(answer := commits[group_id], Refused)
        for commit in answer
    ]
    of_shares = {group_id: answer for group_id, answer in starts.items() if not isinstance(answer, Refused)}
    topics = {commit.topic for commit in of_groups} | {
        owned.topic for group in found.groups.values() for member in group.members for owned in member.owned
    }
    topics |= _of_topologies(found)
    topics |= {offset.topic for answer in of_shares.values() for offset in answer}
    with progress.activity("reading log ends"):
        ends = LogEnds([_listing(cluster, topics)])
    _note_kinds(found, ends)
    rows: dict[str, list[LagRow]] = {}
    groups = {group_id: found.groups[group_id] for group_id in others}
    for row in lag_rows(groups, of_groups, ends):
        rows.setdefault(row.group, []).append(row)
    for group_id, answer in of_shares.items():
        rows[group_id] = list(share_rows(found.groups[group_id], answer, ends))
    found.rows = {group_id: tuple(of_group) for group_id, of_group in rows.items()}


def _of_topologies(found: _Found) -> set[str]:
    """The topics that streams groups need."""
    return {topic for group in found.groups.values() if group.topology for topic in group.topology.topics}


def _note_kinds(found: _Found, ends: LogEnds) -> None:
    for group_id, group in found.groups.items():
        if notes := tuple(kind_notes(group, ends)):
            found.groups[group_id] = replace(group, notes=(*group.notes, *notes))


def _listing(cluster: Cluster, topics: Collection[str]) -> LogListing:
    """The logs of these topics, and of those that are not there why."""
    if not topics:
        return LogListing(logs=(), complete=True)
    listing = replace(cluster.log_listing(topics), complete=True)
    missing = set(topics) - {log.topic for log in listing.logs}
    return looked_into(listing, cluster, missing)


def _commit_times(logs: OpenedLogs, groups: Sequence[str] | None, progress: Progress) -> CommitTimes:
    from kgroup.api.lag.arrow_commits import iterate_commits, living_commits
    from kgroup.api.lag.reading import read_log

    logs.pass_over_leaderless()
    scanned = read_log(logs, LagOptions(groups=groups).plan, progress, None)
    return {
        (commit.group, commit.topic, commit.partition): commit.commit_timestamp
        for commit in iterate_commits(living_commits(scanned.newest.commits, matcher(groups)))
    }
