"""The partitions a change applies to, as `--topic orders:0,1` names them."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kgroup.errors import InputError, RefusedError, did_you_mean
from kgroup.protocol.topic_partition import TopicPartition

_TOPIC: Final = re.compile(r"(?P<topic>[^:]+)(?::(?P<partitions>.*))?", re.DOTALL)
_PARTITION: Final = re.compile(r"[0-9]{1,10}")


def parse_topic(text: str, option: str = "--topic") -> tuple[str, tuple[int, ...] | None]:
    """A topic and its partitions of `orders:0,1`; None are all. Raises InputError that names `option`."""
    matched = _TOPIC.fullmatch(text)
    if matched is None:
        raise InputError(f"{option} {text}: no topic; give NAME or NAME:0,1")
    if matched["partitions"] is None:
        return matched["topic"], None
    numbers = matched["partitions"].split(",")
    wrong = [number for number in numbers if not _PARTITION.fullmatch(number.strip())]
    if wrong:
        raise InputError(f"{option} {text}: {wrong[0]!r} is not a partition; give NAME:0,1")
    return matched["topic"], tuple(dict.fromkeys(int(number) for number in numbers))


def chosen_partitions(
    asked: Iterable[tuple[str, tuple[int, ...] | None]], topics: Mapping[str, Collection[int]]
) -> list[TopicPartition]:
    """The partitions of what `parse_topic` gave, sorted; `topics` are those that exist.

    Raises RefusedError for a topic or partition that is not among them.
    """
    chosen: set[TopicPartition] = set()
    for topic, partitions in asked:
        if topic not in topics:
            raise RefusedError(f"no topic {topic!r} in this cluster{did_you_mean(topic, topics)}")
        missing = sorted(set(partitions or ()) - set(topics[topic]))
        if missing:
            raise RefusedError(f"{topic} has no partition {missing[0]}, but {_span(topics[topic])}")
        chosen.update((topic, number) for number in (topics[topic] if partitions is None else partitions))
    return sorted(chosen)


def require_partitions(
    places: Iterable[TopicPartition], topics: Mapping[str, Collection[int]], source: str
) -> None:
    """Raises RefusedError, which names the `source`, for a partition that is not in these topics."""
    for topic, partition in places:
        if topic not in topics:
            raise RefusedError(f"{source}: no topic {topic!r} in this cluster{did_you_mean(topic, topics)}")
        if partition not in topics[topic]:
            raise RefusedError(f"{source}: {topic} has no partition {partition}, but {_span(topics[topic])}")


def _span(partitions: Collection[int]) -> str:
    return "0" if len(partitions) == 1 else f"0 to {max(partitions, default=0)}"
