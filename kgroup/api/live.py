"""The live source of commands that read logs: a cluster's offsets topic as a log directory for a while."""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.raw_logs import copy_offsets_topic, grow_copy
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.protocol.group_hash import OFFSETS_TOPIC, partition_for


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveLog:
    """The copy of a cluster's offsets topic in `folder`, and the cluster to ask for more.

    `ends`: of each partition copied, the offset where the copy ends.
    """

    folder: str
    cluster: Cluster
    ends: dict[int, int]

    def topic_names(self) -> dict[UUID, str]:
        """Topic id to name, of all topics there are now."""
        topics = self.cluster.topics().values()
        return {topic.topic_id: topic.name for topic in topics if topic.topic_id is not None}


class KeptLog:
    """A connection and a copy of the offsets topic that are kept from one look to the next.

    Only what is new is fetched. After an error all of it is given up, and the next look begins anew.
    """

    def __init__(self, connection: ConnectionOptions) -> None:
        self._connection = connection
        self._open = ExitStack()
        self._live: LiveLog | None = None

    @contextmanager
    def look(self) -> Iterator[LiveLog]:
        """The copy as of now. Raises SourceError as `live_log` does."""
        try:
            yield self._newest()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give up the connection and the copy."""
        self._live = None
        self._open.close()

    def _newest(self) -> LiveLog:
        if self._live is None:
            self._live = self._open.enter_context(live_log(self._connection))
        else:
            ends = grow_copy(self._live.cluster, Path(self._live.folder), self._live.ends)
            self._live = replace(self._live, ends=ends)
        return self._live


@contextmanager
def live_log(
    connection: ConnectionOptions, partitions: Collection[int] | None = None, *, group: str | None = None
) -> Iterator[LiveLog]:
    """Connect and copy the offsets topic; the copy is gone afterwards.

    Only `partitions` of it, or only the one that keeps `group`, if given.
    Raises SourceError if the cluster cannot be reached or read.
    """
    with Cluster(connection) as cluster, TemporaryDirectory(prefix="kgroup-") as folder:
        if group is not None:
            offsets_topic = cluster.topics([OFFSETS_TOPIC]).get(OFFSETS_TOPIC)
            partitions = [partition_for(group, len(offsets_topic.leaders))] if offsets_topic else None
        ends = copy_offsets_topic(cluster, Path(folder), partitions)
        yield LiveLog(folder=folder, cluster=cluster, ends=ends)
