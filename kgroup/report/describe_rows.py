"""Rows of `kgroup describe`: the partitions, the members or the states of groups."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Final

from kgroup.history.groups.model import Member, OwnedPartition
from kgroup.history.groups.topology import Topology
from kgroup.lag.measures.seen_groups import SeenGroup, SeenGroups
from kgroup.report.emit import Column, Kind, Row


class Part(StrEnum):
    """The part of groups that is shown."""

    OFFSETS = "offsets"
    MEMBERS = "members"
    STATE = "state"


OFFSET_COLUMNS: Final = (
    Column(name="group"),
    Column(name="type"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="current_offset", kind=Kind.INTEGER),
    Column(name="log_end_offset", kind=Kind.INTEGER),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="log_start_offset", kind=Kind.INTEGER),
    Column(name="leader_epoch", kind=Kind.INTEGER),
    Column(name="metadata"),
    Column(name="last_commit", kind=Kind.TIME_MS),
    Column(name="member_id"),
    Column(name="group_instance_id"),
    Column(name="host"),
    Column(name="client_id"),
    Column(name="notes", kind=Kind.NESTED),
)
MEMBER_COLUMNS: Final = (
    Column(name="group"),
    Column(name="type"),
    Column(name="member_id"),
    Column(name="group_instance_id"),
    Column(name="client_id"),
    Column(name="host"),
    Column(name="partitions", kind=Kind.INTEGER),
    Column(name="epoch", kind=Kind.INTEGER),
    Column(name="target_epoch", kind=Kind.INTEGER),
    Column(name="assignment", kind=Kind.NESTED),
    Column(name="target_assignment", kind=Kind.NESTED),
    Column(name="subscribed", kind=Kind.NESTED),
    Column(name="subscribed_regex"),
    Column(name="is_classic", kind=Kind.BOOLEAN),
    Column(name="tasks", kind=Kind.NESTED),
    Column(name="notes", kind=Kind.NESTED),
)
STATE_COLUMNS: Final = (
    Column(name="group"),
    Column(name="type"),
    Column(name="state"),
    Column(name="since", kind=Kind.TIME_MS),
    Column(name="protocol_type"),
    Column(name="protocol"),
    Column(name="epoch", kind=Kind.INTEGER),
    Column(name="target_epoch", kind=Kind.INTEGER),
    Column(name="members", kind=Kind.INTEGER),
    Column(name="coordinator", kind=Kind.INTEGER),
    Column(name="coordinator_address"),
    Column(name="topology", kind=Kind.NESTED),
    Column(name="shared"),
    Column(name="share_waiting"),
    Column(name="notes", kind=Kind.NESTED),
    Column(name="problem"),
)
_OFFSET_TABLE: Final = (
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER, narrow="P"),
    Column(name="current_offset", kind=Kind.INTEGER, narrow="CURRENT"),
    Column(name="log_end_offset", kind=Kind.INTEGER, narrow="END"),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="member_id", spare=3),
    Column(name="host", spare=2),
    Column(name="client_id", spare=4),
    Column(name="notes", kind=Kind.NESTED, spare=1),
)
_MEMBER_TABLE: Final = (
    Column(name="group"),
    Column(name="member_id", spare=1),
    Column(name="group_instance_id", header="INSTANCE", spare=6),
    Column(name="client_id"),
    Column(name="host", spare=2),
    Column(name="partitions", kind=Kind.INTEGER, narrow="PARTS", spare=3),
    Column(name="epoch", kind=Kind.INTEGER, spare=4),
    Column(name="target_epoch", kind=Kind.INTEGER, spare=5),
    Column(name="assignment"),
    Column(name="target_shown", header="TO-COME", spare=7),
    Column(name="tasks_shown", header="TASKS", spare=7),
)
_STATE_TABLE: Final = (
    Column(name="group"),
    Column(name="type"),
    Column(name="state"),
    Column(name="since", kind=Kind.TIME_MS, spare=5),
    Column(name="protocol", spare=2),
    Column(name="epoch", kind=Kind.INTEGER, spare=3),
    Column(name="target_epoch", kind=Kind.INTEGER, spare=4),
    Column(name="members", kind=Kind.INTEGER),
    Column(name="topology_shown", header="TOPOLOGY", spare=6),
    Column(name="shared", spare=6),
    Column(name="coordinator_shown", header="COORDINATOR", spare=1),
)
_COLUMNS: Final = {
    Part.OFFSETS: OFFSET_COLUMNS,
    Part.MEMBERS: MEMBER_COLUMNS,
    Part.STATE: STATE_COLUMNS,
}
_TABLES: Final = {Part.OFFSETS: _OFFSET_TABLE, Part.MEMBERS: _MEMBER_TABLE, Part.STATE: _STATE_TABLE}


def columns(part: Part, rows: Sequence[Row], *, is_table: bool) -> Sequence[Column]:
    """The columns for a part; a table leaves out those in which no row has anything."""
    if not is_table:
        return _COLUMNS[part]
    return [column for column in _TABLES[part] if _is_filled(rows, column) or not column.spare]


def describe_rows(part: Part, seen: SeenGroups) -> list[Row]:
    """The rows of all groups, by group, then by topic and partition or by member."""
    match part:
        case Part.OFFSETS:
            return [row for each in seen for row in _offset_rows(each)]
        case Part.MEMBERS:
            return [row for each in seen for row in _member_rows(each)]
        case Part.STATE:
            return [_state_row(each, seen) for each in seen]


def _is_filled(rows: Iterable[Row], column: Column) -> bool:
    return any(row.get(column.name) not in (None, [], ()) for row in rows)


def _offset_rows(seen: SeenGroup) -> Iterator[Row]:
    for row in seen.rows:
        time = row.commit_timestamp
        yield {
            "group": row.group,
            "type": row.group_kind,
            "topic": row.topic,
            "partition": row.partition,
            "current_offset": row.current_offset,
            "log_end_offset": row.log_end_offset,
            "lag": row.lag,
            "log_start_offset": row.log_start_offset,
            "leader_epoch": row.leader_epoch,
            "metadata": row.metadata,
            "last_commit": None if time is None or time < 0 else time,
            "member_id": row.member_id,
            "group_instance_id": row.group_instance_id,
            "host": None if row.host is None else row.host.lstrip("/"),
            "client_id": row.client_id,
            "notes": [note.value for note in row.notes],
        }


def _member_rows(seen: SeenGroup) -> Iterator[Row]:
    group = seen.group
    for member in sorted(group.members, key=lambda member: member.member_id):
        yield {
            "group": group.group_id,
            "type": group.kind,
            "member_id": member.member_id,
            "group_instance_id": member.instance_id,
            "client_id": member.client_id,
            "host": member.client_host.lstrip("/"),
            "partitions": len(member.owned),
            "epoch": member.epoch,
            "target_epoch": group.target_epoch,
            "assignment": partitions_text(member.owned),
            "target_assignment": None if member.target is None else partitions_text(member.target),
            "target_shown": _to_come(member),
            "subscribed": None if member.subscribed is None else list(member.subscribed),
            "subscribed_regex": member.subscribed_regex,
            "is_classic": member.is_classic,
            "tasks": None
            if member.tasks is None
            else {k: list(v) for k, v in member.tasks._asdict().items()},
            "tasks_shown": _tasks_text(member),
            "notes": list(member.notes),
        }


def _to_come(member: Member) -> str | None:
    """The partitions a member is to own, where these differ from what it owns."""
    if member.target is None or set(member.target) == set(member.owned):
        return None
    return partitions_text(member.target) or "nothing"


def _tasks_text(member: Member) -> str | None:
    """`0_0,0_2 standby 0_1`; None of a member that has none, or is of no streams group."""
    if member.tasks is None:
        return None
    active, *copies = member.tasks
    said = [",".join(active)] if active else []
    said += [
        f"{kind} {','.join(tasks)}"
        for kind, tasks in zip(("standby", "warmup"), copies, strict=True)
        if tasks
    ]
    return " ".join(said) or None


def _topology(topology: Topology) -> Row:
    return {
        "epoch": topology.epoch,
        "validated_epoch": topology.validated_epoch,
        "subtopologies": [
            {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(part).items()}
            for part in topology.subtopologies
        ],
    }


def _topology_text(topology: Topology) -> str:
    """The topology's epoch and number of topics by use: `0: 1 source, 1 repartition`."""
    uses = Counter(topology.topics.values())
    counted = [f"{uses[use]} {use}" for use in ("source", "repartition", "changelog") if uses[use]]
    return f"{topology.epoch}: {', '.join(counted) or 'no topic by name'}"


def _state_row(seen: SeenGroup, groups: SeenGroups) -> Row:
    group, node_id = seen.group, seen.coordinator
    address = None if node_id is None else groups.hosts.get(node_id)
    return {
        "group": group.group_id,
        "type": seen.kind,
        "state": group.state,
        "since": group.since_ms,
        "protocol_type": group.protocol_type,
        "protocol": group.protocol,
        "epoch": group.epoch,
        "target_epoch": group.target_epoch,
        "members": seen.member_count,
        "coordinator": node_id,
        "coordinator_address": address,
        "topology": None if group.topology is None else _topology(group.topology),
        "topology_shown": None if group.topology is None else _topology_text(group.topology),
        "shared": None if group.shared is None else partitions_text(group.shared),
        "share_waiting": partitions_text(group.share_waiting) or None,
        "coordinator_shown": None if address is None else f"{address} ({node_id})",
        "notes": list(group.notes),
        "problem": seen.problem,
    }


def partitions_text(owned: Iterable[OwnedPartition]) -> str:
    """`orders:0-2,5 payments:1`, topics in order; empty for none."""
    topics: dict[str, list[int]] = {}
    for each in owned:
        topics.setdefault(each.topic, []).append(each.partition)
    return " ".join(f"{topic}:{_ranges(sorted(topics[topic]))}" for topic in sorted(topics))


def _ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers, with those in a row as first and last."""
    texts, begin = [], 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            first, last = numbers[begin], numbers[end - 1]
            texts.append(str(first) if first == last else f"{first}-{last}")
            begin = end
    return ",".join(texts)
