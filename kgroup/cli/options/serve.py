"""The options of `serve`: the cluster to run, and how it behaves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from kgroup.broker.security.listeners import (
    ACLS_FILE,
    USERS_FILE,
    ListenerPlan,
    is_loopback,
    is_secret,
    read_listeners,
)
from kgroup.broker.security.listeners import USED as SECURITY_PROPERTIES
from kgroup.broker.settings import PROPERTIES, read_properties, unused
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError, misspelt
from kgroup.input_files import SETTINGS_BYTES_MAX, read_input_file
from kgroup.java_properties import decoded
from kgroup.net.serve.running import TopicRequest
from kgroup.net.serve.tls import warn_if_others_may_read

_DEFAULT_LISTEN: Final = "127.0.0.1:9092"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The options under "Setup", as they were given."""

    listen: Annotated[
        str | None,
        option(
            "--listen",
            metavar="HOST:PORT",
            help="Address of the first node; the others take the ports after it. Port 0: free ports. Or "
            "PROTOCOL://HOST:PORT,... like Kafka's listeners. [default: 127.0.0.1:9092]",
            section=Section.SETUP,
        ),
    ] = None
    nodes: Annotated[
        int,
        option(
            "--nodes",
            metavar="N",
            min=1,
            max=100,
            help="How many brokers.",
            section=Section.SETUP,
            show_default=True,
        ),
    ] = 1
    data_dir: Annotated[
        Path | None,
        option(
            "--data-dir",
            metavar="DIR",
            help="Keep topics, commits and groups here, in Kafka's own segment files. Default: in memory.",
            section=Section.SETUP,
        ),
    ] = None
    adopt: Annotated[
        bool,
        option(
            "--adopt",
            help="Use a --data-dir made by a Kafka broker: topics from its folders, configs from its "
            "metadata log. Keep a copy: kgroup writes to it.",
            section=Section.SETUP,
        ),
    ] = False
    properties_file: Annotated[
        Path | None,
        option(
            "--properties",
            metavar="FILE",
            help="Broker settings with Kafka's names, as in server.properties.",
            section=Section.SETUP,
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        option(
            "--property",
            metavar="NAME=VALUE",
            help="Set a broker setting; overrides --properties. Repeatable.",
            section=Section.SETUP,
        ),
    ] = None
    users: Annotated[
        Path | None,
        option(
            "--users",
            metavar="FILE",
            help="Who may log in by SASL: lines of kgroup serve-ctl user-line.",
            section=Section.SETUP,
        ),
    ] = None
    acls: Annotated[
        Path | None,
        option(
            "--acls",
            metavar="FILE",
            help="Who may do what: lines like allow User:alice READ topic orders. All else is refused.",
            section=Section.SETUP,
        ),
    ] = None
    topics: Annotated[
        list[str] | None,
        option(
            "--topic",
            metavar="NAME[:PARTITIONS]",
            help="Create this topic if it does not exist; repeatable.",
            section=Section.SETUP,
        ),
    ] = None

    def listeners(self, properties: Mapping[str, str], *, insecure: bool) -> tuple[ListenerPlan, ...]:
        """The addresses of the nodes: as `--listen` says, or else `listeners` among the properties.

        Raises InputError for nonsense, or for what others can reach and is not secure.
        """
        text = self.listen or properties.get("listeners") or _DEFAULT_LISTEN
        from_properties = not self.listen and "listeners" in properties
        where = "listeners" if from_properties else "--listen"
        if "://" not in text and not from_properties:
            host, port = _address(text, insecure)
            if port and port + self.nodes > 1 << 16:
                raise InputError(
                    f"--listen {text}: {self.nodes} nodes would have ports up to {port + self.nodes - 1}"
                )
            text = f"PLAINTEXT://{host}:{port}"
        plans = read_listeners(text, properties, self.nodes, where)
        for plan in plans:
            if not insecure and plan.danger is not None and not is_loopback(plan.host):
                raise InputError(
                    f"{where}: {plan.host} can be reached by others, and {plan.danger}; pass --insecure "
                    "to allow it"
                )
        return plans

    def adopts(self) -> bool:
        """Whether to take a broker's folder. Raises InputError where none is given."""
        if self.adopt and self.data_dir is None:
            raise InputError("--adopt: give the broker's log directory by --data-dir")
        return self.adopt

    def properties(self, warn: Callable[[str], None]) -> dict[str, str]:
        """Broker settings by Kafka's names. Raises SourceError or InputError for bad ones."""
        properties = _properties(self.properties_file, self.settings or [])
        _refuse_misspelt({text.partition("=")[0].strip(): "" for text in self.settings or ()})
        for text in self.settings or ():
            name = text.partition("=")[0].strip()
            if is_secret(name):
                raise InputError(
                    f"--property {name}: others see command lines; put it into --properties FILE"
                )
        if self.properties_file is not None and any(map(is_secret, properties)):
            warn_if_others_may_read(self.properties_file, warn)
        for path, name in ((self.users, USERS_FILE), (self.acls, ACLS_FILE)):
            if path is not None:
                properties[name] = str(path)
        return properties

    def topic_requests(self) -> tuple[TopicRequest, ...]:
        """The topics to make. Raises InputError for a bad number of partitions."""
        return tuple(_topic(text) for text in self.topics or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The options under "Behaviour"."""

    fsync: Annotated[
        bool,
        option(
            "--fsync",
            help="Sync records to disk before acknowledging them. Default: only write them to the file, "
            "which survives a kill of the process but not a loss of power.",
            section=Section.BEHAVIOUR,
        ),
    ] = False
    insecure: Annotated[
        bool,
        option(
            "--insecure",
            help="Listen on an address that other machines can reach, without authentication or encryption.",
            section=Section.BEHAVIOUR,
        ),
    ] = False
    serve_metrics: Annotated[
        str | None,
        option(
            "--serve-metrics",
            metavar="[HOST:]PORT",
            help="Serve the group coordinators' metrics at /metrics, for Prometheus; on 127.0.0.1 by "
            "default.",
            section=Section.OUTPUT,
        ),
    ] = None
    quiet: Annotated[
        bool,
        option(
            "-q",
            "--quiet",
            help="No status line on the terminal, only warnings and errors.",
            section=Section.BEHAVIOUR,
        ),
    ] = False
    verbose: Annotated[
        bool,
        option(
            "-v",
            "--verbose",
            help="Report settings without effect and connections that were closed.",
            section=Section.BEHAVIOUR,
        ),
    ] = False


def _address(text: str, insecure: bool) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise InputError(f"--listen: {text!r} is not HOST:PORT")
    host = host.strip("[]") or "127.0.0.1"
    if not is_loopback(host) and not insecure:
        raise InputError(f"--listen: {host} can be reached by others; pass --insecure to allow it")
    return host, int(port)


def _properties(path: Path | None, settings: list[str]) -> dict[str, str]:
    properties: dict[str, str] = {}
    if path is not None:
        content = read_input_file(path, kind="properties", bytes_max=SETTINGS_BYTES_MAX)
        properties = read_properties(decoded(content), str(path))
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            first = setting.split()[0] if setting.split() else ""
            setting = f"{first} ..." if is_secret(first) and first != setting else setting  # noqa: PLW2901
            raise InputError(f"--property {setting}: give NAME=VALUE, like --property num.partitions=3")
        properties[name.strip()] = value.strip()
    return properties


def _refuse_misspelt(properties: Mapping[str, str]) -> None:
    """Raise InputError for a setting almost like one of kgroup's; others may be those of Kafka's brokers."""
    for name in unused(properties):
        if (near := misspelt(name, [*PROPERTIES, *SECURITY_PROPERTIES])) is not None:
            raise InputError(f"--property {name}: no such setting; did you mean {near}?")


def _topic(text: str) -> TopicRequest:
    name, separator, partitions = text.partition(":")
    if separator and not (partitions.isdecimal() and len(partitions) < 7 and 0 < int(partitions) <= 100_000):
        raise InputError(f"--topic: {text!r} is not NAME or NAME:PARTITIONS")
    return TopicRequest(name=name, partitions=int(partitions) if separator else -1)
