"""A cluster whose process died at any moment and starts again on the logs and facts that it had written."""

from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path

import pytest
from kafka.protocol.consumer.group import OffsetFetchRequest

from kgroup.broker.cluster import OFFSETS_TOPIC
from kgroup.broker.storage import ClusterSpec, FolderStorage, MemoryStorage, TopicSpec
from kgroup.broker.transactions import ProducerIdentity
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.transaction_state import TransactionEntry, TransactionStatus
from tests.broker.test_coordinators import commit_in_transaction
from tests.broker.world import GROUP, BrokerWorld, commit, coordinator

E = ErrorCode
TXN = "copier"


class Kept(MemoryStorage):
    """Logs and facts that outlive the cluster, as far as it has written them."""

    def __init__(self) -> None:
        self.spec: ClusterSpec | None = None
        self.logs: dict[tuple[str, int], MemoryLog] = {}

    def load(self) -> ClusterSpec | None:
        return deepcopy(self.spec)

    def save(self, spec: ClusterSpec, changed: Iterable[str] | None = None) -> None:
        self.spec = deepcopy(spec)

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        return self.logs.setdefault((topic.name, partition), MemoryLog())


def offset(world: BrokerWorld) -> tuple[int, int]:
    """Error and offset of a stable fetch."""
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(version=7, name="orders", partition_indexes=[0])
    request = OffsetFetchRequest(version=7, group_id=GROUP, topics=[topic], require_stable=True)
    [part] = world.ask(request, coordinator(world)).topics[0].partitions
    return part.error_code, part.committed_offset


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def world(kept: Kept) -> BrokerWorld:
    world = BrokerWorld(storage=kept)
    world.cluster.create_topic("orders", 1, 1, {}, world.now_ms)
    coordinator(world)
    return world


def begun(world: BrokerWorld) -> tuple[int, int]:
    transactions = world.cluster.transactions
    identity = transactions.init_producer_id(TXN, 30_000, (-1, -1), world.now_ms)
    producer = (identity.producer_id, identity.producer_epoch)
    places = [(OFFSETS_TOPIC, world.cluster.offsets_partition(GROUP)), ("orders", 0)]
    assert transactions.add_partitions(TXN, producer, places, world.now_ms) is E.NONE
    return producer


def pending(world: BrokerWorld, producer: tuple[int, int]) -> None:
    """An offset of 9 and a record, both in the producer's transaction."""
    record = LogRecord(offset=0, timestamp_ms=1, key=None, value=b"v")
    raw = encode_batch(
        [record], transactional=True, producer_id=producer[0], producer_epoch=producer[1], base_sequence=0
    )
    partition = world.cluster.partition("orders", 0)
    assert partition is not None
    partition.append(raw)
    commit_in_transaction(world, coordinator(world), ProducerIdentity(E.NONE, *producer), 9)


@pytest.mark.parametrize(
    ("status", "after", "read"),
    [
        (TransactionStatus.PREPARE_COMMIT, TransactionStatus.COMPLETE_COMMIT, 9),
        (TransactionStatus.PREPARE_ABORT, TransactionStatus.COMPLETE_ABORT, -1),
    ],
)
def test_what_was_decided_is_carried_out_by_the_start(
    world: BrokerWorld, kept: Kept, status: TransactionStatus, after: TransactionStatus, read: int
) -> None:
    producer = begun(world)
    pending(world, producer)
    [entry] = world.cluster.transactions.all_entries()
    # The process dies between the decision and the first marker.
    world.cluster._log_transaction(
        TransactionEntry(
            transactional_id=entry.transactional_id,
            producer_id=entry.producer_id,
            producer_epoch=entry.producer_epoch,
            timeout_ms=entry.timeout_ms,
            status=status,
            partitions=entry.partitions,
            last_update_ms=entry.last_update_ms,
            start_ms=entry.start_ms,
        ),
        world.now_ms,
    )
    again = BrokerWorld(storage=kept)
    [finished] = again.cluster.transactions.all_entries()
    assert finished.status is after  # before a client is let in, not by the first deadline
    again.settle()
    assert offset(again) == (E.NONE, read)
    partition = again.cluster.partition("orders", 0)
    assert partition is not None
    assert partition.last_stable_offset == partition.log.end_offset == 2
    assert len(partition.producers.aborted) == (status is TransactionStatus.PREPARE_ABORT)


def test_what_was_open_is_open_and_goes_on(world: BrokerWorld, kept: Kept) -> None:
    producer = begun(world)
    pending(world, producer)
    again = BrokerWorld(storage=kept)
    again.settle()
    assert offset(again)[0] == E.UNSTABLE_OFFSET_COMMIT
    ended = again.cluster.transactions.end(
        TXN, producer, committed=True, bump_epoch=False, now_ms=again.now_ms
    )
    assert ended.error is E.NONE
    assert offset(again) == (E.NONE, 9)


def test_what_was_open_is_aborted_at_its_deadline(world: BrokerWorld, kept: Kept) -> None:
    pending(world, begun(world))
    again = BrokerWorld(storage=kept)
    again.settle()
    assert again.cluster.transactions.next_deadline_ms() == world.now_ms + 30_000
    again.advance(30_000)
    assert offset(again) == (E.NONE, -1)


def test_producer_ids_are_given_out_once(world: BrokerWorld, kept: Kept) -> None:
    ids = []
    for _ in range(3):
        world = BrokerWorld(storage=kept)
        ids += [
            world.cluster.transactions.init_producer_id(None, 1, (-1, -1), 0).producer_id for _ in range(2)
        ]
    assert ids == sorted(set(ids))


def test_leader_epochs_go_on(world: BrokerWorld, kept: Kept) -> None:
    world.ask(commit(5), coordinator(world))
    index = world.cluster.offsets_partition(GROUP)
    before = world.cluster.topics[OFFSETS_TOPIC].partitions[index].leader_epoch
    again = BrokerWorld(storage=kept)
    assert again.cluster.topics[OFFSETS_TOPIC].partitions[index].leader_epoch == before + 1
    again.settle()
    assert offset(again) == (E.NONE, 5)


def test_leader_epochs_that_no_record_tells_of_do_not_go_back(tmp_path: Path) -> None:
    """A client that knows a newer epoch believes nobody who has an older one (KIP-320)."""
    world = BrokerWorld(nodes=2, storage=FolderStorage(tmp_path, print))
    world.cluster.create_topic("orders", 2, 2, {}, world.now_ms)
    for _ in range(3):
        world.cluster.kill(1, world.now_ms)
        world.cluster.start(1, world.now_ms)
        world.cluster.kill(2, world.now_ms)
        world.cluster.start(2, world.now_ms)
    before = [partition.leader_epoch for partition in world.cluster.topics["orders"].partitions]
    assert max(before) >= 3
    world.cluster.close()
    again = BrokerWorld(nodes=2, storage=FolderStorage(tmp_path, print))
    after = [partition.leader_epoch for partition in again.cluster.topics["orders"].partitions]
    assert all(new > old for new, old in zip(after, before, strict=True))
    again.cluster.close()
    once_more = BrokerWorld(nodes=2, storage=FolderStorage(tmp_path, print))
    assert [each.leader_epoch for each in once_more.cluster.topics["orders"].partitions] == after
    once_more.cluster.create_topic("new", 1, 1, {}, world.now_ms)
    assert once_more.cluster.topics["new"].partitions[0].leader_epoch == 0


def test_each_change_of_a_topic_is_kept_by_itself(world: BrokerWorld, kept: Kept) -> None:
    world.cluster.create_topic("new", 2, 1, {"retention.ms": "5"}, world.now_ms)
    assert BrokerWorld(storage=kept).cluster.topics["new"].spec.configs == {"retention.ms": "5"}
    world.cluster.create_partitions("new", 3, world.now_ms)
    assert len(BrokerWorld(storage=kept).cluster.topics["new"].partitions) == 3
    world.cluster.delete_topic("new", world.now_ms)
    assert "new" not in BrokerWorld(storage=kept).cluster.topics


def test_topics_have_their_ids_and_partitions(world: BrokerWorld, kept: Kept) -> None:
    world.cluster.create_partitions("orders", 4, world.now_ms)
    world.cluster.create_topic("gone", 1, 1, {}, world.now_ms)
    world.cluster.delete_topic("gone", world.now_ms)
    again = BrokerWorld(storage=kept)
    assert {
        name: len(topic.partitions) for name, topic in again.cluster.topics.items() if name != OFFSETS_TOPIC
    } == {"orders": 4}
    assert again.cluster.topics["orders"].spec == world.cluster.topics["orders"].spec
    assert again.cluster.topic_names == world.cluster.topic_names
