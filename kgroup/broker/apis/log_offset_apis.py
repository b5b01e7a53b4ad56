"""Log starts and ends, and moving a start: ListOffsets, DeleteRecords, OffsetForLeaderEpoch."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from kafka.protocol.admin.topics import DeleteRecordsResponse
from kafka.protocol.consumer.offsets import ListOffsetsResponse, OffsetForLeaderEpochResponse

from kgroup.broker.node import BrokerNode
from kgroup.broker.partition import Partition
from kgroup.errors import KgroupError, SourceError
from kgroup.log.format.batch import decode_batch
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import READ_COMMITTED
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required

E = ErrorCode
_NO_OFFSET: Final = -1
_NO_TIMESTAMP: Final = -1
_EARLIEST: Final = -2
_LATEST: Final = -1
_MAX_TIMESTAMP: Final = -3
_EARLIEST_LOCAL: Final = -4


def list_offsets(node: BrokerNode, call: Call, now_ms: int) -> None:
    """ListOffsets v1 to v11."""
    version = call.version
    read_committed = version >= 2 and call.body.isolation_level == READ_COMMITTED
    topic_type = ListOffsetsResponse.ListOffsetsTopicResponse

    def listed(topic: str, part: Any) -> Any:
        try:
            error, timestamp, offset, epoch = _find_offset(node, topic, part, read_committed)
            if error is E.OFFSET_NOT_AVAILABLE and version < 5:
                error = E.LEADER_NOT_AVAILABLE
        except KgroupError as failure:
            node.cluster.warn(f"{topic}-{part.partition_index}: {failure}")
            error, timestamp, offset, epoch = E.KAFKA_STORAGE_ERROR, _NO_TIMESTAMP, _NO_OFFSET, -1
        return topic_type.ListOffsetsPartitionResponse(
            version=version,
            partition_index=part.partition_index,
            error_code=error,
            timestamp=timestamp,
            offset=offset,
            leader_epoch=epoch,
        )

    topics = [
        topic_type(version=version, name=topic, partitions=partitions)
        for topic, partitions in _by_partition(call, "name", listed)
    ]
    node.answer(call, ListOffsetsResponse(version=version, topics=topics))


def _find_offset(
    node: BrokerNode, topic: str, part: Any, read_committed: bool
) -> tuple[ErrorCode, int, int, int]:
    """Error, timestamp, offset and leader epoch."""
    nothing = (_NO_TIMESTAMP, _NO_OFFSET, -1)
    partition = _led(node, topic, part.partition_index)
    if isinstance(partition, ErrorCode):
        return partition, *nothing
    error = partition.check_epoch(part.current_leader_epoch)
    if error:
        return error, *nothing
    log, epoch = partition.log, partition.leader_epoch
    if part.timestamp == _LATEST:
        if not partition.is_end_known:
            return E.OFFSET_NOT_AVAILABLE, *nothing
        end = partition.last_stable_offset if read_committed else partition.high_watermark
        return E.NONE, _NO_TIMESTAMP, end, epoch
    if part.timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return E.NONE, _NO_TIMESTAMP, log.start_offset, epoch
    if part.timestamp == _MAX_TIMESTAMP:
        newest = max(
            (
                (record.timestamp_ms, -record.offset)
                for raw in partition.batches()
                for record in _records(raw)
                if record.offset < partition.high_watermark
            ),
            default=None,
        )
        return (E.NONE, *nothing) if newest is None else (E.NONE, newest[0], -newest[1], epoch)
    if part.timestamp < 0:
        return E.NONE, *nothing  # tiered storage, which kgroup does not have
    return _first_at_or_after(partition, part.timestamp)


def _first_at_or_after(partition: Partition, timestamp_ms: int) -> tuple[ErrorCode, int, int, int]:
    first = partition.log.first_at_or_after(timestamp_ms)
    for record in _records(first.batch) if first else ():
        if record.offset >= partition.high_watermark:
            break
        if record.timestamp_ms >= timestamp_ms and record.offset >= partition.log.start_offset:
            return E.NONE, record.timestamp_ms, record.offset, partition.leader_epoch
    # Something later may lie above the high watermark that a new leader does not know yet (KIP-207).
    error = E.NONE if partition.is_end_known else E.OFFSET_NOT_AVAILABLE
    return error, _NO_TIMESTAMP, _NO_OFFSET, -1


def _records(raw: bytes) -> Any:
    batch = decode_batch(raw)
    return () if batch.control else batch.records()


def delete_records(node: BrokerNode, call: Call, now_ms: int) -> None:
    """DeleteRecords v0 to v2."""
    version = call.version
    topic_type = DeleteRecordsResponse.DeleteRecordsTopicResult

    def deleted(topic: str, part: Any) -> Any:
        error, low_watermark = _delete_before(node, topic, part.partition_index, part.offset)
        return topic_type.DeleteRecordsPartitionResult(
            version=version,
            partition_index=part.partition_index,
            low_watermark=low_watermark,
            error_code=error,
        )

    topics = [
        topic_type(version=version, name=topic, partitions=partitions)
        for topic, partitions in _by_partition(call, "name", deleted)
    ]
    node.answer(call, DeleteRecordsResponse(version=version, topics=topics))


def _delete_before(node: BrokerNode, topic: str, index: int, offset: int) -> tuple[ErrorCode, int]:
    partition = _led(node, topic, index)
    if isinstance(partition, ErrorCode):
        return partition, _NO_OFFSET
    if node.cluster.topics[topic].is_internal:
        return E.POLICY_VIOLATION, _NO_OFFSET
    target = partition.high_watermark if offset == _LATEST else offset
    if not 0 <= target <= partition.high_watermark:
        return E.OFFSET_OUT_OF_RANGE, _NO_OFFSET
    try:
        node.cluster.delete_records(partition, target)
    except SourceError as error:
        node.cluster.warn(str(error))
        return E.KAFKA_STORAGE_ERROR, _NO_OFFSET
    return E.NONE, partition.log.start_offset


def offset_for_leader_epoch(node: BrokerNode, call: Call, now_ms: int) -> None:
    """OffsetForLeaderEpoch v2 to v4."""
    version = call.version
    topic_type = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult

    def ended(topic: str, part: Any) -> Any:
        error, epoch, end = _end_of_epoch(node, topic, part)
        return topic_type.EpochEndOffset(
            version=version,
            partition=part.partition,
            error_code=error,
            leader_epoch=epoch,
            end_offset=end,
        )

    topics = [
        topic_type(version=version, topic=topic, partitions=partitions)
        for topic, partitions in _by_partition(call, "topic", ended)
    ]
    node.answer(call, OffsetForLeaderEpochResponse(version=version, topics=topics))


def _end_of_epoch(node: BrokerNode, topic: str, part: Any) -> tuple[ErrorCode, int, int]:
    partition = _led(node, topic, part.partition)
    if isinstance(partition, ErrorCode):
        return partition, -1, _NO_OFFSET
    error = partition.check_epoch(part.current_leader_epoch)
    if error:
        return error, -1, _NO_OFFSET
    epoch, end = partition.end_of_epoch(part.leader_epoch)
    return E.NONE, epoch, end


def _by_partition(
    call: Call, name_field: str, answer: Callable[[str, Any], Any]
) -> Iterator[tuple[str, list[Any]]]:
    """Each topic of a request with the answers for its partitions; the topic's name is in `name_field`."""
    for each in required(call.body.topics):
        topic = getattr(each, name_field)
        yield topic, [answer(topic, part) for part in required(each.partitions)]


def _led(node: BrokerNode, topic: str, index: int) -> Partition | ErrorCode:
    """The partition, if there is one and this node leads it."""
    partition = node.cluster.partition(topic, index)
    if partition is None:
        return E.UNKNOWN_TOPIC_OR_PARTITION
    return partition if partition.leader == node.node_id else E.NOT_LEADER_OR_FOLLOWER


HANDLERS: Final = {
    api.LIST_OFFSETS: list_offsets,
    api.DELETE_RECORDS: delete_records,
    api.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch,
}
