"""A whole cluster in this process, as `kgroup serve` and `kgroup.testing` start it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import uuid4

from kgroup.broker.cluster import Cluster, NodeSpec
from kgroup.broker.security.listeners import LOOPBACK, ListenerPlan, read_listeners
from kgroup.broker.settings import BrokerSettings
from kgroup.broker.storage import FolderStorage, MemoryStorage
from kgroup.errors import InputError
from kgroup.net.serve.clock import Clock
from kgroup.net.serve.doors import open_doors, read_authorizer
from kgroup.net.serve.server import ClusterServer
from kgroup.protocol.error_codes import ErrorCode

_ANYWHERE: Final = f"PLAINTEXT://{LOOPBACK}:0"
_REFUSED: Final = {
    ErrorCode.INVALID_TOPIC_EXCEPTION: "a name has 1 to 249 letters, digits, dots, underscores and hyphens",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest:
    """A topic to make at the start; -1: as many as the settings say."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)


async def start_cluster(
    *,
    settings: BrokerSettings,
    nodes: int = 1,
    listeners: tuple[ListenerPlan, ...] | None = None,
    data_dir: Path | None = None,
    topics: tuple[TopicRequest, ...] = (),
    fsync: bool = False,
    adopt: bool = False,
    warn: Callable[[str], None],
    note: Callable[[str], None] = lambda text: None,
) -> ClusterServer:
    """Start `nodes` brokers; port 0 of a listener takes free ports, any other port and those after it.

    Without `listeners` they are those of the properties, or a plain one on the loopback address. Without
    `data_dir` everything is gone at the end; `adopt` takes one of a real broker. Raises SourceError if the
    data dir, a port or a file of the security's cannot be used, InputError for properties that make no sense
    and topics that cannot be made.
    """
    clock = Clock()
    properties = settings.properties
    plans = listeners or read_listeners(properties.get("listeners") or _ANYWHERE, properties, nodes)
    doors, authorizer = open_doors(plans, warn), read_authorizer(properties)
    specs = [
        NodeSpec(node_id=number, host=plans[0].host, port=plans[0].at(number - 1)[1])
        for number in range(1, nodes + 1)
    ]
    storage = (
        FolderStorage(data_dir, warn, durable=fsync, adopt=adopt) if data_dir is not None else MemoryStorage()
    )
    cluster = Cluster(settings, specs, storage, uuid4, clock.now_ms(), warn, syncs_decisions=fsync)
    cluster.authorizer = authorizer
    for topic in topics:
        error = cluster.create_topic(
            topic.name, topic.partitions, topic.replication_factor, dict(topic.configs), clock.now_ms()
        )
        if error is ErrorCode.TOPIC_ALREADY_EXISTS:
            there = len(cluster.topics[topic.name].partitions)
            if topic.partitions not in (-1, there):
                warn(
                    f"topic {topic.name} is there already, with {there} partitions and not {topic.partitions}"
                )
        elif error is not ErrorCode.NONE:
            raise InputError(f"topic {topic.name!r}: {_REFUSED.get(error, error.name)}")
    server = ClusterServer(cluster, clock, warn, note, fsync=fsync, doors=doors)
    await server.start()
    return server
