"""Transactions of real clients: records and offsets that count together or not at all."""

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka import KafkaProducer
from kafka import TopicPartition as KafkaPythonPartition
from kafka.structs import OffsetAndMetadata

import kgroup.testing

PATIENCE_S = 30


def consumer(kafka: kgroup.testing.Cluster, isolation: str = "read_committed") -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": "copy",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": isolation,
        }
    )


def read_all(
    kafka: kgroup.testing.Cluster, topic: str, count: int, isolation: str = "read_committed"
) -> list[str]:
    reader = consumer(kafka, isolation)
    reader.assign([TopicPartition(topic, 0, 0)])
    values: list[str] = []
    while len(values) < count:
        messages = reader.consume(count, timeout=PATIENCE_S)
        assert messages, f"only {values}"
        values += [message.value().decode() for message in messages if message.error() is None]
    reader.close()
    return values


def committed(kafka: kgroup.testing.Cluster) -> int:
    reader = consumer(kafka)
    [position] = reader.committed([TopicPartition("in", 0)], timeout=PATIENCE_S)
    reader.close()
    return int(position.offset)


@pytest.fixture
def kafka() -> "kgroup.testing.Cluster":
    with kgroup.testing.cluster(nodes=2, topics={"in": 1, "out": 1}) as running:
        yield running


def test_records_and_offsets_of_a_transaction_count_together(kafka: kgroup.testing.Cluster) -> None:
    group = consumer(kafka)
    group.assign([TopicPartition("in", 0, 0)])
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "copier"})
    producer.init_transactions(PATIENCE_S)

    producer.begin_transaction()
    producer.produce("out", b"aborted", partition=0)
    producer.send_offsets_to_transaction(
        [TopicPartition("in", 0, 7)], group.consumer_group_metadata(), PATIENCE_S
    )
    producer.flush(PATIENCE_S)  # else librdkafka would not even send it
    producer.abort_transaction(PATIENCE_S)
    assert committed(kafka) < 0

    producer.begin_transaction()
    producer.produce("out", b"committed", partition=0)
    producer.send_offsets_to_transaction(
        [TopicPartition("in", 0, 8)], group.consumer_group_metadata(), PATIENCE_S
    )
    producer.commit_transaction(PATIENCE_S)
    assert committed(kafka) == 8
    assert read_all(kafka, "out", 1) == ["committed"]
    assert read_all(kafka, "out", 2, "read_uncommitted") == ["aborted", "committed"]
    group.close()


def test_a_second_producer_with_the_same_id_fences_the_first(kafka: kgroup.testing.Cluster) -> None:
    settings = {"bootstrap.servers": kafka.bootstrap, "transactional.id": "copier"}
    first, second = Producer(settings), Producer(settings)
    first.init_transactions(PATIENCE_S)
    first.begin_transaction()
    first.produce("out", b"of the first", partition=0)
    first.flush(PATIENCE_S)
    second.init_transactions(PATIENCE_S)  # aborts what the first left open
    with pytest.raises(KafkaException):
        first.commit_transaction(PATIENCE_S)
    second.begin_transaction()
    second.produce("out", b"of the second", partition=0)
    second.commit_transaction(PATIENCE_S)
    assert read_all(kafka, "out", 1) == ["of the second"]


def test_kafka_pythons_transactions(kafka: kgroup.testing.Cluster) -> None:
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id="python")
    producer.init_transactions()
    for value, offset, ends in (
        (b"no", 3, producer.abort_transaction),
        (b"yes", 5, producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.send("out", value, partition=0)
        topic_partition = KafkaPythonPartition("in", 0)
        producer.send_offsets_to_transaction({topic_partition: OffsetAndMetadata(offset, "", -1)}, "copy")
        ends()
    producer.close()
    assert committed(kafka) == 5
    assert read_all(kafka, "out", 1) == ["yes"]


def test_an_idempotent_producers_records_arrive_once_and_in_order_though_answers_get_lost(
    kafka: kgroup.testing.Cluster,
) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True, "linger.ms": 0})
    lost = kafka.drop("Produce", times=2)
    for number in range(50):
        producer.produce("out", str(number).encode(), partition=0)
        producer.poll(0)
    assert producer.flush(PATIENCE_S) == 0
    assert lost.hits == 2
    assert read_all(kafka, "out", 50) == [str(number) for number in range(50)]
