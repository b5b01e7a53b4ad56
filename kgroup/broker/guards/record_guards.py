"""Rights to records: WRITE to produce, READ to fetch, DESCRIBE to learn offsets, DELETE to delete."""

from collections.abc import Callable
from typing import Any, Final

from kafka.protocol.admin.topics import DeleteRecordsResponse
from kafka.protocol.consumer.fetch import FetchResponse
from kafka.protocol.consumer.offsets import ListOffsetsResponse, OffsetForLeaderEpochResponse
from kafka.protocol.producer.produce import ProduceResponse

from kgroup.broker.guards.rights import Guard, Rights, apart
from kgroup.broker.security.acls import Operation
from kgroup.errors import DecodeError
from kgroup.log.format.batch_header import read_header
from kgroup.protocol.error_codes import ErrorCode
from kgroup.wire import apis as api
from kgroup.wire.frames import Call, required, text

E = ErrorCode
_REFUSED: Final = E.TOPIC_AUTHORIZATION_FAILED
_NOWHERE: Final = -1


def _split(rights: Rights, topics: Any, may: Callable[[str], bool], field: str, by_id: bool) -> Any:
    """The topics for the handler, and the refused ones; ids of no topic are for the handler."""

    def allowed(topic: Any) -> bool:
        name = rights.topic_name(topic, by_id, field)
        if name is None and not by_id:
            text(None)
        return name is None or may(name)

    return apart(required(topics), allowed)


def _adding(rights: Rights, field: str, topics: list[Any]) -> Call:
    """The request, to whose answer the refused topics are added."""
    if not topics:
        return rights.call

    def amend(answer: Any) -> Any:
        setattr(answer, field, [*getattr(answer, field), *topics])
        return answer

    return rights.amended(amend)


# ---- Produce ----------------------------------------------------------------------------------


def _produce(rights: Rights) -> Call | None:
    body, version = rights.call.body, rights.call.version
    transactional = any(
        _is_transactional(part.records)
        for topic in required(body.topic_data)
        for part in required(topic.partition_data)
    )
    refused, error = [], _REFUSED
    if transactional and (
        body.transactional_id is None or not rights.transactional_id(Operation.WRITE, body.transactional_id)
    ):
        refused, error, body.topic_data = body.topic_data, E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, []
    else:
        body.topic_data, refused = _split(
            rights,
            body.topic_data,
            lambda name: rights.topic(Operation.WRITE, name),
            field="name",
            by_id=version >= 13,
        )
    answer = ProduceResponse.TopicProduceResponse
    topics = [
        answer(
            version=version,
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=[
                answer.PartitionProduceResponse(
                    version=version,
                    index=part.index,
                    error_code=error,
                    base_offset=_NOWHERE,
                    log_append_time_ms=-1,
                    log_start_offset=_NOWHERE,
                    record_errors=[],
                )
                for part in required(topic.partition_data)
            ],
        )
        for topic in refused
    ]
    return _adding(rights, "responses", topics)


def _is_transactional(records: bytes | None) -> bool:
    try:
        return records is not None and read_header(records).transactional
    except DecodeError:
        return False  # the handler refuses it


# ---- Fetch ------------------------------------------------------------------------------------


def _fetch(rights: Rights) -> Call | None:
    body, version = rights.call.body, rights.call.version
    by_id = version >= 13
    body.topics, refused = _split(
        rights, body.topics, lambda name: rights.topic(Operation.READ, name), field="topic", by_id=by_id
    )
    answer = FetchResponse.FetchableTopicResponse
    topics = [
        answer(
            version=version,
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[
                answer.PartitionData(
                    version=version,
                    partition_index=part.partition,
                    error_code=_REFUSED,
                    high_watermark=_NOWHERE,
                    last_stable_offset=_NOWHERE,
                    log_start_offset=_NOWHERE,
                    aborted_transactions=None,
                    preferred_read_replica=-1,
                    records=b"",
                )
                for part in required(topic.partitions)
            ],
        )
        for topic in refused
    ]
    return _adding(rights, "responses", topics)


# ---- offsets ----------------------------------------------------------------------------------


def _list_offsets(rights: Rights) -> Call:
    body, version = rights.call.body, rights.call.version
    body.topics, refused = _split(
        rights, body.topics, lambda name: rights.topic(Operation.DESCRIBE, name), field="name", by_id=False
    )
    answer = ListOffsetsResponse.ListOffsetsTopicResponse
    topics = [
        answer(
            version=version,
            name=topic.name,
            partitions=[
                answer.ListOffsetsPartitionResponse(
                    version=version,
                    partition_index=part.partition_index,
                    error_code=_REFUSED,
                    timestamp=-1,
                    offset=_NOWHERE,
                    leader_epoch=-1,
                )
                for part in required(topic.partitions)
            ],
        )
        for topic in refused
    ]
    return _adding(rights, "topics", topics)


def _offset_for_leader_epoch(rights: Rights) -> Call:
    if rights.cluster(Operation.CLUSTER_ACTION):
        return rights.call
    body, version = rights.call.body, rights.call.version
    body.topics, refused = _split(
        rights, body.topics, lambda name: rights.topic(Operation.DESCRIBE, name), field="topic", by_id=False
    )
    answer = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    topics = [
        answer(
            version=version,
            topic=topic.topic,
            partitions=[
                answer.EpochEndOffset(
                    version=version,
                    partition=part.partition,
                    error_code=_REFUSED,
                    leader_epoch=-1,
                    end_offset=_NOWHERE,
                )
                for part in required(topic.partitions)
            ],
        )
        for topic in refused
    ]
    return _adding(rights, "topics", topics)


def _delete_records(rights: Rights) -> Call:
    body, version = rights.call.body, rights.call.version
    body.topics, refused = _split(
        rights, body.topics, lambda name: rights.topic(Operation.DELETE, name), field="name", by_id=False
    )
    answer = DeleteRecordsResponse.DeleteRecordsTopicResult
    topics = [
        answer(
            version=version,
            name=topic.name,
            partitions=[
                answer.DeleteRecordsPartitionResult(
                    version=version,
                    partition_index=part.partition_index,
                    low_watermark=_NOWHERE,
                    error_code=_REFUSED,
                )
                for part in required(topic.partitions)
            ],
        )
        for topic in refused
    ]
    return _adding(rights, "topics", topics)


GUARDS: Final[dict[int, Guard]] = {
    api.PRODUCE: _produce,
    api.FETCH: _fetch,
    api.LIST_OFFSETS: _list_offsets,
    api.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    api.DELETE_RECORDS: _delete_records,
}
