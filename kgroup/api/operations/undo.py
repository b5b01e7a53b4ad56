"""An undo, planned from its file: what gives the state before."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kgroup.api.operations.asked import gone_partitions, idle_group, known_limits, with_times
from kgroup.api.operations.each_group import each_group
from kgroup.api.operations.planned import PlannedOperation, steps_of
from kgroup.api.operations.undo_file import read_undo_file
from kgroup.errors import RefusedError
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets
from kgroup.operations.journal import Journal, Step, StepKind
from kgroup.operations.model import GroupOffsets, PlanRow
from kgroup.operations.plan import Outside, make_plan, totals
from kgroup.operations.undo import groups_to_delete, way_back
from kgroup.report.progress import NO_PROGRESS, Progress


def plan_undo(
    cluster: Cluster, path: Path, *, now_ms: int, command: str, progress: Progress = NO_PROGRESS
) -> PlannedOperation:
    """What undoes the operation of an undo file, as far as it was made; no rows if all is as before.

    Raises RefusedError for the file of another cluster, or a group with members; else as reading the file and
    asking the cluster do.
    """
    journal = read_undo_file(path)
    there = cluster.cluster_id()
    if journal.head.cluster_id != there:
        raise RefusedError(f"{path}: made on cluster {journal.head.cluster_id}, and this is {there}")
    groups = sorted(journal.head.existed)
    made = each_group("planning", groups, lambda group: _of_group(cluster, journal, group, now_ms), progress)
    return PlannedOperation(
        command=command,
        rows=tuple(row for each in made for row in each.rows),
        steps=tuple(step for each in made for step in each.steps),
        existed={
            group: each.existed for group, each in zip(groups, made, strict=True) if each.existed is not None
        },
        notes=tuple(note for each in made for note in each.notes),
    )


class _OfGroup(NamedTuple):
    """A group's part of a plan; `existed` is None where nothing is to be done."""

    notes: Sequence[str]
    existed: bool | None = None
    rows: Sequence[PlanRow] = ()
    steps: Sequence[Step] = ()


def _of_group(cluster: Cluster, journal: Journal, group: str, now_ms: int) -> _OfGroup:
    offsets = fetch_offsets(cluster, group)
    way = way_back(journal, group, offsets.commits)
    way.leave_gone(gone_partitions(cluster, way.targets))
    notes = [f"{group}: {topic}-{number}: {why}" for (topic, number), why in sorted(way.left.items())]
    limits = known_limits(cluster, sorted(way.targets))
    rows = make_plan(offsets, way.targets, limits, outside=Outside.KEPT)
    rows, problems = with_times(cluster, rows, now_ms)
    notes += [f"time unknown: {problem}" for problem in problems]
    is_ours = _is_ours(journal, offsets, rows)
    if not rows and not is_ours:
        return _OfGroup(notes if way.left else [f"{group}: is as it was before"])
    present = idle_group(cluster, group, create=True)
    if present is None and not rows:
        return _OfGroup([*notes, f"{group}: is not there, as before"])
    notes.append(f"{group}: {totals(rows).sentence()}")
    steps = list(steps_of(row.change for row in rows))
    if is_ours:
        notes.append(f"{group}: was not there before, and is deleted")
        steps.append(Step(kind=StepKind.DELETE_GROUP, group=group, changes=()))
    return _OfGroup(notes, present is not None, rows, steps)


def _is_ours(journal: Journal, offsets: GroupOffsets, rows: list[PlanRow]) -> bool:
    """Whether the operation made the group, and nothing is left in it once these rows are done."""
    deleted = {row.change.place for row in rows if row.change.new is None}
    remaining = {place: position for place, position in offsets.commits.items() if place not in deleted}
    restored = any(row.change.new is not None for row in rows)
    return not restored and offsets.group in groups_to_delete(journal, {offsets.group: remaining})
