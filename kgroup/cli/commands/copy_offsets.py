"""`kgroup copy-offsets`: copy offsets to other groups, possibly of another cluster."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.cli.operations.carry_out import carry_out
from kgroup.cli.operations.options import ChangedCluster, Clamp, Create, ExecutionOptions, TopicParts
from kgroup.cli.shell.complete_names import complete_groups
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import Clash, Needs, OneOf, Rule, check_options
from kgroup.cli.shell.options import Output, Quiet
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError
from kgroup.report.progress import TerminalProgress

EXAMPLES: Final = (
    Example(
        "Start a new group where another one is",
        "kgroup copy-offsets billing billing-v2 -b localhost:9092 --create --execute",
    ),
    Example(
        "To another cluster, whose offsets differ: by the time of the next record",
        "kgroup copy-offsets billing billing -b east:9092 --to-bootstrap west:9092 --by-time --create",
    ),
    Example(
        "Several groups to the cluster that takes over, where they keep their names",
        "kgroup copy-offsets billing audit --same-names -b east:9092 --to-bootstrap west:9092 --by-time",
    ),
)
RULES: Final[tuple[Rule, ...]] = (
    Needs(
        options={"--to-command-config", "--by-time", "--same-offsets", "--same-names"},
        one_of={"--to-bootstrap"},
        why="--to-command-config, --by-time, --same-offsets and --same-names are for another cluster: give"
        " --to-bootstrap",
    ),
    Clash(options={"--by-time"}, others={"--same-offsets"}),
)
_OTHER_CLUSTER: Final[tuple[Rule, ...]] = (
    OneOf(
        options=("--by-time", "--same-offsets"),
        none="offsets usually mean other records in another cluster: give --by-time, or --same-offsets for"
        " a mirror that preserves offsets",
    ),
)


def copy_offsets(
    *,
    groups: Annotated[
        list[str],
        typer.Argument(
            metavar="FROM TO",
            help="The group whose offsets are copied, and the one that gets them. With --same-names: groups,"
            " each of which gets its own in the other cluster.",
            autocompletion=complete_groups,
        ),
    ],
    connection: ChangedCluster,
    to_bootstrap: Annotated[
        str | None,
        option(
            "--to-bootstrap",
            metavar="HOST:PORT,...",
            help="The cluster of TO, if it is a different one.",
            section=Section.SOURCE,
        ),
    ] = None,
    to_command_config: Annotated[
        Path | None,
        option(
            "--to-command-config",
            metavar="FILE",
            help="Java client properties for the cluster of TO. Default: those of --command-config and -X.",
            section=Section.SOURCE,
        ),
    ] = None,
    same_names: Annotated[
        bool,
        option(
            "--same-names",
            help="In another cluster: copy each GROUP named, any number, to the group of its name.",
            section=Section.SELECTION,
        ),
    ] = False,
    topics: TopicParts = None,
    by_time: Annotated[
        bool,
        option(
            "--by-time",
            help="In another cluster: start at the first record not older than the one FROM reads next.",
            section=Section.SETUP,
        ),
    ] = False,
    same_offsets: Annotated[
        bool,
        option(
            "--same-offsets",
            help="In another cluster: use the same numbers, for a mirror that preserves offsets.",
            section=Section.SETUP,
        ),
    ] = False,
    output: Output,
    clamp: Clamp = False,
    create: Create = False,
    execution: ExecutionOptions,
    quiet: Quiet = False,
) -> None:
    """Copy groups' offsets to other groups.

    Within a cluster, offsets are copied with their leader epochs and metadata. FROM may have members, TO
    must not. Offsets that TO has for other partitions stay. As with reset-offsets, nothing is changed
    without --execute, and there is an undo file.
    """
    given = {
        "--to-bootstrap": to_bootstrap,
        "--to-command-config": to_command_config,
        "--by-time": by_time,
        "--same-offsets": same_offsets,
        "--same-names": same_names,
    }
    check_options((*RULES, *(_OTHER_CLUSTER if to_bootstrap is not None else ())), given)
    sources = _sources(groups, same_names=same_names)
    if to_bootstrap is None and groups[0] == groups[1]:
        raise InputError(f"FROM and TO are the same group, {groups[0]!r}")
    execution.check()
    from kgroup.api.operations.copies import plan_copy
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.connect.properties import ConnectionOptions

    progress = TerminalProgress(quiet=quiet)
    with ExitStack() as stack:
        there = here = stack.enter_context(Cluster(connection))
        if to_bootstrap is not None:
            is_own = to_command_config is not None
            connection = ConnectionOptions(
                bootstrap_servers=to_bootstrap,
                command_config=to_command_config if is_own else connection.command_config,
                properties=() if is_own else connection.properties,
            )
            here = stack.enter_context(Cluster(connection))
        planned = plan_copy(
            there,
            here,
            sources,
            topics or (),
            by_time=by_time,
            clamp=clamp,
            create=create,
            now_ms=int(time.time() * 1000),
            command="copy-offsets",
            progress=progress,
        )
        carry_out(here, connection, planned, execution, output, quiet=quiet)


def _sources(groups: Sequence[str], *, same_names: bool) -> dict[str, str]:
    """The group to copy from, by the group to copy to. Raises InputError for other than two names."""
    if same_names:
        return {group: group for group in groups}
    if len(groups) != 2:
        hint = "" if len(groups) == 1 else "; for several groups there is --same-names"
        raise InputError(f"name two groups, FROM and TO, not {len(groups)}{hint}")
    source, destination = groups
    return {destination: source}
