"""All groups, or those that match, with members, offsets and lag: from log files or a live cluster."""

from collections.abc import Sequence
from itertools import groupby

from kgroup.api.groups.share_rows import logged_share_rows
from kgroup.api.lag.options import LagOptions
from kgroup.api.lag.report import report_on
from kgroup.api.names import names_given, nothing_matches, without_match
from kgroup.api.opened import OpenedLogs
from kgroup.errors import SourceError
from kgroup.history.groups.model import simple_group
from kgroup.lag.measures.seen_groups import SeenGroup, SeenGroups
from kgroup.report.progress import NO_PROGRESS, Progress


def groups(
    logs: OpenedLogs,
    *,
    groups: str | Sequence[str] | None = None,
    commit_times: bool = False,
    offsets: bool = True,
    now_ms: int | None = None,
    clock_ms: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> SeenGroups:
    """Every group with its state, members, offsets and lag, by group id.

    `groups` are names or a shell's patterns. Coordinators of a live cluster do not say when something was
    committed: with `commit_times` its offsets topic is read, too. Without `offsets` a cluster is asked for
    states and members only. All is as of `clock_ms` (epoch ms); of files as of `now_ms`, by default as of
    the newest record in the log, if that is more than a few minutes before `clock_ms`.

    Raises SourceError if the logs cannot be read or brokers do not answer, or if none of the groups is there.
    """
    names = names_given(groups)
    if logs.cluster is None:
        return _logged(logs, names, now_ms, clock_ms, progress)
    from kgroup.api.groups.live import live_groups

    seen = live_groups(
        logs,
        groups=names,
        offsets=offsets,
        commit_times=commit_times,
        clock_ms=clock_ms or 0,
        progress=progress,
    )
    if names and not seen.groups:
        raise SourceError(nothing_matches("group", without_match(names, ()), seen.known_ids))
    if names and seen.refused is not None and all(group.problem is not None for group in seen):
        raise SourceError(f"{logs.cluster.name}: {seen.refused}")
    return seen


def _logged(
    logs: OpenedLogs,
    names: Sequence[str] | None,
    now_ms: int | None,
    clock_ms: int | None,
    progress: Progress,
) -> SeenGroups:
    report = report_on(logs, LagOptions(groups=names), now_ms=now_ms, clock_ms=clock_ms, progress=progress)
    rows = {group_id: tuple(of_group) for group_id, of_group in groupby(report.rows(), lambda row: row.group)}
    found, as_of = report.inputs.groups, report.as_of
    there = report.inputs.group_ids()
    of_shares, unread = logged_share_rows(logs, found)
    rows |= of_shares
    return SeenGroups(
        groups=tuple(
            SeenGroup(group=found.get(group_id) or simple_group(group_id), rows=rows.get(group_id, ()))
            for group_id in sorted(there)
        ),
        now_ms=as_of.log_ms,
        log_ended_ms=as_of.log_ms if as_of.log_ms != as_of.now_ms else None,
        absent=tuple(without_match(names or (), there)),
        known_ids=tuple(sorted(there)),
        problems=(*report.problems, *unread),
        remarks=report.remarks,
    )
