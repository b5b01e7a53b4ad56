"""A disk that takes no record: what was not written has not happened, and is done when the disk is well."""

from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.consumer.group import OffsetFetchRequest

from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kgroup.broker.storage import ClusterSpec, MemoryStorage, TopicSpec
from kgroup.errors import SourceError
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.transaction_state import TransactionStatus
from tests.broker.world import BrokerWorld, commit

E = ErrorCode


class Disk:
    """Takes what `accepts` says."""

    def __init__(self) -> None:
        self.accepts: Callable[[str], bool] = lambda topic: True


class DiskLog(MemoryLog):
    def __init__(self, disk: Disk, topic: str) -> None:
        super().__init__()
        self._disk, self._topic = disk, topic

    def append(self, batch: bytes, leader_epoch: int) -> Any:
        if not self._disk.accepts(self._topic):
            raise SourceError(f"{self._topic}: No space left on device")
        return super().append(batch, leader_epoch)


class DiskStorage(MemoryStorage):
    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        return DiskLog(self.disk, topic.name)

    def save(self, spec: ClusterSpec, changed: Any = None) -> None:
        if not self.disk.accepts("facts"):
            raise SourceError("facts: No space left on device")


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def world(disk: Disk) -> BrokerWorld:
    world = BrokerWorld(storage=DiskStorage(disk))
    world.cluster.create_topic("orders", 2, 1, {}, world.now_ms)
    return world


def begin(world: BrokerWorld, *partitions: tuple[str, int]) -> tuple[int, int]:
    transactions = world.cluster.transactions
    error, *producer = transactions.init_producer_id("copier", 60_000, (-1, -1), world.now_ms)
    assert error is E.NONE
    if partitions:
        assert (
            transactions.add_partitions("copier", (producer[0], producer[1]), list(partitions), world.now_ms)
            is E.NONE
        )
        for topic, index in partitions:
            partition = world.cluster.partition(topic, index)
            assert partition is not None
            partition.append(
                encode_batch(
                    [LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v")],
                    transactional=True,
                    producer_id=producer[0],
                    producer_epoch=producer[1],
                    base_sequence=0,
                )
            )
    return producer[0], producer[1]


def end(world: BrokerWorld, producer: tuple[int, int]) -> ErrorCode:
    return world.cluster.transactions.end(
        "copier", producer, committed=True, bump_epoch=False, now_ms=world.now_ms
    ).error


def status(world: BrokerWorld) -> TransactionStatus:
    [entry] = world.cluster.transactions.all_entries()
    return entry.status


def test_partitions_that_could_not_be_noted_take_no_part_until_they_are(
    world: BrokerWorld, disk: Disk
) -> None:
    producer = begin(world)
    disk.accepts = lambda topic: topic != TRANSACTIONS_TOPIC
    transactions = world.cluster.transactions
    with pytest.raises(SourceError):
        transactions.add_partitions("copier", producer, [("orders", 0)], world.now_ms)
    assert status(world) is TransactionStatus.EMPTY
    with pytest.raises(SourceError):  # and it does not say yes the second time
        transactions.add_partitions("copier", producer, [("orders", 0)], world.now_ms)
    disk.accepts = lambda topic: True
    assert transactions.add_partitions("copier", producer, [("orders", 0)], world.now_ms) is E.NONE


def test_an_id_that_could_not_be_noted_is_not_there(world: BrokerWorld, disk: Disk) -> None:
    world.cluster.internal_topic(TRANSACTIONS_TOPIC, world.now_ms)
    disk.accepts = lambda topic: topic != TRANSACTIONS_TOPIC
    with pytest.raises(SourceError):
        begin(world)
    assert world.cluster.transactions.all_entries() == []


def test_a_decision_that_is_not_in_the_log_was_not_taken(world: BrokerWorld, disk: Disk) -> None:
    producer = begin(world, ("orders", 0))
    disk.accepts = lambda topic: topic != TRANSACTIONS_TOPIC
    with pytest.raises(SourceError):
        end(world, producer)
    assert status(world) is TransactionStatus.ONGOING
    disk.accepts = lambda topic: True
    assert end(world, producer) is E.NONE
    assert status(world) is TransactionStatus.COMPLETE_COMMIT


def test_a_marker_that_could_not_be_written_is_when_the_disk_is_well(world: BrokerWorld, disk: Disk) -> None:
    producer = begin(world, ("orders", 0), ("orders", 1))
    disk.accepts = lambda topic: topic != "orders"
    assert end(world, producer) is E.NONE  # it is decided, and that is what Kafka answers
    assert len(world.warnings) == 2
    assert status(world) is TransactionStatus.PREPARE_COMMIT
    assert end(world, producer) is E.CONCURRENT_TRANSACTIONS
    identity = world.cluster.transactions.init_producer_id("copier", 60_000, (-1, -1), world.now_ms)
    assert identity.error is E.CONCURRENT_TRANSACTIONS
    again_ms = world.cluster.next_deadline_ms()
    assert again_ms is not None and again_ms > world.now_ms  # not in a loop
    disk.accepts = lambda topic: True
    world.advance(again_ms - world.now_ms)
    assert status(world) is TransactionStatus.COMPLETE_COMMIT
    for partition in world.cluster.topics["orders"].partitions:
        assert partition.last_stable_offset == partition.log.end_offset == 2
    assert end(world, producer) is E.NONE


def test_a_clock_that_is_set_back_puts_off_no_marker(world: BrokerWorld, disk: Disk) -> None:
    """Seed 443 of the migrations: half a minute passed until a clock was where it had been."""
    producer = begin(world, ("orders", 0))
    disk.accepts = lambda topic: topic != "orders"
    assert end(world, producer) is E.NONE
    world.now_ms -= 30_000
    world.cluster.tick(world.now_ms)
    assert status(world) is TransactionStatus.PREPARE_COMMIT
    disk.accepts = lambda topic: True
    world.advance(2_000)
    assert status(world) is TransactionStatus.COMPLETE_COMMIT


def test_offsets_of_a_transaction_are_not_done_before_their_marker_is_written(
    world: BrokerWorld, disk: Disk
) -> None:
    index = world.cluster.offsets_partition("g")
    world.ask(commit(1))
    producer = begin(world, (OFFSETS_TOPIC, index))
    disk.accepts = lambda topic: topic != OFFSETS_TOPIC
    assert end(world, producer) is E.NONE
    assert status(world) is TransactionStatus.PREPARE_COMMIT
    disk.accepts = lambda topic: True
    world.advance(5_000)
    assert status(world) is TransactionStatus.COMPLETE_COMMIT


def test_one_late_transaction_that_cannot_be_aborted_does_not_keep_the_others_waiting(
    world: BrokerWorld, disk: Disk
) -> None:
    transactions = world.cluster.transactions
    for name, index in (("a", 0), ("b", 1)):
        identity = transactions.init_producer_id(name, 1_000, (-1, -1), world.now_ms)
        producer = identity.producer_id, identity.producer_epoch
        assert transactions.add_partitions(name, producer, [("orders", index)], world.now_ms) is E.NONE
    first = world.cluster.topics["orders"].partitions[0].log
    refused: list[RecordLog] = [first]

    def append(batch: bytes, leader_epoch: int) -> Any:
        if refused:
            raise SourceError("orders-0: No space left on device")
        return MemoryLog.append(first, batch, leader_epoch)  # type: ignore[arg-type]

    first.append = append  # type: ignore[method-assign]
    world.now_ms += 2_000
    world.cluster.tick(world.now_ms)
    assert world.warnings == ["orders-0: No space left on device"]
    states = {entry.transactional_id: entry.status for entry in transactions.all_entries()}
    assert states == {"a": TransactionStatus.PREPARE_ABORT, "b": TransactionStatus.COMPLETE_ABORT}
    refused.clear()
    world.advance(2_000)
    assert {entry.status for entry in transactions.all_entries()} == {TransactionStatus.COMPLETE_ABORT}


def test_a_topic_that_could_not_be_noted_is_not_there(world: BrokerWorld, disk: Disk) -> None:
    disk.accepts = lambda topic: topic != "facts"
    with pytest.raises(SourceError):
        world.cluster.create_topic("payments", 1, 1, {}, world.now_ms)
    assert "payments" not in world.cluster.spec.topics
    with pytest.raises(SourceError):
        world.cluster.create_partitions("orders", 5, world.now_ms)
    assert world.cluster.spec.topics["orders"].partitions == 2
    with pytest.raises(SourceError):
        world.cluster.delete_topic("orders", world.now_ms)
    assert "orders" in world.cluster.topics and "orders" in world.cluster.spec.topics
    disk.accepts = lambda topic: True
    assert world.cluster.create_topic("payments", 1, 1, {}, world.now_ms) is E.NONE


def test_a_commit_whose_append_failed_is_neither_acknowledged_nor_there(
    world: BrokerWorld, disk: Disk
) -> None:
    assert world.ask(commit(1)).topics[0].partitions[0].error_code == E.NONE
    partition = world.cluster.topics[OFFSETS_TOPIC].partitions[world.cluster.offsets_partition("g")]
    end_offset = partition.log.end_offset
    disk.accepts = lambda topic: topic != OFFSETS_TOPIC
    assert world.ask(commit(2)).topics[0].partitions[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    disk.accepts = lambda topic: True
    assert partition.log.end_offset == end_offset
    world.settle()
    answer = world.ask(OffsetFetchRequest(version=5, group_id="g", topics=None))
    assert [each.committed_offset for topic in answer.topics for each in topic.partitions] == [1]
