"""`kgroup describe`: the partitions, members or state of groups."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.shell.complete_names import complete_groups
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import OneOf, check_options
from kgroup.cli.shell.options import Connection, Output, Quiet, Strict
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import Given, opened
from kgroup.errors import SourceError
from kgroup.report.emit import OutputFormat, emit, iso_time
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

if TYPE_CHECKING:
    from kgroup.lag.measures.seen_groups import SeenGroups
    from kgroup.report.describe_rows import Part

EXAMPLES: Final = (
    Example(
        "The partitions of a group, with lag and owner",
        "kgroup describe orders-app --from fixtures/4.3.1/lives",
    ),
    Example(
        "Its members and what they own",
        "kgroup describe orders-app --members --from fixtures/4.3.1/lives",
    ),
    Example(
        "States and coordinators of all groups with a prefix",
        "kgroup describe 'billing-*' --state -b localhost:9092",
    ),
)
_NAMED_MAX: Final = 5
_RULES: Final = (
    OneOf(
        options=("--from", "--bootstrap-server"),
        none="where? Give --from PATH, the log directory of a broker, or a cluster with --bootstrap-server",
        several="give --from PATH or --bootstrap-server, not both",
    ),
    OneOf(options=("--offsets", "--members", "--state"), several="give one of {given}"),
    OneOf(
        options=("GROUP", "--all"),
        none="which groups? Name some, or patterns such as 'billing-*', or give --all",
        several="--all is every group: leave out the names",
    ),
)


def describe(
    *,
    groups: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="GROUP",
            help="Group ids, or patterns such as 'billing-*'.",
            autocompletion=complete_groups,
            show_default=False,
        ),
    ] = None,
    connection: Connection,
    sources: Annotated[
        list[str] | None,
        option(
            "--from",
            metavar="PATH",
            help="Read logs or log directories instead; repeatable.",
            section=Section.SOURCE,
        ),
    ] = None,
    every: Annotated[bool, option("--all", help="All groups.", section=Section.SELECTION)] = False,
    offsets: Annotated[
        bool,
        option("--offsets", help="Show partitions, offsets and lag; the default.", section=Section.SHOWN),
    ] = False,
    members: Annotated[
        bool,
        option(
            "--members",
            help="Show members: epochs, current and future partitions.",
            section=Section.SHOWN,
        ),
    ] = False,
    state: Annotated[
        bool,
        option("--state", help="Show state, assignor, epochs and coordinator.", section=Section.SHOWN),
    ] = False,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show a group's partitions, members or state.

    EPOCH is the epoch a member has reached and TARGET-EPOCH the one it should reach; TO-COME is what it
    will own, if that differs. Exit status 1 if a group you named does not exist.
    """
    from kgroup.api.groups.groups import groups as groups_of
    from kgroup.report.describe_rows import Part, columns, describe_rows

    asked = {"--offsets": offsets, "--members": members, "--state": state}
    check_options(
        _RULES,
        {"--from": sources, "--bootstrap-server": connection, "GROUP": groups, "--all": every, **asked},
    )
    part = Part.MEMBERS if members else Part.STATE if state else Part.OFFSETS
    with opened(Given(paths=tuple(sources or ()), connection=connection)) as logs:
        seen = groups_of(
            logs,
            groups=groups,
            offsets=part is Part.OFFSETS,
            clock_ms=int(time.time() * 1000),
            progress=TerminalProgress(quiet=quiet),
        )
    rows = describe_rows(part, seen)
    emit(rows, columns(part, rows, is_table=output.format is OutputFormat.TABLE), output)
    for line in [*([] if quiet else _notes(seen, part)), *seen.problems]:
        say(line)
    if seen.refused is not None:
        raise SourceError(seen.refused)
    if seen.absent:
        from kgroup.api.names import nothing_matches

        raise SourceError(nothing_matches("group", seen.absent, seen.known_ids))
    fail_if_strict(seen.problems, strict=strict)


def _notes(seen: "SeenGroups", part: "Part") -> Iterator[str]:
    """The groups that have no rows, by name if they are few; and how many requests that took."""
    what = "members" if part == "members" else "offsets"
    empty = [
        each
        for each in seen
        if part != "state"
        and each.problem is None
        and not (each.group.members if what == "members" else each.rows)
    ]
    if len(empty) <= _NAMED_MAX:
        for each in empty:
            count = counted(len(each.group.members), "member")
            yield f"group {each.group_id} ({each.group.kind}, {each.group.state}, {count}): no {what}"
    else:
        yield f"{counted(len(empty), 'group')} without {what}"
    if part == "offsets":
        from kgroup.history.groups.model import GroupKind
        from kgroup.lag.findings.kinds import remarks_on_shares

        shares = [each for each in seen if each.group.kind is GroupKind.SHARE and each.rows]
        yield from remarks_on_shares([each.group_id for each in shares])
    if seen.requests is not None:
        yield f"{counted(len(seen), 'group')}, in {counted(seen.requests, 'request')}"
    if seen.log_ended_ms is not None:
        yield f"as of {iso_time(seen.log_ended_ms)}, the last write to the log"
