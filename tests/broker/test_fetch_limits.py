"""How much one fetch takes: Kafka's fetch.max.bytes, limits of partitions, and the first batch (KIP-74)."""

from typing import Any

import pytest
from kafka.protocol.consumer.fetch import FetchRequest

from kgroup.broker.apis.data_apis import BATCHES_MAX, READ_NOW_BYTES
from kgroup.broker.settings import BrokerSettings
from kgroup.log.format.batch import LogRecord, encode_batch
from tests.broker.world import BrokerWorld

PARTITIONS = 3
VALUE_BYTES = 1000
BATCH_BYTES = len(encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v" * VALUE_BYTES)]))


def world(**properties: str) -> BrokerWorld:
    """Each partition holds three batches of a little over 1,000 bytes."""
    made = BrokerWorld(properties={name.replace("_", "."): value for name, value in properties.items()})
    made.cluster.create_topic("orders", PARTITIONS, 1, {}, made.now_ms)
    raw = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v" * VALUE_BYTES)])
    for partition in made.cluster.topics["orders"].partitions:
        for _ in range(3):
            partition.append(raw)
    return made


def request(max_bytes: int, partition_max_bytes: int, max_wait_ms: int = 0) -> FetchRequest:
    topic = FetchRequest.FetchTopic
    partitions = [
        topic.FetchPartition(
            version=11,
            partition=index,
            current_leader_epoch=-1,
            fetch_offset=0,
            partition_max_bytes=partition_max_bytes,
        )
        for index in range(PARTITIONS)
    ]
    return FetchRequest(
        version=11,
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[topic(version=11, topic="orders", partitions=partitions)],
        rack_id="",
    )


def batches(answer: Any) -> list[int]:
    """Whole batches of each partition."""
    return [len(part.records) // VALUE_BYTES for part in answer.responses[0].partitions]


def test_a_broker_answers_with_at_most_55_mib_unless_told_otherwise() -> None:
    assert BrokerSettings().fetch_max_bytes == 57_671_680


@pytest.mark.parametrize(
    ("max_bytes", "partition_max_bytes", "taken"),
    [
        (100_000, 100_000, [3, 3, 3]),
        (100_000, 2_500, [2, 2, 2]),
        (4_500, 100_000, [3, 1, 0]),
        (4_500, 2_500, [2, 2, 0]),
        (100_000, 100, [1, 0, 0]),
        (0, 0, [1, 0, 0]),
        (1, 100_000, [1, 0, 0]),
    ],
)
def test_the_first_batch_comes_however_large_and_no_other_exceeds_a_limit(
    max_bytes: int, partition_max_bytes: int, taken: list[int]
) -> None:
    assert batches(world().ask(request(max_bytes, partition_max_bytes))) == taken


def test_a_client_may_not_ask_for_more_than_the_broker_gives() -> None:
    assert batches(world(fetch_max_bytes="2500").ask(request(2**31 - 1, 2**31 - 1))) == [2, 0, 0]


def test_without_room_for_answers_a_fetch_waits_and_gets_no_records() -> None:
    full = world()
    room = False
    full.nodes[1].has_room = lambda: room
    token = full.send(request(100_000, 100_000, max_wait_ms=0))
    assert full.settle() == {}
    assert batches(full.advance(100)[token]) == [0, 0, 0]
    token = full.send(request(100_000, 100_000, max_wait_ms=500))
    room = True
    assert batches(full.advance(500)[token]) == [3, 3, 3]


def test_of_many_small_batches_an_answer_has_as_many_as_are_looked_at_quickly() -> None:
    many = world()
    raw = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"")])
    for index in (0, 1):
        for _ in range(BATCHES_MAX - 2):
            many.cluster.topics["orders"].partitions[index].append(raw)
    first, second, third = many.ask(request(1 << 20, 1 << 20, max_wait_ms=0)).responses[0].partitions
    sizes = [len(first.records) - 3 * BATCH_BYTES, len(second.records), len(third.records)]
    assert sizes == [(BATCHES_MAX - 3) * len(raw), 0, 0]
    patient = request(1 << 30, 1 << 30, max_wait_ms=60_000)
    patient.min_bytes = 1 << 30
    assert len(many.ask(patient).responses[0].partitions[0].records)  # more it could not have


def test_long_answers_are_not_read_before_they_are_sent() -> None:
    long = world()
    raw = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v" * READ_NOW_BYTES)])
    long.cluster.topics["orders"].partitions[1].append(raw)
    long.send(request(1 << 20, 1 << 20))
    (answer,) = long.nodes[1].take_answers()
    assert answer.frame is not None
    assert len(answer.frame) < 4 * BATCH_BYTES
    assert answer.rest_bytes > 3 * BATCH_BYTES + len(raw)
    assert int.from_bytes(answer.frame[:4], "big") + 4 == len(answer.frame) + answer.rest_bytes
