"""Plans a reset of groups' offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kgroup.api.operations.asked import (
    existing_topics,
    expiry_note,
    idle_groups,
    limits_of,
    partitions_by_topic,
    with_times,
)
from kgroup.api.operations.each_group import each_group
from kgroup.api.operations.notes import GroupNotes, note_lines
from kgroup.api.operations.others import with_others
from kgroup.api.operations.planned import PlannedOperation, steps_of
from kgroup.errors import InputError, RefusedError, SourceError
from kgroup.input_files import OFFSETS_BYTES_MAX, read_input_file
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets, fetch_offsets_and_open
from kgroup.net.admin.timestamps import TimeInLog, first_newer
from kgroup.operations.chosen import chosen_partitions, parse_topic, require_partitions
from kgroup.operations.model import GroupOffsets, PartitionLimits, PlanRow
from kgroup.operations.offsets_file import Offsets, parse_offsets
from kgroup.operations.plan import Outside, clamped, make_plan
from kgroup.operations.targets import Strategy, ToPositions, ToTime, targets
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.report.progress import NO_PROGRESS, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The partitions that a reset is about: topics as `orders:0,1`, or all that the group has offsets for."""

    topics: Sequence[str] = ()
    all_topics: bool = False


class _OfGroup(NamedTuple):
    """A group's part of a plan."""

    rows: Sequence[PlanRow]
    existed: bool
    notes: GroupNotes


def plan_reset(
    cluster: Cluster,
    groups: Sequence[str],
    strategies: Mapping[str, Strategy],
    scope: Scope,
    *,
    clamp: bool,
    create: bool,
    others: bool = False,
    now_ms: int,
    command: str,
    progress: Progress = NO_PROGRESS,
) -> PlannedOperation:
    """A plan for these groups; `strategies` has one for each of them. `others` also looks at other groups.

    Raises RefusedError for a group that may not be changed, or what does not exist, or lies outside a log;
    SourceError if the cluster does not answer.
    """

    found = idle_groups(cluster, groups, create=create, can_create=True, progress=progress)

    def of_one(group: str) -> _OfGroup:
        existed = found[group] is not None
        offsets = fetch_offsets_and_open(cluster, group) if existed else GroupOffsets(group=group)
        rows, warnings = _rows(cluster, offsets, strategies[group], scope, clamp=clamp)
        rows, problems = with_times(cluster, rows, now_ms)
        after = [] if existed else ["there is no such group yet"]
        if any(row.change.new is not None for row in rows) and (expiry := expiry_note(cluster, group)):
            after.append(expiry)
        notes = GroupNotes(group=group, before=warnings, rows=rows, after=after, unread=problems)
        return _OfGroup(rows, existed, notes)

    made = each_group("planning", groups, of_one, progress)
    rows = [row for of_group in made for row in of_group.rows]
    notes = list(note_lines([of_group.notes for of_group in made]))
    if others:
        rows, refused = with_others(cluster, rows)
        notes += refused
    return PlannedOperation(
        command=command,
        rows=tuple(rows),
        steps=tuple(steps_of(row.change for row in rows)),
        existed={group: of_group.existed for group, of_group in zip(groups, made, strict=True)},
        notes=tuple(notes),
    )


def _rows(
    cluster: Cluster, offsets: GroupOffsets, strategy: Strategy, scope: Scope, *, clamp: bool
) -> tuple[list[PlanRow], list[str]]:
    partitions = _partitions(cluster, offsets, strategy, scope)
    limits = limits_of(cluster, partitions)
    at_time = first_at(cluster, strategy.time_ms, limits) if isinstance(strategy, ToTime) else None
    found = targets(strategy, offsets, partitions, limits, at_time)
    rows = make_plan(offsets, found, limits, outside=Outside.CLAMPED if clamp else Outside.REFUSED)
    return rows, list(clamped(found, limits))


def _partitions(
    cluster: Cluster, offsets: GroupOffsets, strategy: Strategy, scope: Scope
) -> list[TopicPartition]:
    """The partitions of the scope; of a list of positions those of the list that the scope has.

    As of kafka-consumer-groups, `--all-topics` are the partitions that the group has offsets for.
    """
    asked = [parse_topic(text) for text in scope.topics]
    if isinstance(strategy, ToPositions):
        listed = sorted(strategy.positions)
        known = existing_topics(cluster, {topic for topic, _ in [*listed, *asked]})
        if asked:
            wanted = set(chosen_partitions(asked, known))
            listed = [place for place in listed if place in wanted]
        require_partitions(listed, known, strategy.source)
        return _some(listed, f"{strategy.source}: nothing there for these topics")
    if scope.all_topics:
        known = partitions_by_topic(cluster, {topic for topic, _ in offsets.commits})
        gone = sorted({topic for topic, _ in offsets.commits if topic not in known})
        if gone:
            raise RefusedError(
                f"--all-topics: group {offsets.group!r} has offsets for {gone[0]!r}, which is not in this"
                " cluster; name the others with --topic"
            )
        return _some(sorted(offsets.commits), f"--all-topics: group {offsets.group!r} has no offsets")
    return chosen_partitions(asked, existing_topics(cluster, {topic for topic, _ in asked}))


def _some(places: list[TopicPartition], why_none: str) -> list[TopicPartition]:
    if not places:
        raise RefusedError(why_none)
    return places


def first_at(
    cluster: Cluster, time_ms: int, limits: Mapping[TopicPartition, PartitionLimits]
) -> dict[TopicPartition, int | None]:
    """The offset of the first record at or after a time in each of these partitions; None if there is none.

    Raises SourceError for a partition whose leader does not say.
    """
    questions = {place: TimeInLog(*place, time_ms - 1) for place in limits}
    answers = first_newer(cluster, questions.values())
    for (topic, partition), question in questions.items():
        if question not in answers:
            raise SourceError(f"{cluster.name}: {topic}-{partition}: its leader does not search by time")
    return {place: answers[question] for place, question in questions.items()}


def read_offsets(path: Path) -> Offsets:
    """The offsets in a file, by group. Raises SourceError if it cannot be read, InputError if it is wrong."""
    content = read_input_file(path, kind="list of offsets", bytes_max=OFFSETS_BYTES_MAX)
    try:
        return parse_offsets(content.decode("utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}") from error


def from_file(path: Path, groups: Sequence[str]) -> dict[str, Strategy]:
    """A strategy for each group by the file's offsets; without groups for all that the file names.

    Raises InputError for a file without a group's offsets, and as `read_offsets`.
    """
    offsets = read_offsets(path)
    if None in offsets:
        if len(groups) != 1:
            raise InputError(f"{path}: its lines name no group, so name one GROUP that they are for")
        return {groups[0]: ToPositions(positions=offsets[None], source=str(path))}
    named = list(groups) or sorted(group for group in offsets if group is not None)
    for group in named:
        if group not in offsets:
            raise InputError(f"{path}: no offsets of group {group!r} in it")
    return {group: ToPositions(positions=offsets[group], source=str(path)) for group in named}


def from_group(cluster: Cluster, source: str, groups: Sequence[str]) -> dict[str, Strategy]:
    """Another group's offsets, with their leader epochs and metadata. Raises RefusedError if it has none."""
    commits = fetch_offsets(cluster, source).commits
    if not commits:
        raise RefusedError(f"--from-group {source}: this group has no offsets, or there is none of this name")
    return {group: ToPositions(positions=commits, source=f"--from-group {source}") for group in groups}
