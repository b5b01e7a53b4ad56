"""The nodes of a cluster on sockets: frames in and out, timers, and no decisions."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from kgroup.broker.cluster import Cluster
from kgroup.broker.dispatch import handle
from kgroup.broker.fetching import FetchWaits
from kgroup.broker.node import BrokerNode
from kgroup.broker.partition import Partition
from kgroup.errors import KgroupError, SourceError, fault_line
from kgroup.log.store.atomic_file import sync_path
from kgroup.log.store.cleaner import clean
from kgroup.net.serve.clock import Clock
from kgroup.net.serve.connection import ClientConnection
from kgroup.net.serve.doors import PLAIN_DOOR, Door
from kgroup.net.serve.feeder import Feeder
from kgroup.net.serve.intake import Intake
from kgroup.net.serve.listener import Listener
from kgroup.net.serve.tally import Tally
from kgroup.wire.frames import BadRequestError, Call

_ROUNDS_MAX: Final = 64  # of one request per connection, before the loop gets its turn
_STALLED_S: Final = 10.0  # for a client that reads nothing, while there is no room for others' answers
_CHECKPOINT_S: Final = 5.0
LOGIN_S: Final = 30.0
_STRANGERS_MAX: Final = 2000  # at once on a node, who have yet to log in; the oldest gives way
_CLEANED_BATCHES: Final = 20  # before the loop gets its turn
_TICK_AGAIN_MS: Final = 1_000  # after one that failed
_FAULT_AGAIN_S: Final = 10.0  # before the same fault is reported again
_CLOCK_SLACK_S: Final = 0.0005  # a deadline in whole ms must have passed when its timer fires

Intercept = Callable[[ClientConnection, Call], bool]


class NodeServer:
    """One node's listening socket and its clients."""

    def __init__(self, shared: "ClusterServer", node: BrokerNode, doors: Sequence[Door]) -> None:
        self.shared = shared
        self.node = node
        node.on_fault = node.waits.on_fault = self.failed
        node.has_room = shared.has_room
        self.connections: dict[int, ClientConnection] = {}
        self.hosts: Counter[str] = Counter()
        self.strangers: dict[int, ClientConnection] = {}
        """Connections whose clients have not logged in yet, the oldest first."""
        index = sorted(shared.cluster.nodes).index(node.node_id)
        self.listeners = {door.plan.name: self._listener(door, *door.plan.at(index)) for door in doors}

    def _listener(self, door: Door, host: str, port: int) -> Listener:
        server = self.shared
        return Listener(
            host,
            port,
            lambda: ClientConnection(self, server.new_token(), door),
            server.warn,
            door.tls,
            server.note,
        )

    def listen(self) -> None:
        """Take connections. Raises SourceError if an address is not available."""
        try:
            for listener in self.listeners.values():
                listener.open()
        except SourceError:
            self.hang_up()
            raise

    @property
    def is_listening(self) -> bool:
        """The node is there for clients."""
        return any(listener.is_open for listener in self.listeners.values())

    @property
    def port(self) -> int:
        """The port of the first listener; once it listens, never 0."""
        return next(iter(self.listeners.values())).port

    def admit(self, connection: ClientConnection) -> str | None:
        """Take note of a connection; why it has to be closed at once, or None.

        It has some time to log in, if it must; of too many that have yet to, the oldest has had enough of it.
        """
        why_not = None if self.is_listening else "came in while the node died"
        why_not = why_not or self._too_many(connection.host)
        self.connections[connection.token] = connection
        self.hosts[connection.host] += 1
        if connection.login is not None:
            self.strangers[connection.token] = connection
            if len(self.strangers) > _STRANGERS_MAX:
                next(iter(self.strangers.values())).close()
        return why_not

    def logged_in(self, connection: ClientConnection) -> None:
        """A client is known now."""
        self.strangers.pop(connection.token, None)

    def gone(self, connection: ClientConnection) -> None:
        """Forget a connection, and what it waits for."""
        self.strangers.pop(connection.token, None)
        if self.connections.pop(connection.token, None) is not None:
            self.hosts[connection.host] -= 1
            if not self.hosts[connection.host]:
                del self.hosts[connection.host]
        self.node.waits.forget(connection.token)

    def _too_many(self, host: str) -> str | None:
        """The reason to close one more connection from this host at once, or None."""
        settings = self.shared.cluster.settings
        if len(self.connections) >= settings.max_connections:
            return f"one more connection than max.connections={settings.max_connections}"
        if self.hosts[host] >= settings.max_connections_per_ip:
            return f"one more connection than max.connections.per.ip={settings.max_connections_per_ip}"
        return None

    def hang_up(self) -> None:
        """Close the sockets and every connection, as the death of the process would."""
        for listener in self.listeners.values():
            listener.close()
        for connection in list(self.connections.values()):
            connection.close()

    def received(self, connection: ClientConnection, frame: bytes) -> None:
        """Handle a request of one of the clients."""
        if connection.login is not None and not connection.log_in(connection.login, frame):
            return
        call = connection.read(frame)
        self.shared.tally.requests[call.api_key, call.version] += 1
        if self.shared.intercept is not None and self.shared.intercept(connection, call):
            return
        self.handle(call)

    def handle(self, call: Call) -> None:
        """Hand a request to the node; its answer goes out with the next flush.

        Raises BadRequestError if its connection has to close.
        """
        self.shared.schedule_flush()
        try:
            handle(self.node, call, self.shared.clock.now_ms())
        except BadRequestError:
            raise
        except KgroupError as error:
            # The storage has failed in the middle of something: this client must not think it done.
            self.shared.warn(str(error))
            raise BadRequestError(str(error)) from error
        except Exception as error:
            self.failed(call, error)

    def failed(self, call: Call, error: Exception) -> None:
        """A request met a fault of kgroup's own: there is no answer to wait for."""
        if isinstance(error, KgroupError):
            self.shared.warn(str(error))
        else:
            self.shared.warn_of_fault(error)
        connection = self.connections.get(call.token)
        if connection is not None:
            connection.close()


class ClusterServer:
    """Serves all nodes of a cluster from one event loop."""

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        warn: Callable[[str], None],
        note: Callable[[str], None] = lambda text: None,
        *,
        fsync: bool = False,
        doors: Sequence[Door] = (PLAIN_DOOR,),
    ) -> None:
        self.cluster = cluster
        self.clock = clock
        self.warn = warn
        self._note = note
        self.intercept: Intercept | None = None
        self.requests = 0
        self.tally = Tally(warn)
        cluster.coordinators.on_event = self.tally.decided
        self.unsent_bytes = 0
        """Answers that are in memory and have not left yet, of all connections."""
        self.feeder = Feeder()
        self.intake = Intake(cluster.settings.queued_max_request_bytes, self._connections)
        self._fsync = fsync
        self._unsynced: dict[int, Partition] = {}
        self._next_token = 0
        self._flush_scheduled = False
        self._tick_from_ms = 0
        self._last_fault = ("", 0.0)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms: int | None = None
        self._housekeeping: asyncio.Task[None] | None = None
        self.nodes: dict[int, NodeServer] = {}
        for spec in cluster.nodes.values():
            node = BrokerNode(spec.node_id, cluster, FetchWaits())
            self.nodes[spec.node_id] = NodeServer(self, node, doors)
        self._doors = doors
        cluster.coordinators.survive_faults = True

    async def start(self) -> None:
        """Listen on every node's address. Raises SourceError if one is not available."""
        self.cluster.on_append = self._appended
        for node_id, server in self.nodes.items():
            server.listen()
            self._advertise(node_id, server)
        self._housekeeping = asyncio.create_task(self._keep_house())
        self.schedule_flush()

    def _advertise(self, node_id: int, server: NodeServer) -> None:
        """Tell clients where the node is, now that its ports are known."""
        spec = self.cluster.nodes[node_id]
        index = sorted(self.cluster.nodes).index(node_id)
        addresses = {
            door.plan.name: door.plan.told(index) or (listener.host, listener.port)
            for door, listener in zip(self._doors, server.listeners.values(), strict=True)
        }
        first = next(iter(addresses))
        spec.host, spec.port = addresses.pop(first)
        spec.others = addresses

    def stop(self) -> None:
        """Hang up on everybody, bring everything to the disk. Raises SourceError."""
        if self._housekeeping is not None:
            self._housekeeping.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self.cluster.coordinators.flush()
        for server in self.nodes.values():
            server.hang_up()
        self.cluster.close()

    @property
    def bootstrap(self) -> str:
        """The addresses of all nodes that are alive, as clients take them."""
        return self.bootstrap_of("")

    def bootstrap_of(self, listener: str) -> str:
        """The addresses by one listener; those by the first if no listener has the name."""
        addresses = [spec.address(listener) for spec in self.cluster.alive]
        return ",".join(f"{host}:{port}" for host, port in addresses)

    # ---- what can be done to a running cluster --------------------------------------------------

    def kill_node(self, node_id: int) -> None:
        """The node dies: its connections break, others take over what it led."""
        self.cluster.kill(node_id, self.clock.now_ms())
        self.nodes[node_id].hang_up()
        self._leaders_changed()

    async def start_node(self, node_id: int) -> None:
        """The node comes back at its old address. Raises SourceError if that is taken."""
        self.nodes[node_id].listen()
        self.cluster.start(node_id, self.clock.now_ms())
        self._leaders_changed()

    def move_coordinator(self, partition: int, node_id: int) -> None:
        """Another node leads an offsets partition from now on."""
        self.cluster.move_coordinator(partition, node_id, self.clock.now_ms())
        self._leaders_changed()

    def _leaders_changed(self) -> None:
        for server in self.nodes.values():
            server.node.waits.wake_all()
        self.schedule_flush()

    def has_room(self) -> bool:
        """Whether answers with records may be made: while clients leave too many unread, they may not."""
        queued_bytes = sum(server.node.queued_bytes for server in self.nodes.values())
        return self.unsent_bytes + queued_bytes < self.cluster.settings.unsent_max_bytes

    @property
    def intercepts(self) -> bool:
        """Whether each request is to be looked at before it is handled."""
        return self.intercept is not None

    # ---- flushing -----------------------------------------------------------------------------

    def new_token(self) -> int:
        """A number that no connection has had."""
        self._next_token += 1
        return self._next_token

    def schedule_flush(self) -> None:
        """Flush once what is ready in this turn of the loop has been taken in."""
        if not self._flush_scheduled:
            self._flush_scheduled = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Bring decisions to the log, then answers to the clients, whose next requests follow at once."""
        self._flush_scheduled = False
        now_ms = self.clock.now_ms()
        self._survive(self._tick, now_ms)
        answered: dict[int, ClientConnection] = {}
        for _ in range(_ROUNDS_MAX):
            round_answered = self._flush_round(now_ms)
            if not round_answered:
                break
            answered |= {connection.token: connection for connection in round_answered}
            for connection in round_answered:
                connection.pump()
        else:
            self.schedule_flush()
        for connection in answered.values():
            self._survive(connection.send)
        self._survive(self._arm_timer)

    def _tick(self, now_ms: int) -> None:
        deadline_ms = self._next_tick_ms()
        if deadline_ms is None or deadline_ms > now_ms:
            return
        self._tick_from_ms = now_ms + _TICK_AGAIN_MS  # holds if this one fails: a late transaction, say,
        try:  # that could not be aborted
            self.cluster.tick(now_ms)
        except KgroupError as error:
            self.warn(str(error))
        else:
            self._tick_from_ms = 0

    def _next_tick_ms(self) -> int | None:
        deadline_ms = self.cluster.next_deadline_ms()
        return None if deadline_ms is None else max(deadline_ms, self._tick_from_ms)

    def _flush_round(self, now_ms: int) -> list[ClientConnection]:
        """One round of `flush`. Whatever is raised on the way, the next flush comes when it is due."""
        self._flush_scheduled = True  # what is pumped meanwhile is ours to flush
        try:
            self._survive(self.cluster.coordinators.flush)
            for server in self.nodes.values():
                self._survive(server.node.waits.wake, now_ms)
            return self._take_answers(durable=self._sync())
        finally:
            self._flush_scheduled = False

    def _take_answers(self, *, durable: bool) -> list[ClientConnection]:
        answered = []
        for server in self.nodes.values():
            for answer in server.node.take_answers():
                self.requests += 1
                connection = server.connections.get(answer.token)
                if connection is not None and not durable:
                    connection.close()  # rather no answer than one that a loss of power makes a lie
                elif connection is not None:
                    connection.answered(answer)
                    answered.append(connection)
        return answered

    def _survive(self, action: Callable[..., None], *arguments: object) -> None:
        """Run a part of the server's work; its faults must not keep the other parts from being done."""
        try:
            action(*arguments)
        except Exception as error:
            self.warn_of_fault(error)

    def note(self, text: str) -> None:
        """Say what a client has done."""
        self._note(text)

    def warn_of_fault(self, error: Exception) -> None:
        """Say that something was raised that nobody counted on: once in a while, if it is always the same."""
        line, now_s = fault_line(error), time.monotonic()
        if line != self._last_fault[0] or now_s - self._last_fault[1] >= _FAULT_AGAIN_S:
            self._last_fault = (line, now_s)
            self.warn(line)

    def _appended(self, partition: Partition) -> None:
        for server in self.nodes.values():
            server.node.waits.appended(partition)
        if self._fsync:
            self._unsynced[id(partition)] = partition

    def _sync(self) -> bool:
        """Bring to the disk what was appended, if that is asked for; False if the disk refuses."""
        try:
            for key, partition in list(self._unsynced.items()):
                del self._unsynced[key]  # what the disk refuses is taken back, not tried again
                self.cluster.sync(partition)
        except (SourceError, OSError) as error:
            self.warn(str(error))
            return False
        except Exception as error:
            self.warn_of_fault(error)
            return False
        return True

    # ---- time ---------------------------------------------------------------------------------

    def _arm_timer(self) -> None:
        deadlines = [self._next_tick_ms()]
        deadlines += [server.node.waits.next_deadline_ms() for server in self.nodes.values()]
        due_ms = min((deadline for deadline in deadlines if deadline is not None), default=None)
        if due_ms is None or (self._timer_ms is not None and self._timer_ms <= due_ms):
            return
        if self._timer is not None:
            self._timer.cancel()
        delay_s = max(due_ms - self.clock.now_ms(), 0) / 1000 + _CLOCK_SLACK_S
        self._timer_ms = due_ms
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = self._timer_ms = None
        self.flush()

    async def _keep_house(self) -> None:
        """Checkpoints and idle connections; what fails is tried again the next time."""
        while True:
            await asyncio.sleep(_CHECKPOINT_S)
            try:
                await self._sync_closed()
                self.cluster.checkpoint()
                await self._clean()
            except (KgroupError, OSError) as error:
                self.warn(str(error))
            except Exception as error:
                self.warn_of_fault(error)
            self._survive(self._close_idle)

    async def _sync_closed(self) -> None:
        """Sync rolled segments to disk outside the loop: a start after a crash need not check them."""
        for log, segment in self.cluster.closed_unsynced():
            try:
                await asyncio.to_thread(sync_path, segment.path)
            except OSError as error:
                self.warn(f"{segment.path}: {error.strerror or error}")
                continue
            log.synced(segment)

    async def _clean(self) -> None:
        """Clean the offsets topic's segments a bit at a time, between the requests."""
        for log in self.cluster.dirty_logs():
            for number, _ in enumerate(clean(log, self.clock.now_ms())):
                if number % _CLEANED_BATCHES == 0:
                    await asyncio.sleep(0)

    def _close_idle(self) -> None:
        limit_s = self.cluster.settings.connections_max_idle_ms / 1000
        oldest_s = time.monotonic() - limit_s
        for connection in self._connections():
            if connection.is_idle and connection.last_active_s < oldest_s:
                connection.close()
        now_s = time.monotonic()
        limit_s = limit_s if self.has_room() else min(limit_s, _STALLED_S)
        for connection in self._connections():
            if connection.stalled_s(now_s) > limit_s:
                self.note(f"{connection.host}: has not read its answers for {limit_s:.0f} s")
                connection.close()
        late_s = time.monotonic() - LOGIN_S
        for server in self.nodes.values():
            for stranger in list(server.strangers.values()):
                if stranger.connected_s < late_s:
                    stranger.close()

    def _connections(self) -> Iterable[ClientConnection]:
        for server in self.nodes.values():
            yield from list(server.connections.values())
