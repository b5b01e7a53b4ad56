"""A broker node as a process of the world: requests in, answers out, time, its disk."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from kgroup.broker import direct
from kgroup.broker.cluster import OFFSETS_TOPIC, Cluster
from kgroup.broker.direct import DirectAnswer
from kgroup.broker.dispatch import handle
from kgroup.broker.node import BrokerNode
from kgroup.broker.partition import Partition
from kgroup.errors import SourceError
from kgroup.protocol.requests.client import MemberResponse, Metadata, OffsetFetch, OffsetFetchResponse
from kgroup.sim.scenario.scenario import node_name
from kgroup.sim.world.coordinator_watch import CoordinatorWatch
from kgroup.sim.world.exchange import Connection, Exchange, read_answer, write
from kgroup.sim.world.network import Network
from kgroup.sim.world.process import Process
from kgroup.sim.world.schedule import Schedule
from kgroup.wire.frames import Call

_LOADING_STEP_MS: Final = 10


class SharedByNodes(Protocol):
    """The side of the cluster's host that its nodes need."""

    schedule: Schedule
    network: Network
    cluster: Cluster
    metadata: dict[Metadata, MemberResponse]
    """Answers that are true until leaders or topics change."""
    watch: CoordinatorWatch
    answered: list[tuple["NodeHost", Connection]]
    """Connections whose next request may be handled, since the last one was answered."""

    def schedule_flush(self, node: "NodeHost | None" = None) -> None:
        """Flush this node, or all, once everything of this moment has been taken in."""


class NodeHost(Process):
    """One broker process. `disk_ms`: how long each append to the offsets topic takes."""

    def __init__(self, host: SharedByNodes, node: BrokerNode) -> None:
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

    def receive(self, connection: Connection, exchange: Exchange) -> None:
        """A request has come; one for a process that is gone is answered with a reset, as by the machine."""
        if connection.process != self.number or not self.is_running:
            if connection.process is not None or not self.is_running:
                arrive = partial(connection.client.reset, connection)
                self._host.network.send(connection.down, arrive)
                return
            connection.process = self.number
            self._connections[connection.call.token] = connection
        if self.is_free:
            self._take(connection, exchange)
        else:
            self.deliver(partial(self._take, connection, exchange))

    def _take(self, connection: Connection, exchange: Exchange) -> None:
        connection.queue.append(exchange)
        self.pump(connection)

    def pump(self, connection: Connection) -> None:
        """Handle the next request, if the last one has been answered (see RequestQueue)."""
        if connection.busy is not None or not connection.queue or connection.process != self.number:
            return
        connection.busy = exchange = connection.queue.popleft()
        self._host.schedule_flush(self)
        self._host.watch.is_stale = exchange.is_taken or not connection.is_open
        exchange.is_taken = True
        call = connection.call
        if exchange.frame is None and isinstance(exchange.body, Metadata):
            self.answer(connection, exchange, self._metadata(call, exchange))
        elif exchange.frame is not None:
            handle(self.node, self.node.read(exchange.frame, call.token, call.client_host), self.now_ms())
            self._collect()
        else:
            assert isinstance(exchange.body, direct.DirectRequest)
            direct.ask(
                self.node, call, exchange.body, self.now_ms(), partial(self.answer, connection, exchange)
            )
        self._host.watch.is_stale = False

    def _metadata(self, call: Call, exchange: Exchange) -> MemberResponse:
        """The same for everybody until something changes: going through the wire once is enough."""
        assert isinstance(exchange.body, Metadata)
        metadata = self._host.metadata.get(exchange.body)
        if metadata is None:
            write(exchange, call.client_id)
            assert exchange.frame is not None
            handle(self.node, self.node.read(exchange.frame, call.token, call.client_host), self.now_ms())
            frame = self.node.answers.pop().frame
            assert frame is not None
            metadata = self._host.metadata[exchange.body] = read_answer(exchange, frame)
        return metadata

    def answer(
        self, connection: Connection, exchange: Exchange, answer: DirectAnswer | MemberResponse | bytes
    ) -> None:
        """Take an answer that is to be sent; all go out in the order in which they were given."""
        self._ready.append((connection, exchange, answer))

    def _collect(self) -> None:
        for answer in self.node.take_answers():
            connection = self._connections.get(answer.token)
            if connection is not None and connection.busy is not None and answer.frame is not None:
                exchange = connection.busy
                if isinstance(exchange.body, OffsetFetch):
                    fetched = read_answer(exchange, answer.frame)
                    assert isinstance(fetched, OffsetFetchResponse)
                    self._host.watch.fetched(exchange.body, fetched, connection.call.client_id)
                    self.answer(connection, exchange, fetched)
                else:
                    frame = answer.whole()
                    assert frame is not None
                    self.answer(connection, exchange, frame)

    def send_answers(self) -> None:
        """Send what has been answered, once the disk has what it rests on."""
        self._collect()
        if not self.is_running:
            self._ready.clear()
        if self._ready and not self.may_tick:
            self.deliver(partial(self._host.schedule_flush, self))
            return
        ready, self._ready = self._ready, []
        for connection, exchange, answer in ready:
            if connection.process == self.number and connection.busy is exchange:
                connection.busy = None
                self._send(connection, partial(connection.client.answered, connection, exchange, answer))

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
        """The client has hung up. What it waited for continues without it."""
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
        """Whether its timers run: a slow disk does not stop them, a pause does."""
        if self.schedule.now_ms >= self.still_until_ms:
            return self.is_running
        return self.is_running and self.still_until_ms <= self._disk_until_ms

    def tick(self) -> None:
        """Everything that is due by its clock."""
        now_ms = self.now_ms()
        cluster = self._host.cluster
        deadline_ms = cluster.next_deadline_ms(self.node.node_id)
        if deadline_ms is not None and deadline_ms <= now_ms:
            with suppress(SourceError):  # a marker that the disk does not take is tried again
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
