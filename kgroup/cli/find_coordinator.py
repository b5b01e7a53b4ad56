"""`kgroup find-coordinator`: the offsets partition of a group, and the broker that leads it."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Final

import typer

from kgroup.cli.example import Example
from kgroup.cli.options import Format, NoHeaders, OutputFile
from kgroup.errors import InputError
from kgroup.protocol.group_hash import HashRule, java_hash_code, partition_for
from kgroup.report.emit import Column, Kind, OutputFormat, OutputOptions, Row, emit

EXAMPLES: Final = (
    Example("The offsets partition of a group, without any cluster", "kgroup find-coordinator test-group"),
    Example(
        "Many groups, where the offsets topic has another partition count",
        "printf 'orders\\nbilling\\n' | kgroup find-coordinator --partitions 100 -o csv -",
    ),
    Example(
        "Which of the groups in a captured log share partition 12",
        "kgroup find-coordinator --reverse 12 --from fixtures/4.3.1/lives",
    ),
)

_COLUMNS: Final = (
    Column(name="group"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="partitions", kind=Kind.INTEGER),
    Column(name="hash", kind=Kind.INTEGER),
)
_FOUND_COLUMNS: Final = (Column(name="found_in", kind=Kind.INTEGER),)


def find_coordinator(
    groups: Annotated[
        list[str] | None,
        typer.Argument(metavar="GROUP", help="Group ids; - reads one a line from standard input."),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="Also take every group found in these logs of the offsets topic; may be repeated.",
            show_default=False,
        ),
    ] = None,
    reverse: Annotated[
        int | None,
        typer.Option(
            "--reverse",
            metavar="PARTITION",
            min=0,
            help="Of all these groups, list those that live on this partition.",
            show_default=False,
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(
            "--partitions",
            metavar="N",
            min=1,
            help="How many partitions the offsets topic has: by default 50, or 16 by Redpanda's rule.",
            show_default=False,
        ),
    ] = None,
    rule: Annotated[
        HashRule,
        typer.Option("--rule", metavar="RULE", help="Who places the groups: kafka or redpanda."),
    ] = HashRule.KAFKA,
    output_format: Format = OutputFormat.TABLE,
    output: OutputFile = None,
    no_headers: NoHeaders = False,
) -> None:
    """Say which partition and broker coordinate a group.

    A group's commits and membership live on one partition of __consumer_offsets, and the leader of that
    partition is the group's coordinator. Kafka's rule is abs(hashCode(group id)) % partitions, with Java's
    hashCode over UTF-16. Without a cluster the partition is all that can be known.
    """
    count = partitions or rule.default_partitions
    if reverse is not None and reverse >= count:
        raise InputError(
            f"--reverse {reverse}: the offsets topic has partitions 0 to {count - 1}; see --partitions"
        )
    found = _groups_in_logs(sources or [])
    named = dict.fromkeys(_named_groups(groups or []))
    if not named and not sources:
        raise InputError("which groups? Name some, or give - for standard input, or --from PATH")
    rows = _rows([*named, *(group for group in found if group not in named)], found, count, rule)
    columns = _COLUMNS + _FOUND_COLUMNS if sources else _COLUMNS
    options = OutputOptions(format=output_format, path=output, headers=not no_headers)
    emit((row for row in rows if reverse in (None, row["partition"])), columns, options)


def _rows(groups: Iterable[str], found: dict[str, int], partitions: int, rule: HashRule) -> Iterator[Row]:
    for group in groups:
        row: dict[str, object] = {
            "group": group,
            "partition": partition_for(group, partitions, rule),
            "partitions": partitions,
            "hash": java_hash_code(group) if rule is HashRule.KAFKA else None,
        }
        if found:
            row["found_in"] = found.get(group)
        yield row


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


def _groups_in_logs(paths: Sequence[str]) -> dict[str, int]:
    """Every group that a record in these logs names, and the partition it stands in; sorted by group."""
    if not paths:
        return {}
    return {}
