"""A cluster's offsets topic, readable in pieces by any process that is given one."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.leader_epochs import EpochEnd, epoch_ends, epochs_before
from kgroup.net.admin.raw_logs import batch_boundary, copy_what_is_there, offsets_spans
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.protocol.topic_id import TopicId


@dataclass(frozen=True, slots=True)
class LiveOffsetsTopic:
    """Connects again for each question, so any process may ask; all raise SourceError, naming the cluster."""

    connection: ConnectionOptions

    @classmethod
    def of_description(cls, described: Mapping[str, Any]) -> "LiveOffsetsTopic":
        """The topic that `described` has described."""
        servers, properties = described["bootstrap_servers"], described["properties"]
        return cls(ConnectionOptions(bootstrap_servers=servers, properties=tuple(properties)))

    def described(self) -> Mapping[str, Any]:
        """The connection in JSON's types, passwords included, for other machines."""
        shipped = self.connection.self_contained()
        return {"bootstrap_servers": shipped.bootstrap_servers, "properties": list(shipped.properties)}

    @property
    def name(self) -> str:
        """The bootstrap servers."""
        return self.connection.bootstrap_servers

    def ids(self) -> tuple[str | None, TopicId]:
        """The ids of the cluster and of the topic, None from brokers that have none."""
        with Cluster(self.connection) as cluster:
            topic = cluster.topics([OFFSETS_TOPIC]).get(OFFSETS_TOPIC)
            return cluster.cluster_id(), None if topic is None else topic.topic_id

    def now_ms(self) -> int:
        """The time by the clock of who asks, in epoch ms."""
        return int(time.time() * 1000)

    def spans(self, leaderless: set[int] | None = None) -> dict[int, tuple[int, int]]:
        """The first offset and the high watermark of each partition; see `offsets_spans`."""
        with Cluster(self.connection) as cluster:
            return offsets_spans(cluster, leaderless=leaderless)

    def epoch_ends(self, epochs: Mapping[int, int]) -> Mapping[int, EpochEnd | None]:
        """The ends of leader epochs, by partition; see `kgroup.net.admin.leader_epochs`."""
        if not epochs:
            return {}
        with Cluster(self.connection) as cluster:
            return epoch_ends(cluster, epochs)

    def epochs_before(self, offsets: Mapping[int, int]) -> Mapping[int, int | None]:
        """The leader epoch of the record before an offset, by partition; see there, too."""
        if not offsets:
            return {}
        with Cluster(self.connection) as cluster:
            return epochs_before(cluster, offsets)

    def boundaries(self, spans: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """The offset after the batch with the first offset of a span, or the span's end, by partition."""
        if not spans:
            return {}
        with Cluster(self.connection) as cluster:
            return {
                partition: batch_boundary(cluster, partition, offset, end)
                for partition, (offset, end) in spans.items()
            }

    def copy(self, spans: Mapping[int, tuple[int, int]], folder: Path) -> dict[int, tuple[Path, int]]:
        """A segment of the span and the offset from which it is complete, by partition."""
        with Cluster(self.connection) as cluster:
            return {
                partition: copy_what_is_there(cluster, partition, span, folder)
                for partition, span in spans.items()
            }
