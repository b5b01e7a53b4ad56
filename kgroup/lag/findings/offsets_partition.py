"""Partitions of the offsets topic without a leader: their groups have no coordinator."""

from collections.abc import Iterator, Sequence
from typing import Final

from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind
from kgroup.lag.findings.text import counted
from kgroup.protocol.group_hash import OFFSETS_TOPIC, partition_for

ANY_GROUP: Final = "*"
"""The group of a finding that is about every group id of a hash, where none was named."""

_TRY: Final = (
    "Bring back a broker that has a replica: kafka-topics --describe --topic __consumer_offsets"
    " --unavailable-partitions. If none is in sync, an unclean election loses the newest commits. Then raise"
    " the topic's replication factor: with 3 it survives the loss of a broker."
)


def offsets_partitions_down(down: Sequence[int], count: int, named: Sequence[str]) -> Iterator[Finding]:
    """A finding for each group of those `named` that a leaderless partition keeps; else one a partition.

    `count` is how many partitions the topic has. Groups go to them by the hash of their ids.
    """
    for partition in sorted(down):
        groups = [group for group in named if partition_for(group, count) == partition]
        for group in groups or ([] if named else [ANY_GROUP]):
            whose = "this group" if groups else f"every group id whose hash gives {partition} of {count}"
            yield Finding(
                kind=FindingKind.OFFSETS_PARTITION_DOWN,
                group=group,
                topic=OFFSETS_TOPIC,
                partition=partition,
                grade=Grade.RECORDED,
                evidence=f"no broker leads {OFFSETS_TOPIC}-{partition}, so {whose} has no coordinator: no"
                f" joins, commits or rebalances, and no way to see its offsets;"
                f" {len(down)} of {counted(count, 'partition')} are down, {len(down) / count:.0%} of all ids",
                numbers={"partitions_down": len(down), "partitions": count},
                try_this=_TRY,
            )
