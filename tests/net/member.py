"""A member of a group, in a process that can be killed: `member.py CLIENT BOOTSTRAP GROUP TOPIC`.

Says what happens to it as lines of JSON: `owns` partitions, `read` values that are committed by then,
`closed`. SIGTERM makes it leave. CLIENT is kafka-python, confluent, confluent-848
(of the consumer protocol) or aiokafka.
"""

import asyncio
import json
import signal
import sys
from typing import Any

SESSION_MS = 3000
HEARTBEAT_MS = 500


def say(**event: Any) -> None:
    """One event, at once."""
    print(json.dumps(event), flush=True)


class Stop:
    """Set by SIGTERM."""

    def __init__(self) -> None:
        self.requested = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def _on_signal(self, number: int, frame: object) -> None:
        self.requested = True


class Owned:
    """Says which partitions the member has, whenever that changes."""

    def __init__(self) -> None:
        self._partitions: list[int] = []

    def are(self, assignment: Any) -> None:
        """Compare with what was last said."""
        partitions = sorted(each.partition for each in assignment)
        if partitions != self._partitions:
            self._partitions = partitions
            say(owns=partitions)


def kafka_python(bootstrap: str, group: str, topic: str) -> None:
    """A member on kafka-python."""
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    stop, owned = Stop(), Owned()
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        client_id="kafka-python",
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        metadata_max_age_ms=1000,
    )
    while not stop.requested:
        # Long: kafka-python 3.0.12 loses an assignment whose SyncGroup is answered after its poll has ended.
        batches = consumer.poll(timeout_ms=1000)
        owned.are(consumer.assignment())
        values = [record.value.decode() for records in batches.values() for record in records]
        if values:
            try:
                consumer.commit()
            except KafkaError as error:  # what is not committed is read again
                say(commit_failed=repr(error))
                continue
            say(read=values)
    consumer.close()


def confluent(bootstrap: str, group: str, topic: str) -> None:
    """A member on librdkafka."""
    classic = {
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "partition.assignment.strategy": "range",
    }
    _confluent(bootstrap, group, topic, classic)


def confluent_848(bootstrap: str, group: str, topic: str) -> None:
    """A member on librdkafka that speaks the consumer protocol."""
    _confluent(bootstrap, group, topic, {"group.protocol": "consumer"})


def _confluent(bootstrap: str, group: str, topic: str, protocol: dict[str, Any]) -> None:
    from confluent_kafka import Consumer, KafkaException

    stop, owned = Stop(), Owned()
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "confluent",
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "topic.metadata.refresh.interval.ms": 1000,
        }
        | protocol
    )
    consumer.subscribe([topic])
    while not stop.requested:
        messages = [each for each in consumer.consume(100, timeout=0.2) if each.error() is None]
        owned.are(consumer.assignment())
        if messages:
            try:
                consumer.commit(asynchronous=False)
            except KafkaException as error:
                say(commit_failed=repr(error))
                continue
            say(read=[each.value().decode() for each in messages])
    consumer.close()


def aiokafka(bootstrap: str, group: str, topic: str) -> None:
    """A member on aiokafka."""
    asyncio.run(_aiokafka(bootstrap, group, topic))


async def _aiokafka(bootstrap: str, group: str, topic: str) -> None:
    from aiokafka import AIOKafkaConsumer
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.errors import KafkaError

    stop, owned = Stop(), Owned()
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        client_id="aiokafka",
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        metadata_max_age_ms=1000,
        partition_assignment_strategy=(RangePartitionAssignor,),
    )
    await consumer.start()
    while not stop.requested:
        batches = await consumer.getmany(timeout_ms=200)
        owned.are(consumer.assignment())
        values = [record.value.decode() for records in batches.values() for record in records]
        if values:
            try:
                await consumer.commit()
            except KafkaError as error:
                say(commit_failed=repr(error))
                continue
            say(read=values)
    await consumer.stop()


if __name__ == "__main__":
    client, *where = sys.argv[1:]
    {
        "kafka-python": kafka_python,
        "confluent": confluent,
        "confluent-848": confluent_848,
        "aiokafka": aiokafka,
    }[client](*where)
    say(closed=True)
