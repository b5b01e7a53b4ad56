"""Partitions of subscribed topics without an owner: nobody reads what is written there."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from kgroup.assignors.registry import ASSIGNORS, Protocol
from kgroup.durations import lasting
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, GroupFacts, KnownPartition
from kgroup.lag.findings.subscribers import assignor_of, is_judged
from kgroup.lag.findings.text import counted, listed
from kgroup.lag.status.window_evidence import SHORTEST_MS

METADATA_MAX_AGE_MS: Final = 300_000
"""`metadata.max.age.ms`: a consumer may take this long to learn of a new partition and join again."""

_TRY: Final = (
    "Restart or add a member: the next rebalance assigns the partition, if the group's leader knows it. If it"
    " stays without an owner, look at the leader: an old client that does not refresh its metadata, a custom"
    " assignor, or no right to describe the topic."
)


def unowned_partitions(facts: GroupFacts) -> Iterator[Finding]:
    """One finding for each topic with partitions that have no owner."""
    group = facts.group
    if not facts.unowned or group.since_ms is None or not is_judged(group):
        return
    assignor = assignor_of(group)
    at_once = assignor is not None and ASSIGNORS[assignor].protocol is Protocol.EAGER
    left_out = [
        (partition, since_ms)
        for partition in facts.unowned
        if (since_ms := _unowned_since(partition, group.since_ms, facts.now_ms, at_once=at_once)) is not None
    ]
    for topic, of_topic in groupby(left_out, lambda each: each[0].topic):
        yield _finding(facts, topic, list(of_topic), Grade.INFERRED if assignor else Grade.UNKNOWN)


def _unowned_since(partition: KnownPartition, assigned_ms: int, now_ms: int, *, at_once: bool) -> int | None:
    """The time since which it has had no owner, None if that may be no fault.

    Who assigns may not know yet of a partition that is new. One that was there for long when all was handed
    out (`at_once`: a cooperative assignor keeps back what is on its way) was left out then.
    """
    if partition.since_ms is None:
        return None
    since_ms = max(partition.since_ms, assigned_ms)
    if partition.seen_ms is not None and partition.seen_ms < since_ms:
        return None  # of a topic that may have been remade since, with fewer
    lasting_ms = now_ms - since_ms
    left_out = at_once and assigned_ms - partition.since_ms >= METADATA_MAX_AGE_MS
    return since_ms if lasting_ms >= (SHORTEST_MS if left_out else METADATA_MAX_AGE_MS) else None


def _finding(
    facts: GroupFacts, topic: str, left_out: Sequence[tuple[KnownPartition, int]], grade: Grade
) -> Finding:
    partitions = [partition for partition, _ in left_out]
    since_ms = min(since for _, since in left_out)
    places = listed([f"{topic}-{partition.partition}" for partition in partitions])
    known = [partition.unread for partition in partitions if partition.unread is not None]
    unread = f"; {counted(sum(known), 'record')} there that the group has not read" if known else ""
    only = partitions[0].partition if len(partitions) == 1 else None
    own = "" if grade is Grade.INFERRED else f"; the assignor '{facts.group.protocol}' is none of Kafka's"
    return Finding(
        kind=FindingKind.UNOWNED_PARTITION,
        group=facts.group.group_id,
        topic=topic,
        partition=only,
        since_ms=since_ms,
        grade=grade,
        evidence=f"{counted(len(partitions), 'partition')} of a subscribed topic ({places}) with none of"
        f" {counted(len(facts.group.members), 'member')} for {lasting(facts.now_ms - since_ms)}{unread}{own}",
        numbers={
            "partitions": len(partitions),
            "unowned_ms": facts.now_ms - since_ms,
            "unread": sum(known) if known else None,
        },
        try_this=_TRY,
    )
