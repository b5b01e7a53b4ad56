"""The state that the transcripts of Kafka's own tool were recorded in, on kgroup's brokers.

Topic orders has three partitions and 300 records in the last. Group empty-g has committed 0, 0 and 50 and
has no members; live-classic and live-new, of the consumer protocol, have one member each that has read all.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import confluent_kafka

import kgroup.testing

PATIENCE_S = 60
RECORDS = 300
TOPIC = "orders"
CLIENT_ID = "console-consumer"


@contextmanager
def usual_groups(nodes: int = 1) -> Iterator[kgroup.testing.Cluster]:
    """A cluster in that state."""
    with ExitStack() as stack:
        kafka = stack.enter_context(kgroup.testing.cluster(nodes=nodes, topics={TOPIC: 3}))
        producer = confluent_kafka.Producer({"bootstrap.servers": kafka.bootstrap})
        for number in range(RECORDS):
            producer.produce(TOPIC, value=b"%d" % number, partition=2)
        producer.flush(PATIENCE_S)
        commit(kafka, "empty-g", [0, 0, 50])
        stack.enter_context(member(kafka, "live-classic", {"partition.assignment.strategy": "range"}))
        stack.enter_context(member(kafka, "live-new", {"group.protocol": "consumer"}))
        yield kafka


def commit(kafka: kgroup.testing.Cluster, group: str, offsets: list[int], topic: str = TOPIC) -> None:
    """Commit one offset for each partition of a topic, from the first on, without being a member."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group})
    places = [confluent_kafka.TopicPartition(topic, index, offset) for index, offset in enumerate(offsets)]
    consumer.commit(offsets=places, asynchronous=False)
    consumer.close()


@contextmanager
def member(
    kafka: kgroup.testing.Cluster, group: str, settings: dict[str, Any], client_id: str = CLIENT_ID
) -> Iterator[confluent_kafka.Consumer]:
    """A member that has read all there is, and committed that for every partition that it owns."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "client.id": client_id,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **settings,
        }
    )
    try:
        consumer.subscribe([TOPIC])
        read = 0
        while read < RECORDS:
            message = consumer.poll(PATIENCE_S)
            assert message is not None and message.error() is None, message
            read += 1
        places = [
            # As a consumer does that has read records there, and none elsewhere.
            confluent_kafka.TopicPartition(TOPIC, 2, RECORDS, "", 0)
            if owned.partition == 2
            else confluent_kafka.TopicPartition(TOPIC, owned.partition, 0)
            for owned in consumer.assignment()
        ]
        consumer.commit(offsets=places, asynchronous=False)
        yield consumer
    finally:
        consumer.close()
