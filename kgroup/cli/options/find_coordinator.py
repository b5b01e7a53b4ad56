"""The options of `find-coordinator`: the groups, and the rule that places them."""

from dataclasses import dataclass
from typing import Annotated, Final

import typer

from kgroup.cli.shell.option_checks import Clash, Rule
from kgroup.cli.shell.section import Section, option
from kgroup.protocol.group_hash import HashRule

RULES: Final[tuple[Rule, ...]] = (
    Clash(
        options={"--partitions"},
        others={"--bootstrap-server"},
        why="--partitions is for offline use: with --bootstrap-server the cluster says how many",
    ),
)

GroupIds = Annotated[
    list[str] | None,
    typer.Argument(metavar="GROUP", help="Group ids; - reads one a line from standard input."),
]
LogPaths = Annotated[
    list[str] | None,
    option(
        "--from",
        metavar="PATH",
        help="Also take every group found in these logs of the offsets topic; repeatable.",
        section=Section.SOURCE,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The rule that places groups on partitions, and the only partition to list."""

    partitions: Annotated[
        int | None,
        option(
            "--partitions",
            metavar="N",
            min=1,
            max=2**31 - 1,
            help="Number of partitions of the offsets topic. Default: 50, or 16 for Redpanda's rule.",
            section=Section.SETUP,
        ),
    ] = None
    rule: Annotated[
        HashRule,
        option(
            "--rule",
            metavar="RULE",
            help="Whose placement rule to use: kafka or redpanda.",
            section=Section.SETUP,
            show_default=True,
        ),
    ] = HashRule.KAFKA
    by: Annotated[
        str | None,
        option(
            "--by",
            metavar="partition|broker",
            help="One row per partition or (clusters only) per broker, with its groups.",
            section=Section.SHOWN,
        ),
    ] = None
    reverse: Annotated[
        int | None,
        option(
            "--reverse",
            metavar="PARTITION",
            min=0,
            help="List only the groups that live on this partition.",
            section=Section.SELECTION,
        ),
    ] = None
