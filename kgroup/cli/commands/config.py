"""`kgroup config`: clusters by name, for --cluster."""

from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.cli.shell.clusters import clusters_file, complete_clusters
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import CommandConfig, Output
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError
from kgroup.report.emit import Column, Row, emit

EXAMPLES: Final = (
    Example(
        "Give a cluster a name",
        "kgroup config add prod -b kafka-1:9092,kafka-2:9092 --command-config prod.properties",
    ),
    Example("Use it", "kgroup groups --cluster prod"),
    Example("What it stands for, with secrets hidden", "kgroup config show prod"),
    Example("All of them", "kgroup config list"),
)


class Action(StrEnum):
    """The actions on names."""

    LIST = "list"
    ADD = "add"
    REMOVE = "remove"
    SHOW = "show"


_LIST: Final = (Column(name="cluster"), Column(name="bootstrap_servers"), Column(name="command_config"))
_SHOW: Final = (Column(name="property"), Column(name="value"))


def config(
    *,
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="list, add, remove or show.")],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The cluster's name.",
            show_default=False,
            autocompletion=complete_clusters,
        ),
    ] = None,
    bootstrap_server: Annotated[
        str | None,
        option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="For add: where the cluster is.",
            section=Section.SOURCE,
        ),
    ] = None,
    command_config: CommandConfig = None,
    replace: Annotated[
        bool, option("--replace", help="For add: overwrite an existing name.", section=Section.SETUP)
    ] = False,
    output: Output,
) -> None:
    """Name clusters, for --cluster.

    Every command that takes --bootstrap-server accepts --cluster NAME instead. A name stands for bootstrap
    servers and the path of a file of Java client properties, which is read each time the name is used.
    Names are stored in clusters.toml in kgroup's configuration folder, which only you can read. Passwords
    are never copied to it.

    show prints the properties a connection would use, with passwords and keys hidden.
    """
    from kgroup.net.connect.named_clusters import find_cluster, read_clusters

    file = clusters_file()
    match action:
        case Action.LIST:
            if name is not None:
                raise InputError(f"config list shows all names; config show {name} shows one")
            clusters = read_clusters(file)
            emit(({"cluster": each} | asdict(cluster) for each, cluster in clusters.items()), _LIST, output)
            if not clusters:
                say(f"no names in {file}; kgroup config add NAME -b HOST:PORT")
        case Action.SHOW:
            emit(_shown(_required(name, action), file), _SHOW, output)
        case Action.ADD:
            _add(file, _required(name, action), bootstrap_server, command_config, replace=replace)
        case Action.REMOVE:
            from kgroup.net.connect.named_clusters import write_clusters

            wanted = _required(name, action)
            find_cluster(file, wanted, "config remove")
            write_clusters(file, {each: kept for each, kept in read_clusters(file).items() if each != wanted})
            say(f"{file}: {wanted} removed")


def _required(name: str | None, action: Action) -> str:
    if not name:
        raise InputError(f"give config {action} NAME")
    return name


def _add(
    file: Path, name: str, bootstrap_server: str | None, command_config: Path | None, *, replace: bool
) -> None:
    from kgroup.net.connect.named_clusters import (
        NamedCluster,
        checked,
        read_clusters,
        require_name,
        write_clusters,
    )

    require_name(name)
    if not bootstrap_server:
        raise InputError(f"config add {name}: where is it? Give -b HOST:PORT")
    clusters = read_clusters(file)
    if name in clusters and not replace:
        there = clusters[name].bootstrap_servers
        raise InputError(f"config add {name}: there is one already, {there}; --replace takes its place")
    made = checked(NamedCluster(bootstrap_servers=bootstrap_server, command_config=command_config))
    write_clusters(file, clusters | {name: made})
    say(f"{file}: {name} is {made.bootstrap_servers}")


def _shown(name: str, file: Path) -> Iterator[Row]:
    from kgroup.net.connect.named_clusters import find_cluster, masked

    cluster = find_cluster(file, name, "config show")
    yield {"property": "bootstrap.servers", "value": cluster.bootstrap_servers}
    if cluster.command_config is not None:
        yield {"property": "(properties file)", "value": cluster.command_config}
    for key, value in masked(cluster.connection().read_properties()).items():
        yield {"property": key, "value": value}
