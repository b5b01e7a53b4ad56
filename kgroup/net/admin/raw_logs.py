"""Logs of a live cluster, above all the offsets topic's: the broker's own batches, for readers of logs.

A consumer of kafka-python's hands out records without their batch, and never a transaction's marker; raw
fetches keep both.
"""

import io
import struct
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from kafka.protocol.consumer import FetchRequest

from kgroup.errors import SourceError
from kgroup.log.files.entries import ReadRecord, decode_record
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.files.segment import read_records, read_stream
from kgroup.log.format.batch import Damage
from kgroup.net.admin.cluster import Cluster, error_name
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.protocol.topic_id import TopicId

_FETCH_BYTES: Final = 4 * 1024 * 1024
_ONE_BATCH_BYTES: Final = 1  # the first batch is sent whole, however large (KIP-74)
_WAIT_MS: Final = 500
_TRIES: Final = 20
_PAUSE_S: Final = 0.25

# What all formats have in common: offset, length of what follows, 4 bytes, magic.
_FRAME: Final = struct.Struct(">qi4xb")
_LAST_OFFSET_DELTA: Final = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT: Final = 23


class OffsetOutOfRangeError(SourceError):
    """A log has no such offset: it begins later, or ends before."""


def copy_offsets_topic(
    cluster: Cluster, folder: Path, partitions: Collection[int] | None = None
) -> dict[int, int]:
    """Write the topic as a log directory into `folder`, each partition up to its high watermark of now.

    Partition folders with one segment each, of the very batches that the leaders sent, so everything that
    reads a broker's files reads this. `partitions` None is all of them. Returns where each copy ends: the
    offset to `follow` from. Raises SourceError if the topic or a partition is not there, or cannot be read
    for some seconds.
    """
    return grow_copy(cluster, folder, {}, partitions)


def grow_copy(
    cluster: Cluster,
    folder: Path,
    positions: Mapping[int, int],
    partitions: Collection[int] | None = None,
    leaderless: set[int] | None = None,
) -> dict[int, int]:
    """Bring a copy up to the high watermark of now: what was written since `positions` goes behind the rest.

    What the cleaner has taken from the cluster meanwhile stays in the copy; its newer records win, as in any
    log. Partitions without a leader are put into `leaderless` and left as they were, if it is given.
    Raises SourceError as `copy_offsets_topic` does, and if a partition ends before the copy: the topic was
    made again.
    """
    grown = {}
    for partition, (start, end) in offsets_spans(cluster, partitions, leaderless).items():
        begin = max(start, positions.get(partition, start))
        if begin > end:
            raise SourceError(
                f"{cluster.name}: {OFFSETS_TOPIC} partition {partition} ends at {end}, before {begin}"
            )
        partition_folder = folder / f"{OFFSETS_TOPIC}-{partition}"
        partition_folder.mkdir(parents=True, exist_ok=True)
        segment = next(partition_folder.glob("*.log"), partition_folder / f"{begin:020}.log")
        with segment.open("ab") as file:
            grown[partition] = _copy(cluster, (OFFSETS_TOPIC, partition), (begin, end), file)
        segment.with_suffix(".index").touch()  # tells an empty log from an emptied one
    return grown


def copy_span(
    cluster: Cluster,
    partition: int,
    span: tuple[int, int],
    folder: Path,
    *,
    topic: str = OFFSETS_TOPIC,
    bytes_max: int | None = None,
) -> tuple[Path, int]:
    """Write the batches of one partition from the first offset of `span` on, those before its second.

    Returns the segment and where the copy ends, which is before the end of the span if there are more than
    `bytes_max`. The second offset should be where a batch begins, as a high watermark or `batch_boundary` is;
    a batch that holds it is left out. Raises like `copy_offsets_topic`.
    """
    segment = folder / f"{topic}-{partition}" / f"{span[0]:020}.log"
    segment.parent.mkdir(parents=True)
    with segment.open("wb") as file:
        position = _copy(cluster, (topic, partition), span, file, bytes_max)
    segment.with_suffix(".index").touch()  # tells an empty log from an emptied one
    return segment, position


def copy_what_is_there(
    cluster: Cluster, partition: int, span: tuple[int, int], folder: Path
) -> tuple[Path, int]:
    """As `copy_span` of the offsets topic, of a log that may not have all of `span` any more.

    Returns the segment and the offset from which on nothing of the span is missing: its end, if the log
    begins behind it. Of a log that ends before the span nothing is copied.
    """
    try:
        return copy_span(cluster, partition, span, folder)[0], span[0]
    except OffsetOutOfRangeError:
        start, _ = offsets_spans(cluster, [partition])[partition]
        begin = max(span[0], min(start, span[1]))
        rest = begin if begin > span[0] else span[1]
        return copy_span(cluster, partition, (rest, span[1]), folder / "rest")[0], begin


def batch_boundary(cluster: Cluster, partition: int, offset: int, end: int) -> int:
    """The offset behind the batch that holds `offset`, or the first one after it; `end` if there is none."""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_S)
        sent = _fetch(cluster, OFFSETS_TOPIC, {partition: offset}, _ONE_BATCH_BYTES).get(partition)
        if sent is not None:
            return min(_first_boundary(sent) or end, end)
    raise _silent_leader(cluster, (OFFSETS_TOPIC, partition))


def _copy(
    cluster: Cluster,
    topic_partition: tuple[str, int],
    span: tuple[int, int],
    file: BinaryIO,
    bytes_max: int | None = None,
) -> int:
    (topic, partition), (position, end) = topic_partition, span
    tries = _TRIES
    while position < end:
        sent = _fetch(cluster, topic, {partition: position}).get(partition)
        if sent == b"":
            return end  # the cleaner took the last records; the high watermark stays
        size, behind = whole_batches(sent or b"", end)
        if sent is not None and behind > position:
            if bytes_max is not None and file.tell() + size > bytes_max:
                return position
            file.write(memoryview(sent)[:size])
            position, tries = behind, _TRIES
            continue
        if sent is not None and (_first_boundary(sent) or 0) > end:
            return end  # the cleaner took all between
        if tries == 0:
            raise _silent_leader(cluster, topic_partition)
        tries -= 1
        time.sleep(_PAUSE_S)
    return position


def _silent_leader(cluster: Cluster, topic_partition: tuple[str, int]) -> SourceError:
    return SourceError(
        f"{cluster.name}: {topic_partition[0]} partition {topic_partition[1]}: its leader sends nothing"
    )


def follow(cluster: Cluster, positions: Mapping[int, int]) -> Iterator[ReadRecord | Damage]:
    """The records written to the partitions from these offsets on, for ever, in the order in which they come.

    The `segment` of a record names cluster and partition; the `position` of a batch is where it began in what
    the broker sent. Raises SourceError like `copy_offsets_topic`.
    """
    following = dict(positions)
    while True:
        for partition, sent in sorted(_fetch(cluster, OFFSETS_TOPIC, following).items()):
            size, behind = whole_batches(sent)
            yield from _records(cluster, partition, sent[:size], following[partition])
            following[partition] = max(following[partition], behind)


def offsets_spans(
    cluster: Cluster, partitions: Collection[int] | None = None, leaderless: set[int] | None = None
) -> dict[int, tuple[int, int]]:
    """The first offset and the high watermark of each partition, in their order.

    Those without a leader are put into `leaderless`, if it is given. Raises SourceError.
    """
    logs = {log.partition: log for log in cluster.log_listing([OFFSETS_TOPIC]).logs}
    if not logs:
        code = cluster.why_unlisted([OFFSETS_TOPIC])[OFFSETS_TOPIC]
        if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise SourceError(f"{cluster.name}: no right to describe {OFFSETS_TOPIC}: {error_name(code)}")
        raise SourceError(f"{cluster.name}: there is no topic {OFFSETS_TOPIC}")
    spans = {}
    for partition in sorted(logs if partitions is None else partitions):
        log = logs.get(partition)
        if log is None:
            raise SourceError(
                f"{cluster.name}: {OFFSETS_TOPIC} has {len(logs)} partitions, and no {partition}"
            )
        if log.log_start_offset is None or log.log_end_offset is None:
            if leaderless is not None:
                leaderless.add(partition)
                continue
            raise SourceError(f"{cluster.name}: {OFFSETS_TOPIC} partition {partition} has no leader")
        spans[partition] = (log.log_start_offset, log.log_end_offset)
    if not spans and leaderless:
        raise SourceError(f"{cluster.name}: no partition of {OFFSETS_TOPIC} has a leader")
    return spans


def _fetch(
    cluster: Cluster, topic: str, positions: Mapping[int, int], max_bytes: int = _FETCH_BYTES
) -> dict[int, bytes]:
    """The bytes that the leaders have from `positions` on; a partition whose leader is moving is left out.

    The leaders are looked up again each time, so that following survives a move.
    """
    by_leader: dict[int, list[int]] = {}
    for there in cluster.topics([topic]).values():
        for partition, leader in there.leaders.items():
            if partition in positions and leader is not None:
                by_leader.setdefault(leader, []).append(partition)
    fetched = {}
    for leader, partitions in sorted(by_leader.items()):
        fetch_offsets = {partition: positions[partition] for partition in sorted(partitions)}
        request = fetch_request(topic, fetch_offsets, max_bytes)
        for answers in cluster.ask(request, leader).responses:
            for answer in answers.partitions:
                error = error_name(answer.error_code) if answer.error_code else None
                where = f"{cluster.name}: {topic} partition {answer.partition_index}: {error}"
                if error == "OFFSET_OUT_OF_RANGE":
                    raise OffsetOutOfRangeError(where)
                if error == "TOPIC_AUTHORIZATION_FAILED":
                    raise SourceError(where)
                if error is None:
                    fetched[answer.partition_index] = bytes(answer.records or b"")
    return fetched


def fetch_request(
    topic: str,
    positions: Mapping[int, int],
    max_bytes: int,
    *,
    topic_id: TopicId = None,
    min_bytes: int = 1,
    wait_ms: int = _WAIT_MS,
    answer_bytes: int | None = None,
) -> Any:
    """A Fetch of these partitions from these offsets on, in the order given: a leader fills it in that order.
    `max_bytes` are of one partition, and of the whole answer unless `answer_bytes` says more.
    With a `topic_id` brokers that can (3.1 on, KIP-516) refuse if the topic of this name has another one.
    """
    fetched = FetchRequest.FetchTopic
    partitions = [
        fetched.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
        for partition, offset in positions.items()
    ]
    by_id = {} if topic_id is None else {"topic_id": topic_id}
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=answer_bytes or max_bytes,
        isolation_level=0,
        topics=[fetched(topic=topic, partitions=partitions, **by_id)],
        max_version=12 if topic_id is None else 13,  # from 13 on topics go by id
    )


def _records(cluster: Cluster, partition: int, batches: bytes, first: int) -> Iterator[ReadRecord | Damage]:
    """Decode bytes fetched from offset `first` on, whose batch is sent whole, with the records before it."""
    segment = SegmentFile(
        path=f"{cluster.name}/{OFFSETS_TOPIC}-{partition}",
        topic=OFFSETS_TOPIC,
        partition=partition,
        base_offset=None,
    )
    for item in read_records(read_stream(io.BytesIO(batches), segment.path), segment.path):
        if isinstance(item, Damage):
            yield item
            continue
        batch, records = item
        for record in records:
            if record.offset >= first:
                yield ReadRecord(
                    segment=segment, batch=batch, record=record, entry=decode_record(batch, record)
                )


def whole_batches(sent: bytes, before: int | None = None) -> tuple[int, int]:
    """Bytes of `sent` up to the last batch that is whole, and the offset after that batch (0 if none is).

    A broker cuts what it sends at a number of bytes, not at a batch. With `before`, only batches that hold
    no record of that offset or a later one.
    """
    size = behind = 0
    for end in _batch_ends(sent):
        if before is not None and end[1] > before:
            break
        size, behind = end
    return size, behind


def first_batch_bytes(sent: bytes) -> int:
    """The bytes of the first batch, 0 if it is not whole."""
    return next((end for end, _ in _batch_ends(sent)), 0)


def _first_boundary(sent: bytes) -> int | None:
    """The offset behind the first batch, None if no batch is whole."""
    return next((behind for _, behind in _batch_ends(sent)), None)


def _batch_ends(sent: bytes) -> Iterator[tuple[int, int]]:
    """The end position of each whole batch, and the offset after it."""
    size = 0
    while size + _FRAME.size <= len(sent):
        offset, length, magic = _FRAME.unpack_from(sent, size)
        end = size + 12 + length
        if length < _LAST_OFFSET_DELTA_AT or end > len(sent):
            return
        if magic >= 2:
            offset += _LAST_OFFSET_DELTA.unpack_from(sent, size + _LAST_OFFSET_DELTA_AT)[0]
        size = end
        yield size, offset + 1
