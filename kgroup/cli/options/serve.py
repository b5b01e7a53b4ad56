"""The options of `serve`: the cluster to run, and how it behaves."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from kgroup.broker.settings import PROPERTIES, read_properties
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError, misspelt
from kgroup.input_files import SETTINGS_BYTES_MAX, read_input_file
from kgroup.java_properties import decoded
from kgroup.net.serve.running import TopicRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The options under "Setup", as they were given."""

    listen: Annotated[
        str,
        option(
            "--listen",
            metavar="HOST:PORT",
            help="Address of the first node; the others take the ports after it. Port 0: free ports.",
            section=Section.SETUP,
            show_default=True,
        ),
    ] = "127.0.0.1:9092"
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
            help="Keep topics, commits and groups here, as Kafka's own segment files. Without: in memory.",
            section=Section.SETUP,
        ),
    ] = None
    properties_file: Annotated[
        Path | None,
        option(
            "--properties",
            metavar="FILE",
            help="Broker settings by Kafka's names, as in server.properties.",
            section=Section.SETUP,
        ),
    ] = None
    settings: Annotated[
        list[str] | None,
        option(
            "--property",
            metavar="NAME=VALUE",
            help="One broker setting, over what --properties says; repeatable.",
            section=Section.SETUP,
        ),
    ] = None
    topics: Annotated[
        list[str] | None,
        option(
            "--topic",
            metavar="NAME[:PARTITIONS]",
            help="Make this topic if it is not there; repeatable.",
            section=Section.SETUP,
        ),
    ] = None

    def address(self, *, insecure: bool) -> tuple[str, int]:
        """Host and port of the first node. Raises InputError for a bad one, or one that others can reach."""
        host, port = _address(self.listen, insecure)
        if port and port + self.nodes > 1 << 16:
            raise InputError(
                f"--listen {self.listen}: {self.nodes} nodes would have ports up to {port + self.nodes - 1}"
            )
        return host, port

    def properties(self) -> dict[str, str]:
        """Broker settings by Kafka's names. Raises SourceError or InputError for bad ones."""
        properties = _properties(self.properties_file, self.settings or [])
        _refuse_misspelt(text.partition("=")[0].strip() for text in self.settings or ())
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
            help="Answer only when records are on the disk itself. Without: in the file, which survives a "
            "kill of the process but not a loss of power.",
            section=Section.BEHAVIOUR,
        ),
    ] = False
    insecure: Annotated[
        bool,
        option(
            "--insecure",
            help="Listen on an address that other machines reach, without authentication and encryption.",
            section=Section.BEHAVIOUR,
        ),
    ] = False
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
            help="Name settings without effect and connections that were closed.",
            section=Section.BEHAVIOUR,
        ),
    ] = False


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
        content = read_input_file(path, kind="properties", bytes_max=SETTINGS_BYTES_MAX)
        properties = read_properties(decoded(content), str(path))
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise InputError(f"--property {setting}: give NAME=VALUE, like --property num.partitions=3")
        properties[name.strip()] = value.strip()
    return properties


def _refuse_misspelt(names: Iterable[str]) -> None:
    """Raise InputError for a setting almost like one of kgroup's; others may be those of Kafka's brokers."""
    for name in names:
        if (near := misspelt(name, PROPERTIES)) is not None:
            raise InputError(f"--property {name}: no such setting; did you mean {near}?")


def _topic(text: str) -> TopicRequest:
    name, separator, partitions = text.partition(":")
    if separator and not (partitions.isdigit() and 0 < int(partitions) <= 100_000):
        raise InputError(f"--topic: {text!r} is not NAME or NAME:PARTITIONS")
    return TopicRequest(name=name, partitions=int(partitions) if separator else -1)
