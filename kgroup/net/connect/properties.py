"""Java client properties, as `--command-config` and `-X` give them, for kafka-python.

The property names and their meaning are those of Kafka's own clients (documentation, "Consumer Configs"), so
that the file that works with Kafka's tools works here. What
kafka-python cannot do is refused by name.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kgroup.errors import InputError, did_you_mean, misspelt
from kgroup.input_files import SETTINGS_BYTES_MAX, read_input_file
from kgroup.java_properties import decoded, parse_properties
from kgroup.net.connect.consumer_properties import OF_MEMBERS
from kgroup.net.connect.jaas import login_options
from kgroup.net.connect.oauth_properties import PROPERTIES as OF_TOKENS
from kgroup.net.connect.tls import PROPERTIES as OF_TLS
from kgroup.net.connect.tls import tls_context

Properties = Mapping[str, str]

DEFAULT_PORT: Final = 9092
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_LIKE_KAFKAS: Final = re.compile(r"[a-z]+(\.[a-z0-9-]+)+")
_TLS: Final = {"SSL", "SASL_SSL"}
_SASL: Final = {"SASL_PLAINTEXT", "SASL_SSL"}
_MECHANISMS: Final = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", "OAUTHBEARER"}

# Properties that mean the same to kafka-python under another name.
_INTEGERS: Final = {
    "connections.max.idle.ms": "connections_max_idle_ms",
    "metadata.max.age.ms": "metadata_max_age_ms",
    "receive.buffer.bytes": "receive_buffer_bytes",
    "reconnect.backoff.max.ms": "reconnect_backoff_max_ms",
    "reconnect.backoff.ms": "reconnect_backoff_ms",
    "request.timeout.ms": "request_timeout_ms",
    "retry.backoff.ms": "retry_backoff_ms",
    "send.buffer.bytes": "send_buffer_bytes",
}
_TEXTS: Final = {
    "client.dns.lookup": "client_dns_lookup",
    "client.id": "client_id",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
}
_SECURITY: Final = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.jaas.config",
    *OF_TOKENS,
    *OF_TLS,
)
_LOGINS: Final = {"sasl.username", "sasl.password"}
"""librdkafka's names."""
USED: Final = frozenset([*_INTEGERS, *_TEXTS, *_SECURITY, *OF_MEMBERS])
"""Every property that means something to kgroup: of connections, and to `join` of a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """The options to reach a cluster: `-b`, `--command-config` and `-X`."""

    bootstrap_servers: str
    command_config: Path | None = None
    properties: Sequence[str] = field(default=(), repr=False)
    """KEY=VALUE each; passwords are among them."""

    def read_properties(self) -> Properties:
        """The file's properties, with those given one by one over them.

        Raises SourceError if the file cannot be read, InputError for a `-X` without `=` or of a property that
        kgroup does not use. A file may have such ones, for other clients, but none almost like ours, and not
        only names that no client has.
        """
        merged: dict[str, str] = {}
        if self.command_config is not None:
            merged.update(read_properties(self.command_config))
            _refuse_misspelt(merged, self.command_config)
        for given in self.properties:
            require_assignment(given)
            key, _, value = given.partition("=")
            if not is_utf_8(given):
                raise InputError(f"-X {key}: not UTF-8")
            _require_known(key.strip())
            merged[key.strip()] = value.strip()
        return merged

    def self_contained(self) -> "ConnectionOptions":
        """The same without the file, for another machine; what its properties name must be there, too."""
        properties = tuple(f"{key}={value}" for key, value in self.read_properties().items() if key in USED)
        return ConnectionOptions(bootstrap_servers=self.bootstrap_servers, properties=properties)


def require_assignment(given: str) -> None:
    """Raises InputError for a `-X` that is not KEY=VALUE, and shows of it no more than a known name.

    What stands behind a name without `=` may be a password, and a key in PEM ends with `=`.
    """
    key, equals, _ = given.partition("=")
    name = _name_in(key)
    if not equals or not name or name != key.strip():
        known = f" {name}" if name in USED else ""
        raise InputError(f"-X{known}: give KEY=VALUE, like -X security.protocol=SSL")


def _require_known(name: str) -> None:
    if name in _LOGINS:
        raise InputError(f"-X {name}: not a Java client property; put user and password in sasl.jaas.config")
    if name not in USED:
        raise InputError(f"-X {name}: kgroup uses no such property{did_you_mean(name, sorted(USED))}")


def _name_in(text: str) -> str:
    """The longest beginning of the text that could be a property's name."""
    name = _NAME.match(text.strip())
    return "" if name is None else name[0]


def _refuse_misspelt(names: Collection[str], path: Path) -> None:
    if names and not any(name in USED or _LIKE_KAFKAS.fullmatch(name) for name in names):
        raise InputError(f"--command-config {path}: not one property of a Kafka client in it")
    for name in names:
        if (near := misspelt(name, USED)) is not None:
            raise InputError(f"--command-config {path}: {name}: no such property; did you mean {near}?")


def _can_be_host(host: str) -> bool:
    try:
        return bool(host.encode("idna"))
    except UnicodeError:
        return False


def is_utf_8(text: str) -> bool:
    """Whether it can be sent; what a command line has of other encodings comes in as lone surrogates."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def parse_servers(bootstrap_servers: str) -> list[tuple[str, int]]:
    """`host:port,host` as hosts and ports; the port is Kafka's own if there is none. Raises InputError."""
    servers = []
    if "@" in bootstrap_servers:
        raise InputError("--bootstrap-server: give HOST:PORT, without a user; see sasl.jaas.config")
    for server in filter(None, (part.strip() for part in bootstrap_servers.split(","))):
        if "://" in server:
            raise InputError(
                f"--bootstrap-server {server}: give HOST:PORT, without {server.split('//')[0]}//"
            )
        host, colon, port = server.rpartition(":")
        if not colon or "]" in port:
            host, port = server, str(DEFAULT_PORT)
        if not _can_be_host(host.strip("[]")) or not port.isdecimal() or not 0 < int(port) < 65_536:
            is_far = port.isdecimal() and not 0 < int(port) < 65_536
            why = "ports are 1 to 65535" if is_far else "give HOST:PORT"
            raise InputError(f"--bootstrap-server {server}: {why}")
        servers.append((host.strip("[]"), int(port)))
    if not servers:
        raise InputError("--bootstrap-server: give HOST:PORT, or several with commas between them")
    return servers


def read_properties(path: Path) -> dict[str, str]:
    """A Java properties file; raises SourceError if it cannot be read."""
    named = f"--command-config {path}"
    content = read_input_file(path, kind="properties", bytes_max=SETTINGS_BYTES_MAX, named=named)
    return parse_properties(decoded(content))


def client_config(properties: Properties) -> dict[str, object]:
    """kafka-python's configuration for Java's; properties that do not concern a connection are passed over.

    Raises InputError, naming the property, for what makes no sense or what kafka-python cannot do, and
    SourceError for a certificate or key that cannot be read.
    """
    config: dict[str, object] = {}
    for name, ours in _TEXTS.items():
        if name in properties:
            config[ours] = properties[name]
    for name, ours in _INTEGERS.items():
        if name in properties:
            config[ours] = _integer(name, properties[name])
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in {"PLAINTEXT", *_TLS, *_SASL}:
        raise InputError(f"security.protocol={protocol}: not PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
    config["security_protocol"] = protocol
    if protocol in _SASL:
        config.update(_sasl(properties))
    if protocol in _TLS:
        config["ssl_context"] = tls_context(properties)
    return config


def _integer(name: str, value: str) -> int:
    """The integer as Kafka reads it; sizes of -1 are the operating system's."""
    try:
        number = int(value)
    except ValueError:
        raise InputError(f"{name}={value}: an integer is needed") from None
    least = -1 if name.endswith(".bytes") else 0
    if not least <= number < 2**31:
        raise InputError(f"{name}={value}: from {least} to {2**31 - 1}")
    return number


def _sasl(properties: Properties) -> dict[str, object]:
    mechanism = properties.get("sasl.mechanism", "GSSAPI").upper()  # Java's default
    if mechanism not in _MECHANISMS:
        raise InputError(f"sasl.mechanism={mechanism}: kgroup can do {', '.join(sorted(_MECHANISMS))}")
    config: dict[str, object] = {"sasl_mechanism": mechanism}
    if mechanism == "OAUTHBEARER":
        # Takes 50 ms, and few need it.
        from kgroup.net.connect.oauth import tokens

        options = login_options(properties.get("sasl.jaas.config", ""))
        config["sasl_oauth_token_provider"] = tokens(properties, options)
    elif mechanism != "GSSAPI":
        login = login_options(properties.get("sasl.jaas.config", ""))
        for option in ("username", "password"):
            if not login.get(option):
                raise InputError(f"sasl.jaas.config has no {option}, which sasl.mechanism={mechanism} needs")
            config[f"sasl_plain_{option}"] = login[option]
        if mechanism.startswith("SCRAM-"):
            if login.get("tokenauth", "").lower() == "true":
                raise InputError("sasl.jaas.config: tokenauth: kgroup does not log in by delegation tokens")
            config["sasl_plain_username"] = (
                login["username"].replace("=", "=3D").replace(",", "=2C")
            )  # RFC 5802
    return config
