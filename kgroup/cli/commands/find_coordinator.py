"""`kgroup find-coordinator`: the offsets partition of a group, and the broker that leads it."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.api.coordinators import (
    GroupedBy,
    GroupsOfBroker,
    GroupsOfPartition,
    LoggedGroups,
    by_broker,
    by_partition,
    groups_in_logs,
    live_coordinators,
    place_groups,
)
from kgroup.api.names import member_of
from kgroup.cli.options.find_coordinator import RULES, GroupIds, LogPaths, Placement
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options, given_options
from kgroup.cli.shell.options import Connection, Output, Quiet, Strict
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.cli.shell.source import opened_paths
from kgroup.errors import InputError, SourceError
from kgroup.lag.findings.text import listed
from kgroup.protocol.group_hash import OFFSETS_TOPIC, HashRule
from kgroup.report.emit import Column, Kind, OutputFormat, OutputOptions, emit

if TYPE_CHECKING:
    from kgroup.net.connect.properties import ConnectionOptions

EXAMPLES: Final = (
    Example("The offsets partition of a group, without any cluster", "kgroup find-coordinator test-group"),
    Example(
        "Many groups, where the offsets topic has another partition count",
        "printf 'orders\\nbilling\\n' | kgroup find-coordinator --partitions 100 -o csv -",
    ),
    Example(
        "How a log's groups spread over the offsets partitions",
        "kgroup find-coordinator --from fixtures/4.3.1/lives --by partition",
    ),
    Example("What goes down with each broker", "kgroup find-coordinator -b localhost:9092 --by broker"),
    Example(
        "Which of the groups in a captured log share partition 22, and so a coordinator",
        "kgroup find-coordinator --reverse 22 --from fixtures/4.3.1/lives",
    ),
    Example(
        "The broker that coordinates a group now, and whether that follows the rule",
        "kgroup find-coordinator test-group -b localhost:9092",
    ),
)

_COLUMNS: Final = (
    Column(name="group"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="partitions", kind=Kind.INTEGER),
    Column(name="hash", kind=Kind.INTEGER),
)
_FOUND_COLUMNS: Final = (Column(name="found_in", kind=Kind.INTEGER),)
_LIVE_COLUMNS: Final = (
    Column(name="group"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="partitions", kind=Kind.INTEGER),
    Column(name="broker", kind=Kind.INTEGER),
    Column(name="host"),
    Column(name="port", kind=Kind.INTEGER),
    Column(name="rack"),
    Column(name="leader", kind=Kind.INTEGER),
    Column(name="rule_agrees", kind=Kind.BOOLEAN),
    Column(name="error"),
)
_PARTITION: Final = Column(name="partition", kind=Kind.INTEGER)
_BROKER: Final = Column(name="broker", kind=Kind.INTEGER)
_COUNT: Final = Column(name="count", kind=Kind.INTEGER)
_GROUPS: Final = Column(name="groups", kind=Kind.NESTED)
_NAMES: Final = Column(name="groups")
_BY_PARTITION: Final = (_PARTITION, _COUNT, _GROUPS)
_BY_LIVE_PARTITION: Final = (_PARTITION, _BROKER, _COUNT, _GROUPS)
_BY_BROKER: Final = (
    _BROKER,
    Column(name="host"),
    Column(name="port", kind=Kind.INTEGER),
    Column(name="rack"),
    _COUNT,
    Column(name="partitions", kind=Kind.NESTED),
    _GROUPS,
)


def find_coordinator(
    *,
    context: typer.Context,
    groups: GroupIds = None,
    connection: Connection,
    sources: LogPaths = None,
    placement: Annotated[Placement, Bundle(Placement)],
    output: Output,
    quiet: Quiet = False,
    strict: Strict = False,
) -> None:
    """Show which partition and broker coordinate a group.

    A group's commits and membership live on one partition of __consumer_offsets, and the leader of that
    partition is the group's coordinator. Kafka's rule is abs(hashCode(group id)) % partitions, with Java's
    hashCode over UTF-16. Without a cluster the partition is all that can be known.

    With --bootstrap-server kgroup asks the cluster which broker it names, where that broker is, and whether
    it leads the partition that the rule gives. Without groups, it does so for all groups of the cluster.
    """
    by = None if placement.by is None else member_of(GroupedBy, placement.by, "--by")
    if by is GroupedBy.BROKER and connection is None:
        raise InputError("--by broker: only a cluster knows which broker leads a partition: give -b")
    logged = LoggedGroups()
    if sources:
        with opened_paths(sources) as logs:
            logged = groups_in_logs(logs)
    named = list(dict.fromkeys([*_named_groups(groups or []), *logged.partitions]))
    for line in [*([] if quiet else logged.skipped), *logged.problems]:
        say(line)
    rule, reverse = placement.rule, placement.reverse
    if connection is not None:
        check_options(RULES, given_options(context))
        _show_live(connection, named, rule, reverse, by, output)
        fail_if_strict(logged.problems, strict=strict)
        return
    if not named and not sources:
        raise InputError(
            "which groups? Name some, or give - for standard input, --from PATH, or a cluster with -b"
        )
    count = placement.partitions or rule.default_partitions
    placed = place_groups(named, count, rule, found_in=logged.partitions, reverse=reverse)
    if by is not None:
        _emit_grouped(by_partition(placed), _BY_PARTITION, output)
    else:
        rows = [asdict(each) for each in placed]
        if not sources:
            for row in rows:
                del row["found_in"]
        emit(rows, _COLUMNS + _FOUND_COLUMNS if sources else _COLUMNS, output)
    if not placed and not quiet:
        say(f"none of these groups lives on partition {reverse}" if named else "no group is in these logs")
    fail_if_strict(logged.problems, strict=strict)


def _show_live(
    connection: "ConnectionOptions",
    groups: list[str],
    rule: HashRule,
    reverse: int | None,
    by: GroupedBy | None,
    output: OutputOptions,
) -> None:
    """Print what the cluster says; raises SourceError afterwards if a group has no coordinator."""
    from kgroup.api.live import LiveLogs

    with LiveLogs(connection) as logs:
        coordinators = live_coordinators(logs.cluster, groups, rule, reverse=reverse)
    if by is GroupedBy.PARTITION:
        _emit_grouped(by_partition(coordinators), _BY_LIVE_PARTITION, output)
    elif by is GroupedBy.BROKER:
        _emit_grouped(by_broker(coordinators), _BY_BROKER, output)
    else:
        emit(map(asdict, coordinators), _LIVE_COLUMNS, output)
    failed = [each.error for each in coordinators if each.error is not None]
    if failed:
        groups_failed = f"{len(failed)} of {len(coordinators)} groups"
        leaderless = {
            each.partition for each in coordinators if each.is_leaderless and each.partition is not None
        }
        places = ", ".join(f"{OFFSETS_TOPIC}-{number}" for number in sorted(leaderless))
        why = f"; offsets-partition-down: no broker leads {places}" if places else ""
        raise SourceError(f"{logs.cluster.name}: no coordinator for {groups_failed}: {failed[0]}{why}")


def _emit_grouped(
    grouped: Sequence[GroupsOfPartition] | Sequence[GroupsOfBroker],
    columns: Sequence[Column],
    output: OutputOptions,
) -> None:
    """Rows with how many groups there are and their names, which tables cut short."""
    is_table = output.format is OutputFormat.TABLE
    rows = []
    for each in grouped:
        row = {**asdict(each), "count": len(each.groups)}
        if is_table:
            row["groups"] = listed(each.groups)
        rows.append(row)
    emit(rows, [_NAMES if is_table and each is _GROUPS else each for each in columns], output)


def _named_groups(arguments: Sequence[str]) -> Iterator[str]:
    for argument in arguments:
        if argument == "-":
            yield from _standard_input()
        else:
            yield _checked(argument.encode("utf-8", "surrogateescape"), f"group {argument!a}")


def _standard_input() -> Iterator[str]:
    """Group ids, one a line, as they are; empty lines are no groups."""
    for number, line in enumerate(sys.stdin.buffer, 1):
        group = line.rstrip(b"\r\n")
        if group:
            yield _checked(group, f"standard input, line {number}")


def _checked(group: bytes, source: str) -> str:
    try:
        return group.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}: a group id is UTF-8, and byte {error.start} of this one is not"
        ) from error
