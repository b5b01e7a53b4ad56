"""Completion of group and topic names from the cluster or the logs on the command line.

None are offered if finding them takes long.
"""

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
    """Groups that start with this, of the cluster of `-b` or `--cluster`, or in the PATHs."""
    return _asked(ctx, incomplete, lambda cluster: cluster.group_ids(), _groups_of)


def complete_topics(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same for topics."""
    return _asked(ctx, incomplete, lambda cluster: cluster.topics(), _topics_of)


def _groups_of(logs: "OpenedLogs") -> Iterable[str]:
    from kgroup.api.coordinators import groups_in_logs

    return groups_in_logs(logs).partitions


def _topics_of(logs: "OpenedLogs") -> Iterable[str]:
    """The topics with a partition in the log directories."""
    folders = (folder for log_dir in logs.sources.log_dirs for folder in log_dir.partitions)
    return {folder.topic for folder in folders if folder.topic is not None}


def _asked(
    ctx: typer.Context,
    incomplete: str,
    of_cluster: "Callable[[Cluster], Iterable[str]]",
    of_logs: "Callable[[OpenedLogs], Iterable[str]]",
) -> list[str]:
    names: list[str] = []
    names_a_cluster = bool(ctx.params.get("bootstrap_server") or ctx.params.get("cluster"))
    # The option that is being completed has no value yet, so what is no option is still among the arguments.
    paths = [each for each in (*(ctx.params.get("paths") or ()), *ctx.args) if Path(each).exists()]
    if not names_a_cluster and not paths:
        return names
    ask_source = _ask_cluster(ctx, of_cluster) if names_a_cluster else _ask_logs(paths, of_logs)

    def ask() -> None:
        try:
            names.extend(name for name in ask_source() if name.startswith(incomplete))
        except (KgroupError, OSError):
            return  # a message in the middle of a command line helps nobody

    # A daemon, so that what does not answer does not hold the shell.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_LIMIT_S)
    return sorted(names)


# Imports come before the question, whose time is limited: on a busy machine they alone would use it up.


def _ask_cluster(
    ctx: typer.Context, question: "Callable[[Cluster], Iterable[str]]"
) -> Callable[[], list[str]]:
    from kgroup.cli.shell.clusters import connection_to
    from kgroup.net.admin.cluster import Cluster

    def ask() -> list[str]:
        given = ctx.params
        options = connection_to(
            given.get("bootstrap_server"),
            given.get("cluster"),
            given.get("command_config"),
            given.get("client_properties"),
        )
        if options is None:
            return []
        with Cluster(options) as cluster:
            return list(question(cluster))

    return ask


def _ask_logs(
    paths: Iterable[str], question: "Callable[[OpenedLogs], Iterable[str]]"
) -> Callable[[], list[str]]:
    import kgroup.api.coordinators  # noqa: F401  which the question needs
    from kgroup.api.opened import open_logs

    def ask() -> list[str]:
        with open_logs(*paths) as logs:
            return list(question(logs))

    return ask
