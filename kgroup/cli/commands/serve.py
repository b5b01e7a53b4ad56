"""`kgroup serve`: Kafka brokers on this machine, for unmodified clients."""

import asyncio
import ipaddress
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.broker.settings import PROPERTIES, BrokerSettings, from_properties, read_properties, unused
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section
from kgroup.errors import InputError, SourceError, misspelt
from kgroup.java_properties import decoded
from kgroup.net.serve.control import ControlServer, control_path
from kgroup.net.serve.running import TopicRequest, start_cluster
from kgroup.net.serve.server import ClusterServer

EXAMPLES: Final = (
    Example("A broker on port 9092 whose data is gone when it stops", "kgroup serve --topic orders:6"),
    Example(
        "Three nodes that keep real Kafka segment files",
        "kgroup serve --nodes 3 --data-dir /tmp/kgroup-data",
    ),
    Example(
        "Groups that form without delay, as tests like it, on a free port",
        "kgroup serve --listen 127.0.0.1:0 --property group.initial.rebalance.delay.ms=0",
    ),
)
_STATUS_S: Final = 1.0


def serve(
    *,
    listen: Annotated[
        str,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Address of the first node; the others take the ports after it. Port 0: free ports.",
            rich_help_panel=Section.SETUP,
        ),
    ] = "127.0.0.1:9092",
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes",
            metavar="N",
            min=1,
            max=100,
            help="How many brokers.",
            rich_help_panel=Section.SETUP,
        ),
    ] = 1,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            metavar="DIR",
            help="Keep topics, commits and groups here, as Kafka's own segment files. Without: in memory.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    properties_file: Annotated[
        Path | None,
        typer.Option(
            "--properties",
            metavar="FILE",
            help="Broker settings by Kafka's names, as in server.properties.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--property",
            metavar="NAME=VALUE",
            help="One broker setting, over what --properties says; repeatable.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            "--topic",
            metavar="NAME[:PARTITIONS]",
            help="Make this topic if it is not there; repeatable.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    fsync: Annotated[
        bool,
        typer.Option(
            "--fsync",
            help="Answer only when records are on the disk itself. Without: in the file, which survives a "
            "kill of the process but not a loss of power.",
            rich_help_panel=Section.BEHAVIOUR,
        ),
    ] = False,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="Listen on an address that other machines reach, without authentication and encryption.",
            rich_help_panel=Section.BEHAVIOUR,
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "-q",
            "--quiet",
            help="No status line on the terminal, only warnings and errors.",
            rich_help_panel=Section.BEHAVIOUR,
        ),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "-v",
            "--verbose",
            help="Name settings without effect and connections that were closed.",
            rich_help_panel=Section.BEHAVIOUR,
        ),
    ] = False,
) -> None:
    """Run Kafka brokers that real clients can use.

    Prints one line, `ready HOST:PORT ...` with the address of every node, once clients can connect.
    Stops on SIGINT or SIGTERM. `kgroup serve-ctl` kills and starts nodes and moves coordinators meanwhile.
    """
    host, port = _address(listen, insecure)
    if port and port + nodes > 1 << 16:
        raise InputError(f"--listen {listen}: {nodes} nodes would have ports up to {port + nodes - 1}")
    properties = _properties(properties_file, settings or [])
    _refuse_misspelt(text.partition("=")[0].strip() for text in settings or ())
    plan = _Plan(
        host=host,
        port=port,
        nodes=nodes,
        data_dir=data_dir,
        settings=from_properties(properties),
        topics=tuple(_topic(text) for text in topics or ()),
        fsync=fsync,
        show_status=sys.stderr.isatty() and not quiet and os.environ.get("TERM") != "dumb",
    )
    if verbose:
        for name in unused(properties):
            say(f"{name} changes nothing here")
    asyncio.run(_run(plan, say, say if verbose else lambda text: None))


def _refuse_misspelt(names: Iterable[str]) -> None:
    """Raise InputError for a setting almost like one of kgroup's; others may be those of Kafka's brokers."""
    for name in names:
        if (near := misspelt(name, PROPERTIES)) is not None:
            raise InputError(f"--property {name}: no such setting; did you mean {near}?")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    host: str
    port: int
    nodes: int
    data_dir: Path | None
    settings: BrokerSettings
    topics: tuple[TopicRequest, ...]
    fsync: bool
    show_status: bool


async def _run(plan: _Plan, warn: Callable[[str], None], note: Callable[[str], None]) -> None:
    _allow_many_connections()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    server = await start_cluster(
        settings=plan.settings,
        nodes=plan.nodes,
        host=plan.host,
        port=plan.port,
        data_dir=plan.data_dir,
        topics=plan.topics,
        fsync=plan.fsync,
        warn=warn,
        note=note,
    )
    first = server.nodes[min(server.nodes)]
    control = ControlServer(server, control_path(first.port))
    try:
        await control.start()
        print("ready", *server.bootstrap.split(","), flush=True)
        await _until(stop, server, plan.show_status)
    finally:
        control.stop()
        server.stop()


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


def _address(text: str, insecure: bool) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdigit() or int(port) > 65535:
        raise InputError(f"--listen: {text!r} is not HOST:PORT")
    host = host.strip("[]") or "127.0.0.1"
    if not _is_loopback(host) and not insecure:
        raise InputError(f"--listen: {host} can be reached by others; say --insecure if that is meant")
    return host, int(port)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _properties(path: Path | None, settings: list[str]) -> dict[str, str]:
    properties: dict[str, str] = {}
    if path is not None:
        try:
            text = decoded(path.read_bytes())
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
        properties = read_properties(text, str(path))
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--property {setting}: give NAME=VALUE, like --property num.partitions=3")
        properties[name.strip()] = value.strip()
    return properties


def _topic(text: str) -> TopicRequest:
    name, separator, partitions = text.partition(":")
    if separator and not (partitions.isdigit() and 0 < int(partitions) <= 100_000):
        raise InputError(f"--topic: {text!r} is not NAME or NAME:PARTITIONS")
    return TopicRequest(name=name, partitions=int(partitions) if separator else -1)


def _allow_many_connections() -> None:
    """Each client and each log being written takes a file descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
