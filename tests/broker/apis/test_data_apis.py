"""Records in and out: sequences, long polls, read isolation, offsets by time."""

from typing import Any

import pytest
from kafka.protocol.admin.topics import DeleteRecordsRequest
from kafka.protocol.consumer.offsets import ListOffsetsRequest, OffsetForLeaderEpochRequest
from kafka.protocol.producer.produce import ProduceRequest

from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kgroup.errors import SourceError
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.store.record_log import MemoryLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import TransactionMarker
from kgroup.protocol.records.transaction_state import TransactionEntry, TransactionStatus
from tests.broker.apis.record_requests import (
    TOPIC,
    batch,
    fetch_request,
    leader,
    part_of,
    produce_request,
    produced,
)
from tests.broker.world import BrokerWorld

E = ErrorCode
LATEST, EARLIEST, NEWEST_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld(nodes=2)
    world.cluster.create_topic(TOPIC, 2, 2, {}, world.now_ms)
    return world


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (None, E.INVALID_RECORD),
        # What is too short to be a batch is none at all to a broker of 4.3.1.
        (b"no batch", E.INVALID_RECORD),
        (batch(1)[:-1], E.INVALID_RECORD),
        (batch(1)[:-1] + b"x", E.CORRUPT_MESSAGE),
        (batch(1) + batch(2), E.INVALID_RECORD),
        (
            encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v" * 2_000_000)]),
            E.MESSAGE_TOO_LARGE,
        ),
    ],
    ids=["null", "noise", "cut short", "wrong CRC", "two batches", "too large"],
)
def test_what_is_no_healthy_batch_is_refused_and_not_written(
    world: BrokerWorld, records: bytes | None, error: ErrorCode
) -> None:
    assert produced(world, records) == (error, -1)
    assert world.cluster.topics[TOPIC].partitions[0].log.end_offset == 0


def test_only_the_leader_takes_records_and_only_for_topics_that_exist(world: BrokerWorld) -> None:
    follower = 3 - leader(world)
    answer = world.ask(produce_request(batch(1)), follower)
    assert answer.responses[0].partition_responses[0].error_code == E.NOT_LEADER_OR_FOLLOWER
    assert produced(world, batch(1), topic="nowhere") == (E.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert produced(world, batch(1), acks=5) == (E.INVALID_REQUIRED_ACKS, -1)


def test_without_acks_there_is_no_answer_and_the_next_request_goes_on(world: BrokerWorld) -> None:
    assert world.ask(produce_request(batch(1), acks=0), leader(world)) is None
    assert world.cluster.topics[TOPIC].partitions[0].log.end_offset == 1


@pytest.mark.parametrize(
    ("configs", "told_ms"),
    [
        ({"message.timestamp.type": "LogAppendTime"}, 1_000_007),
        ({"message.timestamp.type": "CreateTime"}, -1),
    ],
)
def test_a_producer_hears_the_time_of_its_records_where_the_broker_sets_it(
    world: BrokerWorld, configs: dict[str, str], told_ms: int
) -> None:
    """Kafka: ProduceResponse's logAppendTimeMs is -1 unless the topic's timestamps are of LogAppendTime."""
    world.cluster.create_topic("timed", 1, 2, configs, world.now_ms)
    world.now_ms = 1_000_007
    node = world.cluster.topics["timed"].partitions[0].leader
    [topic] = world.ask(produce_request(batch(1), topic="timed"), node).responses
    [partition] = topic.partition_responses
    assert (partition.error_code, partition.base_offset) == (E.NONE, 0)
    assert partition.log_append_time_ms == told_ms


def test_a_batch_sent_again_is_not_written_again(world: BrokerWorld) -> None:
    assert produced(world, batch(1, 2, sequence=0)) == (E.NONE, 0)
    assert produced(world, batch(3, sequence=2)) == (E.NONE, 2)
    assert produced(world, batch(1, 2, sequence=0)) == (E.NONE, 0)
    assert produced(world, batch(9, sequence=9)) == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert produced(world, batch(4, sequence=0, epoch=1)) == (E.NONE, 3)
    assert produced(world, batch(5, sequence=3)) == (E.INVALID_PRODUCER_EPOCH, -1)


def test_a_fetch_waits_for_records_and_is_woken_by_them(world: BrokerWorld) -> None:
    waiting = world.send(fetch_request(0), leader(world))
    assert waiting not in world.settle()
    writing = world.send(produce_request(batch(1)), leader(world))
    answers = world.settle()
    assert writing in answers
    assert part_of(answers[waiting]).high_watermark == 1
    assert len(part_of(answers[waiting]).records) == len(batch(1))


def test_a_fetch_that_waited_long_enough_is_answered_with_nothing(world: BrokerWorld) -> None:
    waiting = world.send(fetch_request(0, max_wait_ms=500), leader(world))
    assert waiting not in world.advance(499)
    assert part_of(world.advance(1)[waiting]).records == b""


@pytest.mark.parametrize(
    ("offset", "leader_epoch", "error"),
    [
        (5, -1, E.OFFSET_OUT_OF_RANGE),
        (-1, -1, E.OFFSET_OUT_OF_RANGE),
        (0, 7, E.UNKNOWN_LEADER_EPOCH),
        (1, 0, E.NONE),
    ],
)
def test_a_fetch_that_cannot_be_is_answered_at_once(
    world: BrokerWorld, offset: int, leader_epoch: int, error: ErrorCode
) -> None:
    produced(world, batch(1))
    answer = world.ask(fetch_request(offset, max_wait_ms=0, leader_epoch=leader_epoch), leader(world))
    assert part_of(answer).error_code == error


def test_a_reader_of_committed_records_stops_at_the_first_open_transaction(world: BrokerWorld) -> None:
    partition = world.cluster.topics[TOPIC].partitions[0]
    produced(world, batch(1))
    partition.append(batch(2, transactional=True, sequence=0))
    produced(world, batch(3))
    stable = part_of(world.ask(fetch_request(0, committed=True), leader(world)))
    assert (stable.last_stable_offset, stable.high_watermark) == (1, 3)
    assert len(stable.records) == len(batch(1))
    assert stable.aborted_transactions == []

    marker = TransactionMarker(producer_id=7, producer_epoch=0, committed=False, coordinator_epoch=0)
    partition.append_marker(marker, world.now_ms)
    stable = part_of(world.ask(fetch_request(0, committed=True), leader(world)))
    assert (stable.last_stable_offset, stable.high_watermark) == (4, 4)
    assert [(each.producer_id, each.first_offset) for each in stable.aborted_transactions] == [(7, 1)]


def offset_for(world: BrokerWorld, timestamp_ms: int) -> tuple[int, int]:
    topic = ListOffsetsRequest.ListOffsetsTopic
    partition = topic.ListOffsetsPartition(version=5, partition_index=0, timestamp=timestamp_ms)
    request = ListOffsetsRequest(version=5, topics=[topic(version=5, name=TOPIC, partitions=[partition])])
    listed = world.ask(request, leader(world)).topics[0].partitions[0]
    assert listed.error_code == E.NONE
    return listed.offset, listed.timestamp


def test_offsets_are_found_by_time(world: BrokerWorld) -> None:
    produced(world, batch(100, 200))
    produced(world, batch(150, 400, 300))
    assert offset_for(world, EARLIEST) == (0, -1)
    assert offset_for(world, LATEST) == (5, -1)
    assert offset_for(world, 0) == (0, 100)
    assert offset_for(world, 150) == (1, 200)
    assert offset_for(world, 201) == (3, 400)
    assert offset_for(world, 401) == (-1, -1)
    assert offset_for(world, NEWEST_TIMESTAMP) == (3, 400)


def test_what_is_gone_already_moves_no_low_watermark(world: BrokerWorld) -> None:
    """Kafka: DeleteRecordsPartitionResult.lowWatermark is where the log begins now."""
    produced(world, batch(1))
    produced(world, batch(2))
    produced(world, batch(3))
    for offset in (2, 1):
        deleted = world.ask(delete_request(offset), leader(world)).topics[0].partitions[0]
        assert (deleted.error_code, deleted.low_watermark) == (E.NONE, 2)


def test_without_tiers_the_earliest_offset_is_the_earliest_local_one(world: BrokerWorld) -> None:
    """KIP-405: the timestamp -4 asks for the first offset on the broker's own disk."""
    produced(world, batch(100, 200, 300))
    world.ask(delete_request(2), leader(world))
    assert offset_for(world, EARLIEST) == offset_for(world, EARLIEST_LOCAL) == (2, -1)


def test_records_can_be_deleted_up_to_an_offset(world: BrokerWorld) -> None:
    produced(world, batch(1, 2, 3))

    def delete(offset: int) -> tuple[int, int]:
        topic = DeleteRecordsRequest.DeleteRecordsTopic
        partition = topic.DeleteRecordsPartition(version=1, partition_index=0, offset=offset)
        topics = [topic(version=1, name=TOPIC, partitions=[partition])]
        answer = world.ask(DeleteRecordsRequest(version=1, topics=topics, timeout_ms=1000), leader(world))
        result = answer.topics[0].partitions[0]
        return result.error_code, result.low_watermark

    assert delete(4) == (E.OFFSET_OUT_OF_RANGE, -1)
    assert delete(2) == (E.NONE, 2)
    assert offset_for(world, EARLIEST) == (2, -1)
    assert (
        part_of(world.ask(fetch_request(0, max_wait_ms=0), leader(world))).error_code == E.OFFSET_OUT_OF_RANGE
    )


def test_each_leader_epoch_has_its_end(world: BrokerWorld) -> None:
    partition = world.cluster.topics[TOPIC].partitions[0]
    produced(world, batch(1, 2))
    first_epoch = partition.leader_epoch
    world.cluster.kill(partition.leader, world.now_ms)
    produced(world, batch(3))

    def end_of(epoch: int) -> tuple[int, int]:
        topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
        of_partition = topic.OffsetForLeaderPartition(
            version=3, partition=0, current_leader_epoch=-1, leader_epoch=epoch
        )
        topics = [topic(version=3, topic=TOPIC, partitions=[of_partition])]
        answer = world.ask(OffsetForLeaderEpochRequest(version=3, topics=topics), leader(world))
        epoch_end = answer.topics[0].partitions[0]
        return epoch_end.leader_epoch, epoch_end.end_offset

    assert end_of(first_epoch) == (first_epoch, 2)
    assert end_of(partition.leader_epoch) == (partition.leader_epoch, 3)
    assert end_of(partition.leader_epoch + 1) == (-1, -1)


# ---- refusals that every api of records has in common ----------------------------------------------


def list_request(timestamp_ms: int, *, topic: str = TOPIC, leader_epoch: int = -1) -> ListOffsetsRequest:
    each = ListOffsetsRequest.ListOffsetsTopic
    partition = each.ListOffsetsPartition(
        version=5, partition_index=0, timestamp=timestamp_ms, current_leader_epoch=leader_epoch
    )
    return ListOffsetsRequest(version=5, topics=[each(version=5, name=topic, partitions=[partition])])


def delete_request(offset: int, *, topic: str = TOPIC) -> DeleteRecordsRequest:
    each = DeleteRecordsRequest.DeleteRecordsTopic
    partition = each.DeleteRecordsPartition(version=1, partition_index=0, offset=offset)
    return DeleteRecordsRequest(
        version=1, topics=[each(version=1, name=topic, partitions=[partition])], timeout_ms=1000
    )


def epoch_request(*, topic: str = TOPIC, leader_epoch: int = -1) -> OffsetForLeaderEpochRequest:
    each = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    partition = each.OffsetForLeaderPartition(
        version=3, partition=0, current_leader_epoch=leader_epoch, leader_epoch=0
    )
    return OffsetForLeaderEpochRequest(
        version=3, topics=[each(version=3, topic=topic, partitions=[partition])]
    )


@pytest.mark.parametrize(
    "make",
    [list_request, delete_request, lambda _, **more: epoch_request(**more)],
    ids=["ListOffsets", "DeleteRecords", "OffsetForLeaderEpoch"],
)
def test_offsets_are_told_and_records_deleted_by_the_leader_only(world: BrokerWorld, make: Any) -> None:
    produced(world, batch(1))
    follower = 3 - leader(world)
    refused = world.ask(make(0), follower).topics[0].partitions[0]
    assert refused.error_code == E.NOT_LEADER_OR_FOLLOWER
    absent = world.ask(make(0, topic="nowhere"), leader(world)).topics[0].partitions[0]
    assert absent.error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    assert world.ask(make(0), leader(world)).topics[0].partitions[0].error_code == E.NONE


@pytest.mark.parametrize(
    "make",
    [
        lambda epoch: list_request(0, leader_epoch=epoch),
        lambda epoch: epoch_request(leader_epoch=epoch),
    ],
    ids=["ListOffsets", "OffsetForLeaderEpoch"],
)
def test_a_client_with_another_leader_epoch_hears_which_side_is_behind(world: BrokerWorld, make: Any) -> None:
    partition = world.cluster.topics[TOPIC].partitions[0]
    partition.lead(partition.leader)
    for epoch, error in (
        (partition.leader_epoch - 1, E.FENCED_LEADER_EPOCH),
        (partition.leader_epoch + 1, E.UNKNOWN_LEADER_EPOCH),
    ):
        assert world.ask(make(epoch), leader(world)).topics[0].partitions[0].error_code == error


def test_an_empty_log_has_no_newest_record_and_no_tier_has_any(world: BrokerWorld) -> None:
    assert offset_for(world, NEWEST_TIMESTAMP) == (-1, -1)
    produced(world, batch(100))
    assert offset_for(world, -5) == (-1, -1)  # the last offset in tiered storage


def test_markers_of_transactions_are_not_found_by_time(world: BrokerWorld) -> None:
    partition = world.cluster.topics[TOPIC].partitions[0]
    produced(world, batch(100))
    marker = TransactionMarker(producer_id=7, producer_epoch=0, committed=True, coordinator_epoch=0)
    partition.append_marker(marker, 900)
    assert offset_for(world, NEWEST_TIMESTAMP) == (0, 100)
    assert offset_for(world, 500) == (-1, -1)


def test_minus_one_deletes_everything_and_internal_topics_are_spared(world: BrokerWorld) -> None:
    produced(world, batch(1, 2, 3))
    deleted = world.ask(delete_request(-1), leader(world)).topics[0].partitions[0]
    assert (deleted.error_code, deleted.low_watermark) == (E.NONE, 3)
    internal = world.cluster.internal_topic(OFFSETS_TOPIC, world.now_ms).partitions[0]
    refused = world.ask(delete_request(0, topic=OFFSETS_TOPIC), internal.leader).topics[0].partitions[0]
    assert refused.error_code == E.POLICY_VIOLATION


def test_nobody_produces_to_an_internal_topic(world: BrokerWorld) -> None:
    internal = world.cluster.internal_topic(OFFSETS_TOPIC, world.now_ms).partitions[0]
    answer = world.ask(produce_request(batch(1), topic=OFFSETS_TOPIC), internal.leader)
    result = answer.responses[0].partition_responses[0]
    assert result.error_code == E.INVALID_TOPIC_EXCEPTION
    assert internal.log.end_offset == 0


def test_a_topic_may_allow_larger_batches_than_the_broker(world: BrokerWorld) -> None:
    large = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v" * 2_000_000)])
    world.cluster.topics[TOPIC].spec.configs["max.message.bytes"] = "3000000"
    assert produced(world, large) == (E.NONE, 0)


class FullLog(MemoryLog):
    """A disk that is full."""

    def append(self, batch: bytes, leader_epoch: int) -> Any:
        raise SourceError("orders-0.log: No space left on device")


def test_a_disk_that_is_full_is_a_storage_error(world: BrokerWorld) -> None:
    world.cluster.topics[TOPIC].partitions[0].log = FullLog()
    assert produced(world, batch(1)) == (E.KAFKA_STORAGE_ERROR, -1)


class UnreadableLog(MemoryLog):
    """A disk that does not give back what it has."""

    def stretch(self, offset: int, max_bytes: int, end_offset: int, batches_max: int = 0) -> Any:
        raise OSError(5, "Input/output error")


def test_a_log_that_cannot_be_read_is_a_storage_error_at_once_and_told_once(world: BrokerWorld) -> None:
    """Kafka: an error without offsets (ReplicaManager.readFromLog), which says nothing of the log's end."""
    partition = world.cluster.topics[TOPIC].partitions[0]
    partition.log = UnreadableLog()
    assert produced(world, batch(1)) == (E.NONE, 0)
    for _ in range(2):
        part = part_of(world.ask(fetch_request(0, max_wait_ms=500), leader(world)))
        assert part.error_code == E.KAFKA_STORAGE_ERROR
        assert (part.high_watermark, part.last_stable_offset, part.records) == (-1, -1, b"")
    assert [warning for warning in world.warnings if "Input/output error" in warning] == world.warnings
    assert len(world.warnings) == 1


def test_a_log_that_could_be_read_meanwhile_is_told_again(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert produced(world, batch(1)) == (E.NONE, 0)
    for times in (1, 2):
        with monkeypatch.context() as disk:
            disk.setattr(MemoryLog, "stretch", UnreadableLog.stretch)
            assert part_of(world.ask(fetch_request(0), leader(world))).error_code == E.KAFKA_STORAGE_ERROR
        assert part_of(world.ask(fetch_request(0), leader(world))).error_code == E.NONE
        assert len(world.warnings) == times


def test_a_transactional_batch_needs_a_transactional_id(world: BrokerWorld) -> None:
    assert produced(world, batch(1, transactional=True, sequence=0)) == (E.INVALID_TXN_STATE, -1)


def test_a_fetch_session_is_never_there(world: BrokerWorld) -> None:
    request = fetch_request(0)
    request.session_id, request.session_epoch = 5, 1
    answer = world.ask(request, leader(world))
    assert (answer.error_code, answer.responses) == (E.FETCH_SESSION_ID_NOT_FOUND, [])


def test_a_fetch_of_what_is_not_here_does_not_wait(world: BrokerWorld) -> None:
    follower = 3 - leader(world)
    assert part_of(world.ask(fetch_request(0), follower)).error_code == E.NOT_LEADER_OR_FOLLOWER
    request = fetch_request(0)
    request.topics[0].topic = "nowhere"
    assert part_of(world.ask(request, leader(world))).error_code == E.UNKNOWN_TOPIC_OR_PARTITION


def test_a_fetch_waits_for_as_many_bytes_as_it_wants(world: BrokerWorld) -> None:
    enough = 2 * len(batch(1))
    waiting = world.send(fetch_request(0, max_wait_ms=10_000, min_bytes=enough), leader(world))
    world.send(produce_request(batch(1)), leader(world))
    assert waiting not in world.settle()
    world.send(produce_request(batch(2)), leader(world))
    assert len(part_of(world.settle()[waiting]).records) == enough


def test_a_fetch_whose_client_is_gone_is_not_answered(world: BrokerWorld) -> None:
    waiting = world.send(fetch_request(0), leader(world))
    world.settle()
    waits = world.nodes[leader(world)].waits
    waits.forget(waiting)
    waits.forget(waiting)
    assert waits.next_deadline_ms() is None
    world.send(produce_request(batch(1)), leader(world))
    assert waiting not in world.advance(1000)


def test_fetches_are_answered_when_leaders_change(world: BrokerWorld) -> None:
    waiting = world.send(fetch_request(0, max_wait_ms=10_000), leader(world))
    world.settle()
    world.nodes[leader(world)].waits.wake_all()
    assert part_of(world.settle()[waiting]).error_code == E.NONE


def transactional_request(records: bytes, version: int, transactional_id: str = "copier") -> ProduceRequest:
    data = ProduceRequest.TopicProduceData
    partition = data.PartitionProduceData(version=version, index=0, records=records)
    topics = [data(version=version, name=TOPIC, partition_data=[partition])]
    return ProduceRequest(
        version=version, transactional_id=transactional_id, acks=-1, timeout_ms=1000, topic_data=topics
    )


def transactional(world: BrokerWorld, epoch: int, version: int) -> tuple[ErrorCode, int]:
    """Produce one record in a transaction of producer 7."""
    records = batch(1, transactional=True, sequence=0, epoch=epoch)
    answer = world.ask(transactional_request(records, version), leader(world))
    result = answer.responses[0].partition_responses[0]
    return ErrorCode(result.error_code), result.base_offset


@pytest.fixture
def producer(world: BrokerWorld) -> None:
    """Producer 7 at epoch 3 of the transactional id `copier`."""
    world.cluster.internal_topic(TRANSACTIONS_TOPIC, world.now_ms)
    world.cluster.transactions.restore(
        TransactionEntry(
            transactional_id="copier",
            producer_id=7,
            producer_epoch=3,
            timeout_ms=60_000,
            status=TransactionStatus.EMPTY,
            partitions=(),
            last_update_ms=0,
            start_ms=-1,
        )
    )


@pytest.mark.usefixtures("producer")
def test_from_version_12_on_records_bring_their_partition_into_the_transaction(world: BrokerWorld) -> None:
    # KIP-890. Before, the producer has to ask for it with AddPartitionsToTxn.
    assert transactional(world, 3, version=10) == (E.INVALID_TXN_STATE, -1)
    assert transactional(world, 3, version=11) == (E.TRANSACTION_ABORTABLE, -1)
    assert transactional(world, 3, version=12) == (E.NONE, 0)
    [entry] = world.cluster.transactions.all_entries()
    assert (entry.status, entry.partitions) == (TransactionStatus.ONGOING, ((TOPIC, 0),))


@pytest.mark.usefixtures("producer")
@pytest.mark.parametrize("version", [10, 12])
def test_records_of_an_old_producer_are_fenced_by_the_epoch(world: BrokerWorld, version: int) -> None:
    assert transactional(world, 2, version) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert world.cluster.topics[TOPIC].partitions[0].log.end_offset == 0
