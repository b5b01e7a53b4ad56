"""`kgroup remove-members`: remove members from groups."""

from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.operations.options import ChangedCluster, Execute, GroupNames
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import Clash, OneOf, Rule, check_options
from kgroup.cli.shell.options import Output, Quiet
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError, SourceError
from kgroup.report.emit import Column, emit
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgroup.api.operations.removals import PlannedRemoval, Removed

EXAMPLES: Final = (
    Example(
        "A static member whose machine is gone, without waiting for its session to expire",
        "kgroup remove-members billing -b localhost:9092 --instance shop-3 --reason 'host is gone' --execute",
    ),
    Example(
        "A host that ran a member in each of two groups",
        "kgroup remove-members billing audit -b localhost:9092 --instance shop-3 --execute",
    ),
    Example("Which members would be removed", "kgroup remove-members billing -b localhost:9092 --all"),
)
RULES: Final[tuple[Rule, ...]] = (
    OneOf(
        options=("--member", "--instance", "--all"),
        none="which members? Give --member ID, --instance ID or --all",
    ),
    Clash(options={"--all"}, others={"--member", "--instance"}),
)
_COLUMNS: Final = (
    Column(name="member_id"),
    Column(name="instance_id"),
    Column(name="client_id"),
    Column(name="host"),
)
_RESULT: Final = Column(name="result")


def remove_members(
    *,
    groups: GroupNames = None,
    connection: ChangedCluster,
    members: Annotated[
        list[str] | None,
        option(
            "--member",
            metavar="ID",
            help="This member id, of any of the groups; repeatable.",
            section=Section.SELECTION,
        ),
    ] = None,
    instances: Annotated[
        list[str] | None,
        option(
            "--instance",
            metavar="ID",
            help="The static member with this group.instance.id, in each group that has it; repeatable.",
            section=Section.SELECTION,
        ),
    ] = None,
    every: Annotated[
        bool, option("--all", help="All members of the groups.", section=Section.SELECTION)
    ] = False,
    reason: Annotated[
        str,
        option(
            "--reason",
            metavar="TEXT",
            help="Reason to write to the broker's log (KIP-800).",
            section=Section.SETUP,
            show_default=True,
        ),
    ] = "removed with kgroup",
    output: Output,
    execute: Execute = False,
    quiet: Quiet = False,
) -> None:
    """Remove members from classic groups.

    The others take over their partitions at once. There is no undo: a member that is still running rejoins
    by itself, and one that is gone does not. Nothing is done without --execute.
    """
    check_options(RULES, {"--member": members, "--instance": instances, "--all": every})
    if not groups:
        raise InputError("no GROUP given: the groups that members are taken out of")
    from kgroup.api.operations.removals import plan_removals, remove
    from kgroup.net.admin.cluster import Cluster

    progress = TerminalProgress(quiet=quiet)
    with Cluster(connection) as cluster:
        planned = plan_removals(
            cluster,
            groups,
            member_ids=members or (),
            instance_ids=instances or (),
            every=every,
            progress=progress,
        )
        if not quiet:
            for each in planned:
                who = counted(len(each.members), "member")
                say(f"{each.group} is {each.state}: {who} will be taken out, {each.staying} will stay")
        if not execute:
            emit(_rows(planned, None), _columns(planned), output)
            if not quiet:
                say("dry run: nothing is changed; --execute does it")
            return
        removed = remove(cluster, planned, reason, progress)
    emit(_rows(planned, removed), (*_columns(planned), _RESULT), output)
    if removed.left:
        (_, first), why = next(iter(removed.left.items()))
        raise SourceError(
            f"{len(removed.left)} of {counted(len(removed.results), 'member')} not taken out:"
            f" {removed.stopped or f'{first}: {why}'}"
        )


def _columns(planned: "Sequence[PlannedRemoval]") -> tuple[Column, ...]:
    """The columns; with several groups a row always names its own, however narrow the screen is."""
    return (Column(name="group", spare=0 if len(planned) > 1 else 1), *_COLUMNS)


def _rows(planned: "Sequence[PlannedRemoval]", removed: "Removed | None") -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for each in planned:
        for member in each.members:
            row: dict[str, object] = {
                "group": each.group,
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.client_host,
            }
            if removed is not None:
                row["result"] = removed.results[each.group, member.member_id]
            rows.append(row)
    return rows
