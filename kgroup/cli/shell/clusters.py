"""The cluster a command line names, by its address or by a configured name."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kgroup.errors import InputError, KgroupError

if TYPE_CHECKING:
    from kgroup.net.connect.properties import ConnectionOptions


def clusters_file() -> Path:
    """`clusters.toml` in kgroup's folder of the user's configuration, as the system has it."""
    return Path(typer.get_app_dir("kgroup")) / "clusters.toml"


def complete_clusters(incomplete: str) -> list[str]:
    """The names that begin so; none if the file cannot be read."""
    from kgroup.net.connect.named_clusters import read_clusters

    try:
        return [name for name in read_clusters(clusters_file()) if name.startswith(incomplete)]
    except (KgroupError, OSError):
        return []


def connection_to(
    bootstrap_server: str | None,
    cluster: str | None,
    command_config: Path | None,
    client_properties: Sequence[str] | None,
) -> "ConnectionOptions | None":
    """The connection options for these servers, or for the cluster of this name; None for neither.

    Raises InputError for both, and for a name that there is not.
    """
    properties = tuple(client_properties or ())
    if cluster is not None:
        if bootstrap_server is not None:
            raise InputError("give --bootstrap-server or --cluster, not both")
        from kgroup.net.connect.named_clusters import find_cluster

        return find_cluster(clusters_file(), cluster).connection(command_config, properties)
    if bootstrap_server is None:
        return None
    from kgroup.net.connect.properties import ConnectionOptions

    return ConnectionOptions(
        bootstrap_servers=bootstrap_server, command_config=command_config, properties=properties
    )
