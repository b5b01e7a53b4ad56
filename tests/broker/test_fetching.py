"""Fetches that wait: for enough bytes of what they may read, in all of their partitions, and not twice."""

import pytest
from kafka.protocol.consumer.fetch import FetchRequest
from kafka.protocol.consumer.offsets import ListOffsetsRequest

from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import TransactionMarker
from tests.broker.world import BrokerWorld

E = ErrorCode
TOPIC = "orders"


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld()
    world.cluster.create_topic(TOPIC, 3, 1, {}, world.now_ms)
    return world


def batch(*, transactional: bool = False) -> bytes:
    return encode_batch(
        [LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v")],
        producer_id=7 if transactional else -1,
        producer_epoch=0 if transactional else -1,
        transactional=transactional,
    )


SIZE = len(batch())


def append(world: BrokerWorld, partition: int, *, transactional: bool = False) -> None:
    world.cluster.topics[TOPIC].partitions[partition].append(batch(transactional=transactional))


def end_transaction(world: BrokerWorld, partition: int, *, committed: bool) -> None:
    marker = TransactionMarker(producer_id=7, producer_epoch=0, committed=committed, coordinator_epoch=0)
    world.cluster.topics[TOPIC].partitions[partition].append_marker(marker, world.now_ms)


def fetch(
    *offsets: int, min_bytes: int = 1, committed: bool = False, max_wait_ms: int = 5000
) -> FetchRequest:
    """A fetch of the first partitions from these offsets on."""
    topic = FetchRequest.FetchTopic
    partitions = [
        topic.FetchPartition(
            version=11,
            partition=index,
            current_leader_epoch=-1,
            fetch_offset=offset,
            partition_max_bytes=1 << 20,
        )
        for index, offset in enumerate(offsets)
    ]
    return FetchRequest(
        version=11,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=1 << 20,
        isolation_level=int(committed),
        topics=[topic(version=11, topic=TOPIC, partitions=partitions)],
        rack_id="",
    )


def sizes(answer: object) -> list[int]:
    return [len(part.records) for part in answer.responses[0].partitions]  # type: ignore[attr-defined]


def test_an_append_to_any_of_its_partitions_wakes_a_fetch(world: BrokerWorld) -> None:
    for partition in range(3):
        ends = [each.log.end_offset for each in world.cluster.topics[TOPIC].partitions]
        waiting = world.send(fetch(*ends))
        assert waiting not in world.settle()
        append(world, partition)
        assert sizes(world.settle()[waiting]) == [SIZE if n == partition else 0 for n in range(3)]


def test_bytes_of_all_partitions_add_up(world: BrokerWorld) -> None:
    waiting = world.send(fetch(0, 0, 0, min_bytes=3 * SIZE))
    append(world, 2)
    append(world, 0)
    assert waiting not in world.settle()
    append(world, 1)
    assert sizes(world.settle()[waiting]) == [SIZE] * 3


def test_enough_there_is_no_waiting(world: BrokerWorld) -> None:
    append(world, 0)
    append(world, 1)
    assert sizes(world.ask(fetch(0, 0, min_bytes=2 * SIZE))) == [SIZE, SIZE]


@pytest.mark.parametrize("committed", [True, False])
def test_readers_of_committed_records_wait_for_the_end_of_the_transaction(
    world: BrokerWorld, committed: bool
) -> None:
    everything, stable = world.send(fetch(0)), world.send(fetch(0, committed=True))
    assert world.settle() == {}
    append(world, 0, transactional=True)
    answers = world.settle()
    assert set(answers) == {everything}
    assert answers[everything].responses[0].partitions[0].aborted_transactions is None
    end_transaction(world, 0, committed=committed)
    [part] = world.settle()[stable].responses[0].partitions
    assert [each.first_offset for each in part.aborted_transactions] == ([] if committed else [0])
    assert (part.last_stable_offset, part.high_watermark) == (2, 2)


def test_a_fetch_is_answered_once_and_leaves_no_deadline(world: BrokerWorld) -> None:
    waiting = world.send(fetch(0, 0))
    world.settle()
    append(world, 0)
    append(world, 1)
    assert set(world.settle()) == {waiting}
    waits = world.nodes[1].waits
    assert waits.next_deadline_ms() is None
    append(world, 0)
    assert world.advance(10_000) == {}
    waits.wake_all()  # as when leaders change
    assert world.settle() == {}


def test_a_fetch_that_an_append_did_not_satisfy_waits_for_its_deadline(world: BrokerWorld) -> None:
    waiting = world.send(fetch(0, min_bytes=10 * SIZE, max_wait_ms=5000))
    append(world, 0)
    assert world.settle() == {}
    waits = world.nodes[1].waits
    # The append has been looked at: nothing is due before the deadline.
    assert waits.next_deadline_ms() == world.now_ms + 5000
    assert waiting not in world.advance(4999)
    assert sizes(world.advance(1)[waiting]) == [SIZE]


def test_all_whose_time_is_over_are_answered_together(world: BrokerWorld) -> None:
    for _ in range(3):
        world.send(fetch(0, max_wait_ms=500))
    assert not world.settle()
    world.now_ms += 500
    node = world.nodes[1]
    node.waits.wake(world.now_ms)
    assert len(node.take_answers()) == 3
    assert node.waits.next_deadline_ms() is None


def test_one_partition_out_of_range_answers_the_whole_fetch_at_once(world: BrokerWorld) -> None:
    answer = world.ask(fetch(0, 99, 0))
    assert [part.error_code for part in answer.responses[0].partitions] == [
        E.NONE,
        E.OFFSET_OUT_OF_RANGE,
        E.NONE,
    ]


def test_the_end_of_a_log_is_in_range_and_so_is_its_start(world: BrokerWorld) -> None:
    append(world, 0)
    append(world, 0)
    world.cluster.topics[TOPIC].partitions[0].log.delete_before(1)
    for offset, error in ((0, E.OFFSET_OUT_OF_RANGE), (1, E.NONE), (2, E.NONE), (3, E.OFFSET_OUT_OF_RANGE)):
        [part] = world.ask(fetch(offset, max_wait_ms=0)).responses[0].partitions
        assert (part.error_code, part.log_start_offset) == (error, 1)


@pytest.mark.parametrize(("isolation", "end"), [(0, 3), (1, 1)])
def test_the_latest_offset_is_the_last_stable_one_for_readers_of_committed_records(
    world: BrokerWorld, isolation: int, end: int
) -> None:
    append(world, 0)
    append(world, 0, transactional=True)
    append(world, 0)
    topic = ListOffsetsRequest.ListOffsetsTopic
    partition = topic.ListOffsetsPartition(
        version=5, partition_index=0, timestamp=-1, current_leader_epoch=-1
    )
    request = ListOffsetsRequest(
        version=5, isolation_level=isolation, topics=[topic(version=5, name=TOPIC, partitions=[partition])]
    )
    [listed] = world.ask(request).topics[0].partitions
    assert (listed.error_code, listed.offset) == (E.NONE, end)


def test_a_fetchs_limit_of_bytes_is_for_all_its_partitions(world: BrokerWorld) -> None:
    """The first partition always gets a batch; when the limit is used up the others get nothing (KIP-74)."""
    for partition in range(3):
        append(world, partition)
        append(world, partition)
    for max_bytes, expected in (
        (1, [SIZE, 0, 0]),
        (2 * SIZE, [2 * SIZE, 0, 0]),
        (3 * SIZE, [2 * SIZE, SIZE, 0]),
        (6 * SIZE, [2 * SIZE] * 3),
    ):
        request = fetch(0, 0, 0)
        request.max_bytes = max_bytes
        assert sizes(world.ask(request)) == expected


def test_a_search_by_time_finds_no_deleted_record(world: BrokerWorld) -> None:
    partition = world.cluster.topics[TOPIC].partitions[0]
    records = [LogRecord(offset=n, timestamp_ms=100 * n, key=None, value=b"v") for n in range(4)]
    partition.append(encode_batch(records))
    partition.log.delete_before(2)
    topic = ListOffsetsRequest.ListOffsetsTopic
    for timestamp_ms, offset in ((0, 2), (100, 2), (201, 3), (301, -1), (-2, 2)):
        of_partition = topic.ListOffsetsPartition(
            version=5, partition_index=0, timestamp=timestamp_ms, current_leader_epoch=-1
        )
        request = ListOffsetsRequest(
            version=5, topics=[topic(version=5, name=TOPIC, partitions=[of_partition])]
        )
        [listed] = world.ask(request).topics[0].partitions
        assert listed.offset == offset


@pytest.mark.parametrize("index", [-1, 3, -3])
def test_a_partition_that_does_not_exist_is_unknown(world: BrokerWorld, index: int) -> None:
    assert world.cluster.partition(TOPIC, index) is None
    request = fetch(0, max_wait_ms=0)
    request.topics[0].partitions[0].partition = index
    [part] = world.ask(request).responses[0].partitions
    assert part.error_code == E.UNKNOWN_TOPIC_OR_PARTITION


# ---- the high watermark --------------------------------------------------------------------------


def listed_offset(world: BrokerWorld, timestamp_ms: int, *, isolation: int = 0) -> int:
    topic = ListOffsetsRequest.ListOffsetsTopic
    of_partition = topic.ListOffsetsPartition(
        version=7, partition_index=0, timestamp=timestamp_ms, current_leader_epoch=-1
    )
    request = ListOffsetsRequest(
        version=7, isolation_level=isolation, topics=[topic(version=7, name=TOPIC, partitions=[of_partition])]
    )
    [listed] = world.ask(request).topics[0].partitions
    assert listed.error_code == E.NONE
    offset: int = listed.offset
    return offset


@pytest.mark.parametrize("committed", [False, True])
def test_what_is_not_below_the_high_watermark_is_no_readers(world: BrokerWorld, committed: bool) -> None:
    partition = world.cluster.topics[TOPIC].partitions[0]
    append(world, 0)
    partition.replicate_to(1)
    append(world, 0)
    assert (partition.high_watermark, partition.log.end_offset) == (1, 2)
    [part] = world.ask(fetch(0, committed=committed)).responses[0].partitions
    assert (len(part.records), part.high_watermark, part.last_stable_offset) == (SIZE, 1, 1)
    # A reader that has come to the high watermark waits there, and is in range up to the log end.
    for offset in (1, 2):
        [part] = world.ask(fetch(offset, committed=committed, max_wait_ms=0)).responses[0].partitions
        assert (part.error_code, len(part.records), part.high_watermark) == (E.NONE, 0, 1)
    partition.replicate_to(2)
    [part] = world.ask(fetch(1, committed=committed)).responses[0].partitions
    assert (len(part.records), part.high_watermark) == (SIZE, 2)


def test_the_end_that_operators_and_resets_are_told_is_the_high_watermark(world: BrokerWorld) -> None:
    partition = world.cluster.topics[TOPIC].partitions[0]
    for timestamp_ms in (100, 200, 300):
        record = LogRecord(offset=0, timestamp_ms=timestamp_ms, key=None, value=b"v")
        partition.append(encode_batch([record]))
    partition.replicate_to(2)
    latest, max_timestamp = -1, -3
    assert [listed_offset(world, latest, isolation=each) for each in (0, 1)] == [2, 2]
    assert listed_offset(world, max_timestamp) == 1
    assert [listed_offset(world, timestamp_ms) for timestamp_ms in (150, 250)] == [1, -1]


def test_a_high_watermark_never_goes_back_nor_beyond_the_log_end(world: BrokerWorld) -> None:
    partition = world.cluster.topics[TOPIC].partitions[0]
    for _ in range(3):
        append(world, 0)
    partition.replicate_to(2)
    partition.replicate_to(1)
    assert partition.high_watermark == 2
    partition.replicate_to(9)
    assert partition.high_watermark == 3
