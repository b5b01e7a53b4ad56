"""Plans deletions of groups, and of a group's offsets for some topics."""

from collections.abc import Sequence

from kgroup.api.operations.asked import existing_groups, idle_groups, partitions_by_topic
from kgroup.api.operations.each_group import each_group
from kgroup.api.operations.notes import GroupNotes, note_lines
from kgroup.api.operations.planned import PlannedOperation, steps_of
from kgroup.errors import RefusedError
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets, fetch_offsets_and_open
from kgroup.operations.chosen import chosen_partitions, parse_topic
from kgroup.operations.journal import Step, StepKind
from kgroup.operations.model import Change, PlanRow, Target
from kgroup.operations.plan import make_plan
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.progress import NO_PROGRESS, Progress


def plan_delete(
    cluster: Cluster, groups: Sequence[str], *, command: str, progress: Progress = NO_PROGRESS
) -> PlannedOperation:
    """A plan to delete these groups with their offsets.

    Raises RefusedError for a group that is not there or has members, SourceError if the cluster does not
    answer.
    """
    idle_groups(cluster, groups, create=False, progress=progress)
    return deletion_of(cluster, groups, command=command, progress=progress)


def deletion_of(
    cluster: Cluster, groups: Sequence[str], *, command: str, progress: Progress = NO_PROGRESS
) -> PlannedOperation:
    """The same without a look whether the groups are there, and empty: their coordinators will say."""
    rows: list[PlanRow] = []
    steps: list[Step] = []
    notes: list[GroupNotes] = []
    each = list(dict.fromkeys(groups))
    found = each_group("reading offsets", each, lambda group: fetch_offsets(cluster, group), progress)
    for group, commits in ((offsets.group, offsets.commits) for offsets in found):
        changes = [
            Change(group=group, topic=topic, partition=partition, old=position, new=None)
            for (topic, partition), position in sorted(commits.items())
        ]
        of_group = [PlanRow(change=change) for change in changes]
        rows += of_group
        steps.append(Step(kind=StepKind.DELETE_GROUP, group=group, changes=tuple(changes)))
        notes.append(
            GroupNotes(group=group, rows=of_group)
            if of_group
            else GroupNotes(group=group, after=["has no offsets"])
        )
    return PlannedOperation(
        command=command,
        rows=tuple(rows),
        steps=tuple(steps),
        existed=dict.fromkeys(dict.fromkeys(groups), True),
        notes=note_lines(notes),
    )


def plan_delete_offsets(
    cluster: Cluster,
    groups: Sequence[str],
    topics: Sequence[str],
    *,
    command: str,
    progress: Progress = NO_PROGRESS,
) -> PlannedOperation:
    """A plan to delete groups' offsets for topics that nobody in them subscribes to (KIP-496).

    A group may have members; its coordinator refuses topics that they subscribe to. Raises RefusedError for
    a group, topic or partition that is not there, and where a group has no offset to delete.
    """
    asked = [parse_topic(text) for text in topics]
    each = list(existing_groups(cluster, groups, progress=progress))

    def of_one(group: str) -> list[PlanRow]:
        offsets = fetch_offsets_and_open(cluster, group)
        # A topic that is gone has its partitions by the offsets that are left of it.
        known = partitions_by_topic(cluster, {topic for topic, _ in asked})
        for topic, partition in sorted(offsets.commits):
            if partition not in known.get(topic, ()):
                known.setdefault(topic, []).append(partition)
        chosen = [place for place in chosen_partitions(asked, known) if place in offsets.commits]
        if not chosen:
            raise RefusedError(f"group {group!r} has no offsets for {', '.join(topics)}")
        return make_plan(offsets, {place: Target(position=None) for place in chosen}, {})

    made = each_group("planning", each, of_one, progress)
    rows = tuple(row for of_group in made for row in of_group)
    return PlannedOperation(
        command=command,
        rows=rows,
        steps=tuple(steps_of(row.change for row in rows)),
        existed=dict.fromkeys(each, True),
        notes=note_lines(
            [GroupNotes(group=group, rows=of_group) for group, of_group in zip(each, made, strict=True)]
        ),
    )


def offset_deletion_of(
    cluster: Cluster, group: str, places: Sequence[TopicPartition], *, command: str
) -> PlannedOperation:
    """The same of these partitions, whether there is an offset or not: the coordinator will say."""
    commits = fetch_offsets(cluster, group).commits
    changes = tuple(
        Change(group=group, topic=topic, partition=partition, old=commits.get((topic, partition)), new=None)
        for topic, partition in places
    )
    return PlannedOperation(
        command=command,
        rows=tuple(PlanRow(change=change) for change in changes),
        steps=(Step(kind=StepKind.DELETE_OFFSETS, group=group, changes=changes),),
        existed={group: True},
    )
