"""A cluster whose acknowledged commits are known to the checkers."""

from collections.abc import Callable
from functools import partial
from typing import Final

from kgroup.broker.cluster import OFFSETS_TOPIC, Cluster
from kgroup.broker.hosting import HostedCoordinator
from kgroup.group.offsets import FetchTopic
from kgroup.group.requests import OffsetCommit, OffsetCommitResponse, ReplyBody, RequestBody
from kgroup.sim.checkers import Checkers
from kgroup.sim.scenario import node_name

_ALL_BATCHES: Final = 1 << 62


class WatchedCluster(Cluster):
    """A cluster whose commits are known to the checkers, with the answer that the coordinator gave."""

    checkers: Checkers

    def submit(
        self,
        hosted: HostedCoordinator,
        body: RequestBody,
        now_ms: int,
        client: tuple[str, str] = ("", ""),
        reply_to: Callable[[ReplyBody], None] = lambda body: None,
    ) -> int:
        """As in any cluster."""
        if isinstance(body, OffsetCommit):
            reply_to = partial(self._commit_answered, self.checkers.commit_asked(body), body, reply_to)
        return super().submit(hosted, body, now_ms, client, reply_to)

    def _commit_answered(
        self, number: int, body: OffsetCommit, reply_to: Callable[[ReplyBody], None], reply: ReplyBody
    ) -> None:
        assert isinstance(reply, OffsetCommitResponse)
        self.checkers.commit_answered(number, body, reply)
        reply_to(reply)

    def tick(self, now_ms: int, node_id: int | None = None) -> None:
        """As in any cluster; a coordinator that has loaded its log must know every acknowledged commit."""
        loading = list(self._loading.values())
        super().tick(now_ms, node_id)
        for hosted in loading:
            if not hosted.is_loading and self.hosted.get(hosted.partition.index) is hosted:
                self._verify(hosted, f"{node_name(hosted.node_id)}, which has loaded the log,")

    def verify_logs(self, now_ms: int) -> None:
        """Whether coordinators that had nothing but the logs would know every acknowledged commit."""
        places = self.checkers.acknowledged_places()
        for index in sorted({self.offsets_partition(group) for group, _ in places}):
            partition = self.topics[OFFSETS_TOPIC].partitions[index]
            hosted = HostedCoordinator(partition, self.settings.group, str)
            hosted.load(_ALL_BATCHES, now_ms)
            self._verify(hosted, "the log")

    def _verify(self, hosted: HostedCoordinator, where: str) -> None:
        for group, (topic, index) in self.checkers.acknowledged_places():
            if self.offsets_partition(group) != hosted.partition.index:
                continue
            asked = FetchTopic(name=topic, topic_id=None, partition_indexes=(index,))
            found = hosted.coordinator.fetch_offsets(group, (asked,), require_stable=False)
            offset = found[0].partitions[0].committed_offset
            retention_ms = self.settings.group.offsets_retention_ms
            self.checkers.committed((group, (topic, index)), offset, retention_ms, where)
