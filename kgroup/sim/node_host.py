"""Broker nodes as processes of the world: what `net/server.py` does on sockets, on the virtual clock."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final
from uuid import UUID

from kgroup.broker import direct
from kgroup.broker.cluster import OFFSETS_TOPIC, Cluster, Member
from kgroup.broker.direct import DirectAnswer
from kgroup.broker.fetching import FetchWaits
from kgroup.broker.hosting import HostedCoordinator
from kgroup.broker.node import BrokerNode
from kgroup.broker.partition import NO_LEADER, Partition
from kgroup.broker.settings import BrokerSettings
from kgroup.broker.storage import Storage
from kgroup.broker.wire import Call
from kgroup.group.events import GroupEvent
from kgroup.group.member_calls import MemberResponse, Metadata
from kgroup.group.offsets import FetchTopic
from kgroup.group.requests import OffsetCommit, OffsetCommitResponse, ReplyBody, RequestBody
from kgroup.protocol.error_codes import ErrorCode
from kgroup.sim.checkers import Checkers
from kgroup.sim.network import Network
from kgroup.sim.process import Process
from kgroup.sim.scenario import node_name
from kgroup.sim.schedule import Schedule
from kgroup.sim.tallies import Measures
from kgroup.sim.trace import CoordinatorEvent, CoordinatorMoved, NodeStarted, NodeStopped, TraceEvent
from kgroup.sim.wire import Connection, Exchange, read_answer, write

PORT: Final = 9092
NODE_SESSION_MS: Final = 9_000
"""How long the controller waits for a silent node before others lead (Kafka: broker.session.timeout.ms)."""
_LOADING_STEP_MS: Final = 10
_ROUNDS_MAX: Final = 64
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
            self.checkers.committed((group, (topic, index)), found[0].partitions[0].committed_offset, where)


class NodeHost(Process):
    """One broker process. `disk_ms`: how long each append to the offsets topic takes."""

    def __init__(self, host: "ClusterHost", node: BrokerNode) -> None:
        super().__init__(node_name(node.node_id), host.schedule)
        self.node = node
        self.disk_ms = 0
        self.number = 1
        self.is_running = True
        self.is_fenced = False
        self._host = host
        self._connections: dict[int, Connection] = {}
        self._ready: list[tuple[Connection, Exchange, DirectAnswer | MemberResponse | bytes]] = []
        self._disk_until_ms = 0
        self._timer_ms: int | None = None

    # ---- requests ---------------------------------------------------------------------------------

    def receive(self, connection: Connection, asked: Exchange) -> None:
        """A request has come; one for a process that is gone is answered with a reset, as by the machine."""
        if connection.process != self.number or not self.is_running:
            if connection.process is not None or not self.is_running:
                arrive = partial(connection.client.reset, connection)
                self._host.network.send(connection.down, arrive)
                return
            connection.process = self.number
            self._connections[connection.call.token] = connection
        if self.is_free:
            self._take(connection, asked)
        else:
            self.deliver(partial(self._take, connection, asked))

    def _take(self, connection: Connection, asked: Exchange) -> None:
        connection.queue.append(asked)
        self.pump(connection)

    def pump(self, connection: Connection) -> None:
        """Handle the next request, if the last one has been answered (see RequestQueue)."""
        if connection.busy is not None or not connection.queue or connection.process != self.number:
            return
        connection.busy = asked = connection.queue.popleft()
        self._host.schedule_flush(self)
        call = connection.call
        if asked.frame is None and isinstance(asked.body, Metadata):
            self.answer(connection, asked, self._metadata(call, asked))
        elif asked.frame is not None:
            self.node.handle(self.node.read(asked.frame, call.token, call.client_host), self.now_ms())
            self._collect()
        else:
            assert isinstance(asked.body, direct.DirectRequest)
            direct.ask(self.node, call, asked.body, self.now_ms(), partial(self.answer, connection, asked))

    def _metadata(self, call: Call, asked: Exchange) -> MemberResponse:
        """The same for everybody until something changes: going through the wire once is enough."""
        assert isinstance(asked.body, Metadata)
        known = self._host.metadata.get(asked.body)
        if known is None:
            write(asked, call.client_id)
            assert asked.frame is not None
            self.node.handle(self.node.read(asked.frame, call.token, call.client_host), self.now_ms())
            frame = self.node.answers.pop().frame
            assert frame is not None
            known = self._host.metadata[asked.body] = read_answer(asked, frame)
        return known

    def answer(
        self, connection: Connection, asked: Exchange, answer: DirectAnswer | MemberResponse | bytes
    ) -> None:
        """Take an answer that is to be sent; all go out in the order in which they were given."""
        self._ready.append((connection, asked, answer))

    def _collect(self) -> None:
        for answer in self.node.take_answers():
            connection = self._connections.get(answer.token)
            if connection is not None and connection.busy is not None and answer.frame is not None:
                self.answer(connection, connection.busy, answer.frame)

    def send_answers(self) -> None:
        """Send what has been answered, once the disk has what it rests on."""
        self._collect()
        if self._ready and not self.may_tick:
            self.deliver(partial(self._host.schedule_flush, self))
            return
        ready, self._ready = self._ready, []
        for connection, asked, answer in ready:
            if connection.process == self.number and connection.busy is asked:
                connection.busy = None
                self._send(connection, partial(connection.client.answered, connection, asked, answer))

    def _send(self, connection: Connection, arrive: Callable[[], None]) -> None:
        if self.schedule.now_ms < self._disk_until_ms:
            send = partial(self._send_later, self.number, connection, arrive)
            self.schedule.at(self._disk_until_ms, send)
        else:
            self._host.network.send(connection.down, arrive)
        if connection.queue:
            self._host.answered.append((self, connection))

    def _send_later(self, number: int, connection: Connection, arrive: Callable[[], None]) -> None:
        if number == self.number and self.is_running:
            self._host.network.send(connection.down, arrive)

    def lost(self, connection: Connection) -> None:
        """The client has hung up. What it waited for goes on without it."""
        self.deliver(partial(self._forget, connection))

    def _forget(self, connection: Connection) -> None:
        connection.queue.clear()
        connection.process = -1
        self._connections.pop(connection.call.token, None)
        self.node.waits.forget(connection.call.token)

    def appended(self, partition: Partition) -> None:
        """A slow disk keeps the whole node waiting."""
        if self.disk_ms and partition.topic == OFFSETS_TOPIC:
            self._disk_until_ms = max(self._disk_until_ms, self.schedule.now_ms) + self.disk_ms
            self.stand_still(self._disk_until_ms)

    # ---- time -------------------------------------------------------------------------------------

    @property
    def may_tick(self) -> bool:
        """Its timers run: a slow disk does not stop them, a pause does."""
        if self.schedule.now_ms >= self.still_until_ms:
            return self.is_running
        return self.is_running and self.still_until_ms <= self._disk_until_ms

    def tick(self) -> None:
        """Everything that is due by its clock."""
        now_ms = self.now_ms()
        cluster = self._host.cluster
        deadline_ms = cluster.next_deadline_ms(self.node.node_id)
        if deadline_ms is not None and deadline_ms <= now_ms:
            cluster.tick(now_ms, self.node.node_id)

    def arm_timer(self) -> None:
        """Be woken for the next deadline."""
        clock_ms = self._host.cluster.next_deadline_ms(self.node.node_id)
        fetch_ms = self.node.waits.next_deadline_ms()
        if clock_ms is None or (fetch_ms is not None and fetch_ms < clock_ms):
            clock_ms = fetch_ms
        if clock_ms is None:
            return
        due_ms = self.world_ms(clock_ms)
        if self._timer_ms is not None and self._timer_ms <= due_ms:
            return
        if due_ms <= self.schedule.now_ms:
            due_ms = self.schedule.now_ms + _LOADING_STEP_MS
        if not self.may_tick:
            due_ms = max(due_ms, self.still_until_ms)
        if self._timer_ms is None or due_ms < self._timer_ms:
            self._timer_ms = due_ms
            self.schedule.at(due_ms, partial(self._on_timer, due_ms))

    def _on_timer(self, due_ms: int) -> None:
        if self._timer_ms == due_ms:
            self._timer_ms = None
        self._host.schedule_flush(self)

    # ---- life -------------------------------------------------------------------------------------

    def stop(self) -> None:
        """The process is gone, and its connections with it."""
        self.is_running = False
        self.number += 1
        self.stir()
        self._disk_until_ms = 0
        for connection in self._connections.values():
            self.node.waits.forget(connection.call.token)
            self._host.network.send(connection.down, partial(connection.client.reset, connection))
        self._connections.clear()
        self._ready.clear()
        self.node.take_answers()


class ClusterHost:
    """All nodes of the world's cluster: flushes, timers, and what can be done to nodes."""

    def __init__(
        self,
        *,
        schedule: Schedule,
        network: Network,
        random: Random,
        settings: BrokerSettings,
        nodes: int,
        storage: Storage,
        checkers: Checkers,
        measures: Measures,
        groups: tuple[str, ...],
        tell: Callable[[TraceEvent], None] | None,
    ) -> None:
        self.schedule = schedule
        self.network = network
        self.answered: list[tuple[NodeHost, Connection]] = []
        self._checkers = checkers
        self._measures = measures
        self._tell = tell
        self.metadata: dict[Metadata, MemberResponse] = {}
        """Answers that are true until leaders or topics change."""
        self._flush_is_due = False
        self._to_flush: dict[NodeHost, None] = {}
        self._groups = groups
        self._leaders: dict[str, int] = {}
        members = [Member(number, node_name(number), PORT) for number in range(1, nodes + 1)]
        self.cluster = WatchedCluster(
            settings,
            members,
            storage,
            lambda: UUID(int=random.getrandbits(128), version=4),
            schedule.now_ms,
        )
        self.cluster.checkers = checkers
        self.cluster.on_append = self._appended
        self.cluster.on_group_event = self._on_group_event
        self.nodes = {
            member.node_id: NodeHost(self, BrokerNode(member.node_id, self.cluster, FetchWaits()))
            for member in members
        }
        self.by_name = {node.name: node for node in self.nodes.values()}

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
            for node in self._to_flush:
                if node not in touched and node.may_tick:
                    node.tick()
            touched |= self._to_flush
            self._to_flush = {}
            self.cluster.flush(self.schedule.now_ms)
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
        leader = self.nodes.get(partition.leader)
        if leader is None:
            return
        leader.node.waits.appended(partition)
        leader.appended(partition)
        self.schedule_flush(leader)

    def _on_group_event(self, hosted: HostedCoordinator, event: GroupEvent) -> None:
        self._checkers.group_event(event)
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
        if self.cluster.members[node.node.node_id].alive:
            self.cluster.kill(node.node.node_id, self.schedule.now_ms)
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

    def move_coordinator(self, group: str, node: NodeHost) -> None:
        """Another node leads the offsets partition of a group."""
        partition = self.cluster.offsets_partition(group)
        self.flush()
        self.cluster.move_coordinator(partition, node.node.node_id, node.now_ms())
        self._leaders_changed()

    def coordinator_of(self, group: str) -> NodeHost | None:
        """The node that leads the group's offsets partition, if any node does."""
        partition = self.cluster.offsets_partition(group)
        topic = self.cluster.topics.get(OFFSETS_TOPIC)
        return self.nodes.get(topic.partitions[partition].leader) if topic else None

    def create_partitions(self, topic: str, partitions: int) -> bool:
        """Grow a topic; False if it is as large already."""
        self.metadata.clear()
        error = self.cluster.create_partitions(topic, partitions, self.schedule.now_ms)
        return error is ErrorCode.NONE

    def _leaders_changed(self) -> None:
        self.metadata.clear()
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
