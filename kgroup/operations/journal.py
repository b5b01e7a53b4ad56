"""The undo journal: what a change plans, written before it begins, and marks of its progress.

JSON lines: a header, a line for each step and each of its changes, a line that ends the plan, then the marks.
What is planned is on the disk before the first request, a step's `begun` before its request, its `applied`
after the answer. So after a crash at any point the file and the cluster together say what was changed:

- `applied`: the changes that no `failed` names were made;
- `begun` only: made if the partition now has what the step was to write, and nothing else changed it;
- neither: not made.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from kgroup.errors import InputError
from kgroup.operations.model import Change, Position
from kgroup.operations.offsets_file import position_of
from kgroup.protocol.topic_partition import TopicPartition

FORMAT: Final = "kgroup-undo/1"


class StepKind(StrEnum):
    """The request that makes a step's changes."""

    COMMIT = "commit"
    DELETE_OFFSETS = "delete-offsets"
    DELETE_GROUP = "delete-group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Changes of one group that one request makes."""

    kind: StepKind
    group: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalHead:
    """The place and time of the change; `existed` says of each group whether it was there before.

    `cluster_id` is None of a broker that tells none; `created_ms` is epoch ms.
    """

    command: str
    cluster_id: str | None
    bootstrap_servers: str
    created_ms: int
    existed: Mapping[str, bool]


@dataclass(slots=True, kw_only=True)
class Journal:
    """A journal as it was read: `failed` has by step the partitions whose change was refused, and why."""

    head: JournalHead
    steps: list[Step]
    begun: set[int] = field(default_factory=set)
    applied: set[int] = field(default_factory=set)
    failed: dict[int, dict[TopicPartition, str]] = field(default_factory=dict)


def plan_text(head: JournalHead, steps: Sequence[Step]) -> str:
    """The journal before anything is changed."""
    return "".join(_line(entry) for entry in _plan(head, steps))


def begun_line(step: int) -> str:
    """The mark before a step's request."""
    return _line({"begun": step})


def applied_line(step: int, failed: Mapping[TopicPartition, str]) -> str:
    """The mark after a step's answer, which refused the changes of `failed`."""
    return _line({"applied": step, "failed": [[*place, why] for place, why in sorted(failed.items())]})


def _plan(head: JournalHead, steps: Sequence[Step]) -> Iterator[dict[str, object]]:
    yield {
        "format": FORMAT,
        "command": head.command,
        "cluster_id": head.cluster_id,
        "bootstrap_servers": head.bootstrap_servers,
        "created_ms": head.created_ms,
        "groups": dict(head.existed),
    }
    for number, step in enumerate(steps):
        yield {"step": number, "kind": step.kind.value, "group": step.group}
        for change in step.changes:
            yield {
                "topic": change.topic,
                "partition": change.partition,
                "old": None if change.old is None else change.old._asdict(),
                "new": None if change.new is None else change.new._asdict(),
            }
    yield {"planned": len(steps), "changes": sum(len(step.changes) for step in steps)}


def _line(entry: Mapping[str, object]) -> str:
    return json.dumps(entry, ensure_ascii=False) + "\n"


def parse_journal(text: str, name: str) -> Journal:
    """The journal of a file called `name`. Raises InputError with the line that is wrong.

    A last line without its end is what a crash left of a mark, and means that the mark was not made.
    """
    lines = text.split("\n")
    lines.pop()  # empty, or cut short
    if not lines or FORMAT not in lines[0]:
        raise InputError(f"{name}: not an undo file of kgroup, which begins with {FORMAT}")
    entries = [(number, _object(line, f"{name}, line {number}")) for number, line in enumerate(lines, 1)]
    ends = [place for place, (_, entry) in enumerate(entries) if "planned" in entry]
    if not ends:
        raise InputError(f"{name}: cut short: the plan has no end")
    head = _head(entries[0][1], f"{name}, line 1")
    steps = _steps(entries[1 : ends[0]], name)
    last_number, last = entries[ends[0]]
    if last.get("planned") != len(steps) or last.get("changes") != sum(len(step.changes) for step in steps):
        raise InputError(f"{name}, line {last_number}: lines are missing before it")
    journal = Journal(head=head, steps=steps)
    for number, mark in entries[ends[0] + 1 :]:
        _read_mark(journal, mark, f"{name}, line {number}")
    return journal


def _head(entry: Mapping[str, Any], place: str) -> JournalHead:
    groups, created_ms = entry.get("groups"), entry.get("created_ms")
    if not isinstance(groups, dict) or not isinstance(created_ms, int):
        raise InputError(f"{place}: no groups, or no time")
    cluster_id = entry.get("cluster_id")
    return JournalHead(
        command=str(entry.get("command")),
        cluster_id=None if cluster_id is None else str(cluster_id),
        bootstrap_servers=str(entry.get("bootstrap_servers")),
        created_ms=created_ms,
        existed={str(group): bool(existed) for group, existed in groups.items()},
    )


def _steps(entries: Iterable[tuple[int, Mapping[str, Any]]], name: str) -> list[Step]:
    heads: list[tuple[StepKind, str]] = []
    changes: list[list[Change]] = []
    for number, entry in entries:
        place = f"{name}, line {number}"
        if "step" in entry:
            if entry["step"] != len(heads) or entry.get("kind") not in list(StepKind):
                raise InputError(f"{place}: not the next step")
            heads.append((StepKind(entry["kind"]), str(entry.get("group"))))
            changes.append([])
            continue
        topic, partition = entry.get("topic"), entry.get("partition")
        if not heads or not isinstance(topic, str) or not isinstance(partition, int):
            raise InputError(f"{place}: no change of a partition")
        old, new = (_position(entry, key, place) for key in ("old", "new"))
        changes[-1].append(Change(group=heads[-1][1], topic=topic, partition=partition, old=old, new=new))
    return [
        Step(kind=kind, group=group, changes=tuple(of_step))
        for (kind, group), of_step in zip(heads, changes, strict=True)
    ]


def _position(entry: Mapping[str, Any], key: str, place: str) -> Position | None:
    value = entry.get(key)
    if value is None and key in entry:
        return None
    if not isinstance(value, dict):
        raise InputError(f"{place}: {key}: missing")
    return position_of(value, f"{place}: {key}")


def _read_mark(journal: Journal, mark: Mapping[str, Any], place: str) -> None:
    step = mark.get("begun", mark.get("applied"))
    if not isinstance(step, int) or not 0 <= step < len(journal.steps):
        raise InputError(f"{place}: no mark of a step")
    if "begun" in mark:
        journal.begun.add(step)
        return
    journal.applied.add(step)
    try:
        journal.failed[step] = {(str(topic), int(number)): str(why) for topic, number, why in mark["failed"]}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{place}: failed: not a list of topic, partition, reason") from error


def _object(line: str, place: str) -> Mapping[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise InputError(f"{place}: {error}") from error
    if not isinstance(value, dict):
        raise InputError(f"{place}: not an object")
    return value
