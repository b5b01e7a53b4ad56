"""`kgroup what-if`: a group's recorded history, played again under another assignor or other settings."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Groups, Output, Quiet, Source, Strict
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.section import Section
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError, did_you_mean
from kgroup.report.emit import OutputFormat, emit
from kgroup.report.progress import byte_progress

if TYPE_CHECKING:
    from kgroup.assignors.registry import Protocol
    from kgroup.history.timeline.model import Timeline
    from kgroup.history.what_if.changes import Changes
    from kgroup.history.what_if.what_if import Comparison

EXAMPLES: Final = (
    Example(
        "What cooperative rebalancing would have spared the members",
        "kgroup what-if fixtures/3.9.1/lives --group orders-app --protocol cooperative",
    ),
    Example(
        "A storm of restarts, had the members been static",
        "kgroup what-if fixtures/3.9.1/lives --group push-storm --static",
    ),
    Example(
        "Two more members and a larger topic, rebalance by rebalance",
        "kgroup what-if fixtures/3.9.1/lives --group orders-app --members +2 --partitions orders=48"
        " --rounds -o jsonl",
    ),
    Example(
        "Several groups of a live cluster",
        "kgroup what-if -b localhost:9092 --group 'billing-*' --assignor sticky --session-timeout 30s",
    ),
)

_MORE_MAX: Final = 10_000
_PROTOCOLS: Final = {"eager": "eager", "cooperative": "cooperative", "consumer": "server"}


def what_if(
    *,
    source: Source,
    groups: Groups = None,
    assignor: Annotated[
        str | None,
        typer.Option(
            "--assignor",
            metavar="NAME",
            help="range, roundrobin, sticky, cooperative-sticky; uniform, server-range of the consumer"
            " protocol. By default the recorded one.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME",
            help="eager, cooperative or consumer, with its usual assignor where the recorded one is of"
            " another.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    static: Annotated[
        bool,
        typer.Option(
            "--static",
            help="Every member has a group.instance.id, and keeps it over restarts.",
            rich_help_panel=Section.SETUP,
        ),
    ] = False,
    session_timeout: Annotated[
        str | None,
        typer.Option(
            "--session-timeout",
            metavar="DURATION",
            help="The session timeout of every member: 30s, 2m.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    members: Annotated[
        str | None,
        typer.Option(
            "--members",
            metavar="+N",
            help="N more members, there whenever the group is.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    partitions: Annotated[
        list[str] | None,
        typer.Option(
            "--partitions",
            metavar="TOPIC=N",
            help="The topic has N partitions from the beginning; repeatable.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    pause: Annotated[
        str | None,
        typer.Option(
            "--pause",
            metavar="DURATION",
            help="How long each rebalance stops what it stops, on both sides; by default what commits tell.",
            show_default=False,
            rich_help_panel=Section.SETUP,
        ),
    ] = None,
    rounds: Annotated[
        bool,
        typer.Option(
            "--rounds",
            help="A row for each rebalance of both sides.",
            rich_help_panel=Section.SHOWN,
        ),
    ] = False,
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Say what other settings would have cost a group.

    Takes who came and went, and with which subscriptions, from __consumer_offsets, and rebalances again at
    each of these moments, carrying on from its own assignment before. The assignments are Kafka's. The
    recorded side is counted by the same rules.

    MOVED are partitions that changed their reader. STOPPED are members that stayed and had to stop reading
    something, counted in each rebalance. UNREAD is the time for which nobody read a partition, summed over
    partitions: while a rebalance stopped it, and while its member was gone before the group noticed or
    (static) until it was back. EACH is the least and the most partitions of one member at the end, SPREAD
    the greatest difference that there was.

    What the answer rests on is said on standard error, and in JSON. Share and streams groups, and groups
    whose members get no partitions (Connect), are not played.
    """
    from kgroup.api.names import is_pattern
    from kgroup.api.replay import opened_reader
    from kgroup.report.timeline.what_if_rows import (
        ROUND_COLUMNS,
        SUMMARY_COLUMNS,
        round_rows,
        round_table,
        summary_rows,
        summary_table,
    )

    changes = _changes(assignor, protocol, static, session_timeout, members, partitions or [], pause)
    with (
        opened_reader(source, groups or []) as reader,
        byte_progress("reading", reader.total_bytes, quiet=quiet) as advance,
    ):
        replayed = reader.read(advance)
    named = [name for name in groups or [] if not is_pattern(name)]
    compared, passed_over = _compare(list(replayed.timelines.values()), changes, named)
    table = output.format is OutputFormat.TABLE
    several = len(compared) > 1
    if rounds:
        emit(round_rows(compared), round_table(several) if table else ROUND_COLUMNS, output)
    else:
        emit(summary_rows(compared), summary_table(several) if table else SUMMARY_COLUMNS, output)
    notes = [*_assumptions(compared), *(f"left out: {why}" for why in passed_over)]
    for line in [*([] if quiet else notes), *reader.told(replayed, quiet=quiet)]:
        say(line)
    fail_if_strict(replayed.problems, strict=strict)


def _compare(
    timelines: "Sequence[Timeline]", changes: "Changes", named: Sequence[str]
) -> "tuple[list[Comparison], list[str]]":
    """The groups compared, and why others that a pattern matched could not be."""
    from kgroup.history.what_if.what_if import what_if as play

    compared, passed_over = [], []
    for timeline in timelines:
        try:
            compared.append(play(timeline, changes))
        except InputError as error:
            if timeline.group_id in named or len(timelines) == 1:
                raise
            passed_over.append(str(error))
    if not compared:
        raise InputError(f"none of {len(timelines)} groups can be played again: {passed_over[0]}")
    return compared, passed_over


def _assumptions(compared: "Sequence[Comparison]") -> list[str]:
    """Each assumption once, with the groups that it is about where not all share it."""
    groups: dict[str, list[str]] = {}
    for comparison in compared:
        for assumption in comparison.assumptions:
            groups.setdefault(assumption, []).append(comparison.group_id)
    lines = []
    for assumption, names in groups.items():
        where = "" if len(names) == len(compared) else f"group {', '.join(names[:3])}: "
        more = f" (and {len(names) - 3} more groups)" if where and len(names) > 3 else ""
        lines.append(f"assumed: {where}{assumption}{more}")
    return lines


def _changes(
    assignor: str | None,
    protocol: str | None,
    static: bool,
    session_timeout: str | None,
    members: str | None,
    partitions: Sequence[str],
    pause: str | None,
) -> "Changes":
    from kgroup.history.what_if.changes import Changes

    asked = (assignor, protocol, session_timeout, members)
    if not (static or partitions or any(value is not None for value in asked)):
        raise InputError(
            "nothing to change: give --assignor, --protocol, --static, --session-timeout, --members or"
            " --partitions"
        )
    chosen = None if protocol is None else _protocol(protocol)
    return Changes(
        assignor=None if assignor is None else _assignor(assignor, chosen),
        protocol=chosen,
        static=static,
        session_timeout_ms=_duration(session_timeout, "--session-timeout"),
        more_members=_more(members),
        partitions=dict(_counts(partitions)),
        pause_ms=_duration(pause, "--pause"),
    )


def _protocol(name: str) -> "Protocol":
    from kgroup.assignors.registry import Protocol

    if name not in _PROTOCOLS:
        hint = did_you_mean(name, _PROTOCOLS)
        raise InputError(f"--protocol {name!r} is not one of {', '.join(_PROTOCOLS)}{hint}")
    return Protocol(_PROTOCOLS[name])


def _assignor(name: str, protocol: "Protocol | None") -> str:
    from kgroup.assignors.registry import ASSIGNORS, CURRENT, Protocol, find_names

    if name == "range" and protocol is Protocol.SERVER:
        return "server-range"
    (found,) = find_names([name])
    entry = ASSIGNORS[found]
    if entry.shares:
        raise InputError(f"--assignor {name} is for share groups, which what-if does not play")
    if protocol not in (None, entry.protocol):
        fitting = [n for n in CURRENT if ASSIGNORS[n].protocol is protocol and not ASSIGNORS[n].shares]
        given = next(text for text, value in _PROTOCOLS.items() if value == protocol)
        raise InputError(
            f"--assignor {name} is not of --protocol {given}: there {'is' if len(fitting) == 1 else 'are'}"
            f" {', '.join(fitting)}"
        )
    return found


def _duration(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    return parse_length(text, option)


def _more(text: str | None) -> int:
    if text is None:
        return 0
    if not re.fullmatch(r"\+[1-9][0-9]{0,5}", text) or int(text) > _MORE_MAX:
        raise InputError(f"--members {text}: how many more, from +1 to +{_MORE_MAX}")
    return int(text)


def _counts(texts: Sequence[str]) -> "list[tuple[str, int]]":
    from kgroup.assignors.planning.steps import PARTITIONS_MAX

    counts: list[tuple[str, int]] = []
    for text in texts:
        topic, equals, count = text.rpartition("=")
        if not topic or not equals or not re.fullmatch(r"[1-9][0-9]{0,9}", count):
            raise InputError(f"--partitions {text}: not TOPIC=N, like orders=48")
        if int(count) > PARTITIONS_MAX:
            raise InputError(f"--partitions {text}: more than {PARTITIONS_MAX} partitions")
        if topic in dict(counts):
            raise InputError(f"--partitions {topic}: given twice")
        counts.append((topic, int(count)))
    return counts
