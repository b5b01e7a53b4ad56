"""A Kafka cluster inside a test, for authors of clients.

    with kgroup.testing.cluster(nodes=3, topics={"orders": 6}) as kafka:
        consumer = AnyClient(bootstrap_servers=kafka.bootstrap)
        kafka.kill_node(2)

`async with` works as well. The brokers run in a thread of their own, so blocking clients do not block
them. With pytest, `from kgroup.testing import kafka_cluster` gives a fixture of one fresh node per test.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from kgroup.broker.settings import from_properties
from kgroup.errors import KgroupError
from kgroup.net.serve.control import state
from kgroup.net.serve.faults import Fault, Faults, Hold, Which
from kgroup.net.serve.running import TopicRequest, start_cluster
from kgroup.net.serve.server import ClusterServer
from kgroup.protocol.error_codes import ErrorCode

__all__ = ["Cluster", "ErrorCode", "Fault", "Hold", "cluster", "kafka_cluster"]

T = TypeVar("T")
# A test does not want to wait for members that may still come.
_PROPERTIES = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "1000"}
_PATIENCE_S = 30.0


def cluster(
    *,
    nodes: int = 1,
    topics: Mapping[str, int] | None = None,
    properties: Mapping[str, str] | None = None,
    data_dir: Path | None = None,
) -> "Cluster":
    """A cluster to use in a `with` or `async with` block, on free ports of the loopback address.

    `topics` are made at the start: name to partitions. `properties` are broker settings by Kafka's names;
    without them groups form without delay. Those of TLS, SASL and ACLs make a cluster for secure clients.
    Without `data_dir` everything is in memory.
    """
    return Cluster(nodes, dict(topics or {}), _PROPERTIES | dict(properties or {}), data_dir)


class Cluster:
    """A running cluster. All methods may be called from any thread; they return when it has happened."""

    def __init__(
        self, nodes: int, topics: dict[str, int], properties: dict[str, str], data_dir: Path | None
    ) -> None:
        self._settings = from_properties(properties)
        self._nodes = nodes
        self._topics = tuple(TopicRequest(name=name, partitions=count) for name, count in topics.items())
        self._data_dir = data_dir
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._server: ClusterServer | None = None
        self._faults: Faults | None = None
        self.warnings: list[str] = []

    # ---- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the brokers; `with` does it. Raises KgroupError if they cannot run."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kgroup.testing", daemon=True)
        self._thread.start()
        try:
            self._server = self._await(
                start_cluster(
                    settings=self._settings,
                    nodes=self._nodes,
                    data_dir=self._data_dir,
                    topics=self._topics,
                    warn=self.warnings.append,
                )
            )
        except KgroupError:
            self._end_thread()
            raise
        self._faults = Faults(self._server)

    def stop(self) -> None:
        """Stop the brokers; `with` does it."""
        self._call(self._running.stop)
        self._end_thread()
        self._server = None

    def __enter__(self) -> "Cluster":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> "Cluster":
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    # ---- use ----------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        """`host:port,host:port` of the nodes that are alive."""
        return self._running.bootstrap

    def bootstrap_of(self, listener: str) -> str:
        """The same by one of several listeners, as the property `listeners` names them."""
        return self._running.bootstrap_of(listener)

    def state(self) -> dict[str, Any]:
        """Nodes, topics and groups, as `kgroup serve-ctl state` shows them."""
        return self._call(lambda: state(self._running))

    def coordinator_of(self, group: str) -> int:
        """The node that coordinates a group (-1: nobody can)."""

        def find() -> int:
            cluster = self._running.cluster
            hosted = cluster.coordinators.hosted.get(cluster.offsets_partition(group))
            return -1 if hosted is None else hosted.node_id

        return self._call(find)

    def kill_node(self, node: int) -> None:
        """A node dies: connections break, others take over."""
        self._call(lambda: self._running.kill_node(node))

    def start_node(self, node: int) -> None:
        """A dead node comes back at its old address."""
        self._await(self._running.start_node(node))

    def move_coordinator(self, group: str, node: int) -> None:
        """Another node coordinates this group, and all that share its offsets partition."""
        cluster = self._running.cluster
        self._call(lambda: self._running.move_coordinator(cluster.offsets_partition(group), node))

    def create_partitions(self, topic: str, count: int) -> ErrorCode:
        """Grow a topic."""
        running = self._running
        return self._call(lambda: running.cluster.create_partitions(topic, count, running.clock.now_ms()))

    # ---- faults -------------------------------------------------------------------------------

    def drop(self, api: str, **which: Unpack[Which]) -> Fault:
        """Break the connection on the next request of this api (`JoinGroup`, ...); see `net.faults`."""
        return self._call(lambda: self._fault_maker.drop(api, **which))

    def delay(self, api: str, seconds: float, **which: Unpack[Which]) -> Fault:
        """Handle the next request of this api later."""
        return self._call(lambda: self._fault_maker.delay(api, seconds, **which))

    def hold(self, api: str, **which: Unpack[Which]) -> Hold:
        """Keep the next request of this api back until `release`."""
        return self._call(lambda: self._fault_maker.hold(api, **which))

    def release(self, hold: Hold) -> None:
        """Let a held request through."""
        self._call(hold.release)

    def refuse(self, api: str, error: ErrorCode, **which: Unpack[Which]) -> Fault:
        """Answer the next request of this api with an error."""
        return self._call(lambda: self._fault_maker.refuse(api, error, **which))

    def clear_faults(self) -> None:
        """Remove all faults."""
        self._call(self._fault_maker.clear)

    # ---- the thread ---------------------------------------------------------------------------

    @property
    def _running(self) -> ClusterServer:
        assert self._server is not None, "the cluster is not running: use it in a with block"
        return self._server

    @property
    def _fault_maker(self) -> Faults:
        assert self._faults is not None
        return self._faults

    def _call(self, function: Callable[[], T]) -> T:
        async def call() -> T:
            return function()

        return self._await(call())

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_PATIENCE_S)

    def _end_thread(self) -> None:
        assert self._loop is not None and self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE_S)
        self._loop.close()


def _one_node() -> Iterator[Cluster]:
    """A fresh one-node cluster for each test."""
    with cluster() as running:
        yield running


if TYPE_CHECKING:
    kafka_cluster = _one_node
else:
    try:
        import pytest
    except ImportError:
        kafka_cluster = _one_node
    else:
        kafka_cluster = pytest.fixture(_one_node, name="kafka_cluster")
