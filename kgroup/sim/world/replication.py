"""Topics with lagging followers: who has what when, what may be read, and what is lost with the leader."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from kgroup.broker.cluster import Cluster
from kgroup.broker.partition import NO_LEADER, Partition
from kgroup.log.store.record_log import MemoryLog
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.watch.checkers import Checkers
from kgroup.sim.watch.result import REPLICATED
from kgroup.sim.world.node_host import NodeHost
from kgroup.sim.world.replicas import Replicas
from kgroup.sim.world.schedule import Schedule


class Host(Protocol):
    """The nodes that copy from each other."""

    cluster: Cluster
    schedule: Schedule
    checkers: Checkers

    @property
    def nodes(self) -> Mapping[int, NodeHost]:
        """The nodes by their numbers."""

    def high_watermark_moved(self, partition: Partition) -> None:
        """More of a partition may be read."""


class Replication:
    """The replication of all topics of the world. Where no follower lags, all copies are one.

    `cut`: how many records of a partition have gone, as the node that led then had not got them.
    """

    def __init__(self, host: Host) -> None:
        self.cut: dict[TopicPartition, int] = {}
        self._host = host
        self._slowest_ms: dict[str, int] = {}
        self._apart: dict[TopicPartition, Replicas] = {}

    def lag(self, topic: str, by_ms: int) -> None:
        """From now on the slowest follower of a topic gets every record this much later than before."""
        self._slowest_ms[topic] = self._slowest_ms.get(topic, 0) + by_ms
        self.hold_back(topic)
        for partition in self._partitions(topic):
            self.catch_up(partition)

    def hold_back(self, topic: str) -> None:
        """Have its followers lag from now on, if they are to: what there is so far is everywhere."""
        if not self._slowest_ms.get(topic):
            return
        for partition in self._partitions(topic):
            where = (topic, partition.index)
            if where not in self._apart and isinstance(partition.log, MemoryLog):
                leader = partition.replicas[0] if partition.leader == NO_LEADER else partition.leader
                apart = Replicas(partition.log, partition.replicas, leader, partial(self._cut, where))
                self._apart[where] = partition.replicas_apart = apart
                self._count_out(apart)
                partition.replicate_to(apart.high_watermark)

    def begin_anew(self) -> None:
        """All nodes have died at once: the copies begin from the longest."""
        self._apart.clear()
        for topic in self._slowest_ms:
            self.hold_back(topic)

    def read_to(self, partition: TopicPartition) -> int:
        """The offset up to which a partition may be read, or could at some time."""
        apart = self._apart.get(partition)
        if apart is not None:
            return apart.read_to
        found = self._host.cluster.partition(*partition)
        return 0 if found is None else found.high_watermark

    def catch_up(self, partition: Partition) -> None:
        """Followers get what the log has now, each in its time."""
        apart = self._apart.get((partition.topic, partition.index))
        if apart is None or partition.leader == NO_LEADER:
            return
        schedule = self._host.schedule
        for node in partition.replicas:
            if node == partition.leader:
                continue
            lag_ms = apart.lag_ms(node, self._slowest_ms[partition.topic])
            came = partial(
                self._came, apart, partition, node, partition.leader_epoch, partition.log.end_offset
            )
            if lag_ms:
                schedule.at(schedule.now_ms + lag_ms, came)
            else:
                came()
        self._show(partition, apart)

    def leaders_changed(self) -> None:
        """Nodes came or went, and what they led is led by others."""
        for (topic, index), apart in list(self._apart.items()):
            partition = self._host.cluster.topics[topic].partitions[index]
            end = partition.log.end_offset
            if end < apart.read_to:
                what = f"{topic}-{index} ends at {end}, and could be read to {apart.read_to}"
                self._host.checkers.broken(REPLICATED, what)
            self._count_out(apart)
            self.catch_up(partition)

    def _partitions(self, topic: str) -> list[Partition]:
        known = self._host.cluster.topics.get(topic)
        return list(known.partitions) if known else []

    def _cut(self, partition: TopicPartition, records: int) -> None:
        self.cut[partition] = self.cut.get(partition, 0) + records

    def _count_out(self, apart: Replicas) -> None:
        for node in sorted(apart.in_sync):
            if not self._host.cluster.nodes[node].alive:
                apart.left(node)

    def _came(self, apart: Replicas, partition: Partition, node: int, epoch: int, offset: int) -> None:
        """A follower has the records below `offset`, if leader and follower are there still."""
        nodes = self._host.nodes
        if self._apart.get((partition.topic, partition.index)) is not apart:
            return
        if epoch != partition.leader_epoch or not nodes[partition.leader].is_running:
            return
        if nodes[node].is_running and self._host.cluster.nodes[node].alive:
            apart.came(node, offset)
            self._show(partition, apart)

    def _show(self, partition: Partition, apart: Replicas) -> None:
        partition.replicate_to(apart.high_watermark)
        self._host.high_watermark_moved(partition)
        if apart.are_level and not self._slowest_ms[partition.topic]:
            self._apart.pop((partition.topic, partition.index), None)
            partition.replicas_apart = None
            partition.replicate_to(None)
