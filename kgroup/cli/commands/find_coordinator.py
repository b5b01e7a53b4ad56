"""`kgroup find-coordinator`: the offsets partition of a group, and the broker that leads it."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.api.coordinators import LoggedGroups, groups_in_logs
from kgroup.cli.options.find_coordinator import RULES, GroupIds, LogPaths, Placement
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options, given_options
from kgroup.cli.shell.options import Connection, Output, Quiet, Strict
from kgroup.cli.shell.say import fail_if_strict, say
from kgroup.errors import InputError, SourceError
from kgroup.protocol.group_hash import OFFSETS_TOPIC, HashRule, java_hash_code, partition_for
from kgroup.report.emit import Column, Kind, OutputOptions, Row, emit

if TYPE_CHECKING:
    from kgroup.net.admin.cluster import Broker, Coordinator
    from kgroup.net.connect.properties import ConnectionOptions

EXAMPLES: Final = (
    Example("The offsets partition of a group, without any cluster", "kgroup find-coordinator test-group"),
    Example(
        "Many groups, where the offsets topic has another partition count",
        "printf 'orders\\nbilling\\n' | kgroup find-coordinator --partitions 100 -o csv -",
    ),
    Example(
        "Which of the groups in a captured log share partition 22, and so a coordinator",
        "kgroup find-coordinator --reverse 22 --from fixtures/4.3.1/lives",
    ),
    Example(
        "The broker that coordinates a group now, and whether it is the one that the rule says",
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
    """Say which partition and broker coordinate a group.

    A group's commits and membership live on one partition of __consumer_offsets, and the leader of that
    partition is the group's coordinator. Kafka's rule is abs(hashCode(group id)) % partitions, with Java's
    hashCode over UTF-16. Without a cluster the partition is all that can be known.

    With --bootstrap-server the cluster is asked: which broker it names, where that broker is, and whether it
    leads the partition that the rule gives. Without groups, that is done for all groups of the cluster.
    """
    found = groups_in_logs(sources) if sources else LoggedGroups({})
    named = dict.fromkeys([*_named_groups(groups or []), *found.partitions])
    for line in [*([] if quiet else found.skipped), *found.problems]:
        say(line)
    rule, reverse = placement.rule, placement.reverse
    if connection is not None:
        check_options(RULES, given_options(context))
        _ask_cluster(list(named), rule, reverse, connection, output)
        fail_if_strict(found.problems, strict=strict)
        return
    if not named and not sources:
        raise InputError(
            "which groups? Name some, or give - for standard input, --from PATH, or a cluster with -b"
        )
    count = placement.partitions or rule.default_partitions
    _check_reverse(reverse, count)
    rows = [
        row
        for row in _offline_rows(named, found.partitions if sources else None, count, rule)
        if reverse in (None, row["partition"])
    ]
    emit(rows, _COLUMNS + _FOUND_COLUMNS if sources else _COLUMNS, output)
    if not rows and not quiet:
        say(f"none of these groups lives on partition {reverse}" if named else "no group is in these logs")
    fail_if_strict(found.problems, strict=strict)


def _check_reverse(reverse: int | None, count: int) -> None:
    if reverse is not None and reverse >= count:
        raise InputError(f"--reverse {reverse}: the offsets topic has partitions 0 to {count - 1}")


def _offline_rows(
    groups: Iterable[str], found: Mapping[str, int] | None, partitions: int, rule: HashRule
) -> Iterator[Row]:
    for group in groups:
        row: dict[str, object] = {
            "group": group,
            "partition": partition_for(group, partitions, rule),
            "partitions": partitions,
            "hash": java_hash_code(group) if rule is HashRule.KAFKA else None,
        }
        if found is not None:
            row["found_in"] = found.get(group)
        yield row


def _ask_cluster(
    groups: list[str],
    rule: HashRule,
    reverse: int | None,
    connection: "ConnectionOptions",
    output: OutputOptions,
) -> None:
    """Print what the cluster says; raises SourceError afterwards if a group has no coordinator."""
    from kgroup.net.admin.cluster import Cluster

    with Cluster(connection) as cluster:
        groups = groups or cluster.group_ids()
        topic = cluster.topics([OFFSETS_TOPIC]).get(OFFSETS_TOPIC)
        leaders = topic.leaders if topic is not None else {}
        if leaders:
            _check_reverse(reverse, len(leaders))
        places = {group: partition_for(group, len(leaders), rule) for group in groups} if leaders else {}
        wanted = [group for group in groups if reverse in (None, places.get(group))]
        brokers = cluster.brokers()
        coordinators = cluster.find_coordinators(wanted)
    rows = [
        _live_row(coordinator, places.get(coordinator.group), leaders, brokers)
        for coordinator in coordinators
    ]
    emit(rows, _LIVE_COLUMNS, output)
    failed = [row for row in rows if row["error"] is not None]
    if failed:
        raise SourceError(
            f"{cluster.name}: no coordinator for {len(failed)} of {len(rows)} groups: {failed[0]['error']}"
        )


def _live_row(
    coordinator: "Coordinator",
    partition: int | None,
    leaders: Mapping[int, int | None],
    brokers: Mapping[int, "Broker"],
) -> Row:
    leader = leaders.get(partition) if partition is not None else None
    broker = brokers.get(coordinator.node_id) if coordinator.node_id is not None else None
    known = leader is not None and coordinator.node_id is not None
    return {
        "group": coordinator.group,
        "partition": partition,
        "partitions": len(leaders) or None,
        "broker": coordinator.node_id,
        "host": coordinator.host,
        "port": coordinator.port,
        "rack": broker.rack if broker is not None else None,
        "leader": leader,
        "rule_agrees": leader == coordinator.node_id if known else None,
        "error": coordinator.error,
    }


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


def _checked(group: bytes, place: str) -> str:
    try:
        return group.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{place}: a group id is UTF-8, and byte {error.start} of this one is not"
        ) from error
