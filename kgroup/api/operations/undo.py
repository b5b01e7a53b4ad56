"""An undo, planned from its file: what gives the state before."""

from pathlib import Path

from kgroup.api.operations.asked import idle_group, known_limits, with_times
from kgroup.api.operations.planned import PlannedOperation, steps_of
from kgroup.api.operations.undo_file import read_undo_file
from kgroup.errors import RefusedError
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets
from kgroup.operations.journal import Journal, Step, StepKind
from kgroup.operations.model import GroupOffsets, PlanRow
from kgroup.operations.plan import Outside, make_plan, totals
from kgroup.operations.undo import groups_to_delete, way_back


def plan_undo(cluster: Cluster, path: Path, *, now_ms: int, command: str) -> PlannedOperation:
    """What undoes the operation of an undo file, as far as it was made; no rows if all is as before.

    Raises RefusedError for the file of another cluster, or a group with members; else as reading the file and
    asking the cluster do.
    """
    journal = read_undo_file(path)
    there = cluster.cluster_id()
    if journal.head.cluster_id != there:
        raise RefusedError(f"{path}: made on cluster {journal.head.cluster_id}, and this is {there}")
    rows: list[PlanRow] = []
    steps: list[Step] = []
    notes: list[str] = []
    existed: dict[str, bool] = {}
    for group in sorted(journal.head.existed):
        offsets = fetch_offsets(cluster, group)
        way = way_back(journal, group, offsets.commits)
        notes += [f"{group}: {topic}-{number}: {why}" for (topic, number), why in sorted(way.left.items())]
        limits = known_limits(cluster, sorted(way.targets))
        of_group = make_plan(offsets, way.targets, limits, outside=Outside.KEPT)
        of_group, problems = with_times(cluster, of_group, now_ms)
        notes += [f"time unknown: {problem}" for problem in problems]
        is_ours = _is_ours(journal, offsets, of_group)
        if not of_group and not is_ours:
            notes.append(f"{group}: is as it was before")
            continue
        present = idle_group(cluster, group, create=True)
        if present is None and not of_group:
            notes.append(f"{group}: is not there, as before")
            continue
        existed[group] = present is not None
        rows += of_group
        notes.append(f"{group}: {totals(of_group).sentence()}")
        steps += steps_of(row.change for row in of_group)
        if is_ours:
            notes.append(f"{group}: was not there before, and is deleted")
            steps.append(Step(kind=StepKind.DELETE_GROUP, group=group, changes=()))
    return PlannedOperation(
        command=command, rows=tuple(rows), steps=tuple(steps), existed=existed, notes=tuple(notes)
    )


def _is_ours(journal: Journal, offsets: GroupOffsets, rows: list[PlanRow]) -> bool:
    """Whether the operation made the group, and nothing is left in it once these rows are done."""
    deleted = {row.change.place for row in rows if row.change.new is None}
    remaining = {place: position for place, position in offsets.commits.items() if place not in deleted}
    restored = any(row.change.new is not None for row in rows)
    return not restored and offsets.group in groups_to_delete(journal, {offsets.group: remaining})
