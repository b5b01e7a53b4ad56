"""Named clusters in a file of the user's: bootstrap servers, and the path of a properties file.

The file has no secrets: those stay in the properties files that it names. It is TOML, a table for each
cluster:

    [prod]
    bootstrap_servers = "kafka-1:9092,kafka-2:9092"
    command_config = "/home/me/prod.properties"
"""

import json
import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgroup.errors import InputError, SourceError, did_you_mean
from kgroup.input_files import SETTINGS_BYTES_MAX, read_input_file
from kgroup.net.connect.properties import ConnectionOptions, Properties, parse_servers
from kgroup.private_folder import is_private

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_FIELDS: Final = {"bootstrap_servers", "command_config"}
_SECRETS: Final = re.compile(
    r"password|secret|token|credential|jaas|(?<!store)\.key$|keystore\.key", re.IGNORECASE
)
MASK: Final = "********"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCluster:
    """The cluster behind a name."""

    bootstrap_servers: str
    command_config: Path | None = None

    def connection(
        self, command_config: Path | None = None, properties: tuple[str, ...] = ()
    ) -> ConnectionOptions:
        """The connection, with a properties file in place of its own, and properties over both."""
        return ConnectionOptions(
            bootstrap_servers=self.bootstrap_servers,
            command_config=command_config or self.command_config,
            properties=properties,
        )


Clusters = Mapping[str, NamedCluster]


def require_name(name: str) -> None:
    """Raises InputError for an invalid cluster name."""
    if not _NAME.fullmatch(name):
        raise InputError(f"cluster {name!r}: a name has letters, digits, - and _, at most 64")


def read_clusters(path: Path) -> dict[str, NamedCluster]:
    """All clusters of the file, by name in order; none if there is no file.

    Raises SourceError if it cannot be read, InputError naming the place for invalid content.
    """
    if not path.exists():
        return {}
    content = read_input_file(path, kind="list of clusters", bytes_max=SETTINGS_BYTES_MAX)
    try:
        tables = tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    return {name: _read_cluster(path, name, table) for name, table in sorted(tables.items())}


def _read_cluster(path: Path, name: str, table: object) -> NamedCluster:
    require_name(name)
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise InputError(f"{path}: {name}: a table of texts is needed: bootstrap_servers, command_config")
    for field in sorted(table.keys() - _FIELDS):
        raise InputError(f"{path}: {name}: no such field: {field}{did_you_mean(field, sorted(_FIELDS))}")
    if not table.get("bootstrap_servers"):
        raise InputError(f"{path}: {name}: bootstrap_servers is missing")
    config = table.get("command_config")
    return NamedCluster(
        bootstrap_servers=table["bootstrap_servers"], command_config=Path(config) if config else None
    )


def write_clusters(path: Path, clusters: Clusters) -> None:
    """Replace the file as a whole; nobody else may read it. Raises SourceError if that cannot be done."""
    lines = []
    for name, cluster in sorted(clusters.items()):
        lines += [f"[{name}]", f"bootstrap_servers = {_toml(cluster.bootstrap_servers)}"]
        if cluster.command_config is not None:
            lines.append(f"command_config = {_toml(str(cluster.command_config))}")
        lines.append("")
    if not is_private(path.parent):
        raise SourceError(f"{path.parent}: not a folder that only you can write to")
    written = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        written.touch(mode=0o600)
        with written.open("w", encoding="utf-8") as file:
            file.write("\n".join(lines))
            file.flush()
            os.fsync(file.fileno())
        written.replace(path)
    except OSError as error:
        with suppress(OSError):
            written.unlink()
        raise SourceError(f"cannot write {path}: {error.strerror or error}") from error


def find_cluster(path: Path, name: str, asked_as: str = "--cluster") -> NamedCluster:
    """The cluster of a name. Raises InputError if there is none, and as `read_clusters` does."""
    clusters = read_clusters(path)
    if name not in clusters:
        known = f"; there are {', '.join(clusters)}" if clusters else "; kgroup config add NAME -b HOST:PORT"
        raise InputError(f"{asked_as} {name}: no such cluster{did_you_mean(name, clusters) or known}")
    return clusters[name]


def checked(cluster: NamedCluster) -> NamedCluster:
    """The cluster with the path of its properties as it is from anywhere.

    Raises InputError or SourceError for servers or properties that no connection could be made with.
    """
    parse_servers(cluster.bootstrap_servers)
    config = None if cluster.command_config is None else cluster.command_config.expanduser().absolute()
    made = NamedCluster(bootstrap_servers=cluster.bootstrap_servers, command_config=config)
    made.connection().read_properties()
    return made


def masked(properties: Properties) -> dict[str, str]:
    """The properties by name in order, with those that are secret hidden."""
    return {
        name: MASK if value and _SECRETS.search(name) else value for name, value in sorted(properties.items())
    }


def _toml(text: str) -> str:
    """A basic string of TOML, whose escapes are those of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
