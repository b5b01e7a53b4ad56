"""A folder on a disk that fails while the cluster runs: refused where it fails, and as it was afterwards."""

from pathlib import Path
from typing import Any

import pytest
from kafka.protocol.admin.topics import DeleteRecordsRequest
from kafka.protocol.consumer.group import OffsetFetchRequest
from kafka.protocol.consumer.offsets import ListOffsetsRequest

from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kgroup.broker.partition import Partition
from kgroup.broker.storage import FolderStorage
from kgroup.errors import SourceError
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.store.segment_log import SegmentLog
from kgroup.protocol.error_codes import ErrorCode
from tests.broker.produced import produce as produce_batch
from tests.broker.world import GROUP, BrokerWorld, commit

E = ErrorCode
SMALL = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "log.segment.bytes": "4096",
}


@pytest.fixture
def world(tmp_path: Path) -> BrokerWorld:
    world = BrokerWorld(storage=FolderStorage(tmp_path, lambda text: None, durable=True), properties=SMALL)
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    return world


def broken(*_: object, **__: object) -> Any:
    raise OSError(5, "Input/output error")


def partition(world: BrokerWorld, topic: str) -> Partition:
    return world.cluster.topics[topic].partitions[0]


def produce(world: BrokerWorld, size: int = 1) -> int:
    batch = encode_batch([LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v" * size)])
    error, offset = produce_batch(partition(world, "orders"), batch)
    assert not error
    return offset


def committed(world: BrokerWorld) -> list[int]:
    world.settle()
    answer = world.ask(OffsetFetchRequest(version=5, group_id=GROUP, topics=None))
    assert not answer.error_code
    return [each.committed_offset for topic in answer.topics for each in topic.partitions]


def sync(world: BrokerWorld, topic: str) -> None:
    world.cluster.sync(partition(world, topic))


# ---- an fsync that fails ---------------------------------------------------------------------------


def test_records_that_could_not_be_synced_are_as_if_they_had_not_come(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(world)
    sync(world, "orders")
    produce(world)
    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", broken)
        with pytest.raises(SourceError, match="Input/output error"):
            sync(world, "orders")
    assert partition(world, "orders").log.end_offset == 1
    assert produce(world) == 1


def test_a_producers_sequence_goes_back_with_its_records(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client sends the batch again, and it is no duplicate."""
    batch = encode_batch(
        [LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v")],
        producer_id=5,
        producer_epoch=0,
        base_sequence=0,
    )
    produce_batch(partition(world, "orders"), batch)
    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", broken)
        with pytest.raises(SourceError):
            sync(world, "orders")
    assert partition(world, "orders").log.end_offset == 0
    assert produce_batch(partition(world, "orders"), batch) == (E.NONE, 0)
    assert partition(world, "orders").log.end_offset == 1


def test_a_commit_that_could_not_be_synced_is_not_served(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ask(commit(1))
    sync(world, OFFSETS_TOPIC)
    world.ask(commit(2))
    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", broken)
        with pytest.raises(SourceError):
            sync(world, OFFSETS_TOPIC)
    assert committed(world) == [1]


def test_a_transaction_that_could_not_be_synced_is_where_its_log_says(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    transactions = world.cluster.transactions
    identity = transactions.init_producer_id("copier", 60_000, (-1, -1), world.now_ms)
    sync(world, TRANSACTIONS_TOPIC)
    producer = identity.producer_id, identity.producer_epoch
    transactions.add_partitions("copier", producer, [("orders", 0)], world.now_ms)
    transactions.init_producer_id("other", 60_000, (-1, -1), world.now_ms)
    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", broken)
        with pytest.raises(SourceError):
            sync(world, TRANSACTIONS_TOPIC)
    [entry] = transactions.all_entries()
    assert (entry.transactional_id, entry.partitions) == ("copier", ())


def test_a_folder_that_could_not_be_synced_is_not_said_to_be_stopped_cleanly(
    world: BrokerWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(world)
    with monkeypatch.context() as disk:
        fsync = __import__("os").fsync
        segment = tmp_path / "orders-0" / "00000000000000000000.log"

        def of_segments(file: int) -> None:
            if Path(f"/proc/self/fd/{file}").resolve() == segment.resolve():
                broken()
            fsync(file)

        disk.setattr("os.fsync", of_segments)
        with pytest.raises(SourceError, match="orders-0"):
            world.cluster.close()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    again = BrokerWorld(storage=FolderStorage(tmp_path, pytest.fail), properties=SMALL)
    assert partition(again, "orders").log.end_offset == 1


# ---- reading and deleting --------------------------------------------------------------------------


def listed(world: BrokerWorld, timestamp_ms: int) -> Any:
    topic = ListOffsetsRequest.ListOffsetsTopic
    part = topic.ListOffsetsPartition(version=3, partition_index=0, timestamp=timestamp_ms)
    request = ListOffsetsRequest(
        version=3,
        replica_id=-1,
        isolation_level=0,
        topics=[topic(version=3, name="orders", partitions=[part])],
    )
    return world.ask(request).topics[0].partitions[0]


def test_list_offsets_of_a_log_that_cannot_be_read_is_a_storage_error(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(world)
    with monkeypatch.context() as disk:
        disk.setattr("os.pread", broken)
        assert listed(world, 0).error_code == E.KAFKA_STORAGE_ERROR
        assert listed(world, -1).offset == 1  # the end needs no look at the log
    assert "orders-0" in world.warnings[0]
    assert listed(world, 0).offset == 0


def test_list_offsets_of_a_batch_that_rots_is_a_storage_error(world: BrokerWorld, tmp_path: Path) -> None:
    produce(world)
    path = tmp_path / "orders-0" / "00000000000000000000.log"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    assert listed(world, 0).error_code == E.KAFKA_STORAGE_ERROR


def test_records_that_cannot_be_deleted_are_still_there(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        produce(world)
    topic = DeleteRecordsRequest.DeleteRecordsTopic
    part = topic.DeleteRecordsPartition(version=0, partition_index=0, offset=2)
    request = DeleteRecordsRequest(
        version=0, topics=[topic(version=0, name="orders", partitions=[part])], timeout_ms=1000
    )
    with monkeypatch.context() as disk:
        disk.setattr("kgroup.broker.storage.replace_text", broken)
        assert world.ask(request).topics[0].partitions[0].error_code == E.KAFKA_STORAGE_ERROR
    assert partition(world, "orders").log.start_offset == 0
    assert world.ask(request).topics[0].partitions[0].low_watermark == 2


# ---- segments that are not written any more ----------------------------------------------------------


def test_rolled_segments_are_synced_apart_and_move_the_recovery_point(
    world: BrokerWorld, tmp_path: Path
) -> None:
    for _ in range(5):
        produce(world, 1_500)
    pairs = world.cluster.closed_unsynced()
    assert pairs
    for log, segment in pairs:
        log.synced(segment)
    assert world.cluster.closed_unsynced() == []
    world.cluster.checkpoint()
    log = partition(world, "orders").log
    assert isinstance(log, SegmentLog) and 0 < log.recovery_point < log.end_offset
    text = (tmp_path / "recovery-point-offset-checkpoint").read_text()
    assert f"orders 0 {log.recovery_point}\n" in text


def test_a_leader_epoch_stays_when_the_log_goes_back_and_begins_with_what_is_kept(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KIP-320: clients take no metadata with an older epoch, and ask where an epoch ends (KIP-101)."""
    orders = partition(world, "orders")
    produce(world)
    sync(world, "orders")
    orders.lead(1)
    orders.lead(1)
    newest = orders.leader_epoch
    produce(world)
    assert orders.end_of_epoch(newest) == (newest, 2)
    with monkeypatch.context() as disk:
        disk.setattr("os.fsync", broken)
        disk.setattr("os.fdatasync", broken)
        with pytest.raises(SourceError):
            sync(world, "orders")
    assert orders.log.end_offset == 1
    assert orders.leader_epoch == newest
    assert orders.end_of_epoch(newest) == (newest - 2, 1)
    produce(world)
    assert orders.end_of_epoch(newest) == (newest, 2)
