"""Logs in which one thing is many: groups, partitions, members or generations.

Each generation of a group is its GroupMetadata record and then a commit for every partition. In every second
one the last of several members is away, so partitions move. Half a minute lies between generations, and the
ends of the data topics are in the checkpoint, so that each partition has a lag.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kgroup.log.files.checkpoints import encode_offset_checkpoint
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.group_hash import OFFSETS_TOPIC, partition_for
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata, OffsetCommitValue
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    encode_assignment,
    encode_subscription,
)

TOPIC: Final = "orders"
_PARTITIONS: Final = 50
_START_MS: Final = 1_767_225_600_000  # 2026-01-01
_STEP_MS: Final = 30_000
_BATCH_RECORDS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The number of groups, and of partitions, members and generations of each."""

    groups: int = 1
    partitions: int = 1
    members: int = 1
    generations: int = 1


def group_name(number: int) -> str:
    """The id of a group of the log."""
    return f"group-{number:06}"


def write_log(out: Path, shape: Shape) -> None:
    """Write the offsets topic's folders and the checkpoint into `out`."""
    logs: dict[int, bytearray] = {}
    offsets: dict[int, int] = {}
    for number in range(shape.groups):
        partition = partition_for(group_name(number), _PARTITIONS)
        log = logs.setdefault(partition, bytearray())
        for batch in _batches(_entries(group_name(number), shape)):
            first = offsets.get(partition, 0)
            log += encode_batch(
                [LogRecord(first + at, time_ms, *encode_entry(entry)) for at, (time_ms, entry) in batch]
            )
            offsets[partition] = first + len(batch)
    for partition, log in logs.items():
        folder = out / f"{OFFSETS_TOPIC}-{partition}"
        folder.mkdir(parents=True)
        (folder / f"{0:020d}.log").write_bytes(log)
    ends = {
        **{(OFFSETS_TOPIC, partition): end for partition, end in sorted(offsets.items())},
        **{(TOPIC, partition): 10 * shape.generations + 5 for partition in range(shape.partitions)},
    }
    (out / "replication-offset-checkpoint").write_text(encode_offset_checkpoint(ends))


def _batches(
    entries: Iterator[tuple[int, OffsetsEntry]],
) -> Iterator[list[tuple[int, tuple[int, OffsetsEntry]]]]:
    batch: list[tuple[int, tuple[int, OffsetsEntry]]] = []
    for entry in entries:
        batch.append((len(batch), entry))
        if len(batch) == _BATCH_RECORDS:
            yield batch
            batch = []
    if batch:
        yield batch


def _entries(group: str, shape: Shape) -> Iterator[tuple[int, OffsetsEntry]]:
    """Entries with their times in ms."""
    rounds = [_members(shape, shape.members), _members(shape, max(shape.members - 1, 1))]
    for generation in range(1, shape.generations + 1):
        time_ms = _START_MS + generation * _STEP_MS
        members = rounds[(generation + 1) % 2]
        value = GroupMetadataValue(
            protocol_type="consumer",
            generation=generation,
            protocol="range",
            leader=members[0].member_id,
            current_state_timestamp=time_ms,
            members=members,
        )
        yield (
            time_ms,
            OffsetsEntry(RecordType.GROUP_METADATA, GroupMetadataKey(group=group), value, 3),
        )
        for partition in range(shape.partitions):
            key = OffsetCommitKey(group=group, topic=TOPIC, partition=partition)
            commit = OffsetCommitValue(
                offset=10 * generation, metadata="", commit_timestamp=time_ms + _STEP_MS // 2
            )
            yield commit.commit_timestamp, OffsetsEntry(RecordType.OFFSET_COMMIT, key, commit, 3)


def _members(shape: Shape, count: int) -> tuple[MemberMetadata, ...]:
    subscription = encode_subscription(Subscription(topics=(TOPIC,)), 1)
    return tuple(
        MemberMetadata(
            member_id=f"consumer-{number}-4f0b6c1e-5a0d-4f3e-9a43-{number:012}",
            client_id=f"consumer-{number}",
            client_host=f"/10.0.{number // 250}.{number % 250}",
            rebalance_timeout=300_000,
            session_timeout=45_000,
            subscription=subscription,
            assignment=encode_assignment(
                Assignment(
                    assigned_partitions=(
                        NamedTopicPartitions(
                            topic=TOPIC, partitions=tuple(range(shape.partitions))[number::count]
                        ),
                    )
                ),
                1,
            ),
        )
        for number in range(count)
    )
