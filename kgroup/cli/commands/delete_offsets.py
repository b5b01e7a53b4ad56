"""`kgroup delete-offsets`: delete groups' offsets for some topics."""

from typing import Final

from kgroup.cli.operations.carry_out import carry_out
from kgroup.cli.operations.options import ChangedCluster, ExecutionOptions, GroupNames, TopicParts
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Output, Quiet
from kgroup.errors import InputError
from kgroup.report.progress import TerminalProgress

EXAMPLES: Final = (
    Example(
        "Forget a topic that a group no longer reads",
        "kgroup delete-offsets billing -b localhost:9092 --topic orders-old --execute",
    ),
    Example(
        "The same for several groups",
        "kgroup delete-offsets billing audit -b localhost:9092 --topic orders-old --execute",
    ),
    Example(
        "What would be deleted for two partitions",
        "kgroup delete-offsets billing -b localhost:9092 --topic orders:0,1",
    ),
)


def delete_offsets(
    *,
    groups: GroupNames = None,
    connection: ChangedCluster,
    topics: TopicParts = None,
    output: Output,
    execution: ExecutionOptions,
    quiet: Quiet = False,
) -> None:
    """Delete groups' offsets for topics.

    A group may have members, as long as none of them subscribes to the topic. A consumer that returns to
    the topic starts by auto.offset.reset. Nothing is deleted without --execute, and there is an undo file.
    """
    if not groups:
        raise InputError("no GROUP given: the groups whose offsets to delete")
    if not topics:
        raise InputError("no --topic given: the topics whose offsets to delete")
    execution.check()
    from kgroup.api.operations.deletions import plan_delete_offsets
    from kgroup.net.admin.cluster import Cluster

    with Cluster(connection) as cluster:
        progress = TerminalProgress(quiet=quiet)
        planned = plan_delete_offsets(cluster, groups, topics, command="delete-offsets", progress=progress)
        carry_out(cluster, connection, planned, execution, output, quiet=quiet)
