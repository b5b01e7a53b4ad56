"""`kgroup serve`: Kafka brokers on this machine, for unmodified clients."""

import asyncio
import gc
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.broker.security.listeners import ListenerPlan
from kgroup.broker.settings import BrokerSettings, from_properties, unused
from kgroup.cli.lag.view_options import parse_address
from kgroup.cli.options.serve import Behaviour, Setup
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.say import say
from kgroup.net.serve.control import ControlServer, control_path
from kgroup.net.serve.running import TopicRequest, start_cluster
from kgroup.net.serve.server import ClusterServer

if TYPE_CHECKING:
    from kgroup.report.coordinator_metrics import CoordinatorState

EXAMPLES: Final = (
    Example("A broker on port 9092 that keeps its data in memory", "kgroup serve --topic orders:6"),
    Example(
        "Three nodes that keep real Kafka segment files",
        "kgroup serve --nodes 3 --data-dir /tmp/kgroup-data",
    ),
    Example(
        "The log directory of a stopped Kafka broker, or a copy of it, served and written by kgroup",
        "kgroup serve --data-dir /tmp/kraft-combined-logs --adopt",
    ),
    Example(
        "Groups that form without delay, for tests, on a free port",
        "kgroup serve --listen 127.0.0.1:0 --property group.initial.rebalance.delay.ms=0",
    ),
    Example(
        "Clients log in over TLS, and do only what a file allows",
        "kgroup serve --listen SASL_SSL://127.0.0.1:9093 --property ssl.keystore.location=server.pem "
        "--users users --acls acls",
    ),
    Example(
        "Metrics for Prometheus: rebalances, groups by state and requests, with Kafka's JMX names",
        "kgroup serve --serve-metrics 9308",
    ),
)
_STATUS_S: Final = 1.0


def serve(
    *,
    setup: Annotated[Setup, Bundle(Setup)],
    behaviour: Annotated[Behaviour, Bundle(Behaviour)],
) -> None:
    """Run Kafka brokers that real clients can use.

    Prints one line, `ready HOST:PORT[,HOST:PORT...]` with the address of every node, once clients can
    connect. Stops on SIGINT or SIGTERM. While it runs, `kgroup serve-ctl` kills and starts nodes and moves
    coordinators.
    """
    properties = setup.properties(say)
    plan = _Plan(
        listeners=setup.listeners(properties, insecure=behaviour.insecure),
        nodes=setup.nodes,
        data_dir=setup.data_dir,
        settings=from_properties(properties),
        topics=setup.topic_requests(),
        fsync=behaviour.fsync,
        adopt=setup.adopts(),
        metrics=None if behaviour.serve_metrics is None else parse_address(behaviour.serve_metrics),
        show_status=sys.stderr.isatty() and not behaviour.quiet and os.environ.get("TERM") != "dumb",
    )
    wanted = plan.settings.offsets_topic_replication_factor
    if "offsets.topic.replication.factor" in properties and wanted > plan.nodes:
        say(
            f"offsets.topic.replication.factor={wanted}: Kafka makes no offsets topic with fewer nodes than"
            f" that; here it has {plan.nodes}"
        )
    if behaviour.verbose:
        for name in unused(properties):
            say(f"{name} changes nothing here")
    asyncio.run(_run(plan, say, say if behaviour.verbose else lambda text: None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    listeners: tuple[ListenerPlan, ...]
    nodes: int
    data_dir: Path | None
    settings: BrokerSettings
    topics: tuple[TopicRequest, ...]
    fsync: bool
    adopt: bool
    show_status: bool
    metrics: tuple[str, int] | None


async def _run(plan: _Plan, warn: Callable[[str], None], note: Callable[[str], None]) -> None:
    _allow_many_connections()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server = await start_cluster(
        settings=plan.settings,
        nodes=plan.nodes,
        listeners=plan.listeners,
        data_dir=plan.data_dir,
        topics=plan.topics,
        fsync=plan.fsync,
        adopt=plan.adopt,
        warn=warn,
        note=note,
    )
    first = server.nodes[min(server.nodes)]
    control = ControlServer(server, control_path(first.port))
    try:
        await control.start()
        gc.collect()
        gc.set_threshold(50_000, 10, 10)  # tuples come and go by the hundred with each request
        gc.freeze()  # what has come by now stays: going through it would hold up everybody, time and again
        print("ready", server.bootstrap, flush=True)
        with nullcontext() if plan.metrics is None else _metrics(plan.metrics, server):
            await _until(stop, server, plan.show_status)
    finally:
        control.stop()
        server.stop()


@contextmanager
def _metrics(address: tuple[str, int], server: ClusterServer) -> Iterator[None]:
    """Metrics in a thread; what they say is looked up between the requests of clients."""
    from kgroup.api.served import coordinator_state
    from kgroup.net.serve.metrics_server import MetricsServer
    from kgroup.report.coordinator_metrics import coordinator_metrics

    loop = asyncio.get_running_loop()

    async def state() -> "CoordinatorState":
        return coordinator_state(server)

    def page() -> str:
        now = asyncio.run_coroutine_threadsafe(state(), loop).result()
        return "\n".join(coordinator_metrics(now)) + "\n"

    with MetricsServer(*address, page) as metrics:
        thread = threading.Thread(target=metrics.serve_forever, name="metrics", daemon=True)
        thread.start()
        try:
            print("metrics", metrics.url, flush=True)
            yield
        finally:
            metrics.shutdown()
            thread.join()


async def _until(stop: asyncio.Event, server: ClusterServer, show_status: bool) -> None:
    """Wait for the signal; on a terminal, say once a second what is going on."""
    if not show_status:
        await stop.wait()
        return
    requests = 0
    while not stop.is_set():
        try:
            await asyncio.wait_for(stop.wait(), _STATUS_S)
        except TimeoutError:
            print(
                f"\r\033[K{_status(server, server.requests - requests)}", end="", file=sys.stderr, flush=True
            )
            requests = server.requests
    print(file=sys.stderr)


def _status(server: ClusterServer, requests: int) -> str:
    cluster = server.cluster
    groups = [
        group for hosted in cluster.coordinators.hosted.values() for group in hosted.coordinator.listing()
    ]
    active = sum(group.group_state != "Empty" for group in groups)
    clients = sum(len(node.connections) for node in server.nodes.values())
    return (
        f"{len(cluster.alive)} of {len(cluster.nodes)} nodes, {clients} connections, {len(groups)} groups "
        f"({active} active), {requests} requests/s"
    )


def _allow_many_connections() -> None:
    """Each client and each log being written takes a file descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
