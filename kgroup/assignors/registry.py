"""Every assignor: by its name on the wire, and all of them by the names that kgroup tells them apart by."""

from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from kgroup.assignors.cooperative_sticky import CooperativeStickyAssignor
from kgroup.assignors.model import ClientAssignor, ServerAssignor
from kgroup.assignors.range import RangeAssignor
from kgroup.assignors.roundrobin import RoundRobinAssignor
from kgroup.assignors.server_range import ServerRangeAssignor
from kgroup.assignors.simple import SimpleAssignor
from kgroup.assignors.sticky import StickyAssignor
from kgroup.assignors.uniform import UniformAssignor
from kgroup.errors import InputError

CLIENT_ASSIGNORS: Final[dict[str, ClientAssignor]] = {
    assignor.name: assignor
    for assignor in (RangeAssignor(), RoundRobinAssignor(), StickyAssignor(), CooperativeStickyAssignor())
}
OLDER_CLIENT_ASSIGNORS: Final[dict[str, dict[str, ClientAssignor]]] = {}
SERVER_ASSIGNORS: Final[dict[str, ServerAssignor]] = {
    assignor.name: assignor for assignor in (UniformAssignor(), ServerRangeAssignor(), SimpleAssignor())
}


class Protocol(StrEnum):
    """How partitions change hands.

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


ASSIGNORS: Final[dict[str, Entry]] = {
    "range": Entry(protocol=Protocol.EAGER, client=CLIENT_ASSIGNORS["range"]),
    "roundrobin": Entry(protocol=Protocol.EAGER, client=CLIENT_ASSIGNORS["roundrobin"]),
    "sticky": Entry(protocol=Protocol.EAGER, client=CLIENT_ASSIGNORS["sticky"]),
    "cooperative-sticky": Entry(protocol=Protocol.COOPERATIVE, client=CLIENT_ASSIGNORS["cooperative-sticky"]),
    "uniform": Entry(protocol=Protocol.SERVER, server=SERVER_ASSIGNORS["uniform"]),
    "server-range": Entry(protocol=Protocol.SERVER, server=SERVER_ASSIGNORS["range"]),
    "simple": Entry(protocol=Protocol.SERVER, server=SERVER_ASSIGNORS["simple"], shares=True),
}
"""`range` is two assignors on the wire: a client's, and the coordinator's, which is `server-range` here."""


def check_name(name: str) -> str:
    """The name, if it is in `ASSIGNORS`; raises InputError that suggests the nearest one."""
    if name in ASSIGNORS:
        return name
    nearest = get_close_matches(name.lower(), ASSIGNORS, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}?" if nearest else f"there are {', '.join(ASSIGNORS)}"
    raise InputError(f"unknown assignor {name!r}: {hint}")
