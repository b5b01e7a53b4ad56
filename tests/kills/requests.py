"""The requests of a client that writes, and of one that reads everything back."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafka.protocol.admin.topics import CreateTopicsRequest, DeleteTopicsRequest
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer.produce import ProduceRequest
from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from kgroup.log.format.batch import LogRecord, encode_batch

TRANSACTIONAL_ID: Final = "copier"
Producer = tuple[int, int]


def produce(
    topic: str, partition: int, values: Iterable[str], producer: Producer | None, sequence: int
) -> Any:
    """A batch of these values; with a producer it belongs to its transaction."""
    batch = encode_batch(
        [
            LogRecord(offset=number, timestamp_ms=number + 1, key=None, value=value.encode())
            for number, value in enumerate(values)
        ],
        producer_id=-1 if producer is None else producer[0],
        producer_epoch=-1 if producer is None else producer[1],
        base_sequence=-1 if producer is None else sequence,
        transactional=producer is not None,
    )
    data = ProduceRequest.TopicProduceData
    return ProduceRequest(
        version=8,
        transactional_id=None if producer is None else TRANSACTIONAL_ID,
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            data(
                version=8,
                name=topic,
                partition_data=[data.PartitionProduceData(version=8, index=partition, records=batch)],
            )
        ],
    )


def commit(group: str, topic: str, offsets: Mapping[int, int]) -> Any:
    """A commit of a client that is no member."""
    wanted = OffsetCommitRequest.OffsetCommitRequestTopic
    partitions = [
        wanted.OffsetCommitRequestPartition(
            version=7, partition_index=index, committed_offset=offset, committed_metadata=""
        )
        for index, offset in offsets.items()
    ]
    return OffsetCommitRequest(
        version=7,
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[wanted(version=7, name=topic, partitions=partitions)],
    )


def committed(group: str) -> Any:
    """Every stable offset of a group."""
    return OffsetFetchRequest(version=7, group_id=group, topics=None, require_stable=True)


def init_producer() -> Any:
    """A new epoch; it ends what the last one left open."""
    return InitProducerIdRequest(version=2, transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=60_000)


def add_partitions(producer: Producer, topic: str, partitions: Iterable[int]) -> Any:
    """Take partitions into the transaction."""
    taken = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    return AddPartitionsToTxnRequest(
        version=2,
        v3_and_below_transactional_id=TRANSACTIONAL_ID,
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics=[taken(version=2, name=topic, partitions=list(partitions))],
    )


def add_offsets(producer: Producer, group: str) -> Any:
    """Take a group's commits into the transaction."""
    return AddOffsetsToTxnRequest(
        version=2,
        transactional_id=TRANSACTIONAL_ID,
        producer_id=producer[0],
        producer_epoch=producer[1],
        group_id=group,
    )


def transactional_commit(producer: Producer, group: str, topic: str, offset: int) -> Any:
    """A commit that counts when the transaction does."""
    wanted = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    partition = wanted.TxnOffsetCommitRequestPartition(
        version=2, partition_index=0, committed_offset=offset, committed_metadata=""
    )
    return TxnOffsetCommitRequest(
        version=2,
        transactional_id=TRANSACTIONAL_ID,
        group_id=group,
        producer_id=producer[0],
        producer_epoch=producer[1],
        topics=[wanted(version=2, name=topic, partitions=[partition])],
    )


def end(producer: Producer, *, is_commit: bool) -> Any:
    """The end of the transaction."""
    return EndTxnRequest(
        version=2,
        transactional_id=TRANSACTIONAL_ID,
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=is_commit,
    )


def create(topic: str) -> Any:
    """A topic of one partition."""
    creatable = CreateTopicsRequest.CreatableTopic
    return CreateTopicsRequest(
        version=4,
        topics=[
            creatable(
                version=4, name=topic, num_partitions=1, replication_factor=1, assignments=[], configs=[]
            )
        ],
        timeout_ms=1000,
        validate_only=False,
    )


def delete(topic: str) -> Any:
    """A topic's end."""
    return DeleteTopicsRequest(version=4, topic_names=[topic], timeout_ms=1000)


def topics() -> Any:
    """Metadata of all topics."""
    return MetadataRequest(version=7, topics=None, allow_auto_topic_creation=False)


def fetch(topic: str, partition: int, offset: int) -> Any:
    """What lies from an offset on, committed or not."""
    wanted = FetchRequest.FetchTopic
    part = wanted.FetchPartition(
        version=11,
        partition=partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        partition_max_bytes=1 << 22,
    )
    return FetchRequest(
        version=11,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 24,
        isolation_level=0,
        topics=[wanted(version=11, topic=topic, partitions=[part])],
        rack_id="",
    )
