"""Partitions of a live cluster's offsets topic left out of a report because they have no leader."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgroup.api.names import is_pattern
from kgroup.api.opened import OpenedLogs
from kgroup.lag.findings.text import counted, listed
from kgroup.protocol.group_hash import OFFSETS_TOPIC

if TYPE_CHECKING:
    from kgroup.lag.findings.model import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsPartitionsDown:
    """`partitions` of the `count` that the topic has; none of files, and as a rule none of a cluster."""

    cluster: str = ""
    partitions: tuple[int, ...] = ()
    count: int = 0

    @classmethod
    def of(cls, logs: OpenedLogs) -> "OffsetsPartitionsDown":
        """The partitions that were down when the logs were read."""
        if logs.cluster is None or not logs.leaderless:
            return cls()
        topic = logs.cluster.topics([OFFSETS_TOPIC]).get(OFFSETS_TOPIC)
        count = max(len(topic.leaders) if topic is not None else 0, *(each + 1 for each in logs.leaderless))
        return cls(cluster=logs.cluster.name, partitions=tuple(sorted(logs.leaderless)), count=count)

    def findings(self, groups: Sequence[str] | None) -> "Iterator[Finding]":
        """Findings for these groups if all are given by name; a pattern may match any group there."""
        from kgroup.lag.findings.offsets_partition import offsets_partitions_down

        named = [group for group in groups or () if not is_pattern(group)]
        some = groups is not None and len(named) == len(groups)
        return offsets_partitions_down(self.partitions, self.count, named if some else ())

    def problems(self) -> Iterator[str]:
        """One line, if there are any."""
        if self.partitions:
            yield (
                f"{self.cluster}: offsets-partition-down: {len(self.partitions)} of"
                f" {counted(self.count, 'partition')} of {OFFSETS_TOPIC} have no leader"
                f" ({listed(list(map(str, self.partitions)))}): their groups have no coordinator,"
                " and are not here"
            )
