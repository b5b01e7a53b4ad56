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
            help="How many partitions the offsets topic has: by default 50, or 16 by Redpanda's rule.",
            section=Section.SETUP,
        ),
    ] = None
    rule: Annotated[
        HashRule,
        option(
            "--rule",
            metavar="RULE",
            help="Who places the groups: kafka or redpanda.",
            section=Section.SETUP,
            show_default=True,
        ),
    ] = HashRule.KAFKA
    by: Annotated[
        str | None,
        option(
            "--by",
            metavar="partition|broker",
            help="A row for each partition or, of a cluster, each broker with its groups.",
            section=Section.SHOWN,
        ),
    ] = None
    reverse: Annotated[
        int | None,
        option(
            "--reverse",
            metavar="PARTITION",
            min=0,
            help="Of all these groups, list those that live on this partition.",
            section=Section.SELECTION,
        ),
    ] = None
