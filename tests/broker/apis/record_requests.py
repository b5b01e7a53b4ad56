"""Requests that bring and take records, and what their answers say."""

from typing import Any

from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.producer.produce import ProduceRequest

from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.world import BrokerWorld

TOPIC = "orders"


def leader(world: BrokerWorld) -> int:
    return world.cluster.topics[TOPIC].partitions[0].leader


def batch(*timestamps_ms: int, sequence: int = -1, epoch: int = 0, transactional: bool = False) -> bytes:
    producer = 7 if sequence >= 0 or transactional else -1
    records = [
        LogRecord(offset=n, timestamp_ms=at, key=None, value=b"v") for n, at in enumerate(timestamps_ms)
    ]
    return encode_batch(
        records,
        producer_id=producer,
        producer_epoch=epoch if producer >= 0 else -1,
        base_sequence=sequence,
        transactional=transactional,
    )


def produce_request(records: bytes | None, acks: int = -1, topic: str = TOPIC) -> ProduceRequest:
    data = ProduceRequest.TopicProduceData
    partition = data.PartitionProduceData(version=8, index=0, records=records)
    topics = [data(version=8, name=topic, partition_data=[partition])]
    return ProduceRequest(version=8, transactional_id=None, acks=acks, timeout_ms=1000, topic_data=topics)


def produced(world: BrokerWorld, records: bytes | None, **options: Any) -> tuple[ErrorCode, int]:
    answer = world.ask(produce_request(records, **options), leader(world))
    result = answer.responses[0].partition_responses[0]
    return ErrorCode(result.error_code), result.base_offset


def fetch_request(
    offset: int,
    *,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    committed: bool = False,
    leader_epoch: int = -1,
) -> FetchRequest:
    topic = FetchRequest.FetchTopic
    partition = topic.FetchPartition(
        version=11,
        partition=0,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        partition_max_bytes=1 << 20,
    )
    return FetchRequest(
        version=11,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=1 << 20,
        isolation_level=int(committed),
        topics=[topic(version=11, topic=TOPIC, partitions=[partition])],
        rack_id="",
    )


def part_of(answer: Any) -> Any:
    return answer.responses[0].partitions[0]
