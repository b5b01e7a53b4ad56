"""Names of groups and topics for the shell's completion, from the cluster or the logs on the command line."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from kgroup.errors import KgroupError

if TYPE_CHECKING:
    from kgroup.api.opened import OpenedLogs
    from kgroup.net.admin.cluster import Cluster

_LIMIT_S: Final = 1.0
"""A shell that waits longer for a name is worse than one without."""


def complete_groups(ctx: typer.Context, incomplete: str) -> list[str]:
    """The groups that begin so, of the cluster after `-b` or of the PATHs; none if that takes too long."""
    return _asked(ctx, incomplete, lambda cluster: cluster.group_ids(), _groups_of)


def complete_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same for topics."""
    return _asked(ctx, incomplete, lambda cluster: cluster.topics(), _topics_of)


def _groups_of(logs: "OpenedLogs") -> Iterable[str]:
    from kgroup.api.coordinators import groups_in_logs

    return groups_in_logs(logs).partitions


def _topics_of(logs: "OpenedLogs") -> Iterable[str]:
    """Those with a partition in the log directories."""
    folders = (folder for log_dir in logs.sources.log_dirs for folder in log_dir.partitions)
    return {folder.topic for folder in folders if folder.topic is not None}


def _asked(
    ctx: typer.Context,
    incomplete: str,
    of_cluster: "Callable[[Cluster], Iterable[str]]",
    of_logs: "Callable[[OpenedLogs], Iterable[str]]",
) -> list[str]:
    names: list[str] = []
    servers = ctx.params.get("bootstrap_server")
    # The option that is being completed has no value yet, so what is no option is still among the arguments.
    paths = [each for each in (*(ctx.params.get("paths") or ()), *ctx.args) if Path(each).exists()]
    if not servers and not paths:
        return names

    def ask() -> None:
        try:
            found = _of_cluster(ctx, of_cluster) if servers else _of_logs(paths, of_logs)
            names.extend(name for name in found if name.startswith(incomplete))
        except (KgroupError, OSError):
            return  # a message in the middle of a command line helps nobody

    # A daemon, so that what does not answer does not hold the shell.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_LIMIT_S)
    return sorted(names)


def _of_cluster(ctx: typer.Context, question: "Callable[[Cluster], Iterable[str]]") -> list[str]:
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.connect.properties import ConnectionOptions

    options = ConnectionOptions(
        bootstrap_servers=ctx.params["bootstrap_server"],
        command_config=ctx.params.get("command_config"),
        properties=ctx.params.get("client_properties") or (),
    )
    with Cluster(options) as cluster:
        return list(question(cluster))


def _of_logs(paths: Iterable[str], question: "Callable[[OpenedLogs], Iterable[str]]") -> list[str]:
    from kgroup.api.opened import open_logs

    with open_logs(*paths) as logs:
        return list(question(logs))
