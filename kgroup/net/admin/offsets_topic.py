"""A cluster's offsets topic, to be read in pieces by any process that is handed one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.raw_logs import batch_boundary, copy_span, offsets_spans
from kgroup.net.connect.properties import ConnectionOptions


@dataclass(frozen=True, slots=True)
class LiveOffsetsTopic:
    """Connects anew for each question, so it can be pickled; all raise SourceError, naming the cluster."""

    connection: ConnectionOptions

    @property
    def name(self) -> str:
        """The bootstrap servers."""
        return self.connection.bootstrap_servers

    def spans(self) -> dict[int, tuple[int, int]]:
        """The first offset and the high watermark of each partition."""
        with Cluster(self.connection) as cluster:
            return offsets_spans(cluster)

    def boundaries(self, spans: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """By partition: the offset behind the batch with the first offset of a span, or the span's end."""
        if not spans:
            return {}
        with Cluster(self.connection) as cluster:
            return {
                partition: batch_boundary(cluster, partition, offset, end)
                for partition, (offset, end) in spans.items()
            }

    def copy(self, spans: Mapping[int, tuple[int, int]], folder: Path) -> dict[int, Path]:
        """Write the batches of each span as a segment into `folder`; by partition."""
        with Cluster(self.connection) as cluster:
            return {
                partition: copy_span(cluster, partition, span, folder)[0] for partition, span in spans.items()
            }
