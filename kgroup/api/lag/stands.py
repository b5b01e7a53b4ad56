"""Times since which partitions have been committed at one offset that all their last commits repeat.

A group that commits every second shows ten seconds of itself in the commits that are kept. The scan also
keeps the last step of each key: the time it reached its position.
"""

from dataclasses import replace

from kgroup.api.lag.group_spans import GroupSpans, group_spans, rows_within
from kgroup.lag.findings.model import GroupFacts, PartitionFacts
from kgroup.lag.findings.standstill import has_unread
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.scan.reductions.last_commits import LastCommits


class Stands:
    """Puts it to the facts on a group. The table is looked at when a group first asks."""

    def __init__(self, last: LastCommits) -> None:
        self._moves = last.moves
        self._spans: GroupSpans | None = None

    def put_to(self, facts: GroupFacts) -> GroupFacts:
        """The facts with `stood_since_ms` where the last commits all repeat an offset."""
        if not any(map(_asks, facts.partitions)):
            return facts
        moved = self._moved(facts.group.group_id)
        partitions = tuple(
            replace(partition, stood_since_ms=_stood_since(partition, *moved[partition.topic_partition]))
            if _asks(partition) and partition.topic_partition in moved
            else partition
            for partition in facts.partitions
        )
        return replace(facts, partitions=partitions)

    def _moved(self, group_id: str) -> dict[TopicPartition, tuple[int, int]]:
        """The offset that the last step of each partition led to, and when; none if the group is in two.

        Which of the two is newer is for others to say.
        """
        if self._spans is None:
            self._spans = group_spans(self._moves)
        spans = self._spans.get(group_id, [])
        if len(spans) != 1:
            return {}
        return {
            (row["topic"], row["partition"]): (row["offset"], row["commit_timestamp"])
            for row in rows_within(self._moves, spans[0]).to_pylist()
        }


def _asks(partition: PartitionFacts) -> bool:
    """Whether all of the last commits repeat one offset, with records unread."""
    repeats = partition.commits > 1 and partition.first_offset == partition.last_offset
    return repeats and has_unread(partition)


def _stood_since(partition: PartitionFacts, offset: int, at_ms: int) -> int | None:
    return at_ms if offset == partition.last_offset and at_ms <= partition.first_ms else None
