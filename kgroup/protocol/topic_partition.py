"""One partition of a topic, as assignments, checkpoints and transactions name it."""

from collections.abc import Sequence

# A topic name and a partition id: a plain tuple, as an assignment holds thousands of them.
TopicPartition = tuple[str, int]


def group_by_topic(partitions: Sequence[TopicPartition]) -> dict[str, list[int]]:
    """Partition ids by topic, topics in order of first appearance."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in partitions:
        if topic in by_topic:
            by_topic[topic].append(number)
        else:
            by_topic[topic] = [number]
    return by_topic
