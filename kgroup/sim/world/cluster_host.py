"""All broker nodes of the world: what `net/serve/server.py` does on sockets, on the virtual clock."""

from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import UUID

from kgroup.broker.cluster import OFFSETS_TOPIC, Cluster, NodeSpec
from kgroup.broker.fetching import FetchWaits
from kgroup.broker.hosted_coordinator import HostedCoordinator
from kgroup.broker.node import BrokerNode
from kgroup.broker.partition import NO_LEADER, Partition
from kgroup.broker.settings import BrokerSettings
from kgroup.broker.storage import Storage
from kgroup.errors import InputError
from kgroup.group.coordinator.events import GroupEvent
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import MemberResponse, Metadata
from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import SimTopic, node_name
from kgroup.sim.watch.trace import CoordinatorEvent, CoordinatorMoved, NodeStarted, NodeStopped
from kgroup.sim.world.coordinator_watch import CoordinatorWatch
from kgroup.sim.world.disk import Disk, DiskLog
from kgroup.sim.world.exchange import Connection
from kgroup.sim.world.node_host import NodeHost
from kgroup.sim.world.replication import Replication
from kgroup.sim.world.surroundings import Surroundings

PORT: Final = 9092
REPLICAS_MAX: Final = 3
NODE_SESSION_MS: Final = 9_000
"""The time the controller waits for a silent node before others lead (Kafka: broker.session.timeout.ms)."""
_STEP_WITHIN_MS: Final = 500
_ROUNDS_MAX: Final = 64


class ClusterHost:
    """All nodes of the world's cluster: flushes, timers, and what can be done to nodes."""

    def __init__(
        self,
        around: Surroundings,
        *,
        settings: BrokerSettings,
        nodes: int,
        storage: Storage,
        disk: Disk,
        groups: tuple[str, ...],
    ) -> None:
        self.schedule = schedule = around.schedule
        self.network = around.network
        self.answered: list[tuple[NodeHost, Connection]] = []
        self.checkers = around.checkers
        self._measures = around.measures
        self._tell = around.tell
        self.metadata: dict[Metadata, MemberResponse] = {}
        """Answers that are true until leaders or topics change."""
        self.new_since_ms: dict[TopicPartition, int] = {}
        """The times at which partitions came that were not there from the start."""
        self.replication = Replication(self)
        self._flush_is_due = False
        self._moves: dict[str, NodeHost] = {}
        self._to_flush: dict[NodeHost, None] = {}
        self._groups = groups
        self._leaders: dict[str, int] = {}
        random = around.random("ids")
        self.disk = disk
        self._settings = settings
        self._storage = storage
        self._new_uuid = lambda: UUID(int=random.getrandbits(128), version=4)
        self._node_ids = range(1, nodes + 1)
        self.cluster = self._new_cluster()
        self.nodes = {
            node_id: NodeHost(self, BrokerNode(node_id, self.cluster, FetchWaits()))
            for node_id in self._node_ids
        }
        self.by_name = {node.name: node for node in self.nodes.values()}
        self.watch = CoordinatorWatch(
            self.cluster, around.checkers, self.nodes.get, frozenset(groups), lambda: schedule.now_ms
        )
        self.cluster.on_append = self._appended

    def _new_cluster(self) -> Cluster:
        """Brokers that know what the storage has."""
        specs = [NodeSpec(number, node_name(number), PORT) for number in self._node_ids]
        cluster = Cluster(self._settings, specs, self._storage, self._new_uuid, self.schedule.now_ms)
        cluster.coordinators.on_event = self._on_group_event
        return cluster

    def schedule_flush(self, node: NodeHost | None = None) -> None:
        """Flush this node, or all, once everything of this moment has been taken in."""
        if node is None:
            self._to_flush.update(dict.fromkeys(self.nodes.values()))
        else:
            self._to_flush[node] = None
        if not self._flush_is_due:
            self._flush_is_due = True
            self.schedule.at(self.schedule.now_ms, self.flush)

    def flush(self) -> None:
        """Bring decisions to the log, then answers to the clients; their next requests follow at once."""
        self._flush_is_due = False
        touched: dict[NodeHost, None] = {}
        for _ in range(_ROUNDS_MAX):
            for node in list(self._to_flush):
                if node not in touched and node.may_tick:
                    node.tick()
            touched |= self._to_flush
            self._to_flush = {}
            if self._moves:
                self._move_busy()
            self.cluster.coordinators.flush()
            touched |= self._to_flush  # whose partitions were appended to
            self._to_flush = {}
            for node in touched:
                if node.may_tick:
                    node.node.waits.wake(node.now_ms())
                node.send_answers()
            if not self.answered:
                break
            answered, self.answered = self.answered, []
            for node, connection in answered:
                node.deliver(partial(node.pump, connection))
        else:
            self.schedule_flush()
        self._flush_is_due = False
        for node in touched:
            if node.is_running:
                node.arm_timer()

    def _appended(self, partition: Partition) -> None:
        self.watch.appended(partition)
        self.replication.catch_up(partition)
        leader = self.nodes.get(partition.leader)
        if leader is None:
            return
        leader.node.waits.appended(partition)
        leader.appended(partition)
        self.schedule_flush(leader)

    def _on_group_event(self, hosted: HostedCoordinator, event: GroupEvent) -> None:
        self.checkers.group_event(event)
        self.watch.heard(hosted, event)
        self._measures.group_event(event)
        if self._tell is not None:
            at_ms = self.schedule.now_ms
            self._tell(CoordinatorEvent(at_ms=at_ms, node=node_name(hosted.node_id), event=event))

    # ---- what can be done to nodes ----------------------------------------------------------------

    def kill(self, node: NodeHost) -> None:
        """The process dies; the others lead what it led once its session at the controller is over."""
        self.flush()
        self._stopped(node, "killed")
        number = node.number
        self.schedule.at(self.schedule.now_ms + NODE_SESSION_MS, lambda: self._fence_dead(node, number))

    def shut_down(self, node: NodeHost) -> None:
        """The process hands over what it leads and ends."""
        self.flush()
        self.cluster.fence(node.node.node_id, self.schedule.now_ms)
        self.flush()
        self._leaders_changed()
        self._stopped(node, "shut down")

    def _stopped(self, node: NodeHost, why: str) -> None:
        node.stop()
        if self._tell is not None:
            self._tell(NodeStopped(at_ms=self.schedule.now_ms, node=node.name, why=why))

    def _fence_dead(self, node: NodeHost, number: int) -> None:
        if not node.is_running and node.number == number:
            self._take_over(node)

    def _take_over(self, node: NodeHost) -> None:
        """Nothing of what a dead process had in memory is left."""
        if self.cluster.nodes[node.node.node_id].alive:
            self.cluster.kill(node.node.node_id, self.schedule.now_ms)
            self._leaders_changed()

    def lose_power(self, *, lost_batches: int = 0, partition: int = 0) -> None:
        """All nodes die at once, in the middle of what they do, and start again from their logs.

        `lost_batches`: of one offsets partition, which the disk had promised and did not write.
        """
        for node in self.nodes.values():
            if node.is_running:
                self._stopped(node, "lost power")
            else:
                node.stop()
        topic = self.cluster.topics[OFFSETS_TOPIC]
        log = topic.partitions[partition % len(topic.partitions)].log
        has_lost = bool(lost_batches) and isinstance(log, DiskLog) and log.lose_last(lost_batches) > 0
        self.answered.clear()
        self._to_flush.clear()
        self._flush_is_due = False
        self.cluster = self._new_cluster()
        self.watch.attach(self.cluster, has_lost=has_lost)
        self.replication.begin_anew()
        self.cluster.on_append = self._appended
        for node in self.nodes.values():
            node.node = BrokerNode(node.node.node_id, self.cluster, FetchWaits())
            node.is_running, node.is_fenced = True, False
            if self._tell is not None:
                self._tell(NodeStarted(at_ms=self.schedule.now_ms, node=node.name))
        self._leaders_changed()

    def start(self, node: NodeHost) -> None:
        """A new process of a node that does not run."""
        if node.is_running:
            return
        self._take_over(node)
        node.is_running = True
        node.is_fenced = False
        self.cluster.start(node.node.node_id, node.now_ms())
        if self._tell is not None:
            self._tell(NodeStarted(at_ms=self.schedule.now_ms, node=node.name))
        self._leaders_changed()

    def silent(self, node: NodeHost) -> Callable[[], None]:
        """The controller hears nothing of a node that runs; call what comes back when it does again."""
        number = node.number
        heard: list[bool] = []

        def fence() -> None:
            if not heard and node.is_running and node.number == number and not node.is_fenced:
                node.is_fenced = True
                self.cluster.fence(node.node.node_id, self.schedule.now_ms)
                if self._tell is not None:
                    self._tell(NodeStopped(at_ms=self.schedule.now_ms, node=node.name, why="fenced"))
                self._leaders_changed()

        def hear() -> None:
            heard.append(True)
            if node.is_fenced and node.is_running and node.number == number:
                node.is_fenced = False
                self.cluster.start(node.node.node_id, node.now_ms())
                if self._tell is not None:
                    self._tell(NodeStarted(at_ms=self.schedule.now_ms, node=node.name))
                self._leaders_changed()

        self.schedule.at(self.schedule.now_ms + NODE_SESSION_MS, fence)
        return hear

    def move_coordinator(self, group: str, node: NodeHost, *, in_step: bool = False) -> None:
        """Another node leads the offsets partition of a group.

        `in_step`: soon, when it has decided on something that is not in its log yet.
        """
        self._moves[group] = node
        if not in_step:
            self.flush()
            self._move(group, node)
            return
        until_ms = self.schedule.now_ms + _STEP_WITHIN_MS
        self.schedule.at(until_ms, partial(self._move, group, node))

    def _move_busy(self) -> None:
        """Move those that have decided on something that is not in the log yet."""
        for group, node in list(self._moves.items()):
            hosted = self.cluster.coordinators.hosted.get(self.cluster.offsets_partition(group))
            if hosted is not None and not hosted.is_idle:
                self._move(group, node)

    def _move(self, group: str, node: NodeHost) -> None:
        if self._moves.pop(group, None) is not node or not self.cluster.nodes[node.node.node_id].alive:
            return
        partition = self.cluster.offsets_partition(group)
        self.cluster.move_coordinator(partition, node.node.node_id, node.now_ms())
        self._leaders_changed()

    def coordinator_of(self, group: str) -> NodeHost | None:
        """The node that leads the group's offsets partition, if any node does."""
        partition = self.cluster.offsets_partition(group)
        topic = self.cluster.topics.get(OFFSETS_TOPIC)
        return self.nodes.get(topic.partitions[partition].leader) if topic else None

    @property
    def topic_names(self) -> list[str]:
        """The topics of users, sorted."""
        return sorted(name for name, topic in self.cluster.topics.items() if not topic.is_internal)

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic; none if it is not there."""
        known = self.cluster.topics.get(topic)
        return [(topic, index) for index in range(len(known.partitions))] if known else []

    def create_topic(self, topic: SimTopic) -> bool:
        """Make a topic; False if it is there already."""
        self.metadata.clear()
        replicas = min(REPLICAS_MAX, len(self.cluster.alive))
        now_ms = self.schedule.now_ms
        error = self.cluster.create_topic(topic.name, topic.partitions, replicas, {}, now_ms)
        if error is ErrorCode.TOPIC_ALREADY_EXISTS:
            return False
        if error is not ErrorCode.NONE:
            raise InputError(f"topic {topic.name!r}: {error.name}")
        return True

    def create_partitions(self, topic: str, partitions: int) -> bool:
        """Grow a topic; False if it is as large already, or not there."""
        self.metadata.clear()
        if topic not in self.cluster.topics:
            return False
        before = len(self.cluster.topics[topic].partitions)
        error = self.cluster.create_partitions(topic, partitions, self.schedule.now_ms)
        if error is not ErrorCode.NONE:
            return False
        self.came(topic, before)
        return True

    def high_watermark_moved(self, partition: Partition) -> None:
        """Readers that wait for it may continue."""
        leader = self.nodes.get(partition.leader)
        if leader is not None:
            leader.node.waits.appended(partition)
            self.schedule_flush(leader)

    def came(self, topic: str, first: int = 0) -> None:
        """Note that the topic's partitions from `first` on exist from now on."""
        self.replication.hold_back(topic)
        new = self.partitions_of(topic)[first:]
        self.new_since_ms.update(dict.fromkeys(new, self.schedule.now_ms))

    def _leaders_changed(self) -> None:
        self.metadata.clear()
        self.replication.leaders_changed()
        for node in self.nodes.values():
            if node.is_running:
                node.node.waits.wake_all()
        for group in self._groups:
            self._notice_leader(group)
        self.schedule_flush()

    def _notice_leader(self, group: str) -> None:
        leader = self.coordinator_of(group)
        node_id = leader.node.node_id if leader else NO_LEADER
        if self._leaders.get(group) == node_id:
            return
        self._leaders[group] = node_id
        if self._tell is not None:
            self._tell(
                CoordinatorMoved(
                    at_ms=self.schedule.now_ms,
                    group=group,
                    partition=self.cluster.offsets_partition(group),
                    node=leader.name if leader else None,
                )
            )
