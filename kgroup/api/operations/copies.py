"""A copy of one group's offsets to another group, perhaps of another cluster, planned."""

from collections.abc import Mapping, Sequence
from typing import Final

from kgroup.api.operations.asked import (
    existing_group,
    existing_topics,
    expiry_note,
    idle_group,
    limits_of,
    with_times,
)
from kgroup.api.operations.planned import PlannedOperation, steps_of
from kgroup.errors import RefusedError
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets, fetch_offsets_and_open
from kgroup.net.admin.timestamps import TimeInLog, first_newer
from kgroup.net.admin.unread import UnreadPlace, fetch_first_unread
from kgroup.operations.chosen import chosen_partitions, parse_topic, require_partitions
from kgroup.operations.model import GroupOffsets, PartitionLimits, Position, Target
from kgroup.operations.plan import Outside, make_plan, totals
from kgroup.protocol.topic_partition import TopicPartition

_AT_END: Final = "at the end, as there"
_BY_TIME: Final = "by time"


def plan_copy(
    there: Cluster,
    source: str,
    here: Cluster,
    destination: str,
    topics: Sequence[str],
    *,
    by_time: bool,
    clamp: bool,
    create: bool,
    now_ms: int,
    command: str,
) -> PlannedOperation:
    """A plan to give the group `destination` of the cluster `here` the offsets that `source` has `there`.

    With `by_time` a partition gets the first record at or after the time of the record that `source` reads
    next; the two clusters' offsets need have nothing in common then. Raises as `plan_reset`.
    """
    existing_group(there, source)
    positions = _chosen(there, source, topics)
    existed = idle_group(here, destination, create=create, can_create=True) is not None
    known = existing_topics(here, {topic for topic, _ in positions})
    require_partitions(sorted(positions), known, f"offsets of {source!r}")
    offsets = fetch_offsets_and_open(here, destination) if existed else GroupOffsets(group=destination)
    limits = limits_of(here, sorted(positions))
    if by_time:
        targets = _by_time(there, here, positions, limits)

    elif there is here:
        targets = {place: Target(position=position) for place, position in positions.items()}
    else:
        # Leader epochs are of one cluster; in another they would have readers' offsets taken for truncated.
        bare = {place: position._replace(leader_epoch=-1) for place, position in positions.items()}
        targets = {place: Target(position=position) for place, position in bare.items()}
    rows = make_plan(offsets, targets, limits, outside=Outside.CLAMPED if clamp else Outside.REFUSED)
    rows, unread = with_times(here, rows, now_ms)
    notes = [f"time unknown: {problem}" for problem in unread]
    notes.append(f"{destination}: {totals(rows).sentence()}")
    if expiry := expiry_note(here, destination):
        notes.append(f"{destination}: {expiry}")
    return PlannedOperation(
        command=command,
        rows=tuple(rows),
        steps=tuple(steps_of(row.change for row in rows)),
        existed={destination: existed},
        notes=tuple(notes),
    )


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
