"""The coordinator's knowledge of the cluster's topics: an input, as time is."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicImage:
    """A topic as it is now. `racks[i]` are those of partition i's replicas; empty where none are known."""

    name: str
    topic_id: UUID
    partitions: int
    racks: tuple[tuple[str, ...], ...] = ()


class MetadataImage(Protocol):
    """The topics there are. Its answers may change between two steps, never within one."""

    def topic(self, name: str) -> TopicImage | None:
        """The topic of this name."""

    def name_of(self, topic_id: UUID) -> str | None:
        """The name of the topic that has this id."""

    def names(self) -> Iterable[str]:
        """The names of all topics."""

    def version(self) -> int:
        """A number that grows whenever topics are made; also over restarts."""


class FixedImage:
    """An image with topics set by hand: for tests, and for coordinators that need none."""

    def __init__(self, topics: Iterable[TopicImage] = (), version: int = 0) -> None:
        self._topics = {topic.name: topic for topic in topics}
        self._names = {topic.topic_id: topic.name for topic in self._topics.values()}
        self._version = version

    def topic(self, name: str) -> TopicImage | None:
        """See `MetadataImage`."""
        return self._topics.get(name)

    def name_of(self, topic_id: UUID) -> str | None:
        """See `MetadataImage`."""
        return self._names.get(topic_id)

    def names(self) -> Iterable[str]:
        """See `MetadataImage`."""
        return self._topics

    def version(self) -> int:
        """See `MetadataImage`."""
        return self._version

    def put(self, topic: TopicImage) -> None:
        """Make a topic, or change it."""
        self.remove(topic.name)
        self._topics[topic.name] = topic
        self._names[topic.topic_id] = topic.name
        self._version += 1

    def remove(self, name: str) -> None:
        """Delete a topic, if it is there."""
        topic = self._topics.pop(name, None)
        if topic is not None:
            del self._names[topic.topic_id]
