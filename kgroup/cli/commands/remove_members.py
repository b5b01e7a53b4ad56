"""`kgroup remove-members`: members taken out of a group."""

from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.operations.options import ChangedCluster, Execute, GroupName
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import Clash, OneOf, Rule, check_options
from kgroup.cli.shell.options import Output, Quiet
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section, option
from kgroup.errors import SourceError
from kgroup.report.emit import Column, emit
from kgroup.report.table import counted

if TYPE_CHECKING:
    from kgroup.api.operations.removals import PlannedRemoval

EXAMPLES: Final = (
    Example(
        "A static member whose machine is gone, without waiting for its session to expire",
        "kgroup remove-members billing -b localhost:9092 --instance shop-3 --reason 'host is gone' --execute",
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
    Column(name="group", spare=1),
    Column(name="member_id"),
    Column(name="instance_id"),
    Column(name="client_id"),
    Column(name="host"),
)
_RESULT: Final = Column(name="result")


def remove_members(
    *,
    group: GroupName,
    connection: ChangedCluster,
    members: Annotated[
        list[str] | None,
        option("--member", metavar="ID", help="This member id; repeatable.", section=Section.SELECTION),
    ] = None,
    instances: Annotated[
        list[str] | None,
        option(
            "--instance",
            metavar="ID",
            help="The static member with this group.instance.id; repeatable.",
            section=Section.SELECTION,
        ),
    ] = None,
    every: Annotated[
        bool, option("--all", help="All members of the group.", section=Section.SELECTION)
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
    """Remove members from a classic group.

    The others take over their partitions at once. There is no undo: a member that is still running rejoins
    by itself, and one that is gone does not. Nothing is done without --execute.
    """
    check_options(RULES, {"--member": members, "--instance": instances, "--all": every})
    from kgroup.api.operations.removals import plan_removal, remove
    from kgroup.net.admin.cluster import Cluster

    with Cluster(connection) as cluster:
        planned = plan_removal(
            cluster, group, member_ids=members or (), instance_ids=instances or (), every=every
        )
        if not quiet:
            who = counted(len(planned.members), "member")
            say(f"{group} is {planned.state}: {who} will be taken out, {planned.staying} will stay")
        if not execute:
            emit(_rows(planned, None), _COLUMNS, output)
            if not quiet:
                say("dry run: nothing is changed; --execute does it")
            return
        refused = remove(cluster, planned, reason)
    emit(_rows(planned, refused), (*_COLUMNS, _RESULT), output)
    if refused:
        first = next(iter(refused))
        raise SourceError(
            f"{len(refused)} of {counted(len(planned.members), 'member')} not taken out:"
            f" {first}: {refused[first]}"
        )


def _rows(planned: "PlannedRemoval", refused: dict[str, str] | None) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for member in planned.members:
        row: dict[str, object] = {
            "group": planned.group,
            "member_id": member.member_id,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "host": member.client_host,
        }
        if refused is not None:
            why = refused.get(member.member_id)
            row["result"] = "removed" if why is None else f"refused: {why}"
        rows.append(row)
    return rows
