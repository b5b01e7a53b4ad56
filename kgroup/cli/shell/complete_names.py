"""Names of groups and topics for the shell's completion, from the cluster that the command line names."""

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

import typer

from kgroup.cli.shell.clusters import connection_to
from kgroup.errors import KgroupError

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Cluster

_LIMIT_S: Final = 1.0
"""A shell that waits longer for a name is worse than one without."""


def complete_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    """The groups of the cluster that is given that begin so; none if it does not answer at once."""
    return _asked(ctx, incomplete, lambda cluster: cluster.group_ids())


def complete_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same for topics."""
    return _asked(ctx, incomplete, lambda cluster: cluster.topics())


def _asked(ctx: typer.Context, incomplete: str, question: "Callable[[Cluster], Iterable[str]]") -> list[str]:
    names: list[str] = []

    given = ("bootstrap_server", "cluster", "command_config", "client_properties")
    server, name, config, properties = (ctx.params.get(name) for name in given)
    if not server and not name:
        return names

    from kgroup.net.admin.cluster import Cluster

    def ask() -> None:
        try:
            connection = connection_to(server, name, config, properties)
            if connection is None:
                return
            with Cluster(connection) as cluster:
                names.extend(name for name in question(cluster) if name.startswith(incomplete))
        except (KgroupError, OSError):
            return  # a message in the middle of a command line helps nobody

    # A daemon, so that a cluster that does not answer does not hold the shell.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_LIMIT_S)
    return sorted(names)
