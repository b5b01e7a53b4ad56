"""Rights to transactional ids, and to write without one."""

from typing import Any, Final

from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
)

from kgroup.broker.cluster import INTERNAL_TOPICS
from kgroup.broker.guards.rights import Guard, Rights
from kgroup.broker.security.acls import Operation, ResourceType
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required, text

E = ErrorCode


def _init_producer_id(rights: Rights) -> Call | None:
    transactional_id = rights.call.body.transactional_id
    error = E.NONE
    if transactional_id is not None:
        if not rights.transactional_id(Operation.WRITE, transactional_id):
            error = E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not rights.cluster(Operation.IDEMPOTENT_WRITE) and not rights.authorizer.allows_some(
        rights.call, Operation.WRITE, ResourceType.TOPIC
    ):
        error = E.CLUSTER_AUTHORIZATION_FAILED
    if not error:
        return rights.call
    version = rights.call.version
    rights.refuse(
        InitProducerIdResponse(version=version, error_code=error, producer_id=-1, producer_epoch=-1)
    )
    return None


def _add_partitions(rights: Rights) -> Call | None:
    """All or nothing: one topic without the right, and no partition joins the transaction."""
    body = rights.call.body
    topics = required(body.v3_and_below_topics)
    if not rights.transactional_id(Operation.WRITE, text(body.v3_and_below_transactional_id)):
        rights.refuse(_added(rights, topics, lambda name, index: E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return None
    # Internal topics belong to the brokers, whatever the ACLs say.
    refused = {
        topic.name
        for topic in topics
        if topic.name in INTERNAL_TOPICS or not rights.topic(Operation.WRITE, text(topic.name))
    }
    if not refused:
        return rights.call

    def outcome(name: str, index: int) -> ErrorCode:
        if name in refused:
            return E.TOPIC_AUTHORIZATION_FAILED
        if rights.node.cluster.partition(name, index) is None:
            return E.UNKNOWN_TOPIC_OR_PARTITION
        return E.OPERATION_NOT_ATTEMPTED

    rights.refuse(_added(rights, topics, outcome))
    return None


def _added(rights: Rights, topics: Any, outcome: Any) -> AddPartitionsToTxnResponse:
    version = rights.call.version
    result = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    return AddPartitionsToTxnResponse(
        version=version,
        results_by_topic_v3_and_below=[
            result(
                version=version,
                name=topic.name,
                results_by_partition=[
                    result.AddPartitionsToTxnPartitionResult(
                        version=version,
                        partition_index=index,
                        partition_error_code=outcome(topic.name, index),
                    )
                    for index in required(topic.partitions)
                ],
            )
            for topic in topics
        ],
    )


def _add_offsets(rights: Rights) -> Call | None:
    body, error = rights.call.body, E.NONE
    if not rights.transactional_id(Operation.WRITE, text(body.transactional_id)):
        error = E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not rights.group(Operation.READ, text(body.group_id)):
        error = E.GROUP_AUTHORIZATION_FAILED
    if not error:
        return rights.call
    rights.refuse(AddOffsetsToTxnResponse(version=rights.call.version, error_code=error))
    return None


def _end_transaction(rights: Rights) -> Call | None:
    if rights.transactional_id(Operation.WRITE, text(rights.call.body.transactional_id)):
        return rights.call
    rights.refuse(
        EndTxnResponse(
            version=rights.call.version,
            error_code=E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            producer_id=-1,
            producer_epoch=-1,
        )
    )
    return None


GUARDS: Final[dict[int, Guard]] = {
    api.INIT_PRODUCER_ID: _init_producer_id,
    api.ADD_PARTITIONS_TO_TXN: _add_partitions,
    api.ADD_OFFSETS_TO_TXN: _add_offsets,
    api.END_TXN: _end_transaction,
}
