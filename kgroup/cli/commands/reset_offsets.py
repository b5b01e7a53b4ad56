"""`kgroup reset-offsets`: set groups' offsets; planned first, and always with a way back."""

import time
from typing import Annotated, Final

from kgroup.cli.operations.carry_out import carry_out
from kgroup.cli.operations.options import (
    ChangedCluster,
    Clamp,
    Create,
    ExecutionOptions,
    GroupNames,
    TopicParts,
)
from kgroup.cli.operations.strategies import Strategies
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Output, Quiet
from kgroup.cli.shell.section import Section, option
from kgroup.report.progress import TerminalProgress

EXAMPLES: Final = (
    Example(
        "What reading the last two hours again would cost; nothing is changed",
        "kgroup reset-offsets billing -b localhost:9092 --topic orders --by-duration 2h",
    ),
    Example(
        "The same, done: with an undo file, and read back",
        "kgroup reset-offsets billing -b localhost:9092 --topic orders --by-duration 2h --execute",
    ),
    Example(
        "Past a record that stops every reader of partition 3",
        "kgroup reset-offsets billing -b localhost:9092 --topic orders:3 --shift-by 1 --execute",
    ),
    Example(
        "Back to where records were skipped",
        "kgroup reset-offsets billing -b localhost:9092 --to-before skipped-records",
    ),
    Example(
        "The state before an earlier reset",
        "kgroup reset-offsets -b localhost:9092 --undo 20261123T081500Z-reset-offsets-billing.undo --execute",
    ),
)


def reset_offsets(
    *,
    groups: GroupNames = None,
    connection: ChangedCluster,
    topics: TopicParts = None,
    all_topics: Annotated[
        bool,
        option(
            "--all-topics", help="All partitions that the group has offsets for.", section=Section.SELECTION
        ),
    ] = False,
    strategies: Annotated[Strategies, Bundle(Strategies)],
    others: Annotated[
        bool,
        option(
            "--others",
            help="Also show other groups' offsets on these partitions.",
            section=Section.SHOWN,
        ),
    ] = False,
    output: Output,
    clamp: Clamp = False,
    create: Create = False,
    execution: ExecutionOptions,
    quiet: Quiet = False,
) -> None:
    """Reset groups' offsets, with a way back.

    Shows the old and new offset of each partition, what will be read again or skipped, and how much time
    that covers. Nothing is changed without --execute; the old state is then saved to disk before anything
    changes, and the result is read back. The group must have no members. docs/operations.md has the rules.
    """
    named = list(dict.fromkeys(groups or ()))
    strategies.check(named, topics or (), all_topics=all_topics, clamp=clamp, create=create, others=others)
    execution.check()
    from kgroup.api.operations.reset import Scope, plan_reset
    from kgroup.api.operations.undo import plan_undo
    from kgroup.net.admin.cluster import Cluster

    now_ms, progress = int(time.time() * 1000), TerminalProgress(quiet=quiet)
    with Cluster(connection) as cluster:
        if strategies.undo is not None:
            planned = plan_undo(
                cluster, strategies.undo, named, now_ms=now_ms, command="undo", progress=progress
            )
        else:
            by_group = strategies.of_groups(named, cluster, connection)
            planned = plan_reset(
                cluster,
                list(by_group),
                by_group,
                Scope(topics=topics or (), all_topics=all_topics),
                clamp=clamp,
                create=create,
                others=others,
                now_ms=now_ms,
                command="reset-offsets",
                progress=progress,
            )
        carry_out(cluster, connection, planned, execution, output, quiet=quiet)
