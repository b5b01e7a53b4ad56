"""The partitions a sticky assignor has moved while balancing, so that later moves can undo earlier ones.

Source: PartitionMovements of Kafka 4.3.1's AbstractStickyAssignor.
"""

from kgroup.assignors.java_order import JavaHashSet, partition_hash
from kgroup.protocol.topic_partition import TopicPartition


class Moves:
    """Moves so far: each moved partition's first owner and present one."""

    def __init__(self) -> None:
        self._of_partition: dict[TopicPartition, tuple[str, str]] = {}
        self._between: dict[tuple[str, str, str], JavaHashSet[TopicPartition]] = {}

    def better_choice(self, partition: TopicPartition, source: str, destination: str) -> TopicPartition:
        """The partition to move instead of this one.

        If one of the same topic went the other way, from `destination` to where this one comes
        from, the first of those in Java's order goes back; else this one goes.
        """
        if partition in self._of_partition:
            source = self._of_partition[partition][0]
        reverse = self._between.get((partition[0], destination, source))
        return next(iter(reverse)) if reverse else partition

    def record(self, partition: TopicPartition, source: str, destination: str) -> None:
        """Note that the partition moved; a partition back at its first owner has not moved."""
        first = source
        if partition in self._of_partition:
            first, last = self._of_partition.pop(partition)
            key = (partition[0], first, last)
            self._between[key].discard(partition)
            if not self._between[key]:
                del self._between[key]
            if first == destination:
                return
        self._of_partition[partition] = (first, destination)
        key = (partition[0], first, destination)
        if key not in self._between:
            self._between[key] = JavaHashSet(partition_hash)
        self._between[key].add(partition)

    def state(self) -> frozenset[tuple[TopicPartition, tuple[str, str]]]:
        """The moves as a value that can be compared with another moment's."""
        return frozenset(self._of_partition.items())
