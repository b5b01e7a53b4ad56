"""Plans an undo from its file: the changes that restore the previous state."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from kgroup.api.operations.asked import gone_partitions, idle_groups, known_limits, with_times
from kgroup.api.operations.each_group import each_group
from kgroup.api.operations.notes import GroupNotes, note_lines
from kgroup.api.operations.planned import PlannedOperation, steps_of
from kgroup.api.operations.undo_file import read_undo_file
from kgroup.errors import RefusedError, did_you_mean
from kgroup.history.groups.model import Group
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets
from kgroup.operations.journal import Journal, Step, StepKind
from kgroup.operations.model import GroupOffsets, PlanRow
from kgroup.operations.plan import Outside, make_plan
from kgroup.operations.undo import groups_to_delete, way_back
from kgroup.report.progress import NO_PROGRESS, Progress


def plan_undo(
    cluster: Cluster,
    path: Path,
    groups: Collection[str] = (),
    *,
    now_ms: int,
    command: str,
    progress: Progress = NO_PROGRESS,
) -> PlannedOperation:
    """The plan that undoes an undo file's operation, as far as it was done; no rows if all is as before.

    Only of these `groups`, by default of all. Raises RefusedError for the file of another cluster, a group
    that is not in it, or one with members; else as reading the file and asking the cluster do.
    """
    journal = read_undo_file(path)
    there = cluster.cluster_id()
    if journal.head.cluster_id != there:
        raise RefusedError(f"{path}: made on cluster {journal.head.cluster_id}, and this is {there}")
    for group in groups:
        if group not in journal.head.existed:
            raise RefusedError(
                f"{path}: has nothing of group {group!r}{did_you_mean(group, journal.head.existed)}"
            )
    groups = sorted(groups or journal.head.existed)
    ways = each_group("planning", groups, lambda group: _way(cluster, journal, group, now_ms), progress)
    at_work = [way.group for way in ways if way.rows or way.is_ours]
    found = idle_groups(cluster, at_work, create=True, progress=progress)
    made = [_of_group(way, found.get(way.group)) for way in ways]
    return PlannedOperation(
        command=command,
        rows=tuple(row for each in made for row in each.rows),
        steps=tuple(step for each in made for step in each.steps),
        existed={
            group: each.existed for group, each in zip(groups, made, strict=True) if each.existed is not None
        },
        notes=note_lines([each.notes for each in made]),
    )


class _Way(NamedTuple):
    """A group's way back; `is_ours` if the operation made the group, and nothing is left in it then."""

    group: str
    left: Sequence[str]
    unread: Sequence[str]
    rows: Sequence[PlanRow]
    is_ours: bool


class _OfGroup(NamedTuple):
    """A group's part of a plan; `existed` is None where nothing is to be done."""

    notes: GroupNotes
    existed: bool | None = None
    rows: Sequence[PlanRow] = ()
    steps: Sequence[Step] = ()


def _way(cluster: Cluster, journal: Journal, group: str, now_ms: int) -> _Way:
    offsets = fetch_offsets(cluster, group)
    way = way_back(journal, group, offsets.commits)
    way.leave_gone(gone_partitions(cluster, way.targets))
    left = [f"{topic}-{number}: {why}" for (topic, number), why in sorted(way.left.items())]
    limits = known_limits(cluster, sorted(way.targets))
    rows = make_plan(offsets, way.targets, limits, outside=Outside.KEPT)
    rows, problems = with_times(cluster, rows, now_ms)
    return _Way(group, left, problems, rows, _is_ours(journal, offsets, rows))


def _of_group(way: _Way, found: Group | None) -> _OfGroup:
    notes = GroupNotes(group=way.group, before=way.left, unread=way.unread)
    if not way.rows and not way.is_ours:
        after = [] if way.left else ["is as it was before"]
        return _OfGroup(notes._replace(after=after))
    if found is None and not way.rows:
        return _OfGroup(notes._replace(after=["is not there, as before"]))
    steps = list(steps_of(row.change for row in way.rows))
    after = []
    if way.is_ours:
        after.append("was not there before, and is deleted")
        steps.append(Step(kind=StepKind.DELETE_GROUP, group=way.group, changes=()))
    return _OfGroup(notes._replace(rows=way.rows, after=after), found is not None, way.rows, steps)


def _is_ours(journal: Journal, offsets: GroupOffsets, rows: list[PlanRow]) -> bool:
    """Whether the operation made the group, and nothing is left in it once these rows are done."""
    deleted = {row.change.place for row in rows if row.change.new is None}
    remaining = {place: position for place, position in offsets.commits.items() if place not in deleted}
    restored = any(row.change.new is not None for row in rows)
    return not restored and offsets.group in groups_to_delete(journal, {offsets.group: remaining})
