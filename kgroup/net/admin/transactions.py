"""The producers that keep transactions open on a live cluster's partitions (DescribeProducers, KIP-664)."""

from collections.abc import Collection
from typing import Final

from kafka.protocol.admin import DescribeProducersRequest

from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.unread import UnreadPlace, fetch_first_unread
from kgroup.protocol.log_listing import OpenTransaction

_NONE: Final = -1


def first_open_transactions(
    cluster: Cluster, begins: Collection[UnreadPlace]
) -> dict[UnreadPlace, OpenTransaction]:
    """The open transaction that begins at each of these last stable offsets.

    Its producer is unknown of brokers before 2.8, and where the user may not read the topic; its time where
    the record cannot be fetched.
    """
    producers = _producers(cluster, begins)
    first = fetch_first_unread(cluster, begins).records
    transactions = {}
    for begin in begins:
        producer_id, epoch = producers.get(begin, (None, None))
        record = first.get(begin)
        written_ms = record.timestamp_ms if record is not None and record.offset == begin.offset else _NONE
        transactions[begin] = OpenTransaction(
            first_offset=begin.offset,
            since_ms=None if written_ms == _NONE else written_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
        )
    return transactions


def _producers(cluster: Cluster, begins: Collection[UnreadPlace]) -> dict[UnreadPlace, tuple[int, int]]:
    """Producer id and epoch of those whose transaction begins there."""
    leaders = cluster.leaders({begin.topic for begin in begins})
    by_leader: dict[int, dict[str, set[int]]] = {}
    for begin in sorted(begins):
        leader = leaders.get((begin.topic, begin.partition))
        if leader is not None:
            by_leader.setdefault(leader, {}).setdefault(begin.topic, set()).add(begin.partition)
    producers: dict[UnreadPlace, tuple[int, int]] = {}
    for leader, of_topics in sorted(by_leader.items()):
        topic_request = DescribeProducersRequest.TopicRequest
        request = DescribeProducersRequest(
            topics=[
                topic_request(name=topic, partition_indexes=sorted(partitions))
                for topic, partitions in of_topics.items()
            ]
        )
        try:
            response = cluster.ask(request, leader)
        except SourceError:
            continue  # an older broker, which does not know who it is
        for topic in response.topics:
            for partition in topic.partitions:
                for producer in partition.active_producers:
                    begin = UnreadPlace(
                        topic.name, partition.partition_index, producer.current_txn_start_offset
                    )
                    if begin in begins:
                        producers[begin] = producer.producer_id, producer.producer_epoch
    return producers
