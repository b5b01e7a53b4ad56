"""Reads `described.txt` of a capture: what `kafka-consumer-groups` of that version said of its groups.

Versions differ: 0.10.1 to 1.1 are asked group by group, later ones with `--all-groups`; 0.10.1 shows one
OWNER column, 1.1 no GROUP column; a group that the tool chokes on ends the whole answer of `--all-groups`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

TOOL = "ConsumerGroupCommand"
_STATE_LINE = re.compile(r"^(?:(\S+) +)?(\S+:\d+) +\((\d+)\) +(?:(\S+) +)?([A-Z][A-Za-z]+) +(\d+)\s*$")
_NO_MEMBERS = re.compile(r"^Consumer group '(.+)' has no active members\.$")
_REBALANCING = re.compile(r"^(?:Warning: )?Consumer group [`'](.+)[`'] is rebalancing\.$")


class DescribedError(Exception):
    """A line of `described.txt` that is in no layout known here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetLine:
    """One line of `--describe --offsets`; a `-` is None. 0.10.1 knows only `<client id>_<host>` as owner."""

    group: str
    topic: str
    partition: int
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None
    consumer_id: str | None = None
    host: str | None = None
    client_id: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLine:
    """One line of `--describe --members --verbose`; `assignment` as printed (3.9's tool lost the topics)."""

    group: str
    consumer_id: str
    group_instance_id: str | None
    host: str
    client_id: str
    partitions: int
    assignment: str
    current_epoch: int | None = None
    target_epoch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLine:
    """One line of `--describe --state`; `assignment_strategy` is None where the tool printed none."""

    group: str
    assignment_strategy: str | None
    state: str
    members: int


@dataclass(slots=True)
class Described:
    """All answers in one file. `refused`: (call, group or "*" for all) and the error it ended with."""

    listed: list[str] = field(default_factory=list)
    offsets: list[OffsetLine] = field(default_factory=list)
    members: list[MemberLine] = field(default_factory=list)
    states: list[StateLine] = field(default_factory=list)
    no_active_members: set[str] = field(default_factory=set)
    rebalancing: set[str] = field(default_factory=set)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    types: dict[str, tuple[str, str]] = field(default_factory=dict)
    streams_lags: dict[tuple[str, str, int], int] = field(default_factory=dict)
    """Of `kafka-streams-groups`: group, topic and partition to lag."""


def read_described(path: Path) -> Described:
    """Parse one file; raises DescribedError at a line that fits no layout."""
    described = Described()
    for command, lines in _answers(path.read_text()):
        arguments = command.split()
        if "GroupsCommand" in command:
            _read_types(lines, described)
        elif "StreamsGroupCommand" in command:
            _read_streams_lags(arguments, lines, described)
        elif TOOL not in command:
            continue  # the tool of share groups
        elif "--list" in arguments:
            described.listed += [line for line in lines if line and not line.startswith("Note:")]
        elif "--describe" in arguments:
            group = arguments[arguments.index("--group") + 1] if "--group" in arguments else None
            _read_describe(arguments, group, lines, described)
        else:
            raise DescribedError(command)
    return described


def _answers(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands and what each printed, stack traces left out."""
    for answer in text.split("\n$ ")[1:] if not text.startswith("$ ") else text[2:].split("\n$ "):
        command, *lines = answer.split("\n")
        yield command, [line for line in lines if not line.startswith(("\tat ", "Caused by: "))]


def _read_describe(arguments: list[str], group: str | None, lines: list[str], described: Described) -> None:
    view = "members" if "--members" in arguments else "state" if "--state" in arguments else "offsets"
    header = ""
    for line in lines:
        if not line or line.startswith("Note:"):
            continue
        if match := _NO_MEMBERS.match(line):
            described.no_active_members.add(match[1])
        elif match := _REBALANCING.match(line):
            described.rebalancing.add(match[1])
        elif line.startswith("Error"):
            described.refused[view, group or "*"] = line
        elif line.startswith(("java.", "org.apache.kafka.")):
            continue  # the first line of a stack trace, said before in the Error line
        elif line.startswith(("GROUP ", "TOPIC ", "CONSUMER-ID ", "COORDINATOR ")):
            header = line
        elif view == "state":
            described.states.append(_state_line(group, line))
        elif view == "members":
            described.members.append(_member_line(group, header, line))
        else:
            described.offsets.append(_offset_line(group, header, line))


def _read_streams_lags(arguments: list[str], lines: list[str], described: Described) -> None:
    if {"--members", "--state", "--topology"} & set(arguments):
        return
    for line in lines:
        if line and not line.startswith("GROUP "):
            group, topic, partition, lag = line.split()
            described.streams_lags[group, topic, int(partition)] = int(lag)


def _offset_line(group: str | None, header: str, line: str) -> OffsetLine:
    names, cells = header.split(), line.split()
    if len(names) != len(cells) or "CURRENT-OFFSET" not in names:
        raise DescribedError(line)
    row = {name: None if cell == "-" else cell for name, cell in zip(names, cells, strict=True)}

    def number(name: str) -> int | None:
        cell = row[name]
        return None if cell in (None, "unknown") else int(cell)

    return OffsetLine(
        group=row.get("GROUP") or group or "",
        topic=row["TOPIC"] or "",
        partition=int(row["PARTITION"] or -1),
        current_offset=number("CURRENT-OFFSET"),
        log_end_offset=number("LOG-END-OFFSET"),
        lag=number("LAG"),
        consumer_id=row.get("CONSUMER-ID"),
        host=row.get("HOST"),
        client_id=row.get("CLIENT-ID"),
        owner=row.get("OWNER"),
    )


def _member_line(group: str | None, header: str, line: str) -> MemberLine:
    """Cells by the places of the header's names, because some cells are empty or hold spaces."""
    starts = [match.start() for match in re.finditer(r"\S+", header)]
    cells = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)]
    row = dict(zip(header.split(), cells, strict=True))

    def number(name: str) -> int | None:
        return None if row.get(name, "-") == "-" else int(row[name])

    assignment = row.get("CURRENT-ASSIGNMENT", row.get("ASSIGNMENT", ""))
    return MemberLine(
        group=row.get("GROUP") or group or "",
        consumer_id=row["CONSUMER-ID"],
        group_instance_id=row.get("GROUP-INSTANCE-ID") or None,
        host=row["HOST"],
        client_id=row["CLIENT-ID"],
        partitions=int(row["#PARTITIONS"]),
        assignment="" if assignment == "-" else assignment,
        current_epoch=number("CURRENT-EPOCH"),
        target_epoch=number("TARGET-EPOCH"),
    )


def _state_line(group: str | None, line: str) -> StateLine:
    match = _STATE_LINE.match(line)
    if match is None:
        raise DescribedError(line)
    return StateLine(
        group=match[1] or group or "",
        assignment_strategy=None if match[4] in (None, "-") else match[4],
        state=match[5],
        members=int(match[6]),
    )


def _read_types(lines: list[str], described: Described) -> None:
    """`kafka-groups --list`: the type and protocol of every group, also of those the consumer tool hides."""
    for line in lines:
        group, *rest = line.split() or [""]
        if group and group != "GROUP":
            described.types[group] = (rest[0], rest[1] if len(rest) > 1 else "")
