"""The cause of removed offsets or groups: tombstones show that something was removed, not by whom.

What narrows it down: a broker expires nothing within a minute (`offsets.retention.minutes` is at least 1),
and refuses to delete offsets of a topic that a member subscribes to (KIP-496), as it never expires those
(KIP-211).
"""

from collections.abc import Mapping, Sequence

from kgroup.durations import lasting
from kgroup.history.timeline.commits import CommitTrack
from kgroup.history.timeline.model import Cause, CauseKind, Grade, Partition, Roster

_SHORTEST_RETENTION_MS = 60_000
_KAFKA_4_VALUE = 4


def why_group_removed(
    at_ms: int | None,
    last_sign_ms: int | None,
    partitions: Sequence[Partition],
    tracks: Mapping[Partition, CommitTrack],
) -> Cause:
    """A group is gone with all of its records, and the offsets of `partitions` with it.

    `last_sign_ms` is its last commit or the end of its last member. A coordinator before Kafka 4 also drops
    an empty group when the topic of its last offsets is deleted; from 4 on commits have value version 4 and
    the group stays.
    """
    young = at_ms is not None and last_sign_ms is not None and at_ms - last_sign_ms < _SHORTEST_RETENTION_MS
    one_topic = len({partition.topic for partition in partitions}) == 1
    version = max(
        (tracks[partition].value_version for partition in partitions if partition in tracks), default=-1
    )
    tells = bool(partitions) and (not one_topic or version >= _KAFKA_4_VALUE)
    if tells and young and at_ms is not None and last_sign_ms is not None:
        return Cause(
            kind=CauseKind.GROUP_DELETED,
            grade=Grade.INFERRED,
            evidence=f"removed {lasting(at_ms - last_sign_ms)} after its last sign of life, when "
            "nothing expires yet",
        )
    waited = (
        ""
        if at_ms is None or last_sign_ms is None
        else f" {lasting(at_ms - last_sign_ms)} after its last sign of life"
    )
    return Cause(
        kind=CauseKind.GROUP_REMOVED,
        grade=Grade.UNKNOWN,
        evidence=f"removed{waited}",
        alternatives=(
            CauseKind.GROUP_DELETED,
            # A coordinator cleans up a group without members and offsets at its next round, without waiting.
            *(() if young and partitions else (CauseKind.GROUP_EXPIRED,)),
            *((CauseKind.TOPIC_DELETED,) if one_topic and version < _KAFKA_4_VALUE else ()),
        ),
        remedy="If its offsets are missed: make offsets.retention.minutes longer than the group may be idle.",
    )


def why_offsets_removed(
    at_ms: int | None,
    partitions: Sequence[Partition],
    tracks: Mapping[Partition, CommitTrack],
    roster: Roster | None,
) -> Cause:
    """Offsets are gone while the group, if there is one, stays. `tracks` are of before the tombstones."""
    topics = {partition.topic for partition in partitions}
    names = ", ".join(sorted(topics))
    subscribed = {
        topic
        for member in (roster.members if roster else ())
        for topic in member.subscribed or ()
        if topic in topics
    }
    last = [tracks[partition] for partition in partitions if partition in tracks]
    newest = max((track.at_ms for track in last), default=None)
    # Before Kafka 2.1 (KIP-211) offsets expired under their readers, so only a young commit tells.
    young = at_ms is not None and newest is not None and at_ms - newest < _SHORTEST_RETENTION_MS
    if topics and subscribed == topics and young:
        return Cause(
            kind=CauseKind.TOPIC_DELETED,
            grade=Grade.INFERRED,
            evidence=f"offsets of {names} are gone while a member subscribes to it: only a deleted "
            "topic does that",
            remedy="Stop the consumers of a topic before it is deleted.",
        )
    if at_ms is not None and last and all(0 <= track.expire_timestamp_ms <= at_ms for track in last):
        return Cause(
            kind=CauseKind.OFFSETS_EXPIRED,
            grade=Grade.INFERRED,
            evidence=f"offsets of {names} were committed with a time to expire, which had come",
        )
    alternatives = [CauseKind.TOPIC_DELETED, CauseKind.OFFSETS_DELETED]
    evidence = f"offsets of {names} removed"
    if at_ms is not None and newest is not None:
        evidence += f" {lasting(at_ms - newest)} after the last commit"
    if not young:
        alternatives.append(CauseKind.OFFSETS_EXPIRED)
    return Cause(
        kind=CauseKind.OFFSETS_REMOVED,
        grade=Grade.UNKNOWN,
        evidence=evidence,
        alternatives=tuple(alternatives),
    )
