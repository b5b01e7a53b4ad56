"""A cluster's topics as its group coordinators see them."""

from collections.abc import Iterable, Mapping, Sized
from typing import Protocol
from uuid import UUID

from kgroup.broker.storage import TopicSpec
from kgroup.group.coordinator.metadata_image import TopicImage


class _Topic(Protocol):
    @property
    def spec(self) -> TopicSpec: ...

    @property
    def partitions(self) -> Sized: ...


class TopicsImage:
    """`MetadataImage` of the topics of a cluster, which it sees as they come and go.

    Its version begins at the time of the start, so that it is above all that an earlier run has logged.
    """

    def __init__(self, topics: Mapping[str, _Topic], names: Mapping[UUID, str], now_ms: int) -> None:
        self._topics = topics
        self._names = names
        self._version = now_ms

    def topic(self, name: str) -> TopicImage | None:
        """See `MetadataImage`."""
        topic = self._topics.get(name)
        if topic is None:
            return None
        return TopicImage(name=name, topic_id=topic.spec.topic_id, partitions=len(topic.partitions))

    def name_of(self, topic_id: UUID) -> str | None:
        """See `MetadataImage`."""
        return self._names.get(topic_id)

    def names(self) -> Iterable[str]:
        """See `MetadataImage`."""
        return self._topics

    def version(self) -> int:
        """See `MetadataImage`."""
        return self._version

    def has_more(self) -> None:
        """A topic has been made."""
        self._version += 1
