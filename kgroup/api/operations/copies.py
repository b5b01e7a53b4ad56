"""Plans copies of offsets to other groups, possibly of another cluster."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kgroup.api.operations.asked import (
    existing_groups,
    existing_topics,
    expiry_note,
    idle_groups,
    limits_of,
    with_times,
)
from kgroup.api.operations.each_group import each_group
from kgroup.api.operations.notes import GroupNotes, note_lines
from kgroup.api.operations.planned import PlannedOperation, steps_of
from kgroup.errors import RefusedError
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets, fetch_offsets_and_open
from kgroup.net.admin.timestamps import TimeInLog, first_newer
from kgroup.net.admin.unread import UnreadPlace, fetch_first_unread
from kgroup.operations.chosen import chosen_partitions, parse_topic, require_partitions
from kgroup.operations.model import GroupOffsets, PartitionLimits, PlanRow, Position, Target
from kgroup.operations.plan import Outside, make_plan
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.progress import NO_PROGRESS, Progress

_AT_END: Final = "at the end, as there"
_BY_TIME: Final = "by time"


class _OfGroup(NamedTuple):
    """The part of a plan for one of the groups that get offsets."""

    rows: Sequence[PlanRow]
    existed: bool
    notes: GroupNotes


def plan_copy(
    there: Cluster,
    here: Cluster,
    sources: Mapping[str, str],
    topics: Sequence[str],
    *,
    by_time: bool,
    clamp: bool,
    create: bool,
    now_ms: int,
    command: str,
    progress: Progress = NO_PROGRESS,
) -> PlannedOperation:
    """A plan to give groups of the cluster `here` the offsets of groups `there`, which may be the same one.

    `sources` has for each group `here` the one that it is to have the offsets of. With `by_time` a partition
    gets the first record at or after the time of the record that is read next `there`; the two clusters'
    offsets need have nothing in common then. Raises as `plan_reset`.
    """

    named = list(existing_groups(there, sources.values(), progress=progress))
    read = each_group("reading offsets", named, lambda source: _chosen(there, source, topics), progress)
    chosen = dict(zip(named, read, strict=True))
    found = idle_groups(here, sources, create=create, can_create=True, progress=progress)

    def of_one(destination: str) -> _OfGroup:
        source, existed = sources[destination], found[destination] is not None
        positions = chosen[source]
        known = existing_topics(here, {topic for topic, _ in positions})
        require_partitions(sorted(positions), known, f"offsets of {source!r}")
        offsets = fetch_offsets_and_open(here, destination) if existed else GroupOffsets(group=destination)
        limits = limits_of(here, sorted(positions))
        targets = _targets(there, here, positions, limits, by_time=by_time)
        rows = make_plan(offsets, targets, limits, outside=Outside.CLAMPED if clamp else Outside.REFUSED)
        rows, unread = with_times(here, rows, now_ms)
        expiry = expiry_note(here, destination)
        notes = GroupNotes(group=destination, rows=rows, after=[expiry] if expiry else [], unread=unread)
        return _OfGroup(rows, existed, notes)

    made = each_group("planning", list(sources), of_one, progress)
    rows = tuple(row for of_group in made for row in of_group.rows)
    return PlannedOperation(
        command=command,
        rows=rows,
        steps=tuple(steps_of(row.change for row in rows)),
        existed={group: of_group.existed for group, of_group in zip(sources, made, strict=True)},
        notes=note_lines([of_group.notes for of_group in made]),
    )


def _targets(
    there: Cluster,
    here: Cluster,
    positions: Mapping[TopicPartition, Position],
    limits: Mapping[TopicPartition, PartitionLimits],
    *,
    by_time: bool,
) -> dict[TopicPartition, Target]:
    if by_time:
        return _by_time(there, here, positions, limits)
    if there is here:
        return {place: Target(position=position) for place, position in positions.items()}
    # Leader epochs are of one cluster; in another they would have readers' offsets taken for truncated.
    bare = {place: position._replace(leader_epoch=-1) for place, position in positions.items()}
    return {place: Target(position=position) for place, position in bare.items()}


def _chosen(cluster: Cluster, source: str, topics: Sequence[str]) -> dict[TopicPartition, Position]:
    commits = fetch_offsets(cluster, source).commits
    if topics:
        asked = [parse_topic(text) for text in topics]
        wanted = set(chosen_partitions(asked, existing_topics(cluster, {topic for topic, _ in asked})))
        commits = {place: position for place, position in commits.items() if place in wanted}
    if not commits:
        raise RefusedError(f"group {source!r} has no offsets{' for these topics' if topics else ''} to copy")
    return dict(commits)


def _by_time(
    there: Cluster,
    here: Cluster,
    positions: Mapping[TopicPartition, Position],
    limits: Mapping[TopicPartition, PartitionLimits],
) -> dict[TopicPartition, Target]:
    starts = limits_of(there, sorted(positions))
    places = {
        place: UnreadPlace(*place, min(max(position.offset, starts[place].log_start), starts[place].log_end))
        for place, position in positions.items()
    }
    answers = fetch_first_unread(there, places.values())
    unknown = sorted(place for place, start in places.items() if start not in answers.records)
    if unknown:
        topic, partition = unknown[0]
        raise RefusedError(f"--by-time: {there.name}: {topic}-{partition}: {answers.problems[0]}")
    questions: dict[TopicPartition, TimeInLog] = {}
    targets: dict[TopicPartition, Target] = {}
    for place, start in places.items():
        record = answers.records[start]
        if record is None:
            targets[place] = Target(position=Position(limits[place].log_end), why=_AT_END)
        elif record.timestamp_ms < 0:
            raise RefusedError(f"--by-time: {place[0]}-{place[1]}: its records have no timestamps")
        else:
            questions[place] = TimeInLog(*place, record.timestamp_ms - 1)
    found = first_newer(here, questions.values())
    for place, question in questions.items():
        if question not in found:
            raise RefusedError(f"--by-time: {here.name}: {place[0]}-{place[1]}: its leader does not say")
        offset = found[question]
        place_there = limits[place].log_end if offset is None else offset
        targets[place] = Target(position=Position(place_there), why=_BY_TIME)
    return targets
