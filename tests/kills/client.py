"""The requests of the harness's client, each as one value."""

from collections.abc import Iterator
from typing import Any

from kafka.protocol.admin.topics import CreateTopicsRequest
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.metadata import MetadataRequest
from kafka.protocol.producer.produce import ProduceRequest
from kafka.protocol.producer.transaction import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)

from kgroup.log.format.batch import LogRecord, decode_batch, encode_batch
from kgroup.log.format.batch_header import read_header
from tests.net.wire_client import WireClient

GROUP = "steady"
_VERSION = 7


def produce(
    topic: str, index: int, value: str, producer: tuple[int, int, int] | None = None
) -> ProduceRequest:
    """One record; `producer` is id, epoch and sequence of a transaction's."""
    producer_id, epoch, sequence = producer or (-1, -1, -1)
    records = encode_batch(
        [LogRecord(offset=0, timestamp_ms=1, key=None, value=value.encode())],
        transactional=producer is not None,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    data = ProduceRequest.TopicProduceData
    partition = data.PartitionProduceData(version=_VERSION, index=index, records=records)
    return ProduceRequest(
        version=_VERSION,
        transactional_id=None if producer is None else "copier",
        acks=-1,
        timeout_ms=1000,
        topic_data=[data(version=_VERSION, name=topic, partition_data=[partition])],
    )


def commit(topic: str, index: int, offset: int) -> OffsetCommitRequest:
    each = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = each.OffsetCommitRequestPartition(
        version=7, partition_index=index, committed_offset=offset, committed_metadata=""
    )
    return OffsetCommitRequest(
        version=7,
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        member_id="",
        topics=[each(version=7, name=topic, partitions=[partition])],
    )


def create_topic(name: str) -> CreateTopicsRequest:
    topic = CreateTopicsRequest.CreatableTopic(
        version=5, name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
    )
    return CreateTopicsRequest(version=5, topics=[topic], timeout_ms=1000)


def begin(client: WireClient, topic: str, partitions: list[int]) -> tuple[int, int]:
    """Producer id and epoch of a new transaction."""
    while True:
        answer = client.ask(
            InitProducerIdRequest(version=2, transactional_id="copier", transaction_timeout_ms=60_000)
        )
        if not answer.error_code:
            break
    each = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    client.ask(
        AddPartitionsToTxnRequest(
            version=2,
            v3_and_below_transactional_id="copier",
            v3_and_below_producer_id=answer.producer_id,
            v3_and_below_producer_epoch=answer.producer_epoch,
            v3_and_below_topics=[each(version=2, name=topic, partitions=partitions)],
        )
    )
    return answer.producer_id, answer.producer_epoch


def end(producer: tuple[int, int], *, committed: bool) -> EndTxnRequest:
    return EndTxnRequest(
        version=2,
        transactional_id="copier",
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=committed,
    )


def topics(client: WireClient) -> set[str]:
    """The names of all topics."""
    return {each.name for each in client.ask(MetadataRequest(version=5, topics=None)).topics}


def committed(client: WireClient) -> dict[tuple[str, int], int]:
    """The offsets that the group has committed."""
    while True:
        answer = client.ask(OffsetFetchRequest(version=5, group_id=GROUP, topics=None))
        if not answer.error_code:  # else the log is being loaded
            return {
                (topic.name, each.partition_index): each.committed_offset
                for topic in answer.topics
                for each in topic.partitions
            }


def records(client: WireClient, topic: str, index: int, *, read_committed: bool) -> Iterator[tuple[int, str]]:
    """Offset and value of every record up to the end, or up to the first open transaction."""
    offset = 0
    while True:
        part = client.ask(_fetch(topic, index, offset, read_committed)).responses[0].partitions[0]
        assert not part.error_code, f"{topic}-{index}: error {part.error_code} at {offset}"
        raw = part.records or b""
        if not raw:
            return
        aborted = sorted((each.first_offset, each.producer_id) for each in part.aborted_transactions or ())
        open_aborts: set[int] = set()
        position = 0
        while position < len(raw):
            size = read_header(raw, position).size
            batch = decode_batch(bytes(raw[position : position + size]))
            position += size
            offset = batch.last_offset + 1
            while aborted and aborted[0][0] <= batch.last_offset:
                open_aborts.add(aborted.pop(0)[1])
            if batch.control:
                open_aborts.discard(batch.producer_id)
            elif not (batch.transactional and batch.producer_id in open_aborts):
                yield from ((record.offset, (record.value or b"").decode()) for record in batch.records())


def _fetch(topic: str, index: int, offset: int, read_committed: bool) -> FetchRequest:
    each: Any = FetchRequest.FetchTopic
    partition = each.FetchPartition(
        version=4, partition=index, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    return FetchRequest(
        version=4,
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        isolation_level=int(read_committed),
        topics=[each(version=4, topic=topic, partitions=[partition])],
    )
