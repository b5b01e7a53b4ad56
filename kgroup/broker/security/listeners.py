"""Listeners by Kafka's broker properties: `listeners`, and what each requires of its clients.

A property may be meant for one listener: `listener.name.NAME.PROPERTY`, with the name in small letters.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kgroup.broker.security import bearer
from kgroup.broker.security.credentials import MECHANISMS
from kgroup.errors import InputError, nearest_or_all

LOOPBACK: Final = "127.0.0.1"
USERS_FILE: Final = "kgroup.users.file"
ACLS_FILE: Final = "kgroup.acls.file"
_PORT_MAX: Final = 65_535
USED: Final = frozenset(
    {
        *("listeners", "advertised.listeners", "listener.security.protocol.map", "controller.listener.names"),
        *("ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.certificate.chain"),
        *("ssl.keystore.key", "ssl.keystore.password", "ssl.key.password", "ssl.truststore.type"),
        *("ssl.truststore.location", "ssl.truststore.certificates", "ssl.truststore.password"),
        *("ssl.client.auth", "ssl.enabled.protocols", "ssl.principal.mapping.rules"),
        *("sasl.enabled.mechanisms", "sasl.jaas.config", "connections.max.reauth.ms"),
        *("connection.failed.authentication.delay.ms", "authorizer.class.name", "super.users"),
        *("allow.everyone.if.no.acl.found", USERS_FILE, ACLS_FILE),
    }
)
"""Every property of security that kgroup obeys, without a listener's or mechanism's prefix."""
_SECRET: Final = ("password", "jaas.config", "keystore.key")


class Protocol(StrEnum):
    """The security protocol of a listener."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def has_tls(self) -> bool:
        """Bytes are encrypted."""
        return self in (Protocol.SSL, Protocol.SASL_SSL)

    @property
    def has_sasl(self) -> bool:
        """Clients log in."""
        return self in (Protocol.SASL_PLAINTEXT, Protocol.SASL_SSL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerPlan:
    """A listener of the first node; others have the ports after it, or with port 0 any free ones.

    `advertised` is the address given to clients, if it differs. `properties` are those that hold here.
    """

    name: str = Protocol.PLAINTEXT.value
    protocol: Protocol = Protocol.PLAINTEXT
    host: str = LOOPBACK
    port: int = 0
    advertised: tuple[str, int] | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def jaas_of_tokens(self) -> str:
        """The `sasl.jaas.config` with an OAuthBearerLoginModule; empty if there is none."""
        own = f"{bearer.MECHANISM.lower()}.sasl.jaas.config"
        jaas = self.properties.get(own, self.properties.get("sasl.jaas.config", ""))
        return jaas if bearer.MODULE in jaas else ""

    @property
    def takes_tokens(self) -> bool:
        """Whether clients may log in by OAUTHBEARER."""
        enabled = self.properties.get("sasl.enabled.mechanisms", "")
        return bool(self.jaas_of_tokens) and (not enabled.strip() or bearer.MECHANISM in enabled)

    @property
    def danger(self) -> str | None:
        """The reason not to let others reach it; None if it authenticates and encrypts."""
        names = self.protocol.value
        if self.protocol.has_sasl and self.takes_tokens:
            return f"{names} with {bearer.MECHANISM} takes unsecured tokens, so it lets anybody in"
        authenticates = self.protocol.has_sasl or (
            self.protocol.has_tls and self.properties.get("ssl.client.auth", "none").lower() == "required"
        )
        if not authenticates:
            more = " without ssl.client.auth=required" if self.protocol.has_tls else ""
            return f"{names}{more} lets anybody in"
        return None if self.protocol.has_tls else f"{names} does not encrypt"

    def at(self, index: int) -> tuple[str, int]:
        """The address on which the node of this index (0: the first) listens."""
        return self.host, self.port + index if self.port else 0

    def told(self, index: int) -> tuple[str, int] | None:
        """The address given to that node's clients, unless it is the one it listens on."""
        return None if self.advertised is None else (self.advertised[0], self.advertised[1] + index)


def is_secret(name: str) -> bool:
    """Whether a property's value must not be shown."""
    return name.endswith(_SECRET)


def is_used(name: str) -> bool:
    """Whether a property of security means something here, with whatever prefix."""
    bare = name
    if name.startswith("listener.name."):
        bare = name.removeprefix("listener.name.").partition(".")[2]
    for mechanism in MECHANISMS:
        bare = bare.removeprefix(f"{mechanism.lower()}.")
    return bare in USED


def read_listeners(
    text: str, properties: Mapping[str, str], nodes: int = 1, where: str = "listeners"
) -> tuple[ListenerPlan, ...]:
    """The listeners of `NAME://HOST:PORT,...`. An empty host is the loopback address.

    Raises InputError for what makes no sense, naming the property, or `where` the listeners come from.
    """
    protocols = _protocols(properties)
    advertised = dict(_addresses("advertised.listeners", properties.get("advertised.listeners", "")))
    of_controller = {
        name.strip().upper() for name in properties.get("controller.listener.names", "").split(",")
    }
    plans: dict[str, ListenerPlan] = {}
    for name, (host, port) in _addresses(where, text):
        if name in of_controller:
            continue  # of a KRaft node's controller half, which is not here
        if name not in protocols:
            known = ", ".join(protocols)
            raise InputError(f"{where}: {name} is not in listener.security.protocol.map; there are {known}")
        if name in plans:
            raise InputError(f"{where}: {name} is given twice")
        if port and port + nodes - 1 > _PORT_MAX:
            raise InputError(f"{where}: {nodes} nodes would have ports up to {port + nodes - 1}")
        plans[name] = ListenerPlan(
            name=name,
            protocol=protocols[name],
            host=host or LOOPBACK,
            port=port,
            advertised=advertised.pop(name, None),
            properties=_of_listener(name, properties),
        )
    if not plans:
        raise InputError(f"{where}: give NAME://HOST:PORT, like SASL_SSL://127.0.0.1:9093")
    for name in advertised:
        if name not in of_controller:
            raise InputError(f"advertised.listeners: {name} is not among the listeners")
    _refuse_overlaps(list(plans.values()), nodes, where)
    return tuple(plans.values())


def _protocols(properties: Mapping[str, str]) -> dict[str, Protocol]:
    """The protocol of each listener, by its name."""
    protocols = {protocol.value: protocol for protocol in Protocol}
    for entry in filter(None, properties.get("listener.security.protocol.map", "").split(",")):
        name, colon, protocol = (part.strip() for part in entry.partition(":"))
        if not colon or not name:
            raise InputError(f"listener.security.protocol.map: {entry.strip()!r} is not NAME:PROTOCOL")
        if protocol.upper() not in Protocol.__members__:
            known = nearest_or_all(protocol, Protocol.__members__)
            raise InputError(f"listener.security.protocol.map: {protocol!r} is not a protocol; {known}")
        protocols[name.upper()] = Protocol[protocol.upper()]
    return protocols


def _addresses(prop: str, text: str) -> list[tuple[str, tuple[str, int]]]:
    addresses = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, separator, address = entry.partition("://")
        host, colon, port = address.rpartition(":")
        sound = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= _PORT_MAX
        if not separator or not name or not colon or not sound:
            raise InputError(f"{prop}: {entry!r} is not NAME://HOST:PORT")
        addresses.append((name.upper(), (host.strip("[]"), int(port))))
    return addresses


def _of_listener(name: str, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties that hold for a listener: its own over those for all."""
    prefix = f"listener.name.{name.lower()}."
    own = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
    common = {key: value for key, value in properties.items() if not key.startswith("listener.name.")}
    return common | own


def _refuse_overlaps(plans: list[ListenerPlan], nodes: int, where: str) -> None:
    """Raise InputError if a node of one listener would have the port of another's."""
    taken: dict[int, str] = {}
    for plan in plans:
        for index in range(nodes if plan.port else 0):
            port = plan.at(index)[1]
            if port in taken:
                raise InputError(
                    f"{where}: {taken[port]} and {plan.name} would both have port {port}"
                    + (f" with {nodes} nodes" if nodes > 1 else "")
                )
            taken[port] = plan.name


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
