"""Options of the commands that change groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.complete_names import complete_groups, complete_topics
from kgroup.cli.shell.options import ClientProperties, ClusterName, CommandConfig, connection_options
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError

if TYPE_CHECKING:
    from kgroup.net.connect.properties import ConnectionOptions


def _changed_cluster(
    bootstrap_server: Annotated[
        str | None,
        option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="The cluster.",
            section=Section.SOURCE,
        ),
    ] = None,
    command_config: CommandConfig = None,
    client_properties: ClientProperties = None,
    cluster: ClusterName = None,
) -> "ConnectionOptions":
    connection = connection_options(bootstrap_server, command_config, client_properties, cluster)
    if connection is None:
        raise InputError("no --bootstrap-server given: the cluster, as HOST:PORT")
    return connection


ChangedCluster = Annotated["ConnectionOptions", Bundle(_changed_cluster)]

GroupNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="GROUP", help="Groups, by their exact names.", autocompletion=complete_groups),
]
GroupName = Annotated[str, typer.Argument(metavar="GROUP", help="The group.", autocompletion=complete_groups)]
TopicParts = Annotated[
    list[str] | None,
    option(
        "--topic",
        metavar="NAME[:0,1]",
        autocompletion=complete_topics,
        help="This topic, or only some of its partitions; repeatable.",
        section=Section.SELECTION,
    ),
]
Clamp = Annotated[
    bool,
    option(
        "--clamp",
        help="If a new offset is outside the log, use the nearest one in it. Default: an error.",
        section=Section.BEHAVIOUR,
    ),
]
Create = Annotated[
    bool,
    option(
        "--create",
        help="Also commit for a group that does not exist, which creates it.",
        section=Section.BEHAVIOUR,
    ),
]
Execute = Annotated[
    bool,
    option("--execute", help="Do it. Default: only show what would be done.", section=Section.BEHAVIOUR),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Whether to do what is planned, and where to write the way back."""

    execute: Execute = False
    undo_file: Annotated[
        Path | None,
        option(
            "--undo-file",
            metavar="FILE",
            help="Write the undo file here; by default into ~/.local/state/kgroup/undo. Its name is shown.",
            section=Section.BEHAVIOUR,
        ),
    ] = None

    def check(self) -> None:
        """Raises InputError for an undo file of a dry run."""
        if self.undo_file is not None and not self.execute:
            raise InputError("--undo-file goes with --execute: a dry run changes nothing")


ExecutionOptions = Annotated[Execution, Bundle(Execution)]
