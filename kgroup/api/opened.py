"""Where a question is asked of: paths or a cluster, and what is opened of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.sources import Sources
from kgroup.protocol.log_listing import LogListing

if TYPE_CHECKING:
    from kgroup.log.format.batch import Batch, Damage
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.connect.properties import ConnectionOptions
    from kgroup.spark.remote import RemoteLogs


_FEW_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLogs:
    """Logs to scan; where they are a cluster's, what it says of all topics, and the cluster to ask more."""

    sources: Sources
    listing: LogListing | None = None
    cluster: "Cluster | None" = None
    remote: "RemoteLogs | None" = None
    """Where to fetch segments from that are not here; only Spark can."""

    def batches(self, segment: SegmentFile) -> "Iterator[Batch | Damage]":
        """A segment's batches, read from where it lies only as far as they are taken."""
        from kgroup.log.files.segment import read_segment
        from kgroup.spark.remote import is_uri, read_remote_segment

        if is_uri(segment.path):
            return read_remote_segment(segment.path)
        return read_segment(segment.path, read_bytes=_FEW_BYTES)

    def message(self, text: str) -> str:
        """A message with the names that the user knows."""
        return text if self.remote is None else self.remote.named_in(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Where a command reads: paths, or a cluster if there is a connection."""

    paths: tuple[str, ...]
    connection: "ConnectionOptions | None"

    @property
    def is_live(self) -> bool:
        """Whether it is a cluster."""
        return self.connection is not None
