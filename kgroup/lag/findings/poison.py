"""A record that stops every successive owner of its partition: it cannot be processed by any of them.

The partition's committed offset stays where it is while the partition changes hands. Each owner that gave it
up either went away itself, as in a crash loop, or is well on what else it owns. What befalls all partitions
of a group, such as a broken release or a dependency that is down, is no record's fault.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade, Partition, Roster, TimelineMember
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, PartitionFacts
from kgroup.lag.findings.standstill import has_unread, unread_text
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.status.window_evidence import SHORTEST_MS
from kgroup.protocol.topic_partition import TopicPartition

CHANGES: Final = 2
"""The partition has changed hands this often: three owners were stopped, or are."""
INTERVALS_MISSED: Final = 3
"""A partition is silent for this many of its longest intervals: slow committers may change in between."""

_TRY: Final = (
    "Look at the record at the committed offset, and at the few after it that a poll may have fetched"
    " (kafka-console-consumer.sh --partition P --offset OFFSET --max-messages 5), and at what the owners"
    " logged last. Make the code survive it (a dead letter topic), or skip it: stop the group, and"
    " kafka-consumer-groups.sh --reset-offsets --to-offset. More members do not help."
)


@dataclass(frozen=True, slots=True)
class _Tenure:
    """A member that owned the partition, from when on, and whether it was gone when another one got it."""

    owner: TimelineMember
    from_ms: int
    went_away: bool


def stands_long(facts: GroupFacts) -> Iterator[PartitionFacts]:
    """Partitions of which the committed offset has not moved for long though a record waits."""
    for partition in facts.partitions:
        if not partition.commits or not has_unread(partition) or partition.unread_by_ms is None:
            continue
        limit_ms = max(SHORTEST_MS, INTERVALS_MISSED * (partition.longest_interval_ms or 0))
        if facts.now_ms - _since_ms(partition) >= limit_ms and partition.open_transaction is None:
            yield partition


def poison_records(facts: GroupFacts) -> dict[TopicPartition, Finding]:
    """The partitions that a record stops, with the finding on each.

    Partitions that went from owner to owner together stop together, too, if the process ends before it
    commits any of them: a record of one that was there from the beginning is to blame.
    """
    if len(facts.rosters) <= CHANGES:  # no partition can have had more owners
        return {}
    together: dict[tuple[str, ...], list[tuple[PartitionFacts, list[_Tenure]]]] = {}
    for partition in stands_long(facts):
        place = Partition(*partition.topic_partition)
        tenures = list(_tenures(facts.rosters, place, _since_ms(partition)))
        if len(tenures) > CHANGES:
            owners = tuple(tenure.owner.member_id for tenure in tenures[-1 - CHANGES :])
            together.setdefault(owners, []).append((partition, tenures))
    found: dict[TopicPartition, Finding] = {}
    for stopped in together.values():
        places = [partition for partition, _ in stopped]
        longest = max((tenures for _, tenures in stopped), key=len)
        first = [partition for partition, tenures in stopped if len(tenures) == len(longest)]
        finding = _poison(facts, places, first, longest)
        if finding is not None:
            found |= {partition.topic_partition: finding for partition in places}
    return found


def _poison(
    facts: GroupFacts,
    stopped: Sequence[PartitionFacts],
    first: Sequence[PartitionFacts],
    tenures: Sequence[_Tenure],
) -> Finding | None:
    """The finding on what is `stopped` together, of which `first` are the ones that stand for longest."""
    since_ms = max(map(_since_ms, first))
    gave_up = tenures[:-1]
    others = [one for one in facts.partitions if one not in stopped and one.commits]
    if not all(tenure.went_away or _is_well(tenure, others) for tenure in gave_up):
        return None
    go_on = [one for one in others if one.last_ms > since_ms and one.last_offset > one.first_offset]
    if not go_on and (len(stopped) > 1 or any(has_unread(one) for one in others)):
        return None
    went_away = sum(tenure.went_away for tenure in gave_up)
    owners = listed([tenure.owner.client_id or tenure.owner.member_id for tenure in tenures])
    row, only = first[0].row, len(first) == 1
    elsewhere = "while other partitions went on" if go_on else "and there is no other partition to compare"
    lasted_ms = facts.now_ms - since_ms
    if only:
        stays = f"offset {first[0].last_offset} has stayed committed for {lasting(lasted_ms)}"
    else:
        offsets = listed([f"{one.row.topic}-{one.row.partition}@{one.last_offset}" for one in first])
        stays = f"the offsets {offsets} have stayed committed together for {lasting(lasted_ms)}"
    blame = "" if len(stopped) == 1 else "; its process ends before it commits anything that it owns besides"
    if not only:
        blame = "; a record at one of them ends the process before it commits any"
    return Finding(
        kind=FindingKind.POISON_RECORD,
        group=facts.group.group_id,
        topic=row.topic if len({one.row.topic for one in first}) == 1 else None,
        partition=row.partition if only else None,
        member_id=row.member_id,
        since_ms=min(since_ms, facts.now_ms),
        grade=Grade.INFERRED if go_on else Grade.UNKNOWN,
        evidence=f"{stays} under {counted(len(tenures), 'owner')} in turn ({owners}), of which {went_away}"
        f" went away, {elsewhere}; {unread_text(stopped)}{blame}",
        numbers={
            "committed_offset": first[0].last_offset if only else None,
            **({"partitions": len(stopped)} if len(stopped) > 1 else {}),
            "owners": len(tenures),
            "went_away": went_away,
            "lag": sum(one.row.lag or 0 for one in stopped),
            "standing_ms": lasted_ms,
        },
        try_this=_TRY,
    )


def _since_ms(partition: PartitionFacts) -> int:
    """The time since which the offset is the committed one and a record waits there."""
    reached_ms = partition.reached_ms if partition.stood_since_ms is None else partition.stood_since_ms
    return max(reached_ms, partition.unread_by_ms or reached_ms)


def _tenures(rosters: Sequence[Roster], place: Partition, since_ms: int) -> Iterator[_Tenure]:
    """The partition's owners from `since_ms` on, one after the other; the last one may still own it."""
    timed = [(roster.at_ms, roster) for roster in rosters if roster.at_ms is not None]
    before = [number for number, (at_ms, _) in enumerate(timed) if at_ms <= since_ms]
    owned = [
        (at_ms, owner, roster)
        for at_ms, roster in timed[before[-1] if before else 0 :]
        if (owner := roster.owner_of(place)) is not None
    ]
    begun: tuple[int, TimelineMember] | None = None
    for (at_ms, owner, _), (_, following, later) in pairwise([*owned, *owned[-1:]]):
        begun = begun or (at_ms, owner)
        if following.member_id != owner.member_id:
            still_there = {member.member_id for member in later.members}
            yield _Tenure(owner, begun[0], owner.member_id not in still_there)
            begun = None
    if owned:
        at_ms, owner, _ = owned[-1]
        yield _Tenure(owner, begun[0] if begun else at_ms, went_away=False)


def _is_well(tenure: _Tenure, others: Sequence[PartitionFacts]) -> bool:
    """Whether a member that gave the partition up continues with what it owns now."""
    return any(
        one.row.member_id == tenure.owner.member_id
        and one.last_ms >= tenure.from_ms
        and one.last_offset > one.first_offset
        for one in others
    )
