"""`kgroup advise`: advice on groups' settings from their history, and on a client about to join."""

from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.cli.options.lag import OffsetsRetention
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Connection, Groups, Output, Quiet, Strict, given
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import Given, opened
from kgroup.cli.shell.times import parse_length
from kgroup.errors import FindingsError, InputError
from kgroup.report.emit import OutputFormat, OutputOptions, emit
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

EXAMPLES: Final = (
    Example("Recommended settings for a broker's groups", "kgroup advise fixtures/3.9.1/lives"),
    Example(
        "One group, with the numbers, as JSON lines",
        "kgroup advise fixtures/3.9.1/lives --group push-storm -o jsonl",
    ),
    Example(
        "Which groups can switch to the consumer protocol, and what it requires",
        "kgroup advise fixtures/3.9.1/lives --protocol consumer",
    ),
    Example(
        "A gate before a rollout: exit status 3 if the group would refuse the client, or suffer",
        "kgroup advise -b localhost:9092 --group billing-app --check client.properties",
    ),
)
_OF_PATTERNS: Final = (
    "whether topics come from a pattern is not in the log of a classic group: java.util.regex.Pattern goes on"
    " in the client, SubscriptionPattern is RE2 and matched by the broker"
)


def _logs(
    *,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Log dirs, partition folders, segments, or directories of them.",
            show_default=False,
        ),
    ] = None,
    connection: Connection,
) -> Given:
    """Logs that can be read twice: not standard input."""
    return given(paths=paths, connection=connection)


def advise(
    *,
    source: Annotated[Given, Bundle(_logs)],
    groups: Groups = None,
    check: Annotated[
        Path | None,
        option(
            "--check",
            metavar="FILE",
            help="Instead, check whether a client with these consumer properties would be refused, or harm"
            " the group (default: its group.id). Exit with status 3 if so.",
            section=Section.SHOWN,
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        option(
            "--protocol",
            metavar="consumer",
            help="Instead, check whether the groups can switch to the consumer protocol (KIP-848), what must"
            " change first, and what it would gain.",
            section=Section.SHOWN,
        ),
    ] = None,
    offsets_retention: OffsetsRetention = None,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Recommend settings for groups.

    From the log's history of each group: session timeouts against the silence of members that came back,
    max.poll.interval.ms against the pauses between commits, restarts that static membership would have
    spared, assignors and protocols by what they would have moved, the number of members, how long offsets
    are kept, and settings of the group itself that its kind does not read. Each row has the numbers from the
    history, or from a what-if. If a group's history supports no advice, none is given.

    With --protocol consumer it says for each group whether it can switch, by the brokers' own rule, which
    settings must go, what becomes of static members and racks, and what the same history would have cost.

    With --check it compares a client's properties file with the group, as a gate before a rollout:
    assignors that the group does not share, timeouts outside the broker's bounds or below pauses that the
    group has had, an instance id in use, settings that the protocol does not accept. docs/advise.md has the
    rules.
    """
    if "-" in source.paths:
        raise InputError("-: advise cannot read standard input, it needs files")
    if protocol is not None:
        if protocol != "consumer":
            raise InputError(f"--protocol {protocol}: the only choice is consumer")
        for name, value in (("--check", check), ("--offsets-retention", offsets_retention)):
            if value is not None:
                raise InputError(f"--protocol does not go with {name}")
        _change_over(source, groups, output, quiet=quiet, strict=strict)
        return
    if check is not None:
        if offsets_retention is not None:
            raise InputError("--offsets-retention does not go with --check: a client cannot set it")
        _check(source, groups, check, output, quiet=quiet, strict=strict)
        return
    from kgroup.api.advise import advise as advice_on
    from kgroup.lag.measures.offset_expiry import RETENTION_MS
    from kgroup.report.advice_rows import ADVICE_COLUMNS, ADVICE_TABLE, advice_rows, advice_table

    retention_ms = RETENTION_MS
    if offsets_retention is not None:
        retention_ms = parse_length(offsets_retention, "--offsets-retention")
    with opened(source) as logs:
        advised = advice_on(logs, groups, retention_ms=retention_ms, progress=TerminalProgress(quiet=quiet))
    if output.format is OutputFormat.TABLE:
        emit(advice_table(advised.advice), ADVICE_TABLE, output)
    else:
        emit(advice_rows(advised.advice), ADVICE_COLUMNS, output)
    # Most are of the setting, and the same for every group.
    cautions = dict.fromkeys(f"{piece.setting}: {piece.caution}" for piece in advised if piece.caution)
    nothing = [] if advised.advice else [f"nothing to advise on {counted(advised.groups, 'group')}"]
    is_table = output.format is OutputFormat.TABLE
    for line in [*([] if quiet else [*(cautions if is_table else ()), *nothing, *advised.remarks])]:
        say(line)
    for line in advised.problems:
        say(line)
    fail_if_strict(advised.problems, strict=strict)


def _change_over(
    source: Given, groups: list[str] | None, output: OutputOptions, *, quiet: bool, strict: bool
) -> None:
    from kgroup.api.protocol_advice import advise_protocol
    from kgroup.report.advice_rows import PROTOCOL_COLUMNS, PROTOCOL_TABLE, protocol_rows

    with opened(source) as logs:
        advised = advise_protocol(logs, groups, progress=TerminalProgress(quiet=quiet))
    columns = PROTOCOL_TABLE if output.format is OutputFormat.TABLE else PROTOCOL_COLUMNS
    emit(protocol_rows(advised.steps), columns, output)
    if not quiet:
        for line in (*advised.remarks, _OF_PATTERNS):
            say(line)
    for line in advised.problems:
        say(line)
    fail_if_strict(advised.problems, strict=strict)


def _check(
    source: Given,
    groups: list[str] | None,
    check: Path,
    output: OutputOptions,
    *,
    quiet: bool,
    strict: bool,
) -> None:
    from kgroup.api.advise import check_client
    from kgroup.report.advice_rows import OBJECTION_COLUMNS, OBJECTION_TABLE, objection_rows, objection_table

    with opened(source) as logs:
        checked = check_client(logs, check, groups, progress=TerminalProgress(quiet=quiet))
    if output.format is OutputFormat.TABLE:
        emit(objection_table(checked.objections), OBJECTION_TABLE, output)
    else:
        emit(objection_rows(checked.objections), OBJECTION_COLUMNS, output)
    for line in [*([] if quiet else checked.remarks), *checked.problems]:
        say(line)
    failing = [objection for objection in checked.objections if objection.fails]
    if failing:
        names = ", ".join(dict.fromkeys(objection.name for objection in failing))
        raise FindingsError(f"--check {check}: {counted(len(failing), 'objection')}: {names}")
    if not quiet:
        say(f"--check {check}: nothing sure speaks against it in {counted(checked.groups, 'group')}")
    fail_if_strict(checked.problems, strict=strict)
