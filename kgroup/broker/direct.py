"""A member's requests as values, for members in the same process: the same rules without frames.

What the wire would bring is what the newest versions say, as between `wire/member_requests.py` and a node of
today.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kgroup.broker.apis.coordination import ask_coordinator
from kgroup.broker.apis.data_apis import BATCHES_MAX, ReadPart, finish_or_park, read_parts
from kgroup.broker.apis.offset_apis import commit_known
from kgroup.broker.fetching import FetchPart, WaitingFetch
from kgroup.broker.node import BrokerNode
from kgroup.log.format.batch import Batch, LogRecord, decode_batch
from kgroup.log.format.batch_header import read_header
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import Fetch, FetchedPartition, FetchResponse
from kgroup.protocol.requests.consumer_group import ConsumerGroupHeartbeat
from kgroup.protocol.requests.coordinator import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    ReplyBody,
    SyncGroup,
)
from kgroup.protocol.topic_partition import group_by_topic
from kgroup.wire.frames import Call
from kgroup.wire.member_responses import read_batches

DirectRequest = JoinGroup | SyncGroup | Heartbeat | ConsumerGroupHeartbeat | LeaveGroup | OffsetCommit | Fetch
DirectAnswer = ReplyBody | FetchResponse


def ask(
    node: BrokerNode, call: Call, body: DirectRequest, now_ms: int, answer: Callable[[DirectAnswer], None]
) -> None:
    """Hand a request to this node; `answer` is called at once, or when a flush or an append brings it.

    Of `call` only the token and the client's id and host count.
    """
    match body:
        case Fetch():
            _fetch(node, call, body, now_ms, answer)
            return
        case JoinGroup():
            body = replace(body, needs_known_id=True, can_skip_assignment=True)
        case OffsetCommit():
            commit = replace(body, knows_group_not_found=True)
            commit_known(node, call, commit, now_ms, answer)
            return
        case SyncGroup() | Heartbeat() | ConsumerGroupHeartbeat() | LeaveGroup():
            pass
    ask_coordinator(node, call, body.group_id, body, now_ms, answer)


def _fetch(
    node: BrokerNode, call: Call, body: Fetch, now_ms: int, answer: Callable[[DirectAnswer], None]
) -> None:
    if body.session_id:
        answer(FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND))
        return
    offsets = dict(body.offsets)
    by_topic = group_by_topic([partition for partition, _ in body.offsets])  # as a request lists them
    waiting = WaitingFetch(
        call=call,
        parts=tuple(
            FetchPart(
                topic=topic,
                topic_id=None,
                partition_index=index,
                partition=node.cluster.partition(topic, index),
                offset=offsets[topic, index],
                max_bytes=body.partition_max_bytes,
                leader_epoch=-1,
            )
            for topic, indexes in by_topic.items()
            for index in indexes
        ),
        read_committed=body.read_committed,
        min_bytes=body.min_bytes,
        max_bytes=body.max_bytes,
        batches_max=BATCHES_MAX,
        finish=lambda fetch: answer(
            FetchResponse(partitions=tuple(map(_fetched, read_parts(node, fetch, by_id=False))))
        ),
    )
    finish_or_park(node, waiting, body.max_wait_ms, now_ms)


def _fetched(read: ReadPart) -> FetchedPartition:
    part = read.part
    records, next_offset = read_batches(
        _batches(read.records.whole()), [(each.producer_id, each.first_offset) for each in read.aborted or ()]
    )
    return FetchedPartition(
        partition=(part.topic, part.partition_index),
        error_code=read.error_code,
        high_watermark=read.high_watermark,
        log_start_offset=read.log_start_offset,
        records=records,
        next_offset=next_offset,
    )


def _batches(raw: bytes) -> Iterator[tuple[Batch, Sequence[LogRecord]]]:
    """Whole batches, as they lie in the log."""
    position = 0
    while position < len(raw):
        end = position + read_header(raw, position).size
        batch = decode_batch(raw[position:end])
        position = end
        yield batch, batch.records()
