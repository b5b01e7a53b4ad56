"""Java client properties, as `--command-config` and `-X` give them, for kafka-python.

The property names and their meaning are those of Kafka's own clients (documentation, "Consumer Configs"), so
that the file that works with Kafka's tools works here. What
kafka-python cannot do is refused by name.
"""

import re
import ssl
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgroup.errors import InputError, SourceError, did_you_mean, misspelt
from kgroup.input_files import SETTINGS_BYTES_MAX, read_input_file
from kgroup.java_properties import decoded, parse_properties
from kgroup.net.connect.consumer_properties import OF_MEMBERS
from kgroup.net.connect.error_reason import error_reason

Properties = Mapping[str, str]

DEFAULT_PORT: Final = 9092
_TLS: Final = {"SSL", "SASL_SSL"}
_SASL: Final = {"SASL_PLAINTEXT", "SASL_SSL"}
_MECHANISMS: Final = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI"}

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
    "ssl.endpoint.identification.algorithm",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.type",
)
USED: Final = frozenset([*_INTEGERS, *_TEXTS, *_SECURITY, *OF_MEMBERS])
"""Every property that means something to kgroup: of connections, and to `join` of a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionOptions:
    """The options to reach a cluster: `-b`, `--command-config` and `-X`."""

    bootstrap_servers: str
    command_config: Path | None = None
    properties: Sequence[str] = ()

    def read_properties(self) -> Properties:
        """The file's properties, with those given one by one over them.

        Raises SourceError if the file cannot be read, InputError for a `-X` without `=` or of a property that
        kgroup does not use. A file may have such ones, for other clients, but none almost like ours.
        """
        merged: dict[str, str] = {}
        if self.command_config is not None:
            merged.update(read_properties(self.command_config))
            _refuse_misspelt(merged, self.command_config)
        for given in self.properties:
            key, equals, value = given.partition("=")
            if not equals or not key.strip():
                raise InputError(f"-X {given}: give KEY=VALUE, like -X security.protocol=SSL")
            if not is_utf_8(given):
                raise InputError(f"-X {given}: not UTF-8")
            _require_known(key.strip())
            merged[key.strip()] = value.strip()
        return merged

    def self_contained(self) -> "ConnectionOptions":
        """The same without the file, for another machine; what its properties name must be there, too."""
        properties = tuple(f"{key}={value}" for key, value in self.read_properties().items() if key in USED)
        return ConnectionOptions(bootstrap_servers=self.bootstrap_servers, properties=properties)


def _require_known(name: str) -> None:
    if name not in USED:
        raise InputError(f"-X {name}: kgroup uses no such property{did_you_mean(name, sorted(USED))}")


def _refuse_misspelt(names: Iterable[str], path: Path) -> None:
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
    for server in filter(None, (part.strip() for part in bootstrap_servers.split(","))):
        if "://" in server:
            raise InputError(
                f"--bootstrap-server {server}: give HOST:PORT, without {server.split('//')[0]}//"
            )
        host, colon, port = server.rpartition(":")
        if not colon or "]" in port:
            host, port = server, str(DEFAULT_PORT)
        if not _can_be_host(host.strip("[]")) or not port.isdigit() or not 0 < int(port) < 65_536:
            raise InputError(f"--bootstrap-server {server}: give HOST:PORT")
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
    """As Kafka reads it; sizes of -1 are the operating system's."""
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
    if mechanism != "GSSAPI":
        login = jaas_options(properties.get("sasl.jaas.config", ""))
        for option in ("username", "password"):
            if option not in login:
                raise InputError(f"sasl.jaas.config has no {option}, which sasl.mechanism={mechanism} needs")
            config[f"sasl_plain_{option}"] = login[option]
    return config


def jaas_options(entry: str) -> dict[str, str]:
    """The options of a JAAS login entry: `org...PlainLoginModule required username="u" password="p";`."""
    quoted = re.findall(r'(\w+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|\'((?:\\.|[^\'\\])*)\'|([^\s;"\']+))', entry)
    return {name: re.sub(r"\\(.)", r"\1", double or single or bare) for name, double, single, bare in quoted}


def tls_context(properties: Properties) -> ssl.SSLContext:
    """TLS as the `ssl.*` properties say. Stores must be PEM, as files or inside the properties.

    Raises InputError for Java's own store formats, SourceError for a file that holds no certificate or key.
    """
    context = ssl.create_default_context()
    # Java: an empty value means that the certificate may be for another host.
    context.check_hostname = properties.get("ssl.endpoint.identification.algorithm", "https") != ""
    for name in ("ssl.truststore", "ssl.keystore"):
        _refuse_java_store(name, properties)
    authorities = properties.get("ssl.truststore.certificates")
    trusted = properties.get("ssl.truststore.location")
    if authorities is not None:
        with _naming("ssl.truststore.certificates"):
            context.load_verify_locations(cadata=authorities)
    elif trusted is not None:
        with _naming(f"ssl.truststore.location={trusted}"):
            context.load_verify_locations(cafile=trusted)
    _load_own_certificate(context, properties)
    return context


def _load_own_certificate(context: ssl.SSLContext, properties: Properties) -> None:
    password = properties.get("ssl.key.password", "")  # with None, OpenSSL would ask the terminal
    location = properties.get("ssl.keystore.location")
    chain = properties.get("ssl.keystore.certificate.chain")
    if chain is not None:
        # The ssl module reads keys from files only.
        with (
            tempfile.NamedTemporaryFile("w", suffix=".pem") as store,
            _naming("ssl.keystore.certificate.chain"),
        ):
            store.write(chain + "\n" + properties.get("ssl.keystore.key", ""))
            store.flush()
            context.load_cert_chain(store.name, password=password)
    elif location is not None:
        with _naming(f"ssl.keystore.location={location}"):
            context.load_cert_chain(location, password=password)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Errors inside become a SourceError that begins with the property."""
    try:
        yield
    except ssl.SSLError as error:
        raise SourceError(f"{name}: not what it should be, in PEM: {error_reason(error)}") from error
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror or error}") from error


def _refuse_java_store(name: str, properties: Properties) -> None:
    location = properties.get(f"{name}.location", "")
    kind = properties.get(f"{name}.type", "JKS").upper()
    if location and kind != "PEM" and not _is_pem(location):
        raise InputError(
            f"{name}.location={location}: only PEM can be read; convert it (keytool -importkeystore "
            f"to PKCS12, then openssl pkcs12 -nodes) and set {name}.type=PEM"
        )


def _is_pem(location: str) -> bool:
    try:
        with Path(location).open("rb") as file:
            return b"-----BEGIN " in file.read(65_536)
    except OSError:
        return True  # loading it says why it cannot be read
