"""A cluster and its clients on one clock, as small as lives need it, and the log directory that it leaves.

`World.run` lets time go by in ticks: producers write, members poll, process and commit, the coordinator
completes rebalances. Between two runs a life's script does to them what it wants. The offsets topic is never
compacted here. Times are ms since the start; what is written has START_MS added.
"""

import base64
import json
import random
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.group_hash import OFFSETS_TOPIC, partition_for
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey, Key, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue, Value
from tests.incidents.groups import Group, TopicPartition
from tests.incidents.topics import PartitionLog, Topic, write_topic_id

START_MS = 1_790_000_000_000
TICK_MS = 500
_LATEST_VALUES = {RecordType.OFFSET_COMMIT: 4, RecordType.GROUP_METADATA: 3}


@dataclass(frozen=True)
class Appended:
    """A batch of the offsets topic."""

    at_ms: int
    leader_epoch: int
    records: tuple[tuple[bytes, bytes | None], ...]
    producer_id: int | None = None
    ends: bool | None = None


class World:
    """The clock, the topics, the groups, and the diary."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rng = random.Random(name)
        self.now_ms = 0
        self.topics: dict[str, Topic] = {}
        self.groups: dict[str, Group] = {}
        self.offsets: defaultdict[int, list[Appended]] = defaultdict(list)
        self.leader_epochs: defaultdict[int, int] = defaultdict(int)
        self.truth: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.before_kip_211 = False
        """Brokers before 2.1: commits say themselves when they expire, after a day."""
        self.kafka: str | None = None
        """The version of the brokers, where it matters."""
        self.source: World | None = None
        """The cluster that this one is a mirror of."""
        self.segment_bytes = 100 * 1024 * 1024
        """Of the offsets topic (offsets.topic.segment.bytes)."""

    def topic(self, name: str, partitions: int, per_s: float | list[float]) -> Topic:
        each = per_s if isinstance(per_s, list) else [per_s] * partitions
        topic = Topic(name, self.new_id(), [PartitionLog(rate) for rate in each])
        self.topics[name] = topic
        return topic

    def group(self, name: str, *topics: str, **how: Any) -> Group:
        group = Group(self, name, topics, **how)
        self.groups[name] = group
        return group

    def new_id(self) -> UUID:
        return UUID(int=self.rng.getrandbits(128), version=4)

    def run(self, seconds: float, tick_ms: int = TICK_MS) -> None:
        """Let time go by, in ticks of about that length: long lives take longer ones."""
        until_ms = self.now_ms + round(seconds * 1000)
        while self.now_ms < until_ms:
            step_ms = min(self.rng.randrange(tick_ms // 2, tick_ms * 3 // 2), until_ms - self.now_ms)
            self.now_ms += step_ms
            for topic in self.topics.values():
                topic.produce(START_MS + self.now_ms, step_ms / 1000)
            for group in self.groups.values():
                group.tick(step_ms / 1000)

    def mirror(self, seconds: float, step_s: float = 30) -> None:
        """Let time go by in both clusters, and copy what is new in the source's topics."""
        source = self.source
        assert source is not None
        until_ms = self.now_ms + round(seconds * 1000)
        while self.now_ms < until_ms:
            source.run(step_s)
            self.run(step_s)
            for name, topic in source.topics.items():
                copied = self.topics[name]
                for ours, theirs in zip(copied.partitions, topic.partitions, strict=True):
                    ours.copy(theirs)

    def skip(self, seconds: float) -> None:
        """Let time go by in which nobody does anything."""
        self.now_ms += round(seconds * 1000)

    def happened(self, what: str, group: str | None = None, **more: Any) -> None:
        self.events.append({"t": START_MS + self.now_ms, "group": group, "what": what, **more})

    def wrong(self, group: str, condition: str, from_ms: int, **more: Any) -> None:
        """Note what is wrong with a group from then until now."""
        entry = {
            "group": group,
            "condition": condition,
            "from_ms": START_MS + from_ms,
            "to_ms": START_MS + self.now_ms,
        }
        self.truth.append({**entry, **more})

    def healthy(self, *groups: str, note: str = "") -> None:
        for group in groups:
            self.wrong(group, "healthy", 0, **({"note": note} if note else {}))

    def proven(self, effect: str, is_so: bool) -> None:
        """Note the effect of what was done; a life without its effect proves nothing."""
        if not is_so:
            raise AssertionError(f"{self.name}: not so at {self.now_ms} ms: {effect}")
        self.happened("effect", effect=effect)

    def append(
        self,
        group: str,
        *entries: tuple[RecordType, Key, Value | None],
        producer_id: int | None = None,
        versions: dict[RecordType, int] | None = None,
    ) -> None:
        """Write a batch to the group's partition of the offsets topic."""
        number = partition_for(group)
        versions = _LATEST_VALUES | (versions or {})
        encoded = []
        for kind, key, value in entries:
            version = None if value is None else versions.get(kind, 0)
            raw_key, raw = encode_entry(OffsetsEntry(type=kind, key=key, value=value, value_version=version))
            assert raw_key is not None
            encoded.append((raw_key, raw))
        epoch = self.leader_epochs[number]
        self.offsets[number].append(Appended(self.now_ms, epoch, tuple(encoded), producer_id))

    def commit(
        self, group: str, *commits: tuple[str, int, int | None], producer_id: int | None = None
    ) -> None:
        """Write commits (topic, partition, offset) as one request does; an offset of None removes it."""
        entries = []
        for topic, partition, offset in commits:
            key = OffsetCommitKey(group=group, topic=topic, partition=partition)
            value = None
            if offset is not None:
                value = OffsetCommitValue(
                    offset=offset,
                    leader_epoch=0,
                    metadata="",
                    commit_timestamp=START_MS + self.now_ms,
                    topic_id=None if self.before_kip_211 else self.topics[topic].topic_id,
                )
                if self.before_kip_211:
                    expires_ms = value.commit_timestamp + 86_400_000
                    value = replace(value, leader_epoch=-1, expire_timestamp=expires_ms)
            entries.append((RecordType.OFFSET_COMMIT, key, value))
        if entries:
            versions = {RecordType.OFFSET_COMMIT: 1} if self.before_kip_211 else {}
            self.append(group, *entries, producer_id=producer_id, versions=versions)

    def write_group(self, group: str, value: GroupMetadataValue | None) -> None:
        self.append(group, (RecordType.GROUP_METADATA, GroupMetadataKey(group=group), value))

    def end_transaction(self, group: str, producer_id: int, *, committed: bool) -> None:
        number = partition_for(group)
        epoch = self.leader_epochs[number]
        self.offsets[number].append(Appended(self.now_ms, epoch, (), producer_id, committed))

    def move_coordinator(self, group: str) -> None:
        """Another broker leads the group's offsets partition from now on."""
        self.leader_epochs[partition_for(group)] += 1
        self.happened("coordinator-moved", group)

    def log(self, partition: TopicPartition) -> PartitionLog:
        topic, number = partition
        return self.topics[topic].partitions[number]

    def write(self, folder: Path) -> None:
        """The log directory, with the diary in it; that of a source stands beside it."""
        if self.source is not None:
            self.source.write(source_of(folder))
        folder.mkdir(parents=True, exist_ok=True)
        ends, starts = [], []
        for topic in sorted(self.topics.values(), key=lambda topic: topic.name):
            for number, partition in topic.files(folder):
                ends.append(f"{topic.name} {number} {partition.end}")
                if partition.start:
                    starts.append(f"{topic.name} {number} {partition.start}")
        offsets_id = UUID(int=1)
        for number, batches in sorted(self.offsets.items()):
            place = folder / f"{OFFSETS_TOPIC}-{number}"
            place.mkdir()
            segments, end, epochs = _segments(batches, self.segment_bytes)
            for base, raw in segments.items():
                (place / f"{base:020}.log").write_bytes(raw)
            lines = [f"{epoch} {offset}" for epoch, offset in epochs]
            (place / "leader-epoch-checkpoint").write_text(f"0\n{len(lines)}\n" + "\n".join(lines) + "\n")
            write_topic_id(place, offsets_id)
            ends.append(f"{OFFSETS_TOPIC} {number} {end}")
        _write_checkpoint(folder / "replication-offset-checkpoint", ends)
        _write_checkpoint(folder / "log-start-offset-checkpoint", starts)
        story = {
            "kafka": self.kafka or "played",
            "capture": self.name,
            "startedMs": START_MS,
            "stoppedMs": START_MS + self.now_ms,
            "truth": self.truth,
            "events": self.events,
        }
        (folder / "story.json").write_text(json.dumps(story, indent=1), encoding="utf-8")
        cluster_id = base64.urlsafe_b64encode(UUID(int=2).bytes).decode().rstrip("=")
        (folder / "meta.properties").write_text(f"version=1\nnode.id=1\ncluster.id={cluster_id}\n")


def source_of(folder: Path) -> Path:
    """Where the log directory of the cluster is that a played one mirrors."""
    return folder.with_name(f"{folder.name}-source")


def _write_checkpoint(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(["0", str(len(lines)), *lines]) + "\n", encoding="utf-8")


def _segments(
    batches: list[Appended], segment_bytes: int
) -> tuple[dict[int, bytearray], int, list[tuple[int, int]]]:
    """Bytes by base offset, end offset, and the first offset of each leader epoch."""
    raw, offset = bytearray(), 0
    segments = {0: raw}
    epochs: dict[int, int] = {}
    for batch in batches:
        if len(raw) >= segment_bytes:
            raw = segments[offset] = bytearray()
        epochs.setdefault(batch.leader_epoch, offset)
        at_ms = START_MS + batch.at_ms
        if batch.ends is not None:
            pairs: tuple[tuple[bytes, bytes | None], ...] = ((bytes([0, 0, 0, batch.ends]), bytes(6)),)
        else:
            pairs = batch.records
        records = [
            LogRecord(offset=offset + number, timestamp_ms=at_ms, key=key, value=value)
            for number, (key, value) in enumerate(pairs)
        ]
        raw += encode_batch(
            records,
            transactional=batch.producer_id is not None,
            control=batch.ends is not None,
            producer_id=-1 if batch.producer_id is None else batch.producer_id,
            producer_epoch=-1 if batch.producer_id is None else 0,
            leader_epoch=batch.leader_epoch,
        )
        offset += len(records)
    return segments, offset, list(epochs.items())
