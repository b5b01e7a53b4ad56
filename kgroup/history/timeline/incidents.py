"""Incidents of a group outside its rounds, as causes, and the list that keeps them."""

from collections import Counter
from dataclasses import replace
from uuid import UUID

from kgroup.history.timeline.model import (
    Cause,
    CauseKind,
    Grade,
    Occurrence,
    Partition,
    Roster,
    Timeline,
    TimelineMember,
)
from kgroup.history.timeline.rosters import time_of
from kgroup.protocol.records.entries import LoggedEntry
from kgroup.protocol.topic_id import topic_id_text

# One seek or one reset commits all of its partitions at about the same time.
_ONE_ACT_MS = 1_000


def add_incident(
    timeline: Timeline,
    logged: LoggedEntry,
    roster: Roster | None,
    cause: Cause | None,
    partitions: tuple[Partition, ...] = (),
) -> None:
    """Note a cause at the record that shows it; commits that belong to one act become one occurrence."""
    if cause is None:
        return
    occurrence = Occurrence(
        at_ms=time_of(logged),
        offset=logged.offset,
        offsets_partition=logged.partition,
        generation=roster.generation if roster else None,
        cause=cause,
        partitions=partitions,
        last_ms=time_of(logged),
    )
    last = timeline.occurrences[-1] if timeline.occurrences else None
    if last is not None and _is_one_act(last, occurrence):
        timeline.occurrences[-1] = _merged(last, occurrence)
    else:
        timeline.occurrences.append(occurrence)


def coordinator_moved(before: int, now: int) -> Cause:
    """Batches have another leader epoch than those before."""
    return Cause(
        kind=CauseKind.COORDINATOR_MOVED,
        grade=Grade.RECORDED,
        evidence=f"the offsets partition has leader epoch {now}, previously {before}",
        remedy="Look at the brokers at that time: another one took over the offsets partition, or the same"
        " one restarted.",
    )


def topic_recreated(topic: str, before: UUID, now: UUID, partition: Partition, offsets: str) -> Cause:
    """Commits of a topic have another topic id than before: those of Kafka 4.1 and later carry it."""
    return Cause(
        kind=CauseKind.TOPIC_RECREATED,
        grade=Grade.RECORDED,
        evidence=f"{topic} was deleted and recreated: its id is {topic_id_text(now)}, previously"
        f" {topic_id_text(before)}; {partition}: {offsets}",
        remedy="What the group had not read of the old topic is gone. An offset of the old topic means"
        " nothing in the new one: the group starts at auto.offset.reset if it is out of range, otherwise"
        " anywhere.",
    )


def no_membership(timeline: Timeline) -> Occurrence:
    """A group that has commits alone: somebody uses assign(), or a tool made them."""
    return Occurrence(
        at_ms=timeline.first_commit_ms,
        offset=0,
        offsets_partition=-1,
        generation=None,
        cause=Cause(
            kind=CauseKind.NO_MEMBERSHIP,
            grade=Grade.INFERRED if timeline.is_cut else Grade.RECORDED,
            evidence=f"{timeline.commits} commits and no record of a group: committed without membership",
        ),
    )


def unreadable_member(member: TimelineMember) -> Cause:
    """A member whose metadata does not match its protocol type."""
    return Cause(
        kind=CauseKind.UNREADABLE_MEMBER,
        grade=Grade.RECORDED,
        member_ids=(member.member_id,),
        evidence=f"protocol type 'consumer', but {member.unreadable}",
        remedy="Give clients of another protocol a protocol type and group of their own.",
    )


def aborted(producer_id: int, partitions: int) -> Cause:
    """Commits that stand in the log and do not count."""
    return Cause(
        kind=CauseKind.TRANSACTION_ABORTED,
        grade=Grade.RECORDED,
        evidence=f"offsets of {partitions} partitions do not count: producer {producer_id} aborted",
    )


def odd_commit(
    roster: Roster, partition: Partition, before: int | None, offset: int, *, cut: bool
) -> Cause | None:
    """Classify a commit that goes back or comes into a group without members; None for an ordinary one.

    Into an empty group commit both admins and consumers that use assign(): a step back tells them apart.
    """
    backwards = before is not None and offset < before
    further = f" ({offset - before} further)" if before is not None and offset > before else ""
    moved = f"{partition}: {'-' if before is None else before} to {offset}{further}"
    if roster.members:
        if not backwards:
            return None
        owner = roster.owner_of(partition)
        return Cause(
            kind=CauseKind.REWIND,
            grade=Grade.RECORDED,
            member_ids=(owner.member_id,) if owner else (),
            evidence=f"committed backwards: {moved}",
            remedy="Unless someone called seek(): a member committed after it had lost the partition, or"
            " committed offsets that it computed itself.",
        )
    if cut:
        return None  # there may have been members
    return Cause(
        kind=CauseKind.OFFSET_RESET,
        grade=Grade.RECORDED if backwards else Grade.UNKNOWN,
        evidence=f"committed while the group had no members: {moved}",
        remedy="Look for who reset the offsets at that time, by kafka-consumer-groups --reset-offsets or"
        " another tool. kgroup ledger --group has what was passed over or handed out again; to read what was"
        " passed over, stop the group and reset its offsets back.",
        alternatives=() if backwards else (CauseKind.OFFSET_RESET, CauseKind.NO_MEMBERSHIP),
    )


def _is_one_act(last: Occurrence, occurrence: Occurrence) -> bool:
    kind, grade = occurrence.cause.kind, occurrence.cause.grade
    if (last.cause.kind, last.cause.grade) != (kind, grade) or last.generation != occurrence.generation:
        return False
    if kind is CauseKind.OFFSET_RESET and grade is Grade.UNKNOWN:
        return True  # a consumer without membership just continues
    near = (
        last.at_ms is not None
        and occurrence.at_ms is not None
        and occurrence.at_ms - last.at_ms <= _ONE_ACT_MS
    )
    return near and kind in (CauseKind.OFFSET_RESET, CauseKind.REWIND)


def _merged(last: Occurrence, occurrence: Occurrence) -> Occurrence:
    evidence = last.cause.evidence
    if not set(occurrence.partitions) <= set(last.partitions):
        evidence += f", {occurrence.cause.evidence.partition(': ')[2]}"
    return Occurrence(
        at_ms=last.at_ms,
        offset=last.offset,
        offsets_partition=last.offsets_partition,
        generation=last.generation,
        cause=Cause(
            kind=last.cause.kind,
            grade=last.cause.grade,
            member_ids=tuple(dict.fromkeys(last.cause.member_ids + occurrence.cause.member_ids)),
            evidence=evidence,
            alternatives=last.cause.alternatives,
            remedy=last.cause.remedy,
        ),
        partitions=tuple(sorted({*last.partitions, *occurrence.partitions})),
        records=last.records + occurrence.records,
        last_ms=occurrence.last_ms,
    )


def settle_resets(timeline: Timeline) -> None:
    """Tell resets to further on from commits without membership, now that all of the log is known.

    A tool writes all offsets at once, and no others until members come. A consumer that uses assign() commits
    as it reads, again and again; and one that does so under the name of a group with members is rare.
    """
    open_ = [each for each in timeline.occurrences if _is_open_reset(each)]
    alone = Counter(each.generation for each in open_)
    for number, one in enumerate(timeline.occurrences):
        if _is_open_reset(one) and alone[one.generation] == 1 and _is_at_once(one):
            evidence = one.cause.evidence.replace(
                "committed while the group had no members",
                "committed once, all at the same time, while the group had no members",
            )
            cause = replace(one.cause, grade=Grade.INFERRED, alternatives=(), evidence=evidence)
            timeline.occurrences[number] = replace(one, cause=cause)


def _is_open_reset(occurrence: Occurrence) -> bool:
    return occurrence.cause.kind is CauseKind.OFFSET_RESET and occurrence.cause.grade is Grade.UNKNOWN


def _is_at_once(occurrence: Occurrence) -> bool:
    if occurrence.at_ms is None or occurrence.last_ms is None or "further" not in occurrence.cause.evidence:
        return False
    is_at_once = occurrence.last_ms - occurrence.at_ms <= _ONE_ACT_MS
    return is_at_once and occurrence.records == len(occurrence.partitions)
