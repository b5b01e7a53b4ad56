"""Producers that commit a group's offsets in transactions: `sendOffsetsToTransaction` (KIP-98, KIP-447)."""

from functools import partial
from typing import Final

from kgroup.broker.apis.coordination import ask_coordinator
from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kgroup.errors import SourceError
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.coordinator import (
    CommitPartition,
    CommitTopic,
    OffsetCommit,
    OffsetCommitResponse,
    ReplyBody,
    TxnOffsetCommit,
)
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.world.cluster_host import ClusterHost
from kgroup.sim.world.node_host import NodeHost
from kgroup.sim.world.surroundings import Surroundings
from kgroup.wire.frames import Call

E = ErrorCode
GROUP: Final = "transactions"
_RETRIES_MAX: Final = 20


class TransactionalProducer:
    """One transactional id. It commits, aborts, gives up, and is fenced by its own next process."""

    def __init__(self, name: str, scenario: Scenario, around: Surroundings, host: ClusterHost) -> None:
        self._name = name
        self._chance = around.random(f"producer {name}")
        self._schedule = around.schedule
        self._host = host
        self._end_ms = around.schedule.now_ms + scenario.duration_ms
        self._group = f"{GROUP}-{name}"
        self._topic = scenario.topics[0].name
        self._is_patient = self._chance.random() < 0.35
        self._timeout_ms = 100_000 if self._is_patient else self._chance.choice((5_000, 10_000, 30_000))
        self._producer: tuple[int, int] | None = None
        self._fenced: tuple[int, int] | None = None
        self._offset = 0
        self._in_transaction = False
        self._has_offsets = False
        self._hold_until_ms = 0
        self._ending: bool | None = None
        self._retries = 0
        self._call = Call(
            token=-1,
            api_key=-1,
            version=-1,
            correlation_id=-1,
            client_id=name,
            client_host="/10.2.0.1",
            body=None,
        )

    def start(self) -> None:
        """Begin."""
        self._wake_in(self._chance.randint(0, 5_000))

    def _wake_in(self, ms: int) -> None:
        self._schedule.at(self._schedule.now_ms + ms, self._wake)

    def _wake(self) -> None:
        if self._schedule.now_ms >= self._end_ms:
            return  # what is open will be aborted in time
        node = self._coordinator()
        if node is not None:
            try:
                self._go_on(node)
            except SourceError:
                self._producer, self._in_transaction, self._ending = None, False, None
            self._host.schedule_flush(node)
        self._wake_in(min(max(int(self._chance.expovariate(1 / 1_200)), 100), 5_000))

    def _coordinator(self) -> NodeHost | None:
        """The node that coordinates its transactions, if it can be asked."""
        cluster = self._host.cluster
        topic = cluster.internal_topic(TRANSACTIONS_TOPIC, self._schedule.now_ms)
        partition = topic.partitions[cluster.transaction_partition(self._name)]
        node = self._host.nodes.get(partition.leader)
        return node if node is not None and node.is_running and node.is_free else None

    def _go_on(self, node: NodeHost) -> None:
        luck = self._chance.random()
        if luck < 0.1:
            self._commit_plainly()
        elif luck < 0.15 and self._fenced is not None:
            self._commit(node, self._fenced)
        if self._producer is None or luck > 0.97:
            self._init(node)
        elif self._ending is not None:
            self._end(node, self._ending)
        elif not self._in_transaction:
            self._begin(node)
        elif self._schedule.now_ms < self._hold_until_ms or not self._has_offsets:
            if not self._has_offsets or luck < 0.4:
                self._commit(node, self._producer)
        else:
            self._end(node, luck < 0.7)

    def _init(self, node: NodeHost) -> None:
        self._fenced = self._producer
        identity = self._host.cluster.transactions.init_producer_id(
            self._name, self._timeout_ms, (-1, -1), node.now_ms()
        )
        self._in_transaction, self._ending = False, None
        self._producer = (identity.producer_id, identity.producer_epoch)
        if identity.error is not E.NONE:
            self._producer = None

    def _begin(self, node: NodeHost) -> None:
        assert self._producer is not None
        offsets_partition = (OFFSETS_TOPIC, self._host.cluster.offsets_partition(self._group))
        error = self._host.cluster.transactions.add_partitions(
            self._name, self._producer, [offsets_partition], node.now_ms()
        )
        if error is E.NONE:
            self._in_transaction, self._has_offsets = True, False
            mean_ms = 40_000 if self._is_patient else 3_000
            self._hold_until_ms = self._schedule.now_ms + int(self._chance.expovariate(1 / mean_ms))
        elif error is not E.CONCURRENT_TRANSACTIONS:
            self._producer = None

    def _topics(self) -> tuple[CommitTopic, ...]:
        partitions = len(self._host.cluster.topics[self._topic].partitions)
        self._offset += 1
        one = CommitPartition(
            partition_index=self._chance.randrange(min(partitions, 2)),
            committed_offset=self._offset,
            committed_leader_epoch=-1,
            committed_metadata="",
        )
        return (CommitTopic(name=self._topic, topic_id=None, partitions=(one,)),)

    def _commit(self, node: NodeHost, producer: tuple[int, int]) -> None:
        """As `TxnOffsetCommit` on the wire: the transaction is verified first (KIP-890)."""
        offsets_partition = (OFFSETS_TOPIC, self._host.cluster.offsets_partition(self._group))
        error = self._host.cluster.transactions.verify(
            self._name, producer, offsets_partition, knows_abortable=True
        )
        coordinator = self._host.coordinator_of(self._group)
        if error is not E.NONE:
            if producer == self._producer:
                self._producer, self._in_transaction = None, False
            return
        if coordinator is None or not coordinator.is_running or not coordinator.is_free:
            return
        body = TxnOffsetCommit(
            group_id=self._group,
            producer_id=producer[0],
            producer_epoch=producer[1],
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            topics=self._topics(),
        )
        answer = partial(self._committed, producer)
        ask_coordinator(coordinator.node, self._call, self._group, body, coordinator.now_ms(), answer)
        self._host.schedule_flush(coordinator)

    def _committed(self, producer: tuple[int, int], reply: ReplyBody) -> None:
        assert isinstance(reply, OffsetCommitResponse)
        errors = [each.error_code for topic in reply.topics for each in topic.partitions]
        if producer == self._producer and errors == [E.NONE]:
            self._has_offsets = True

    def _end(self, node: NodeHost, committed: bool) -> None:
        """EndTxn, again and again until it is answered."""
        assert self._producer is not None
        self._ending = committed
        self._host.watch.transactions.ends(self._producer[0])
        identity = self._host.cluster.transactions.end(
            self._name, self._producer, committed=committed, bump_epoch=False, now_ms=node.now_ms()
        )
        self._retries += 1
        if identity.error is E.CONCURRENT_TRANSACTIONS and self._retries < _RETRIES_MAX:
            return
        if identity.error is E.NONE:
            self._host.watch.transactions.ended(self._producer[0], committed, self._host.watch.models)
        else:
            self._producer = None
        self._in_transaction, self._ending, self._retries = False, None, 0

    def _commit_plainly(self) -> None:
        """An administrator's commit between them."""
        coordinator = self._host.coordinator_of(self._group)
        if coordinator is None or not coordinator.is_running or not coordinator.is_free:
            return
        body = OffsetCommit(
            group_id=self._group,
            generation_id=-1,
            member_id="",
            group_instance_id=None,
            retention_time_ms=-1,
            topics=self._topics(),
            knows_group_not_found=True,
        )
        ask_coordinator(
            coordinator.node, self._call, self._group, body, coordinator.now_ms(), lambda reply: None
        )
        self._host.schedule_flush(coordinator)
