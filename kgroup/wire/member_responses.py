"""A member's responses: kafka-python's decoded ones as kgroup's values, by the version of the request."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, assert_never

from kgroup.errors import DecodeError
from kgroup.log.files.segment import read_records, read_stream
from kgroup.log.format.batch import Batch, Damage, LogRecord
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import (
    CommittedOffset,
    Fetch,
    FetchedPartition,
    FetchedRecord,
    FetchResponse,
    FindCoordinator,
    FindCoordinatorResponse,
    ListedOffset,
    ListOffsets,
    ListOffsetsResponse,
    MemberRequest,
    MemberResponse,
    Metadata,
    MetadataResponse,
    Node,
    OffsetFetch,
    OffsetFetchResponse,
    PartitionMetadata,
    TopicMetadata,
)
from kgroup.protocol.requests.consumer_group import (
    AssignedTopic,
    ConsumerAssignment,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatResponse,
)
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    HeartbeatResponse,
    JoinGroup,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroup,
    LeaveGroupResponse,
    OffsetCommit,
    OffsetCommitResponse,
    PartitionResult,
    SyncGroup,
    SyncGroupResponse,
    TopicResult,
)
from kgroup.protocol.requests.coordinator import MemberResponse as LeftMember
from kgroup.protocol.topic_partition import TopicPartition

AbortedStart = tuple[int, int]
"""A producer id, and the first offset of a transaction of it that was aborted."""


def read_response(request: MemberRequest, version: int, body: Any) -> MemberResponse:
    """kgroup's values of kafka-python's decoded response. Raises DecodeError for damaged records."""
    match request:
        case FindCoordinator():
            coordinator = body.coordinators[0] if version >= 4 and body.coordinators else body
            error = _error(coordinator.error_code)
            node = Node(node_id=coordinator.node_id, host=coordinator.host, port=coordinator.port)
            return FindCoordinatorResponse(error_code=error, node=None if error else node)
        case Metadata():
            return _read_metadata(body)
        case JoinGroup():
            members = [
                JoinGroupResponseMember(
                    member_id=each.member_id,
                    group_instance_id=each.group_instance_id,
                    metadata=bytes(each.metadata or b""),
                )
                for each in body.members
            ]
            return JoinGroupResponse(
                error_code=_error(body.error_code),
                generation_id=body.generation_id,
                protocol_type=body.protocol_type,
                protocol_name=body.protocol_name,
                leader=body.leader,
                skip_assignment=bool(body.skip_assignment),
                member_id=body.member_id,
                members=members,
            )
        case SyncGroup():
            return SyncGroupResponse(
                error_code=_error(body.error_code),
                protocol_type=body.protocol_type if version >= 5 else None,
                protocol_name=body.protocol_name if version >= 5 else None,
                assignment=bytes(body.assignment or b""),
            )
        case Heartbeat():
            return HeartbeatResponse(error_code=_error(body.error_code))
        case LeaveGroup():
            left = [
                LeftMember(
                    member_id=each.member_id,
                    group_instance_id=each.group_instance_id,
                    error_code=_error(each.error_code),
                )
                for each in body.members or ()
            ]
            return LeaveGroupResponse(error_code=_error(body.error_code), members=left)
        case ConsumerGroupHeartbeat():
            return _read_consumer_heartbeat(body)
        case OffsetCommit():
            return OffsetCommitResponse(topics=[_read_result(topic) for topic in body.topics])
        case OffsetFetch():
            return _read_committed(version, body)
        case ListOffsets():
            return ListOffsetsResponse(
                offsets=tuple(
                    ListedOffset(
                        partition=(topic.name, each.partition_index),
                        offset=each.offset,
                        error_code=_error(each.error_code),
                    )
                    for topic in body.topics
                    for each in topic.partitions
                )
            )
        case Fetch():
            return _read_fetched(request, body)
    assert_never(request)


def _read_consumer_heartbeat(body: Any) -> ConsumerGroupHeartbeatResponse:
    given = body.assignment
    return ConsumerGroupHeartbeatResponse(
        error_code=_error(body.error_code),
        error_message=body.error_message,
        member_id=body.member_id,
        member_epoch=body.member_epoch,
        heartbeat_interval_ms=body.heartbeat_interval_ms,
        assignment=None
        if given is None
        else ConsumerAssignment(
            topic_partitions=[
                AssignedTopic(topic_id=each.topic_id, partitions=list(each.partitions))
                for each in given.topic_partitions
            ]
        ),
    )


def _read_metadata(body: Any) -> MetadataResponse:
    return MetadataResponse(
        nodes=tuple(
            Node(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack)
            for each in sorted(body.brokers, key=lambda each: int(each.node_id))
        ),
        topics=tuple(
            TopicMetadata(
                name=topic.name,
                error_code=_error(topic.error_code),
                is_internal=bool(topic.is_internal),
                topic_id=topic.topic_id or None,
                partitions=tuple(
                    PartitionMetadata(
                        partition=each.partition_index,
                        leader=each.leader_id,
                        replicas=tuple(each.replica_nodes or ()),
                    )
                    for each in sorted(topic.partitions, key=lambda each: int(each.partition_index))
                ),
            )
            for topic in body.topics
        ),
    )


def _read_result(topic: Any) -> TopicResult:
    return TopicResult(
        name=topic.name,
        partitions=[
            PartitionResult(partition_index=each.partition_index, error_code=_error(each.error_code))
            for each in topic.partitions
        ],
    )


def _read_committed(version: int, body: Any) -> OffsetFetchResponse:
    group = body.groups[0] if version >= 8 and body.groups else body
    error = ErrorCode.NONE if version < 2 else _error(group.error_code)
    return OffsetFetchResponse(
        error_code=error,
        offsets=tuple(
            CommittedOffset(
                partition=(topic.name, each.partition_index),
                offset=each.committed_offset,
                error_code=_error(each.error_code),
            )
            for topic in group.topics
            for each in topic.partitions
        ),
    )


def _read_fetched(request: Fetch, body: Any) -> FetchResponse:
    offsets = dict(request.offsets)
    return FetchResponse(
        error_code=_error(body.error_code),
        session_id=body.session_id or 0,
        partitions=tuple(
            _read_partition((topic.topic, each.partition_index), each, offsets)
            for topic in body.responses
            for each in topic.partitions
        ),
    )


def _read_partition(
    partition: TopicPartition, answer: Any, offsets: Mapping[TopicPartition, int]
) -> FetchedPartition:
    name = f"{partition[0]}-{partition[1]} from offset {offsets.get(partition)}"
    records, next_offset = read_batches(
        _whole_batches(bytes(answer.records or b""), name),
        [(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()],
    )
    return FetchedPartition(
        partition=partition,
        error_code=_error(answer.error_code),
        high_watermark=answer.high_watermark,
        log_start_offset=-1 if answer.log_start_offset is None else answer.log_start_offset,
        records=records,
        next_offset=next_offset,
    )


def read_batches(
    batches: Iterable[tuple[Batch, Sequence[LogRecord]]], aborted: Iterable[AbortedStart]
) -> tuple[tuple[FetchedRecord, ...], int | None]:
    """Records for the user, and the offset behind the last batch; None: there was no batch.

    Markers are not for users. `aborted` is what the answer names (with read_committed, KIP-98): a producer's
    transactional batches from such an offset on, up to its next marker, are not either.
    """
    begun = sorted(aborted, key=lambda each: each[1], reverse=True)
    aborting: set[int] = set()
    records: list[FetchedRecord] = []
    next_offset: int | None = None
    for batch, decoded in batches:
        next_offset = batch.last_offset + 1
        while begun and begun[-1][1] <= batch.last_offset:
            aborting.add(begun.pop()[0])
        if batch.control:
            aborting.discard(batch.producer_id)
        elif not (batch.transactional and batch.producer_id in aborting):
            records.extend(
                FetchedRecord(
                    offset=each.offset, timestamp_ms=each.timestamp_ms, key=each.key, value=each.value
                )
                for each in decoded
            )
    return tuple(records), next_offset


def _whole_batches(data: bytes, name: str) -> Iterable[tuple[Any, Any]]:
    """The batches of a fetch answer, whose last one a broker may have cut short."""
    if not data:
        return
    seen = False
    for item in read_records(read_stream(io.BytesIO(data), name), name):
        if isinstance(item, Damage):
            if seen and item.position + item.size >= len(data):
                return
            raise DecodeError(f"records of {name}", at=item.position, why=item.why)
        seen = True
        yield item


def _error(code: int) -> ErrorCode:
    """An error that this version of kgroup does not know counts as the server's own."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR
