"""`kgroup diff`: what changed between two moments of a cluster, and where groups stand in a mirror."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Connection, Groups, Output, Quiet, Strict, Topics
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import Given, opened
from kgroup.errors import FindingsError, InputError
from kgroup.report.emit import OutputFormat, emit
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

if TYPE_CHECKING:
    from kgroup.api.diff import MirrorDiff

EXAMPLES: Final = (
    Example(
        "What a deployment changed: two copies of a broker's log directory",
        "kgroup diff fixtures/4.3.1/members fixtures/4.3.1/odd-members",
    ),
    Example("What has changed since a copy was made", "kgroup diff /backup/kafka -b localhost:9092"),
    Example(
        "Before a failover: what would groups skip or repeat?",
        "kgroup diff --mirror --prefix east. /copies/east /copies/west --check",
    ),
)


def diff(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BEFORE [AFTER]",
            help="Segment files, partition folders, log dirs, or directories of them; with --mirror, the"
            " source and the mirror.",
            show_default=False,
        ),
    ] = None,
    connection: Connection,
    groups: Groups = None,
    topics: Topics = None,
    mirror: Annotated[
        bool,
        option(
            "--mirror",
            help="AFTER is another cluster that mirrors BEFORE: where would groups resume there?",
            section=Section.SHOWN,
        ),
    ] = False,
    prefix: Annotated[
        str | None,
        option(
            "--prefix",
            metavar="TEXT",
            help="With --mirror: prefix of the names of mirrored topics, such as 'east.'.",
            section=Section.SHOWN,
        ),
    ] = None,
    check: Annotated[
        bool,
        option(
            "--check",
            help="With --mirror: exit with status 3 if a group would skip records, or its offsets belong to"
            " another log.",
            section=Section.BEHAVIOUR,
        ),
    ] = False,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show what changed between two moments of a cluster.

    Groups that appeared or vanished, their states, protocols and members, and offsets that moved forward or
    back, and by how much. Compares two copies of logs, or a copy with the live cluster
    (--bootstrap-server).

    With --mirror the second is another cluster with copies of the first one's topics. Its records have
    different offsets, so a group's offsets must be translated. If the topics' logs of both sides are next
    to the offsets topics, records are matched by time, key and value: RIGHT is then the offset that
    continues where the group stopped, SKIPS and REPEATS are counted, with bounds where the copies differ.
    Without those logs nothing is guessed. docs/diff.md has the rules.
    """
    from kgroup.api.diff import diff as compared
    from kgroup.api.diff import mirror_diff
    from kgroup.report.diff_rows import (
        CHANGE_COLUMNS,
        CHANGE_TABLE,
        MIRROR_COLUMNS,
        MIRROR_TABLE,
        change_rows,
        mirror_rows,
    )

    given = list(paths or ())
    if len(given) + (connection is not None) != 2:
        raise InputError("diff takes two: BEFORE and AFTER, or one PATH and --bootstrap-server")
    if not mirror and (prefix is not None or check):
        raise InputError(f"{'--check' if check else '--prefix'} goes with --mirror")
    is_table = output.format is OutputFormat.TABLE
    progress = TerminalProgress(quiet=quiet)
    unready: list[str] = []
    with ExitStack() as held:
        first = held.enter_context(opened(Given(paths=(given[0],), connection=None)))
        other = Given(paths=tuple(given[1:]), connection=connection)
        second = held.enter_context(opened(other))
        if mirror:
            placed = mirror_diff(
                first, second, prefix=prefix or "", groups=groups, topics=topics, progress=progress
            )
            emit(mirror_rows(placed.commits), MIRROR_TABLE if is_table else MIRROR_COLUMNS, output)
            notes, problems, missing = _mirror_notes(placed), placed.problems, placed.missing
            unready = list(dict.fromkeys(finding.group for finding in placed.findings))
        else:
            changed = compared(first, second, groups=groups, topics=topics, progress=progress)
            emit(change_rows(changed.changes), CHANGE_TABLE if is_table else CHANGE_COLUMNS, output)
            there = counted(changed.groups, "group")
            notes = [f"{counted(len(changed.changes), 'change')}; {there} on either side"]
            problems, missing = changed.problems, changed.missing
    for line in [*([] if quiet else notes), *problems, *([missing] if missing else [])]:
        say(line)
    if check and unready:
        raise FindingsError(f"--check: not ready to fail over: {', '.join(unready[:3])}")
    fail_if_strict(problems, strict=strict)


def _mirror_notes(made: "MirrorDiff") -> list[str]:
    from kgroup.lag.findings.mirrored import MirrorVerdict
    from kgroup.lag.findings.text import listed

    notes = [f"group {each.group}: {each.kind}: {each.evidence}" for each in made.findings]
    if made.absent:
        notes.append(f"not in the mirror, auto.offset.reset would decide: {listed(made.absent)}")
    unknown = sum(commit.right is None for commit in made.commits)
    if unknown:
        notes.append(
            f"{unknown} of {len(made.commits)} partitions without a known place: their logs are not on both"
            " sides, or no record is the same"
        )
    in_place = sum(commit.verdict is MirrorVerdict.IN_PLACE for commit in made.commits)
    notes.append(f"{in_place} of {len(made.commits)} partitions go on where they stopped")
    return notes
