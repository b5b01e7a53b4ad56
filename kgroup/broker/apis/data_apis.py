"""Records in and out: Produce and Fetch."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.producer.produce import ProduceResponse

from kgroup.broker.fetching import FetchPart, WaitingFetch
from kgroup.broker.node import BrokerNode
from kgroup.broker.partition import Partition
from kgroup.broker.produced_batch import Refusal, only_batch
from kgroup.broker.producers import AbortedTransaction
from kgroup.broker.topic_settings import batch_rules
from kgroup.errors import DecodeError, KgroupError, SourceError
from kgroup.log.format.batch_header import read_header
from kgroup.log.store.stretch import NOTHING, Stretch, in_memory
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import READ_COMMITTED
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required

E = ErrorCode
_NO_OFFSET: Final = -1
_NO_TIMESTAMP: Final = -1
_ALL_REPLICAS: Final = -1
_NO_ROOM_WAIT_MS: Final = 100
BATCHES_MAX: Final = 4096  # in one answer: their headers are looked at in some 10 ms
READ_NOW_BYTES: Final = 1 << 16  # of all records of an answer


# ---- Produce ----------------------------------------------------------------------------------


def produce(node: BrokerNode, call: Call, now_ms: int) -> None:
    """Produce v3 to v13."""
    version, request = call.version, call.body
    topics = []
    for each in required(request.topic_data):
        name = node.cluster.topic_names.get(each.topic_id, "") if version >= 13 else each.name
        partitions = []
        for part in required(each.partition_data):
            outcome = _produce_one(node, request, version, name, part, now_ms)
            partitions.append(_produced(node, version, name, part.index, outcome, now_ms))
        topics.append(
            ProduceResponse.TopicProduceResponse(
                version=version, name=name, topic_id=each.topic_id, partition_responses=partitions
            )
        )
    if request.acks == 0:
        node.no_answer(call)
    else:
        node.answer(call, ProduceResponse(version=version, responses=topics))


def _produced(
    node: BrokerNode, version: int, topic: str, index: int, outcome: Refusal | int, now_ms: int
) -> Any:
    """The answer for one partition: an offset, or a refusal with the records that led to it (KIP-467)."""
    response = ProduceResponse.TopicProduceResponse.PartitionProduceResponse
    partition = node.cluster.partition(topic, index)
    start = partition.log.start_offset if partition is not None else _NO_OFFSET
    if isinstance(outcome, int):
        rules = batch_rules(node.cluster.topics[topic].spec.configs, node.cluster.settings, topic)
        return response(
            version=version,
            index=index,
            error_code=E.NONE,
            base_offset=outcome,
            log_append_time_ms=now_ms if rules.log_append_time else _NO_TIMESTAMP,
            log_start_offset=start,
            record_errors=[],
            error_message=None,
        )
    return response(
        version=version,
        index=index,
        error_code=outcome.error,
        base_offset=_NO_OFFSET,
        log_append_time_ms=_NO_TIMESTAMP,
        log_start_offset=start if outcome.by_log else _NO_OFFSET,
        record_errors=[
            response.BatchIndexAndErrorMessage(
                version=version, batch_index=each.index, batch_index_error_message=each.message
            )
            for each in outcome.records
        ],
        error_message=outcome.message,
    )


def _produce_one(
    node: BrokerNode, request: Any, version: int, topic: str, part: Any, now_ms: int
) -> Refusal | int:
    """The offset of the first record, or why there is none."""
    if request.acks not in (0, 1, _ALL_REPLICAS):
        return Refusal(error=E.INVALID_REQUIRED_ACKS)
    partition = node.cluster.partition(topic, part.index)
    if partition is None:
        unknown_id = version >= 13 and not topic
        return Refusal(error=E.UNKNOWN_TOPIC_ID if unknown_id else E.UNKNOWN_TOPIC_OR_PARTITION)
    if partition.leader != node.node_id:
        return Refusal(error=E.NOT_LEADER_OR_FOLLOWER)
    if node.cluster.topics[topic].is_internal:
        return Refusal(error=E.INVALID_TOPIC_EXCEPTION)
    batch = only_batch(part.records, version)
    if isinstance(batch, Refusal):
        return batch
    error = _check_transaction(node, request, version, partition, batch, now_ms)
    if error:
        return Refusal(error=error)
    rules = batch_rules(
        node.cluster.topics[topic].spec.configs, node.cluster.settings, f"{topic}-{part.index}"
    )
    try:
        return partition.produce(batch, rules, now_ms)
    except SourceError:
        return Refusal(error=E.KAFKA_STORAGE_ERROR)


def _check_transaction(
    node: BrokerNode, request: Any, version: int, partition: Partition, records: bytes, now_ms: int
) -> ErrorCode:
    try:
        header = read_header(records)
    except DecodeError:
        return E.NONE  # refused as a batch that cannot be, a little later
    if not header.transactional:
        return E.NONE
    if request.transactional_id is None:
        return E.INVALID_TXN_STATE
    producer = (header.producer_id, header.producer_epoch)
    topic_partition = (partition.topic, partition.index)
    transactions = node.cluster.transactions
    if version >= 12:  # KIP-890: the partition joins the transaction with its first records
        error = transactions.add_partitions(request.transactional_id, producer, [topic_partition], now_ms)
        if error:
            return E.INVALID_PRODUCER_EPOCH if error is E.PRODUCER_FENCED else error
    return transactions.verify(
        request.transactional_id, producer, topic_partition, knows_abortable=version >= 11
    )


# ---- Fetch ------------------------------------------------------------------------------------


def fetch(node: BrokerNode, call: Call, now_ms: int) -> None:
    """Fetch v4 to v18. Sessions are never opened: the answer has session 0, as when Kafka's cache is full."""
    request = call.body
    in_session = call.version >= 7 and request.session_id != 0
    if in_session:
        response = FetchResponse(version=call.version, error_code=E.FETCH_SESSION_ID_NOT_FOUND, responses=[])
        node.answer(call, response)
        return
    max_bytes = min(request.max_bytes, node.cluster.settings.fetch_max_bytes)
    waiting = WaitingFetch(
        call=call,
        parts=tuple(_parts(node, call)),
        read_committed=request.isolation_level == READ_COMMITTED,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        batches_max=BATCHES_MAX,
        has_room=node.has_room,
        finish=lambda fetch: _finish(node, fetch),
    )
    finish_or_park(node, waiting, request.max_wait_ms, now_ms)


def finish_or_park(node: BrokerNode, waiting: WaitingFetch, max_wait_ms: int, now_ms: int) -> None:
    """Answer a fetch at once if there is enough or it may not wait, else when there is enough."""
    if not waiting.has_room():
        max_wait_ms = max(max_wait_ms, _NO_ROOM_WAIT_MS)
    if max_wait_ms <= 0 or not waiting.parts or _is_due(node, waiting):
        waiting.finish(waiting)
        return
    node.waits.park(waiting, now_ms + max_wait_ms)


def _is_due(node: BrokerNode, waiting: WaitingFetch) -> bool:
    misplaced = any(
        part.partition is not None and part.partition.leader != node.node_id for part in waiting.parts
    )
    return misplaced or waiting.available_bytes() >= waiting.min_bytes


def _parts(node: BrokerNode, call: Call) -> list[FetchPart]:
    parts = []
    for each in required(call.body.topics):
        name = node.cluster.topic_names.get(each.topic_id, "") if call.version >= 13 else each.topic
        for part in required(each.partitions):
            parts.append(
                FetchPart(
                    topic=name,
                    topic_id=each.topic_id,
                    partition_index=part.partition,
                    partition=node.cluster.partition(name, part.partition),
                    offset=part.fetch_offset,
                    max_bytes=part.partition_max_bytes,
                    leader_epoch=part.current_leader_epoch,
                )
            )
    return parts


class ReadPart(NamedTuple):
    """The answer of a fetch for one partition; offsets are -1 with an error other than OFFSET_OUT_OF_RANGE.

    `aborted` is for readers of committed records, None for others and with an error.
    """

    part: FetchPart
    error_code: ErrorCode
    high_watermark: int = _NO_OFFSET
    last_stable_offset: int = _NO_OFFSET
    log_start_offset: int = _NO_OFFSET
    records: Stretch = NOTHING
    aborted: Sequence[AbortedTransaction] | None = None


def read_parts(node: BrokerNode, fetch: WaitingFetch, *, by_id: bool) -> Iterator[ReadPart]:
    """Every part of a fetch with its records so far, up to the fetch's limit of bytes.

    The first batch comes however large it is, so that a reader gets on; no other exceeds a limit (KIP-74).
    A limit of kgroup's own is that of batches, which are looked at one by one: a broker may give less than
    it was asked for. Short records are read at once, the others when they are sent.
    """
    has_room = fetch.has_room()
    left_bytes = fetch.max_bytes if has_room else 0
    left_batches = BATCHES_MAX
    left_now_bytes = READ_NOW_BYTES
    may_exceed = has_room
    for part in fetch.parts:
        limit = _Limit(min(part.max_bytes, left_bytes), left_batches, left_now_bytes, may_exceed)
        read = _read_part(node, fetch, part, limit, by_id)
        left_bytes = max(left_bytes - read.records.size, 0)
        left_batches -= read.records.batches
        left_now_bytes -= read.records.size
        may_exceed = may_exceed and not read.records.size
        yield read


class _Limit(NamedTuple):
    """The most bytes and batches of a log, or its next batch if that is larger and `may_exceed`.

    They are read at once if there are no more than `now_bytes`.
    """

    bytes_max: int
    batches_max: int
    now_bytes: int
    may_exceed: bool


def _read_part(
    node: BrokerNode, fetch: WaitingFetch, part: FetchPart, limit: _Limit, by_id: bool
) -> ReadPart:
    try:
        read = _read_log(node, fetch, part, limit, by_id)
    except (KgroupError, OSError) as error:
        node.cannot_read(part.topic, part.partition_index, error)
        return ReadPart(part, E.KAFKA_STORAGE_ERROR)
    node.could_read(part.topic, part.partition_index)
    return read


def _read_log(node: BrokerNode, fetch: WaitingFetch, part: FetchPart, limit: _Limit, by_id: bool) -> ReadPart:
    partition = part.partition
    error = _fetch_error(node, by_id, part)
    if partition is None or error not in (E.NONE, E.OFFSET_OUT_OF_RANGE):
        return ReadPart(part, error)
    log = partition.log
    stable = partition.last_stable_offset
    records = NOTHING
    high_watermark = partition.high_watermark
    end = stable if fetch.read_committed else high_watermark
    wanted = limit.batches_max > 0 and (limit.bytes_max > 0 or limit.may_exceed)
    if not error and end > part.offset and wanted:
        records = log.stretch(part.offset, limit.bytes_max, end, limit.batches_max)
        if records.size > limit.bytes_max and not limit.may_exceed:
            records = NOTHING
        elif records.size <= limit.now_bytes:
            records = in_memory([records.whole()], records.batches)
    aborted = None
    if fetch.read_committed and not error:
        aborted = partition.producers.aborted_between(part.offset, stable)
    return ReadPart(part, error, high_watermark, stable, log.start_offset, records, aborted)


def _finish(node: BrokerNode, fetch: WaitingFetch) -> None:
    body = _fetched(node, fetch)
    partitions = [partition for topic in body.responses for partition in topic.partitions]
    if sum(partition.records.size for partition in partitions) > READ_NOW_BYTES:
        node.answer_with_records(fetch.call, body)
        return
    for partition in partitions:
        partition.records = partition.records.whole()
    node.answer(fetch.call, body)


def _fetched(node: BrokerNode, fetch: WaitingFetch) -> Any:
    """The answer; its records are stretches."""
    version = fetch.call.version
    topics: dict[object, Any] = {}
    for read in read_parts(node, fetch, by_id=version >= 13):
        part = read.part
        key = part.topic_id if version >= 13 else part.topic
        topic = topics.get(key)
        if topic is None:
            topic = topics[key] = FetchResponse.FetchableTopicResponse(
                version=version, topic=part.topic, topic_id=part.topic_id, partitions=[]
            )
        topic.partitions.append(_partition_data(fetch, read))
    return FetchResponse(version=version, session_id=0, responses=list(topics.values()))


def _partition_data(fetch: WaitingFetch, read: ReadPart) -> Any:
    version = fetch.call.version
    aborted = None
    if read.aborted is not None:
        aborted = [
            FetchResponse.FetchableTopicResponse.PartitionData.AbortedTransaction(
                version=version, producer_id=aborted.producer_id, first_offset=aborted.first_offset
            )
            for aborted in read.aborted
        ]
    return FetchResponse.FetchableTopicResponse.PartitionData(
        version=version,
        partition_index=read.part.partition_index,
        error_code=read.error_code,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable_offset,
        log_start_offset=read.log_start_offset,
        aborted_transactions=aborted,
        preferred_read_replica=-1,
        records=read.records,
    )


def _fetch_error(node: BrokerNode, by_id: bool, part: FetchPart) -> ErrorCode:
    partition = part.partition
    if partition is None:
        return E.UNKNOWN_TOPIC_ID if by_id and not part.topic else E.UNKNOWN_TOPIC_OR_PARTITION
    if partition.leader != node.node_id:
        return E.NOT_LEADER_OR_FOLLOWER
    error = partition.check_epoch(part.leader_epoch)
    if error:
        return error
    if not partition.log.start_offset <= part.offset <= partition.log.end_offset:
        return E.OFFSET_OUT_OF_RANGE
    return E.NONE


HANDLERS: Final = {
    api.PRODUCE: produce,
    api.FETCH: fetch,
}
