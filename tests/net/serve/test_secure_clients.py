"""Clients that nobody here wrote come in by every way in, join a group and commit."""

import asyncio
import ssl
from collections.abc import Iterator

import aiokafka
import confluent_kafka
import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

import kgroup.testing
from tests.net.serve.certificates import Certificates
from tests.net.serve.secured import MODES, confluent, kafka_python, listener, secured

PATIENCE_S = 60
Secured = tuple[kgroup.testing.Cluster, Certificates]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured(tmp_path_factory.mktemp("secured"), nodes=2) as running:
        kafka, certificates = running
        producer = KafkaProducer(
            bootstrap_servers=kafka.bootstrap_of("SASL_SSL"), **kafka_python("SCRAM-SHA-512", certificates)
        )
        producer.send("orders", b"one", partition=0).get(PATIENCE_S)
        producer.close()
        yield kafka, certificates


@pytest.mark.parametrize("mode", MODES)
def test_kafka_python(cluster: Secured, mode: str) -> None:
    kafka, certificates = cluster
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=kafka.bootstrap_of(listener(mode)),
        group_id=f"kafka-python {mode}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        **kafka_python(mode, certificates),
    )
    assert next(consumer).value == b"one"
    consumer.commit()
    assert consumer.committed(TopicPartition("orders", 0)) == 1
    consumer.close()


@pytest.mark.parametrize("mode", [*MODES, "OAUTHBEARER"])
def test_confluent_kafka(cluster: Secured, mode: str) -> None:
    kafka, certificates = cluster
    settings = confluent(mode, certificates) | {
        "bootstrap.servers": kafka.bootstrap_of(listener(mode)),
        "group.id": f"confluent {mode}",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe(["orders"])
    message = consumer.poll(PATIENCE_S)
    assert message is not None and message.error() is None and message.value() == b"one"
    [committed] = consumer.commit(message, asynchronous=False)
    assert (committed.error, committed.offset) == (None, 1)
    consumer.close()


@pytest.mark.parametrize("mode", MODES)
def test_aiokafka(cluster: Secured, mode: str) -> None:
    kafka, certificates = cluster
    given = kafka_python(mode, certificates)
    context = ssl.create_default_context(cafile=str(certificates.authority))
    if mode == "MTLS":
        context.load_cert_chain(certificates.client)
    for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"):
        given.pop(name, None)

    async def story() -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            "orders",
            bootstrap_servers=kafka.bootstrap_of(listener(mode)),
            group_id=f"aiokafka {mode}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            ssl_context=context,
            **given,
        )
        await consumer.start()
        message = await asyncio.wait_for(consumer.getone(), PATIENCE_S)
        assert message.value == b"one"
        partition = aiokafka.TopicPartition("orders", 0)
        await consumer.commit({partition: 1})
        assert await consumer.committed(partition) == 1
        await consumer.stop()

    asyncio.run(story())


@pytest.mark.parametrize("mode", ["PLAIN", "SCRAM-SHA-256"])
def test_a_wrong_password_is_told_apart_from_a_broken_connection(cluster: Secured, mode: str) -> None:
    kafka, certificates = cluster
    heard: list[confluent_kafka.KafkaError] = []
    consumer = confluent_kafka.Consumer(
        confluent(mode, certificates, "wrong")
        | {
            "bootstrap.servers": kafka.bootstrap_of("SASL_SSL"),
            "group.id": "nobody",
            "error_cb": heard.append,
        }
    )
    while not heard:
        consumer.poll(0.1)  # serves the callback
    assert heard[0].code() == confluent_kafka.KafkaError._AUTHENTICATION
    assert "Authentication failed" in heard[0].str()
    consumer.close()


def test_each_listener_tells_its_clients_its_own_addresses(cluster: Secured) -> None:
    kafka, _ = cluster
    addresses = [
        kafka.bootstrap_of(name) for name in ("PLAINTEXT", "SSL", "MTLS", "SASL_SSL", "SASL_PLAINTEXT")
    ]
    ports = {address for of_listener in addresses for address in of_listener.split(",")}
    assert len(ports) == 10
    assert kafka.bootstrap == addresses[0]
