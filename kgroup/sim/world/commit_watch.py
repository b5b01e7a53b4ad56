"""Tells the checkers of every commit, of the coordinators' answers to it, and of what the logs keep of it."""

from functools import partial
from typing import Final

from kgroup.broker.cluster import OFFSETS_TOPIC, Cluster
from kgroup.broker.coordinators import ReplyTo
from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.group.coordinator.offsets import FetchTopic
from kgroup.protocol.requests.coordinator import OffsetCommit, OffsetCommitResponse, ReplyBody, RequestBody
from kgroup.sim.scenario.scenario import node_name
from kgroup.sim.watch.checkers import Checkers

_ALL_BATCHES: Final = 1 << 62


class CommitWatch:
    """Stands between coordinators and who asks them; each new one must know every acknowledged commit."""

    def __init__(self, cluster: Cluster, checkers: Checkers) -> None:
        self._cluster = cluster
        self._checkers = checkers
        cluster.coordinators.on_request = self._requested
        cluster.coordinators.on_loaded = self._loaded

    def verify_logs(self, now_ms: int) -> None:
        """Whether coordinators that had nothing but the logs would know every acknowledged commit."""
        groups = {group for group, _ in self._checkers.acknowledged_partitions()}
        for index in sorted({self._cluster.offsets_partition(group) for group in groups}):
            partition = self._cluster.topics[OFFSETS_TOPIC].partitions[index]
            hosted = HostedCoordinator(partition, self._cluster.settings.group, str)
            hosted.load(_ALL_BATCHES, now_ms)
            self._verify(hosted, "the log")

    def _requested(self, body: RequestBody, reply_to: ReplyTo) -> ReplyTo:
        if not isinstance(body, OffsetCommit):
            return reply_to
        return partial(self._answered, self._checkers.commit_asked(body), body, reply_to)

    def _answered(self, number: int, body: OffsetCommit, reply_to: ReplyTo, reply: ReplyBody) -> None:
        assert isinstance(reply, OffsetCommitResponse)
        self._checkers.commit_answered(number, body, reply)
        reply_to(reply)

    def _loaded(self, hosted: HostedCoordinator) -> None:
        self._verify(hosted, f"{node_name(hosted.node_id)}, which has loaded the log,")

    def _verify(self, hosted: HostedCoordinator, where: str) -> None:
        for group, (topic, index) in self._checkers.acknowledged_partitions():
            if self._cluster.offsets_partition(group) != hosted.partition.index:
                continue
            requested = FetchTopic(name=topic, topic_id=None, partition_indexes=(index,))
            fetched = hosted.coordinator.fetch_offsets(group, (requested,), require_stable=False)
            offset = fetched[0].partitions[0].committed_offset
            retention_ms = self._cluster.settings.group.offsets_retention_ms
            self._checkers.committed((group, (topic, index)), offset, retention_ms, where)
