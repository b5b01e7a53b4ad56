"""Producers' transactions on the wire: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn."""

from typing import Final

from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
)

from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kgroup.broker.node import BrokerNode
from kgroup.broker.transactions import ProducerIdentity
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required

E = ErrorCode


def _coordinates(node: BrokerNode, transactional_id: str, now_ms: int) -> bool:
    """Whether this node is the transaction's coordinator."""
    topic = node.cluster.internal_topic(TRANSACTIONS_TOPIC, now_ms)
    return topic.partitions[node.cluster.transaction_partition(transactional_id)].leader == node.node_id


def _for_version(error: ErrorCode, fenced_since: int, version: int) -> ErrorCode:
    """PRODUCER_FENCED is new; clients before it know INVALID_PRODUCER_EPOCH."""
    return E.INVALID_PRODUCER_EPOCH if error is E.PRODUCER_FENCED and version < fenced_since else error


def init_producer_id(node: BrokerNode, call: Call, now_ms: int) -> None:
    """InitProducerId v0 to v5."""
    request, version = call.body, call.version
    current = (request.producer_id, request.producer_epoch) if version >= 3 else (-1, -1)
    if request.transactional_id and not _coordinates(node, request.transactional_id, now_ms):
        identity = ProducerIdentity(E.NOT_COORDINATOR)
    else:
        identity = node.cluster.transactions.init_producer_id(
            request.transactional_id, request.transaction_timeout_ms, current, now_ms
        )
    response = InitProducerIdResponse(
        version=version,
        error_code=_for_version(identity.error, 4, version),
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
    )
    node.answer(call, response)


def add_partitions(node: BrokerNode, call: Call, now_ms: int) -> None:
    """AddPartitionsToTxn v0 to v3: all partitions or none."""
    request, version = call.body, call.version
    partitions = [
        (topic.name, index)
        for topic in required(request.v3_and_below_topics)
        for index in required(topic.partitions)
    ]
    transactional_id = request.v3_and_below_transactional_id
    producer = (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    missing = [partition for partition in partitions if node.cluster.partition(*partition) is None]
    errors: dict[tuple[str, int], ErrorCode] = {}
    if missing:
        errors = dict.fromkeys(partitions, E.OPERATION_NOT_ATTEMPTED) | dict.fromkeys(
            missing, E.UNKNOWN_TOPIC_OR_PARTITION
        )
    else:
        error = E.NOT_COORDINATOR
        if not transactional_id:
            error = E.INVALID_REQUEST
        elif _coordinates(node, transactional_id, now_ms):
            error = node.cluster.transactions.add_partitions(transactional_id, producer, partitions, now_ms)
        errors = dict.fromkeys(partitions, _for_version(error, 2, version))
    result = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    topics = [
        result(
            version=version,
            name=topic.name,
            results_by_partition=[
                result.AddPartitionsToTxnPartitionResult(
                    version=version, partition_index=index, partition_error_code=errors[topic.name, index]
                )
                for index in topic.partitions
            ],
        )
        for topic in request.v3_and_below_topics
    ]
    node.answer(call, AddPartitionsToTxnResponse(version=version, results_by_topic_v3_and_below=topics))


def add_offsets(node: BrokerNode, call: Call, now_ms: int) -> None:
    """AddOffsetsToTxn v0 to v4: the group's offsets partition takes part."""
    request, version = call.body, call.version
    error = E.NOT_COORDINATOR
    if not request.transactional_id:
        error = E.INVALID_REQUEST
    elif _coordinates(node, request.transactional_id, now_ms):
        node.cluster.internal_topic(OFFSETS_TOPIC, now_ms)
        offsets_partition = (OFFSETS_TOPIC, node.cluster.offsets_partition(request.group_id))
        producer = (request.producer_id, request.producer_epoch)
        error = node.cluster.transactions.add_partitions(
            request.transactional_id, producer, [offsets_partition], now_ms
        )
    response = AddOffsetsToTxnResponse(version=version, error_code=_for_version(error, 2, version))
    node.answer(call, response)


def end_transaction(node: BrokerNode, call: Call, now_ms: int) -> None:
    """EndTxn v0 to v5; from v5 on the producer gets a new epoch with the answer (KIP-890)."""
    request, version = call.body, call.version
    identity = ProducerIdentity(E.NOT_COORDINATOR)
    if not request.transactional_id:
        identity = ProducerIdentity(E.INVALID_REQUEST)
    elif _coordinates(node, request.transactional_id, now_ms):
        identity = node.cluster.transactions.end(
            request.transactional_id,
            (request.producer_id, request.producer_epoch),
            committed=request.committed,
            bump_epoch=version >= 5,
            now_ms=now_ms,
        )
    response = EndTxnResponse(
        version=version,
        error_code=_for_version(identity.error, 2, version),
        producer_id=identity.producer_id,
        producer_epoch=identity.producer_epoch,
    )
    node.answer(call, response)


HANDLERS: Final = {
    api.INIT_PRODUCER_ID: init_producer_id,
    api.ADD_PARTITIONS_TO_TXN: add_partitions,
    api.ADD_OFFSETS_TO_TXN: add_offsets,
    api.END_TXN: end_transaction,
}
