"""The offsets topic of a live cluster, batch by batch as it lies in the log, for the log's own readers.

A consumer of kafka-python's hands out records without their batch, and never a transaction's marker; raw
fetches keep both.
"""

import io
import struct
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from kafka.protocol.consumer import FetchRequest

from kgroup.errors import SourceError
from kgroup.log.batch import Damage
from kgroup.log.entries import ReadRecord, decode_record, to_logged_entry
from kgroup.log.partition import SegmentFile
from kgroup.log.segment import read_records, read_stream
from kgroup.net.admin import Cluster, error_name
from kgroup.protocol.entries import LoggedEntry
from kgroup.protocol.group_hash import OFFSETS_TOPIC

_FETCH_BYTES: Final = 4 * 1024 * 1024
_WAIT_MS: Final = 500
_TRIES: Final = 20
_PAUSE_S: Final = 0.25

# What all formats have in common: offset, length of what follows, 4 bytes, magic.
_FRAME: Final = struct.Struct(">qi4xb")
_LAST_OFFSET_DELTA: Final = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT: Final = 23


def read_live(
    cluster: Cluster, partitions: Collection[int] | None = None, *, follow: bool = False
) -> Iterator[ReadRecord | Damage]:
    """Every record of the offsets topic up to its high watermarks of now, partition by partition.

    With `follow` it then goes on for ever with new records of all partitions, in the order in which they
    come. `partitions` None is all of them. The `segment` of a record names cluster and partition; the
    `position` of a batch is where it began in what the broker sent. Raises SourceError if the topic or a
    partition is not there, or cannot be read for some seconds.
    """
    spans = _spans(cluster, partitions)
    positions = {}
    for partition, (start, end) in spans.items():
        positions[partition] = start
        tries = _TRIES
        while positions[partition] < end:
            before = positions[partition]
            yield from _records(cluster, _fetch(cluster, {partition: before}), positions, until=end)
            tries = _TRIES if positions[partition] > before else _wait(cluster, partition, tries)
    while follow:
        yield from _records(cluster, _fetch(cluster, positions), positions)


def read_live_entries(
    cluster: Cluster, partitions: Collection[int] | None = None
) -> Iterator[LoggedEntry | Damage]:
    """The same as entries, for whoever needs no batches."""
    for item in read_live(cluster, partitions):
        if isinstance(item, Damage):
            yield item
        elif item.record is not None and item.entry is not None:
            yield to_logged_entry(item.segment.partition, item.batch, item.record, item.entry)


def _spans(cluster: Cluster, partitions: Collection[int] | None) -> dict[int, tuple[int, int]]:
    """The first offset and the high watermark of each partition, in their order."""
    logs = {log.partition: log for log in cluster.log_listing([OFFSETS_TOPIC]).logs}
    if not logs:
        raise SourceError(f"{cluster.name}: there is no topic {OFFSETS_TOPIC}, or it may not be seen")
    spans = {}
    for partition in sorted(logs if partitions is None else partitions):
        log = logs.get(partition)
        if log is None:
            raise SourceError(
                f"{cluster.name}: {OFFSETS_TOPIC} has {len(logs)} partitions, and no {partition}"
            )
        if log.log_start_offset is None or log.log_end_offset is None:
            raise SourceError(f"{cluster.name}: {OFFSETS_TOPIC} partition {partition} has no leader")
        spans[partition] = (log.log_start_offset, log.log_end_offset)
    return spans


def _wait(cluster: Cluster, partition: int, tries: int) -> int:
    if tries == 0:
        raise SourceError(f"{cluster.name}: {OFFSETS_TOPIC} partition {partition}: its leader sends nothing")
    time.sleep(_PAUSE_S)
    return tries - 1


def _fetch(cluster: Cluster, positions: Mapping[int, int]) -> dict[int, bytes]:
    """What the leaders have from `positions` on, of the partitions that have something new.

    Who leads is asked anew each time, so that following survives a move; one that is moving is left out.
    """
    by_leader: dict[int, list[int]] = {}
    for partition, leader in cluster.topics([OFFSETS_TOPIC])[OFFSETS_TOPIC].leaders.items():
        if partition in positions and leader is not None:
            by_leader.setdefault(leader, []).append(partition)
    fetched = {}
    for leader, partitions in sorted(by_leader.items()):
        request = _fetch_request({partition: positions[partition] for partition in sorted(partitions)})
        for topic in cluster.ask(request, leader).responses:
            for answer in topic.partitions:
                error = error_name(answer.error_code) if answer.error_code else None
                if error in ("OFFSET_OUT_OF_RANGE", "TOPIC_AUTHORIZATION_FAILED"):
                    where = f"{OFFSETS_TOPIC} partition {answer.partition_index}"
                    raise SourceError(f"{cluster.name}: {where}: {error}")
                if error is None and answer.records:
                    fetched[answer.partition_index] = bytes(answer.records)
    return fetched


def _fetch_request(positions: Mapping[int, int]) -> Any:
    topic = FetchRequest.FetchTopic
    partitions = [
        topic.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=_FETCH_BYTES)
        for partition, offset in positions.items()
    ]
    return FetchRequest(
        max_wait_ms=_WAIT_MS,
        min_bytes=1,
        max_bytes=_FETCH_BYTES,
        isolation_level=0,
        topics=[topic(topic=OFFSETS_TOPIC, partitions=partitions)],
        max_version=12,  # from 13 on topics go by id
    )


def _records(
    cluster: Cluster, fetched: Mapping[int, bytes], positions: dict[int, int], until: int | None = None
) -> Iterator[ReadRecord | Damage]:
    """Decode what was fetched, and move `positions` behind it.

    The first batch may begin before the position, as batches are sent whole, and the last go beyond `until`.
    """
    for partition, sent in sorted(fetched.items()):
        first, size, behind = positions[partition], *whole_batches(sent)
        segment = SegmentFile(
            path=f"{cluster.name}/{OFFSETS_TOPIC}-{partition}",
            topic=OFFSETS_TOPIC,
            partition=partition,
            base_offset=None,
        )
        positions[partition] = max(first, behind if until is None else min(behind, until))
        for item in read_records(read_stream(io.BytesIO(sent[:size]), segment.path), segment.path):
            if isinstance(item, Damage):
                yield item
                continue
            batch, records = item
            if not records:
                yield ReadRecord(segment=segment, batch=batch, record=None, entry=None)
            for record in records:
                if first <= record.offset and (until is None or record.offset < until):
                    entry = decode_record(batch, record)
                    yield ReadRecord(segment=segment, batch=batch, record=record, entry=entry)


def whole_batches(sent: bytes) -> tuple[int, int]:
    """Bytes of `sent` up to the last batch that is whole, and the offset after that batch (0 if none is).

    A broker cuts what it sends at a number of bytes, not at a batch.
    """
    size = behind = 0
    while size + _FRAME.size <= len(sent):
        offset, length, magic = _FRAME.unpack_from(sent, size)
        end = size + 12 + length
        if length < _LAST_OFFSET_DELTA_AT or end > len(sent):
            break
        if magic >= 2:
            offset += _LAST_OFFSET_DELTA.unpack_from(sent, size + _LAST_OFFSET_DELTA_AT)[0]
        size, behind = end, offset + 1
    return size, behind
