"""Throughput of one producer and one consumer with `kgroup serve`: `python -m benchmarks.serve_records`.

Both are librdkafka's, with its defaults but for acknowledgements of all replicas and a linger of 5 ms.
Records of a size that is given go to one partition of a node in memory, and are read from its beginning.
With `--beside`, another broker does the same in turn. The client takes a part of a core, too.
"""

import argparse
import os
import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tabulate import tabulate

from benchmarks.serve import serving

_PATIENCE_S: Final = 120.0
_AT_ONCE: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """MB/s of values, by one producer and by one consumer."""

    produced: float
    consumed: float


def measure(bootstrap: str, megabytes: int, record_bytes: int) -> Throughput:
    """Write so much to a new topic, and read it."""
    topic = f"records-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(topic, 1, 1)]).values():
        made.result()
    count = megabytes * 1_000_000 // record_bytes
    size_mb = count * record_bytes / 1e6
    return Throughput(
        produced=size_mb / _produce(bootstrap, topic, count, record_bytes),
        consumed=size_mb / _consume(bootstrap, topic, count),
    )


def _produce(bootstrap: str, topic: str, count: int, record_bytes: int) -> float:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "linger.ms": 5,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    value = os.urandom(record_bytes)
    start = time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 1000 == 0:
            producer.poll(0)
    left = producer.flush(_PATIENCE_S)
    if left:
        raise RuntimeError(f"{left} records were not acknowledged")
    return time.perf_counter() - start


def _consume(bootstrap: str, topic: str, count: int) -> float:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    start = time.perf_counter()
    got = 0
    while got < count:
        got += sum(1 for message in consumer.consume(_AT_ONCE, 1.0) if not message.error())
        if time.perf_counter() - start > _PATIENCE_S:
            raise RuntimeError(f"{got} of {count} records came")
    took = time.perf_counter() - start
    consumer.close()
    return took


def rounds(addresses: Sequence[str], repeat: int, megabytes: int, record_bytes: int) -> list[Throughput]:
    """The medians at each address, measured in turn."""
    measured = [[measure(address, megabytes, record_bytes) for address in addresses] for _ in range(repeat)]
    return [
        Throughput(
            produced=statistics.median(each.produced for each in of_address),
            consumed=statistics.median(each.consumed for each in of_address),
        )
        for of_address in zip(*measured, strict=True)
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve_records", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--record-bytes", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--beside", metavar="HOST:PORT", help="another broker, measured in the same minutes")
    given = parser.parse_args()
    with serving() as bootstrap:
        addresses = [bootstrap] if given.beside is None else [bootstrap, given.beside]
        of_each = rounds(addresses, given.repeat, given.megabytes, given.record_bytes)
    names = ["kgroup"] if given.beside is None else ["kgroup", given.beside]
    rows = [(name, each.produced, each.consumed) for name, each in zip(names, of_each, strict=True)]
    print(tabulate(rows, headers=("", "one producer, MB/s", "one consumer, MB/s"), floatfmt=".1f"))


if __name__ == "__main__":
    main()
