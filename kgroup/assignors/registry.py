"""Every assignor, by its name on the wire and by kgroup's own name."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from kgroup.assignors.client.cooperative_sticky import CooperativeStickyAssignor
from kgroup.assignors.client.kafka_2_4 import CooperativeStickyAssignor24, RangeAssignor24, StickyAssignor24
from kgroup.assignors.client.range import RangeAssignor
from kgroup.assignors.client.roundrobin import RoundRobinAssignor
from kgroup.assignors.client.sticky import StickyAssignor
from kgroup.assignors.model import ClientAssignor, ServerAssignor
from kgroup.assignors.server.range import ServerRangeAssignor
from kgroup.assignors.server.simple import SimpleAssignor
from kgroup.assignors.server.uniform import UniformAssignor
from kgroup.errors import InputError, nearest_or_all

CLIENT_ASSIGNORS: Final[dict[str, ClientAssignor]] = {
    assignor.name: assignor
    for assignor in (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())
}
OLDER_CLIENT_ASSIGNORS: Final[dict[str, dict[str, ClientAssignor]]] = {
    "2.4.1": {
        assignor.name: assignor
        for assignor in (
            RangeAssignor24(),
            RoundRobinAssignor(),
            StickyAssignor24(),
            CooperativeStickyAssignor24(),
        )
    }
}
SERVER_ASSIGNORS: Final[dict[str, ServerAssignor]] = {
    assignor.name: assignor for assignor in (UniformAssignor(), ServerRangeAssignor(), SimpleAssignor())
}


class Protocol(StrEnum):
    """The way partitions change hands.

    `EAGER`: everybody gives up everything first. `COOPERATIVE`: what moves is given up in one
    rebalance and handed out in the next (KIP-429). `SERVER`: the coordinator moves each partition by
    itself, without a rebalance (KIP-848).
    """

    EAGER = "eager"
    COOPERATIVE = "cooperative"
    SERVER = "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One assignor: either `client` or `server` is set. `shares`: a partition may have several members."""

    protocol: Protocol
    client: ClientAssignor | None = None
    server: ServerAssignor | None = None
    shares: bool = False


# By kgroup's names; `@2.4` has the answers of Kafka 2.4.1, the others those of 4.3.1.
ASSIGNORS: Final[dict[str, Entry]] = {
    "range": Entry(protocol=Protocol.EAGER, client=CLIENT_ASSIGNORS["range"]),
    "roundrobin": Entry(protocol=Protocol.EAGER, client=CLIENT_ASSIGNORS["roundrobin"]),
    "sticky": Entry(protocol=Protocol.EAGER, client=CLIENT_ASSIGNORS["sticky"]),
    "cooperative-sticky": Entry(protocol=Protocol.COOPERATIVE, client=CLIENT_ASSIGNORS["cooperative-sticky"]),
    "uniform": Entry(protocol=Protocol.SERVER, server=SERVER_ASSIGNORS["uniform"]),
    "server-range": Entry(protocol=Protocol.SERVER, server=SERVER_ASSIGNORS["range"]),
    "simple": Entry(protocol=Protocol.SERVER, server=SERVER_ASSIGNORS["simple"], shares=True),
}
ASSIGNORS.update(
    (f"{name}@2.4", replace(ASSIGNORS[name], client=older))
    for name, older in OLDER_CLIENT_ASSIGNORS["2.4.1"].items()
)
CURRENT: Final = [name for name in ASSIGNORS if "@" not in name]
"""`range` is two assignors on the wire: a client's, and the coordinator's, which is `server-range` here."""


def find_names(names: Iterable[str], kafka_version: str | None = None) -> list[str]:
    """These names in `ASSIGNORS` for a Kafka version, like 2.4; None is 4.3.

    Kafka 3.9 answers as 4.3 does. Raises InputError for a version whose answers are not known, and for
    an unknown name, with the nearest one.
    """
    version = ".".join((kafka_version or "4.3").split(".")[:2])
    if version not in ("2.4", "3.9", "4.3"):
        raise InputError(f"Kafka {kafka_version}: known versions are 2.4, 3.9 and 4.3")
    suffix = "@2.4" if version == "2.4" else ""
    versioned_names = []
    for name in dict.fromkeys(names):
        if name not in ASSIGNORS:
            raise InputError(f"unknown assignor '{name}': {nearest_or_all(name, CURRENT)}")
        versioned = name if "@" in name else name + suffix
        if versioned not in ASSIGNORS:
            raise InputError(f"assignor '{name}': Kafka {version} has none of that name")
        versioned_names.append(versioned)
    return versioned_names


def names_of_version(kafka_version: str | None) -> list[str]:
    """Every assignor that a Kafka version has, by the names of today."""
    if kafka_version and kafka_version.startswith("2.4"):
        return list(OLDER_CLIENT_ASSIGNORS["2.4.1"])
    return CURRENT
