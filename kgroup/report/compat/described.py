"""The lines of `kafka-consumer-groups --describe`: offsets, members and states of groups.

Java's `printf` pads to the left here; a column is as wide as its longest cell, and at least as wide as below.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kgroup.assignors.java_order import sorted_strings, utf16_key
from kgroup.history.groups.model import Group, GroupState, Member, OwnedPartition
from kgroup.lag.measures.rows import Commit
from kgroup.protocol.topic_partition import TopicPartition

_NONE: Final = "-"
_LEAST: Final = 15
_REBALANCING: Final = (
    GroupState.PREPARING_REBALANCE,
    GroupState.COMPLETING_REBALANCE,
    GroupState.ASSIGNING,
    GroupState.RECONCILING,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A group, its commits by topic and partition, the log ends that are known, and its coordinator.

    `coordinator` is as the tool writes it, `host:port  (id)`.
    """

    group: Group
    coordinator: str
    commits: Mapping[TopicPartition, Commit]
    ends: Mapping[TopicPartition, int]


def state_warning(group: Group) -> str | None:
    """The line that the tool writes to standard error, below an empty line, before it shows a group."""
    if group.state is GroupState.EMPTY:
        return f"Consumer group '{group.group_id}' has no active members."
    if group.state in _REBALANCING:
        return f"Warning: Consumer group '{group.group_id}' is rebalancing."
    return None


def offset_lines(described: Described, *, verbose: bool) -> Iterator[str]:
    """A group's partitions: those of members, most partitions first, then those that nobody owns.

    No line at all for a group with neither.
    """
    group = described.group
    rows: list[tuple[str, ...]] = []
    owned: set[TopicPartition] = set()
    members = sorted(
        (member for member in group.members if member.owned), key=lambda member: -len(member.owned)
    )
    for member in members:
        places = _places(member.owned)
        owned.update(places)
        of_member = (member.member_id, member.client_host, member.client_id)
        rows += (_offset_row(described, place, of_member, verbose=verbose) for place in _in_order(places))
    free = _in_order(described.commits.keys() - owned)
    rows += (_offset_row(described, place, (_NONE,) * 3, verbose=verbose) for place in free)
    if not rows:
        return
    epoch = ["LEADER-EPOCH"] if verbose else []
    heading = ("GROUP", "TOPIC", "PARTITION", *epoch, "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG")
    heading += ("CONSUMER-ID", "HOST", "CLIENT-ID")
    widths = [0] * len(heading)
    for column in (0, 1, -3, -2):
        widths[column] = _width([row[column] for row in rows])
    widths[2] = 10
    for column in range(3, len(heading) - 3):
        widths[column] = 15
    yield ""
    for row in (heading, *rows):
        yield " ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))


def _offset_row(
    described: Described, place: TopicPartition, member: tuple[str, str, str], *, verbose: bool
) -> tuple[str, ...]:
    commit, end = described.commits.get(place), described.ends.get(place)
    offset = commit.offset if commit is not None else None
    lag = None if offset is None or end is None else end - offset
    epoch = [_shown(commit.leader_epoch if commit is not None else None)] if verbose else []
    topic, partition = place
    numbers = (str(partition), *epoch, _shown(offset), _shown(end), _shown(lag))
    return described.group.group_id, topic, *numbers, *member


def member_lines(group: Group, *, verbose: bool) -> Iterator[str]:
    """A group's members in the order of the coordinator's answer; headings also of a group without any."""
    with_instances = any(member.instance_id for member in group.members)
    with_upgraded = verbose and {True, False} <= {member.is_classic for member in group.members}
    heading = ["GROUP", "CONSUMER-ID", *(["GROUP-INSTANCE-ID"] if with_instances else [])]
    heading += ["HOST", "CLIENT-ID", "#PARTITIONS"]
    instances = [max(17, _longest(member.instance_id or "" for member in group.members))]
    widths = [
        _width([group.group_id] if group.members else []),
        _width([member.member_id for member in group.members]),
        *(instances if with_instances else []),
        _width([member.client_host for member in group.members]),
        _width([member.client_id for member in group.members]),
        15,
    ]
    if verbose:
        heading += ["CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
        current = max(20, _longest(_assignment(member.owned) for member in group.members))
        target = max(20, _longest(_assignment(member.target) for member in group.members))
        widths += [15, current, 15, target]
    rows = [heading]
    for member in group.members:
        row = [group.group_id, member.member_id, *([member.instance_id or ""] if with_instances else [])]
        row += [member.client_host, member.client_id, str(len(member.owned))]
        if verbose:
            row += [_shown(member.epoch), _assignment(member.owned)]
            row += [_shown(group.target_epoch), _assignment(member.target)]
        rows.append(row)
    yield ""
    upgraded = ["UPGRADED", *(_upgraded(member) for member in group.members)]
    for row, last in zip(rows, upgraded, strict=True):
        # Without the epochs, too, a blank ends the line.
        line = " ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        yield line + (f" {last}" if with_upgraded else "" if verbose else " ")


def state_lines(described: Described, *, verbose: bool) -> Iterator[str]:
    """A group's coordinator, assignor, state and number of members."""
    group = described.group
    epochs = [
        ("GROUP-EPOCH", _shown(group.epoch), 15),
        ("TARGET-ASSIGNMENT-EPOCH", _shown(group.target_epoch), 25),
    ]
    columns = [
        ("GROUP", group.group_id, max(15, len(group.group_id))),
        ("COORDINATOR (ID)", described.coordinator, max(25, len(described.coordinator))),
        ("ASSIGNMENT-STRATEGY", group.protocol or _NONE, 20),
        ("STATE", group.state.value, 20),
        *(epochs if verbose else []),
        ("#MEMBERS", str(len(group.members)), 0),
    ]
    yield ""
    yield " ".join(f"{heading:<{width}}" for heading, _, width in columns)
    yield " ".join(f"{cell:<{width}}" for _, cell, width in columns)


def _places(owned: Iterable[OwnedPartition]) -> set[TopicPartition]:
    return {(each.topic, each.partition) for each in owned}


def _in_order(places: Iterable[TopicPartition]) -> list[TopicPartition]:
    return sorted(places, key=lambda place: (utf16_key(place[0]), place[1]))


def _assignment(owned: Sequence[OwnedPartition] | None) -> str:
    """`orders:0,1;payments:2`, or a dash for none."""
    topics: dict[str, list[int]] = {}
    for each in owned or ():
        topics.setdefault(each.topic, []).append(each.partition)
    texts = (f"{topic}:{','.join(map(str, sorted(numbers)))}" for topic, numbers in topics.items())
    return ";".join(sorted_strings(texts)) or _NONE


def _upgraded(member: Member) -> str:
    return _NONE if member.is_classic is None else str(not member.is_classic).lower()


def _shown(number: int | None) -> str:
    return _NONE if number is None else str(number)


def _width(cells: Sequence[str]) -> int:
    return max(_LEAST, _longest(cells))


def _longest(cells: Iterable[str]) -> int:
    return max(map(len, cells), default=0)
