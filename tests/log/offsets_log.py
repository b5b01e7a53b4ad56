"""Small offsets logs for the tests of the scan: entries in, segment bytes out."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from kgroup.log.format.batch import encode_batch
from kgroup.log.format.compression import Codec
from kgroup.log.format.record import LogRecord
from kgroup.protocol.records.codec import encode_entry
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import GroupMetadataKey, OffsetCommitKey
from kgroup.protocol.records.values import GroupMetadataValue, OffsetCommitValue

NAME = "00000000000000000000.log"


def commit(
    group: str, topic: str, partition: int, offset: int, metadata: str = "", at_ms: int | None = None
) -> tuple[bytes, bytes | None]:
    """The key and value of a commit of value version 3, made `at_ms`, else one ms after its offset in ms."""
    time_ms = offset + 1 if at_ms is None else at_ms
    return _encoded(
        OffsetsEntry(
            type=RecordType.OFFSET_COMMIT,
            key=OffsetCommitKey(group=group, topic=topic, partition=partition),
            value=OffsetCommitValue(offset=offset, metadata=metadata, commit_timestamp=time_ms),
            value_version=3,
        )
    )


def tombstone(group: str, topic: str, partition: int) -> tuple[bytes, bytes | None]:
    """The key of a commit, and no value."""
    return commit(group, topic, partition, 0)[0], None


def group_metadata(group: str, generation: int) -> tuple[bytes, bytes | None]:
    """An empty classic group."""
    return _encoded(
        OffsetsEntry(
            type=RecordType.GROUP_METADATA,
            key=GroupMetadataKey(group=group),
            value=GroupMetadataValue(
                protocol_type="consumer", generation=generation, protocol=None, leader=None, members=()
            ),
            value_version=3,
        )
    )


def batch(
    base_offset: int,
    records: Sequence[tuple[bytes | None, bytes | None]],
    *,
    producer_id: int = -1,
    codec: Codec = Codec.NONE,
) -> bytes:
    """A batch of format 2; transactional if there is a producer."""
    return encode_batch(
        [
            LogRecord(
                offset=base_offset + number, timestamp_ms=1000 + base_offset + number, key=key, value=value
            )
            for number, (key, value) in enumerate(records)
        ],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        transactional=producer_id >= 0,
        leader_epoch=2,
        codec=codec,
    )


def marker(offset: int, producer_id: int, *, committed: bool) -> bytes:
    """The control batch at the end of a transaction."""
    key = bytes([0, 0, 0, 1 if committed else 0])
    record = LogRecord(offset=offset, timestamp_ms=1000 + offset, key=key, value=bytes([0, 0, 0, 0, 0, 9]))
    return encode_batch(
        [record], producer_id=producer_id, producer_epoch=0, transactional=True, control=True, leader_epoch=2
    )


def write(folder: Path, batches: Iterable[bytes], partition: int = 7) -> Path:
    """A segment of the offsets topic with these batches."""
    path = folder / f"__consumer_offsets-{partition}" / NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(batches))
    return path


def _encoded(entry: OffsetsEntry) -> tuple[bytes, bytes | None]:
    key, value = encode_entry(entry)
    assert key is not None
    return key, value
