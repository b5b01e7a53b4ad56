"""A log of very many groups that all read one topic: `python -m benchmarks.many_groups OUT [--groups N]`.

Each group has committed each partition of the topic once, in one batch, in the offsets partition where Kafka
keeps it. Made of one batch whose group id is written over, as encoding millions of records takes long.
"""

import argparse
from pathlib import Path
from typing import Final

import google_crc32c

from kgroup.log.files.checkpoints import HIGH_WATERMARKS, encode_offset_checkpoint
from kgroup.log.format.batch import encode_batch
from kgroup.log.format.record import LogRecord
from kgroup.protocol.group_hash import OFFSETS_TOPIC, partition_for
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.topic_partition import TopicPartition

_TOPIC: Final = "orders"
_NAME: Final = "group-{:06}"
_TIME_MS: Final = 1_767_225_600_000  # 2026-01-01
_COMMITTED: Final = 1000
_CRC_AT, _CRC_FROM = 17, 21  # of a batch


def make_groups(out: Path, groups: int, partitions: int = 20, offsets_partitions: int = 50) -> int:
    """Write the log directory; returns the bytes of all segments."""
    template = _batch(_NAME.format(0), partitions)
    places = _places(template, _NAME.format(0).encode())
    logs: dict[int, bytearray] = {}
    ends: dict[TopicPartition, int] = {(_TOPIC, partition): 2 * _COMMITTED for partition in range(partitions)}
    for number in range(groups):
        name = _NAME.format(number)
        partition = partition_for(name, offsets_partitions)
        key = (OFFSETS_TOPIC, partition)
        batch = bytearray(template)
        for place in places:
            batch[place : place + len(name)] = name.encode()
        batch[:8] = ends.setdefault(key, 0).to_bytes(8, "big")
        batch[_CRC_AT:_CRC_FROM] = google_crc32c.value(bytes(batch[_CRC_FROM:])).to_bytes(4, "big")
        logs.setdefault(partition, bytearray()).extend(batch)
        ends[key] += partitions
    for partition, log in logs.items():
        folder = out / f"{OFFSETS_TOPIC}-{partition}"
        folder.mkdir(parents=True)
        (folder / f"{0:020}.log").write_bytes(log)
        (folder / f"{0:020}.index").touch()
    (out / HIGH_WATERMARKS).write_text(encode_offset_checkpoint(ends))
    return sum(map(len, logs.values()))


def _batch(group: str, partitions: int) -> bytes:
    records = []
    for partition in range(partitions):
        entry = OffsetsEntry(
            type=RecordType.OFFSET_COMMIT,
            key=OffsetCommitKey(group=group, topic=_TOPIC, partition=partition),
            value=OffsetCommitValue(
                offset=_COMMITTED, leader_epoch=0, metadata="", commit_timestamp=_TIME_MS
            ),
            value_version=3,
        )
        key, value = encode_entry(entry)
        record = LogRecord(offset=partition, timestamp_ms=_TIME_MS, key=key, value=value, headers=())
        records.append(record)
    return encode_batch(records, leader_epoch=0)


def _places(batch: bytes, name: bytes) -> list[int]:
    places = []
    place = batch.find(name)
    while place >= 0:
        places.append(place)
        place = batch.find(name, place + len(name))
    return places


def main() -> None:
    """Make one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", metavar="OUT", type=Path)
    parser.add_argument("--groups", type=int, default=200_000)
    parser.add_argument("--partitions", type=int, default=20, help="of the topic that they read")
    given = parser.parse_args()
    print(f"{make_groups(given.out, given.groups, given.partitions) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
