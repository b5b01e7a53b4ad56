"""`kgroup groups`: one row per group with its state, members, lag and last commit."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.api.names import matches_any, member_of
from kgroup.cli.shell.complete_lists import complete_group_kinds
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Files, Groups, Now, Output, Quiet, Strict
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.cli.shell.times import parse_length, parse_time
from kgroup.errors import InputError, SourceError, nearest_or_all
from kgroup.input_files import LIST_BYTES_MAX, read_input_file, read_input_stream
from kgroup.report.emit import OutputFormat, emit, iso_time
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

if TYPE_CHECKING:
    from kgroup.lag.measures.seen_groups import SeenGroup, SeenGroups

EXAMPLES: Final = (
    Example("Those furthest behind first", "kgroup groups fixtures/4.3.1/lives --sort lag"),
    Example(
        "Groups nobody has used for 30 days",
        "kgroup groups -b localhost:9092 --idle 30d -o csv",
    ),
)


def groups(
    *,
    source: Files,
    groups: Groups = None,
    names_file: Annotated[
        str | None,
        option(
            "--names-file",
            metavar="FILE",
            help="Only groups listed in FILE, one per line; - is stdin.",
            section=Section.SELECTION,
        ),
    ] = None,
    states: Annotated[
        list[str] | None,
        option(
            "--state",
            metavar="STATE",
            help="Only groups in this state or pattern; repeatable.",
            section=Section.SELECTION,
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        option(
            "--type",
            metavar="TYPE",
            help="Only classic, consumer, share, streams or simple groups.",
            section=Section.SELECTION,
            autocompletion=complete_group_kinds,
        ),
    ] = None,
    idle: Annotated[
        str | None,
        option(
            "--idle",
            metavar="DURATION",
            help="Only groups without members or commits for this long.",
            section=Section.SELECTION,
        ),
    ] = None,
    sort: Annotated[
        str,
        option(
            "--sort",
            metavar="BY",
            help="Sort by name, lag, last-commit, members, state or type.",
            section=Section.SHOWN,
        ),
    ] = "name",
    last_commit: Annotated[
        bool,
        option(
            "--last-commit",
            help="Show it for clusters too: reads __consumer_offsets.",
            section=Section.SHOWN,
        ),
    ] = False,
    now: Now = None,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """List groups with their state, members and lag.

    LAG is the sum over partitions whose lag is known; UNKNOWN counts the others. A cluster is asked through
    its coordinators. A log shows less: no rebalance in progress, and no offsets of share groups.
    """
    from kgroup.api.groups.groups import groups as groups_of
    from kgroup.history.groups.model import GroupKind
    from kgroup.report.group_rows import GROUP_COLUMNS, SortBy, group_rows, group_table, sorted_by

    if "-" in source.paths:
        raise InputError("-: groups cannot read standard input, it needs files")
    by = member_of(SortBy, sort, "--sort")
    kinds = {_kind(each, [*GroupKind]) for each in types or ()}
    idle_ms = None if idle is None else parse_length(idle, "--idle")
    names = list(groups or ())
    if names_file is not None:
        names += _names_in(names_file)
    clock_ms = int(time.time() * 1000)
    with opened(source) as logs:
        seen = groups_of(
            logs,
            groups=names or None,
            commit_times=last_commit or idle_ms is not None or by is SortBy.LAST_COMMIT,
            now_ms=None if now is None else parse_time(now, "--now", clock_ms),
            clock_ms=clock_ms,
            progress=TerminalProgress(quiet=quiet),
        )
    chosen = [
        each
        for each in seen
        if (not states or matches_any(each.group.state, states))
        and (not kinds or each.kind in kinds)
        and (idle_ms is None or _is_idle(each, seen.now_ms - idle_ms))
    ]
    is_table = output.format is OutputFormat.TABLE
    columns = (
        group_table(
            with_times=seen.times_known, with_problems=any(each.problem is not None for each in chosen)
        )
        if is_table
        else GROUP_COLUMNS
    )
    emit(group_rows(sorted_by(by, chosen), seen.now_ms, is_table=is_table), columns, output)
    for line in [*([] if quiet else _notes(seen, len(chosen))), *_absent(seen), *seen.problems]:
        say(line)
    if seen.refused is not None:
        raise SourceError(seen.refused)
    fail_if_strict(seen.problems, strict=strict)


def _kind(text: str, known: list[str]) -> str:
    if text.lower() not in known:
        raise InputError(f"--type {text!r}: {nearest_or_all(text, known)}")
    return text.lower()


def _names_in(file: str) -> list[str]:
    """Names and patterns, one a line, as they are; empty lines are ignored. Raises InputError if all are."""
    if file == "-":
        content = read_input_stream(
            sys.stdin.buffer, kind="names", bytes_max=LIST_BYTES_MAX, named="standard input"
        )
    else:
        content = read_input_file(
            Path(file), kind="names", bytes_max=LIST_BYTES_MAX, named=f"--names-file {file}"
        )
    try:
        names = [line.rstrip("\r") for line in content.decode("utf-8").split("\n")]
    except UnicodeDecodeError as error:
        raise InputError(f"--names-file {file}: byte {error.start} is not UTF-8") from error
    if not any(names):
        raise InputError(f"--names-file {file}: no names in it")
    return [name for name in names if name]


def _is_idle(seen: "SeenGroup", before_ms: int) -> bool:
    """Whether it has no members, and nothing was committed or changed since, as far as known."""
    times = [time for time in (seen.last_commit_ms, seen.group.since_ms) if time is not None]
    return not seen.group.members and seen.problem is None and max(times, default=before_ms) <= before_ms


def _notes(seen: "SeenGroups", shown: int) -> Iterator[str]:
    of = f"{shown:,} of " if shown != len(seen) else ""
    asked = f", in {counted(seen.requests, 'request')}" if seen.requests is not None else ""
    yield f"{of}{counted(len(seen), 'group')}{asked}"
    if seen.log_ended_ms is not None:
        yield f"as of {iso_time(seen.log_ended_ms)}, the last write to the log"


def _absent(seen: "SeenGroups") -> Iterator[str]:
    from kgroup.api.names import nothing_matches

    if seen.absent:
        yield nothing_matches("group", seen.absent, seen.known_ids)
