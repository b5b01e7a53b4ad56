"""Commands to a running `kgroup serve`, over a Unix socket that only its user can open."""

import asyncio
import json
import os
import socket
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.errors import InputError, KgroupError, SourceError, fault_line
from kgroup.net.serve.server import ClusterServer
from kgroup.private_folder import is_private

_ANSWER_S: Final = 30.0
_LINE_MAX: Final = 1 << 24


def control_path(port: int) -> Path:
    """The path at which the `serve` whose first node listens on `port` takes commands.

    Raises SourceError if no place for it is this user's own: another may have taken its name.
    """
    name = f"kgroup-{os.getuid()}"
    folders = [
        Path(place) / name for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir()) if place
    ]
    with suppress(RuntimeError):  # no HOME, and the user id has no entry in the password file
        folders.append(Path.home() / f".{name}")
    for folder in folders:
        if is_private(folder):
            return folder / f"serve-{port}.sock"
    raise SourceError(
        f"{folders[0]}: not this user's own, nor is any other folder for the socket of commands"
    )


class ControlServer:
    """Takes one command per connection: a line of JSON in, a line of JSON out."""

    def __init__(self, server: ClusterServer, path: Path) -> None:
        self._server = server
        self._path = path
        self._listener: asyncio.Server | None = None

    async def start(self) -> None:
        """Open the socket. Raises SourceError if that is not possible."""
        try:
            self._path.unlink(missing_ok=True)
            self._listener = await asyncio.start_unix_server(self._on_client, self._path, limit=_LINE_MAX)
            self._path.chmod(0o600)
        except OSError as error:
            raise SourceError(f"{self._path}: {error.strerror or error}") from error

    def stop(self) -> None:
        """Close the socket and remove it."""
        if self._listener is not None:
            self._listener.close()
        self._path.unlink(missing_ok=True)

    async def _on_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                line = await asyncio.wait_for(reader.readline(), _ANSWER_S)
                answer = {"done": await self._run(json.loads(line))}
            except (KgroupError, ValueError, RecursionError) as error:
                answer = {"error": str(error)}
            except (OSError, TimeoutError):
                raise
            except Exception as error:
                self._server.warn_of_fault(error)
                answer = {"error": fault_line(error)}
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        except (OSError, TimeoutError):
            pass  # the other side is gone, which is its own business
        finally:
            writer.close()

    async def _run(self, command: Mapping[str, Any]) -> object:
        match command:
            case {"command": "kill-node", "node": int(node)}:
                self._check(node, alive=True)
                self._server.kill_node(node)
            case {"command": "start-node", "node": int(node)}:
                self._check(node, alive=False)
                await self._server.start_node(node)
            case {"command": "move-coordinator", "group": str(group), "node": int(node)}:
                self._check(node, alive=True)
                self._server.move_coordinator(self._server.cluster.offsets_partition(group), node)
            case {"command": "state"}:
                return state(self._server)
            case _:
                raise InputError(f"no such command: {json.dumps(command)}")
        return state(self._server)

    def _check(self, node: int, *, alive: bool) -> None:
        spec = self._server.cluster.nodes.get(node)
        if spec is None:
            nodes = ", ".join(map(str, self._server.cluster.nodes))
            raise InputError(f"there is no node {node}; the nodes are {nodes}")
        if spec.alive is not alive:
            raise InputError(f"node {node} is {'dead' if alive else 'alive'} already")


def state(server: ClusterServer) -> dict[str, Any]:
    """Nodes, topics and groups of a running cluster, for people and scripts."""
    cluster = server.cluster
    groups = []
    for index, hosted in sorted(cluster.coordinators.hosted.items()):
        for group in [] if hosted.is_loading else hosted.coordinator.listing():
            groups.append(
                {
                    "group": group.group_id,
                    "state": str(group.group_state),
                    "type": group.group_type,
                    "protocolType": group.protocol_type,
                    "members": hosted.coordinator.size(group.group_id),
                    "partition": index,
                    "coordinator": hosted.node_id,
                }
            )
    return {
        "nodes": [
            {
                "node": spec.node_id,
                "address": f"{spec.host}:{spec.port}",
                "alive": spec.alive,
                "connections": len(server.nodes[spec.node_id].connections),
                "leads": sum(
                    partition.leader == spec.node_id
                    for topic in cluster.topics.values()
                    for partition in topic.partitions
                ),
            }
            for spec in cluster.nodes.values()
        ],
        "topics": {name: len(topic.partitions) for name, topic in sorted(cluster.topics.items())},
        "loading": sorted(
            f"{OFFSETS_TOPIC}-{index}"
            for index, hosted in cluster.coordinators.hosted.items()
            if hosted.is_loading
        ),
        "groups": sorted(groups, key=lambda group: str(group["group"])),
    }


def send_command(port: int, command: Mapping[str, Any]) -> Any:
    """Run a command in the `serve` whose first node is on `port`.

    Raises SourceError if it is not there or refuses.
    """
    path = control_path(port)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER_S)
        try:
            connection.connect(str(path))
            connection.sendall(json.dumps(command).encode() + b"\n")
            with connection.makefile("rb") as answers:
                line = answers.readline(_LINE_MAX)
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise SourceError(
                f"you run no kgroup serve with its first node on port {port}; use --port to choose one"
            ) from error
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror or error}") from error
    if not line:
        raise SourceError(f"{path}: no answer")
    answer = json.loads(line)
    if "error" in answer:
        raise SourceError(answer["error"])
    return answer["done"]
