"""A capture: what a broker left on disk, and `truth.jsonl`, what Kafka's own code reads in it.

`cases` takes a capture's folder, or a directory of many. Each truth line is a case: kgroup must give the
same object as `kgroup decode -o jsonl` does, field by field, and encode what it decoded to the same
bytes. Then the offsets of each group in `groups.json` must be what replaying the log comes to.

Where kgroup and Kafka differ on purpose:

- Wordings of `error` are our own: there must be one where Kafka has one.
- kgroup adds the fields `transaction` and `note`.
- kgroup hands out nothing of a damaged batch. Kafka hands out records of a batch whose CRC fails or whose
  magic byte is unknown, and those in front of the record that it stumbles over; these are not expected.
- Where Kafka gives up (`error`, `tail`) kgroup must report damage, and may find more behind it. How many
  batches are healthy, and where the damage begins, says `cases.json` beside the folder, if there is one.
- A value version without leader epoch tells nothing of the one that the broker still held in memory.
- Brokers of 0.10.1 write no tombstones for a deleted topic: offsets of a topic that `topics.json` does not
  list need not be gone from the log.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgroup.errors import KgroupError
from kgroup.history.groups.newest import NewestEntries
from kgroup.log.files.entries import ReadRecord, read_decoded, to_logged_entry
from kgroup.log.files.sources import open_sources
from kgroup.log.files.transaction_outcomes import TransactionOutcomes
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.report.records.record_json import record_json
from tests.vectors.case import Case, VectorError

ADDED = {"transaction", "note"}
FIRST_VERSION_WITH_LEADER_EPOCH = 3

BatchPlace = tuple[int, str, int]
"""Partition, segment and position of a batch."""


@dataclass
class Decoded:
    """What kgroup makes of a capture: the objects of each batch, what is odd, what holds in the end."""

    objects: defaultdict[BatchPlace, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    failures: dict[tuple[BatchPlace, int], str] = field(default_factory=dict)
    damage: list[tuple[str, Damage]] = field(default_factory=list)
    odd_positions: set[int] = field(default_factory=set)
    newest: NewestEntries = field(default_factory=NewestEntries)


def cases(path: Path) -> Iterator[Case]:
    folders = sorted(truth.parent for truth in path.rglob("truth.jsonl"))
    if not folders:
        raise VectorError("no truth.jsonl here or below")
    for folder in folders:
        try:
            yield from capture_cases(folder)
        except (KgroupError, ValueError, KeyError) as error:
            yield Case(str(folder), f"{type(error).__name__}: {error}")


def capture_cases(folder: Path) -> Iterator[Case]:
    name = f"{folder.absolute().parent.name}/{folder.name}"
    decoded = decode(folder)
    truth = [json.loads(line) for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    yield from truth_cases(name, truth, decoded)
    groups = read_json(folder / "groups.json").get("groups", {})
    topics = read_json(folder / "topics.json").get("topics", {})
    yield from group_cases(name, groups, topics, decoded.newest)
    known_damage = read_json(folder.absolute().parent / "cases.json")
    if folder.name in known_damage:
        yield from damage_cases(name, known_damage[folder.name], decoded)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file, empty where there is no such file."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return document


def decode(folder: Path) -> Decoded:
    decoded = Decoded()
    sources = open_sources([folder])
    outcomes = TransactionOutcomes(sources)
    for item in read_decoded(sources):
        if isinstance(item, Damage):
            decoded.damage.append((Path(item.segment).name, item))
            decoded.odd_positions.add(item.position)
        else:
            add(decoded, item, outcomes)
    return decoded


def add(decoded: Decoded, read: ReadRecord, outcomes: TransactionOutcomes) -> None:
    batch_place = (read.segment.partition, Path(read.segment.path).name, read.batch.position)
    objects = decoded.objects[batch_place]
    if read.record is None or read.entry is None:
        objects.append(record_json(read))
        return
    outcome = outcomes.of(read.segment, read.batch, read.record.offset)
    shown = json.loads(json.dumps(record_json(read, transaction=outcome)))
    objects.append(shown)
    if not isinstance(read.entry, TransactionMarker) and encode_entry(read.entry) != (
        read.record.key,
        read.record.value,
    ):
        decoded.failures[batch_place, len(objects) - 1] = "encoding what was decoded gives other bytes"
    if isinstance(read.entry, Undecodable) or "note" in shown or '"error"' in json.dumps(shown):
        decoded.odd_positions.add(read.batch.position)
    decoded.newest.add(to_logged_entry(read.segment.partition, read.batch, read.record, read.entry))


def truth_cases(name: str, truth: list[dict[str, Any]], decoded: Decoded) -> Iterator[Case]:
    gave_up = {truth_place(line) for line in truth if line["kind"] == "error" and "batch" in line}
    first_stop = {
        (line["partition"], line["segment"]): line["position"]
        for line in reversed(truth)
        if line["kind"] in ("error", "tail")
    }
    seen: defaultdict[BatchPlace, int] = defaultdict(int)
    for line in truth:
        where = f"{name} partition {line['partition']} {line['segment']}"
        if line["kind"] in ("error", "tail"):
            yield Case(f"{where} position {line['position']}", stop_failure(line, decoded))
            continue
        batch_place = truth_place(line)
        index = seen[batch_place]
        seen[batch_place] += 1
        case = f"{where} position {batch_place[2]} offset {line.get('offset')}"
        if is_damaged(line) or batch_place in gave_up:
            yield Case(case, None if batch_place not in decoded.objects else "records of a damaged batch")
            continue
        yield Case(case, record_failure(line, batch_place, index, decoded))
    for batch_place, objects in decoded.objects.items():
        extra = len(objects) - seen[batch_place]
        stopped_at = first_stop.get(batch_place[:2])
        if extra and (stopped_at is None or batch_place[2] <= stopped_at):
            yield Case(f"{name} {batch_place}", f"{extra} records that Kafka does not read")


def truth_place(line: dict[str, Any]) -> BatchPlace:
    return line["partition"], line["segment"], line["batch"]["position"]


def is_damaged(line: dict[str, Any]) -> bool:
    return not line["batch"]["crcValid"] or line["batch"]["magic"] not in (0, 1, 2)


def stop_failure(line: dict[str, Any], decoded: Decoded) -> str | None:
    for segment, damage in decoded.damage:
        if (
            segment == line["segment"]
            and damage.position <= line["position"] <= damage.position + damage.size
        ):
            return None
    return f"Kafka gives up here ({line.get('error', 'tail')}) and kgroup reports nothing"


def record_failure(line: dict[str, Any], batch_place: BatchPlace, index: int, decoded: Decoded) -> str | None:
    objects = decoded.objects.get(batch_place, [])
    if index >= len(objects):
        return f"not decoded: {json.dumps(line)[:300]}"
    return difference(line, objects[index]) or decoded.failures.get((batch_place, index))


def difference(expected: Any, actual: Any, where: str = "") -> str | None:
    """The first field in which two JSON values differ, apart from wordings of errors and added fields."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = [*expected, *(name for name in actual if name not in expected and name not in ADDED)]
        for name in names:
            path = f"{where}.{name}" if where else name
            if name not in expected or name not in actual:
                return f"{path} is {actual.get(name, 'absent')!r}, not {expected.get(name, 'absent')!r}"
            if name != "error" and (different := difference(expected[name], actual[name], path)):
                return different
        return None
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        pairs = enumerate(zip(expected, actual, strict=True))
        return next((d for i, (e, f) in pairs if (d := difference(e, f, f"{where}[{i}]"))), None)
    return None if expected == actual else f"{where} is {actual!r}, not {expected!r}"


def group_cases(
    name: str, groups: dict[str, Any], topics: dict[str, Any], newest: NewestEntries
) -> Iterator[Case]:
    """One case for each group that the broker listed; older brokers list those of type consumer only."""
    replayed: defaultdict[str, dict[str, LoggedEntry]] = defaultdict(dict)
    for logged in newest.commits():
        assert isinstance(logged.entry, OffsetsEntry) and isinstance(logged.entry.key, OffsetCommitKey)
        key = logged.entry.key
        partition = f"{key.topic}-{key.partition}"
        if key.topic in topics or partition in groups.get(key.group, {}).get("offsets", {}):
            replayed[key.group][partition] = logged
    for group, described in groups.items():
        yield Case(f"{name} group {group}", offsets_failure(described.get("offsets", {}), replayed[group]))


def offsets_failure(expected: dict[str, Any], replayed: dict[str, LoggedEntry]) -> str | None:
    if set(expected) != set(replayed):
        return f"offsets of {sorted(replayed)}, not of {sorted(expected)}"
    for partition, logged in replayed.items():
        assert isinstance(logged.entry, OffsetsEntry) and isinstance(logged.entry.value, OffsetCommitValue)
        commit, broker = logged.entry.value, expected[partition]
        held = {"offset": commit.offset, "metadata": commit.metadata}
        if (logged.entry.value_version or 0) >= FIRST_VERSION_WITH_LEADER_EPOCH:
            held["leaderEpoch"] = commit.leader_epoch
        for name, value in held.items():
            if broker.get(name, value) != value:
                return f"{partition}: {name} is {value!r}, not {broker[name]!r}"
    return None


def damage_cases(name: str, known: dict[str, Any], decoded: Decoded) -> Iterator[Case]:
    if "healthy_batches" not in known:
        yield Case(f"{name} is healthy", f"damage: {decoded.damage}" if decoded.damage else None)
        return
    healthy, expected = len(decoded.objects), known["healthy_batches"]
    yield Case(
        f"{name} healthy batches",
        None if healthy == expected else f"{healthy} healthy batches, not {expected}",
    )
    at = known["damage_at"]
    yield Case(
        f"{name} damage at {at}",
        None if at in decoded.odd_positions else f"reported at {sorted(decoded.odd_positions)} only",
    )
