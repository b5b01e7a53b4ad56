"""`kgroup delete`: delete groups, with an undo file for their offsets."""

from typing import Final

from kgroup.cli.operations.carry_out import carry_out
from kgroup.cli.operations.options import ChangedCluster, ExecutionOptions, GroupNames
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Output, Quiet
from kgroup.errors import InputError
from kgroup.report.progress import TerminalProgress

EXAMPLES: Final = (
    Example("What would be lost", "kgroup delete billing-old -b localhost:9092"),
    Example(
        "Delete two groups; their offsets are kept in an undo file",
        "kgroup delete billing-old audit-old -b localhost:9092 --execute",
    ),
)


def delete(
    *,
    groups: GroupNames = None,
    connection: ChangedCluster,
    output: Output,
    execution: ExecutionOptions,
    quiet: Quiet = False,
) -> None:
    """Delete groups with their offsets.

    A group must have no members. Nothing is deleted without --execute. Its offsets are first saved to an
    undo file, from which `reset-offsets --undo` commits them again; its generation does not come back.
    """
    if not groups:
        raise InputError("no GROUP given: the groups to delete")
    execution.check()
    from kgroup.api.operations.deletions import plan_delete
    from kgroup.net.admin.cluster import Cluster

    with Cluster(connection) as cluster:
        planned = plan_delete(cluster, groups, command="delete", progress=TerminalProgress(quiet=quiet))
        carry_out(cluster, connection, planned, execution, output, quiet=quiet)
