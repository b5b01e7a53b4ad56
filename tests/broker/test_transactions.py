"""Transactions at the wire: who may write when, and what a restart finishes."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from kafka.protocol.consumer.group import OffsetFetchRequest
from kafka.protocol.producer.transaction import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

from kgroup.broker.cluster import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kgroup.broker.storage import MemoryStorage, TopicSpec
from kgroup.broker.transactions import Transactions
from kgroup.errors import SourceError
from kgroup.log.format.batch_header import BatchHeader, read_header
from kgroup.log.store.record_log import MemoryLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import TransactionMarker
from kgroup.protocol.records.transaction_state import (
    TransactionEntry,
    TransactionStatus,
    decode_transaction,
    encode_transaction,
)
from tests.broker.world import BrokerWorld

E = ErrorCode
TXN = "copier"
GROUP = "copy"


@pytest.fixture
def world() -> BrokerWorld:
    world = BrokerWorld()
    world.cluster.create_topic("in", 1, 1, {}, world.now_ms)
    return world


def init(world: BrokerWorld, version: int = 2, timeout_ms: int = 30_000) -> tuple[int, int]:
    answer = world.ask(
        InitProducerIdRequest(version=version, transactional_id=TXN, transaction_timeout_ms=timeout_ms)
    )
    assert answer.error_code == E.NONE
    return answer.producer_id, answer.producer_epoch


def add_group(world: BrokerWorld, producer: tuple[int, int], version: int = 2) -> int:
    request = AddOffsetsToTxnRequest(
        version=version,
        transactional_id=TXN,
        producer_id=producer[0],
        producer_epoch=producer[1],
        group_id=GROUP,
    )
    return int(world.ask(request).error_code)


def commit(world: BrokerWorld, producer: tuple[int, int], offset: int, version: int = 3) -> int:
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    partition = topic.TxnOffsetCommitRequestPartition(
        version=version, partition_index=0, committed_offset=offset, committed_metadata=""
    )
    request = TxnOffsetCommitRequest(
        version=version,
        transactional_id=TXN,
        group_id=GROUP,
        producer_id=producer[0],
        producer_epoch=producer[1],
        generation_id=-1,
        member_id="",
        topics=[topic(version=version, name="in", partitions=[partition])],
    )
    return int(world.ask(request).topics[0].partitions[0].error_code)


def end(world: BrokerWorld, producer: tuple[int, int], committed: bool, version: int = 2) -> Any:
    request = EndTxnRequest(
        version=version,
        transactional_id=TXN,
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=committed,
    )
    return world.ask(request)


def offset(world: BrokerWorld) -> int:
    request = OffsetFetchRequest(version=7, group_id=GROUP, topics=None, require_stable=True)
    topics = world.ask(request).topics
    return int(topics[0].partitions[0].committed_offset) if topics else -1


def test_a_commit_needs_its_group_in_the_transaction(world: BrokerWorld) -> None:
    producer = init(world)
    assert commit(world, producer, 5) == E.INVALID_TXN_STATE
    assert commit(world, producer, 5, version=4) == E.TRANSACTION_ABORTABLE
    assert add_group(world, producer) == E.NONE
    assert commit(world, producer, 5) == E.NONE
    assert end(world, producer, True).error_code == E.NONE
    assert offset(world) == 5


def test_from_version_5_on_the_commit_joins_the_transaction_and_the_end_brings_a_new_epoch(
    world: BrokerWorld,
) -> None:
    producer = init(world, version=4)
    assert commit(world, producer, 5, version=5) == E.NONE
    ended = end(world, producer, True, version=5)
    assert (ended.producer_id, ended.producer_epoch) == (producer[0], producer[1] + 1)
    retried = end(world, producer, True, version=5)
    assert (retried.error_code, retried.producer_epoch) == (E.NONE, producer[1] + 1)
    assert offset(world) == 5
    assert commit(world, producer, 6, version=5) == E.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(("shift", "error"), [(1, E.INVALID_PRODUCER_EPOCH), (-1, E.INVALID_PRODUCER_EPOCH)])
def test_another_epoch_is_fenced(world: BrokerWorld, shift: int, error: ErrorCode) -> None:
    producer = init(world)
    producer = init(world)
    add_group(world, producer)
    assert commit(world, (producer[0], producer[1] + shift), 5) == error
    assert commit(world, (producer[0] + 7, producer[1]), 5) == E.INVALID_PRODUCER_ID_MAPPING


def test_a_new_producer_aborts_what_the_old_one_left_open(world: BrokerWorld) -> None:
    old = init(world)
    add_group(world, old)
    commit(world, old, 5)
    new = init(world)
    assert new[0] == old[0] and new[1] > old[1]
    assert offset(world) == -1
    assert end(world, old, True).error_code == E.PRODUCER_FENCED


def test_a_transaction_that_takes_too_long_is_aborted(world: BrokerWorld) -> None:
    producer = init(world, timeout_ms=5000)
    add_group(world, producer)
    commit(world, producer, 5)
    world.advance(4999)
    assert commit(world, producer, 6) == E.NONE
    world.advance(1)
    assert offset(world) == -1
    assert commit(world, producer, 7) == E.INVALID_PRODUCER_EPOCH


def test_a_timeout_out_of_bounds_is_refused(world: BrokerWorld) -> None:
    request = InitProducerIdRequest(version=2, transactional_id=TXN, transaction_timeout_ms=900_001)
    answer = world.ask(request)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (
        E.INVALID_TRANSACTION_TIMEOUT,
        -1,
        -1,
    )


def test_a_decision_that_a_crash_interrupted_is_carried_out_on_the_next_start(world: BrokerWorld) -> None:
    """The log says PrepareCommit and the marker is missing: as if the process had died between the two."""
    producer = init(world)
    add_group(world, producer)
    commit(world, producer, 5)
    cluster = world.cluster
    partition = (OFFSETS_TOPIC, cluster.offsets_partition(GROUP))
    entry = TransactionEntry(
        transactional_id=TXN,
        producer_id=producer[0],
        producer_epoch=producer[1],
        timeout_ms=30_000,
        status=TransactionStatus.PREPARE_COMMIT,
        partitions=(partition,),
        last_update_ms=world.now_ms,
        start_ms=world.now_ms,
    )
    assert TRANSACTIONS_TOPIC in cluster.topics
    cluster.transactions.restore(entry)
    cluster.transactions.finish_decided(world.now_ms)
    assert offset(world) == 5
    [left] = [each for each in cluster.transactions.all_entries() if each.transactional_id == TXN]
    assert left.status is TransactionStatus.COMPLETE_COMMIT


# ---- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("known", "error"), [((5, -1), E.INVALID_REQUEST), ((-1, 5), E.INVALID_REQUEST)])
def test_an_id_without_its_epoch_says_nothing(
    world: BrokerWorld, known: tuple[int, int], error: ErrorCode
) -> None:
    request = InitProducerIdRequest(
        version=3,
        transactional_id=TXN,
        transaction_timeout_ms=1000,
        producer_id=known[0],
        producer_epoch=known[1],
    )
    assert world.ask(request).error_code == error


def test_a_producer_that_asks_for_a_new_epoch_must_be_the_last_one() -> None:
    world = BrokerWorld()
    producer = init(world)

    def again(known: tuple[int, int], version: int) -> Any:
        return world.ask(
            InitProducerIdRequest(
                version=version,
                transactional_id=TXN,
                transaction_timeout_ms=1000,
                producer_id=known[0],
                producer_epoch=known[1],
            )
        )

    stale = (producer[0], producer[1] + 5)
    assert again(stale, 4).error_code == E.PRODUCER_FENCED
    assert again(stale, 3).error_code == E.INVALID_PRODUCER_EPOCH  # the newer error is new in version 4
    renewed = again(producer, 4)
    assert (renewed.error_code, renewed.producer_epoch) == (E.NONE, producer[1] + 1)


def test_every_producer_without_a_transactional_id_is_another(world: BrokerWorld) -> None:
    request = InitProducerIdRequest(version=2, transactional_id=None, transaction_timeout_ms=1000)
    first, second = (
        world.ask(request),
        world.ask(InitProducerIdRequest(version=2, transactional_id=None, transaction_timeout_ms=1000)),
    )
    assert first.producer_id != second.producer_id
    assert (first.producer_epoch, second.producer_epoch) == (0, 0)


def test_the_empty_transactional_id_is_none(world: BrokerWorld) -> None:
    empty = InitProducerIdRequest(version=2, transactional_id="", transaction_timeout_ms=1000)
    assert world.ask(empty).error_code == E.INVALID_REQUEST
    adding = AddOffsetsToTxnRequest(
        version=2, transactional_id="", producer_id=1, producer_epoch=0, group_id=GROUP
    )
    assert world.ask(adding).error_code == E.INVALID_REQUEST
    ending = EndTxnRequest(version=2, transactional_id="", producer_id=1, producer_epoch=0, committed=True)
    assert world.ask(ending).error_code == E.INVALID_REQUEST
    assert add_partition(world, (1, 0), "in", 0, transactional_id="") == [E.INVALID_REQUEST]


def add_partition(
    world: BrokerWorld,
    producer: tuple[int, int],
    topic: str,
    *partitions: int,
    transactional_id: str = TXN,
    version: int = 3,
) -> list[int]:
    each = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    request = AddPartitionsToTxnRequest(
        version=version,
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer[0],
        v3_and_below_producer_epoch=producer[1],
        v3_and_below_topics=[each(version=version, name=topic, partitions=list(partitions))],
    )
    [result] = world.ask(request).results_by_topic_v3_and_below
    return [partition_result.partition_error_code for partition_result in result.results_by_partition]


def test_all_partitions_join_a_transaction_or_none(world: BrokerWorld) -> None:
    producer = init(world)
    assert add_partition(world, producer, "in", 0, 9) == [
        E.OPERATION_NOT_ATTEMPTED,
        E.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert world.cluster.transactions.all_entries()[0].partitions == ()
    assert add_partition(world, producer, "in", 0) == [E.NONE]
    assert world.cluster.transactions.all_entries()[0].partitions == (("in", 0),)
    fenced = (producer[0], producer[1] + 1)
    assert add_partition(world, fenced, "in", 0) == [E.PRODUCER_FENCED]
    assert add_partition(world, fenced, "in", 0, version=1) == [E.INVALID_PRODUCER_EPOCH]


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (0, E.INVALID_PRODUCER_EPOCH),
        (1, E.INVALID_PRODUCER_EPOCH),
        (2, E.PRODUCER_FENCED),
        (3, E.PRODUCER_FENCED),
    ],
)
def test_clients_before_version_2_do_not_know_that_they_are_fenced(
    world: BrokerWorld, version: int, error: E
) -> None:
    """PRODUCER_FENCED is new in version 2 of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn (KIP-588)."""
    fenced = init(world)
    init(world)
    assert add_group(world, fenced, version) == error
    assert add_partition(world, fenced, "in", 0, version=version) == [error]
    assert end(world, fenced, True, version).error_code == error


def test_only_the_transactional_ids_coordinator_answers() -> None:
    world = BrokerWorld(nodes=2)
    index = world.cluster.transaction_partition(TXN)
    topic = world.cluster.internal_topic(TRANSACTIONS_TOPIC, world.now_ms)
    other = 3 - topic.partitions[index].leader
    requests = (
        InitProducerIdRequest(version=2, transactional_id=TXN, transaction_timeout_ms=1000),
        AddOffsetsToTxnRequest(
            version=2, transactional_id=TXN, producer_id=1, producer_epoch=0, group_id=GROUP
        ),
        EndTxnRequest(version=2, transactional_id=TXN, producer_id=1, producer_epoch=0, committed=True),
    )
    for request in requests:
        assert world.ask(request, other).error_code == E.NOT_COORDINATOR


def test_ending_twice_is_fine_the_same_way_only(world: BrokerWorld) -> None:
    producer = init(world)
    assert end(world, producer, True).error_code == E.INVALID_TXN_STATE  # nothing has begun
    add_group(world, producer)
    assert end(world, producer, True).error_code == E.NONE
    assert end(world, producer, True).error_code == E.NONE
    assert end(world, producer, False).error_code == E.INVALID_TXN_STATE
    assert end(world, (producer[0] + 9, 0), True).error_code == E.INVALID_PRODUCER_ID_MAPPING


# What brokers of 4.3.1 answered to EndTxn v5: by what the producer did before (nothing, or a commit or abort
# of v4), what it asks for now, and under which epoch, counted from its own.
ENDED_WITHOUT_TRANSACTION = [
    (None, True, 0, E.INVALID_TXN_STATE, None),
    (None, True, -1, E.PRODUCER_FENCED, None),
    (None, False, 0, E.NONE, 1),
    (None, False, -1, E.PRODUCER_FENCED, None),
    (True, True, 0, E.INVALID_TXN_STATE, None),
    (True, True, -1, E.NONE, 0),
    (True, False, 0, E.NONE, 1),
    (True, False, -1, E.INVALID_TXN_STATE, None),
    (False, True, 0, E.INVALID_TXN_STATE, None),
    (False, True, -1, E.INVALID_TXN_STATE, None),
    (False, False, 0, E.NONE, 1),
    (False, False, -1, E.NONE, 0),
]


@pytest.mark.parametrize(("before", "committed", "shift", "error", "bump"), ENDED_WITHOUT_TRANSACTION)
def test_version_5_ends_no_transaction_as_kafka_does(
    world: BrokerWorld, before: bool | None, committed: bool, shift: int, error: ErrorCode, bump: int | None
) -> None:
    producer_id, epoch = init(world)
    if before is not None:
        add_group(world, (producer_id, epoch))
        end(world, (producer_id, epoch), before, version=4)
    ended = end(world, (producer_id, epoch + shift), committed, version=5)
    expected = (-1, -1) if bump is None else (producer_id, epoch + bump)
    assert (ended.error_code, (ended.producer_id, ended.producer_epoch)) == (error, expected)


def test_an_abort_of_nothing_is_an_abort(world: BrokerWorld) -> None:
    producer = init(world)
    renewed = end(world, producer, False, version=5)
    assert end(world, (producer[0], renewed.producer_epoch), False, version=4).error_code == E.NONE


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("is_loading", [False, True])
def test_markers_that_a_full_disk_does_not_take_are_written_when_there_is_room(
    world: BrokerWorld, committed: bool, is_loading: bool
) -> None:
    """Kafka's marker channel tries again until it succeeds; the producer hears CONCURRENT_TRANSACTIONS."""
    producer = init(world)
    add_group(world, producer)
    commit(world, producer, 5)
    partition = world.cluster.topics[OFFSETS_TOPIC].partitions[world.cluster.offsets_partition(GROUP)]
    full = partition.log = FullLog(partition.batches())
    if is_loading:
        world.cluster.move_coordinator(partition.index, 1, world.now_ms)
    assert end(world, producer, committed).error_code == E.NONE
    answer = world.ask(InitProducerIdRequest(version=2, transactional_id=TXN, transaction_timeout_ms=30_000))
    assert answer.error_code == E.CONCURRENT_TRANSACTIONS
    assert add_group(world, producer) == E.CONCURRENT_TRANSACTIONS
    full.is_full = False
    world.advance(1_000)
    assert offset(world) == (5 if committed else -1)
    assert add_group(world, producer) == E.NONE


class FullLog(MemoryLog):
    """A disk without room, which holds what was there."""

    def __init__(self, batches: Iterable[bytes]) -> None:
        super().__init__()
        self.is_full = False
        for raw in batches:
            self.append(raw, 0)
        self.is_full = True

    def append(self, batch: bytes, leader_epoch: int) -> BatchHeader:
        if self.is_full:
            raise SourceError("no space left on device")
        return super().append(batch, leader_epoch)


def test_markers_carry_the_epoch_that_comes_with_version_5() -> None:
    markers = []
    transactions = Transactions(
        max_timeout_ms=900_000,
        new_producer_id=lambda: 7,
        log=lambda entry, now_ms: None,
        mark=lambda partition, marker, now_ms: markers.append(marker),
    )
    for bump in (False, True):
        transactions.init_producer_id(TXN, 30_000, (-1, -1), 0)
        [begun] = transactions.all_entries()
        producer = (begun.producer_id, begun.producer_epoch)
        transactions.add_partitions(TXN, producer, [("in", 0)], 0)
        transactions.end(TXN, producer, committed=True, bump_epoch=bump, now_ms=0)
        assert markers[-1].producer_epoch == begun.producer_epoch + bump
    assert len(markers) == 2


# ---- the machine alone --------------------------------------------------------------------------------

MAX_TIMEOUT_MS = 900_000
S = TransactionStatus
A, B, C = ("a", 0), ("a", 1), ("b", 0)
Happened = tuple[str, object]


class Machine:
    """Transactions with what they logged and marked, in order; `again` is the next process on that log."""

    def __init__(self, logged: list[TransactionEntry] | None = None, next_id: int = 7) -> None:
        self.happened: list[Happened] = []
        self.logged = list(logged or [])
        self.next_id = next_id
        self.transactions = Transactions(MAX_TIMEOUT_MS, self._new_id, self._log, self._mark)
        for entry in self.logged:
            self.transactions.restore(entry)

    def _new_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def _log(self, entry: TransactionEntry, now_ms: int) -> None:
        assert entry.last_update_ms == now_ms
        self.happened.append(("log", entry.status))
        self.logged.append(entry)

    def _mark(self, partition: tuple[str, int], marker: TransactionMarker, now_ms: int) -> None:
        self.happened.append(("commit" if marker.committed else "abort", partition))

    def again(self) -> "Machine":
        return Machine(self.logged, self.next_id)

    def init(self, now_ms: int = 0, timeout_ms: int = 30_000, name: str = TXN) -> tuple[int, int]:
        identity = self.transactions.init_producer_id(name, timeout_ms, (-1, -1), now_ms)
        assert identity.error is E.NONE
        return identity.producer_id, identity.producer_epoch

    def add(self, producer: tuple[int, int], *partitions: tuple[str, int], now_ms: int = 0) -> ErrorCode:
        return self.transactions.add_partitions(TXN, producer, list(partitions), now_ms)

    def verify(self, producer: tuple[int, int], partition: tuple[str, int]) -> ErrorCode:
        return self.transactions.verify(TXN, producer, partition, knows_abortable=False)

    def end(
        self, producer: tuple[int, int], committed: bool = True, now_ms: int = 0, bump: bool = False
    ) -> ErrorCode:
        return self.transactions.end(TXN, producer, committed=committed, bump_epoch=bump, now_ms=now_ms).error

    def entry(self) -> TransactionEntry:
        [entry] = self.transactions.all_entries()
        return entry


@pytest.mark.parametrize(("committed", "word"), [(True, "commit"), (False, "abort")])
def test_a_decision_is_logged_then_marked_everywhere_then_logged_as_complete(
    committed: bool, word: str
) -> None:
    machine = Machine()
    producer = machine.init()
    machine.add(producer, A, B)
    machine.add(producer, C)
    machine.happened.clear()
    assert machine.end(producer, committed, now_ms=5) is E.NONE
    prepared, complete = (
        (S.PREPARE_COMMIT, S.COMPLETE_COMMIT) if committed else (S.PREPARE_ABORT, S.COMPLETE_ABORT)
    )
    assert machine.happened == [("log", prepared), (word, A), (word, B), (word, C), ("log", complete)]
    assert machine.logged[-2].partitions == (A, B, C)
    assert machine.logged[-1].partitions == ()
    assert machine.entry() == machine.logged[-1]
    assert machine.entry().last_update_ms == 5


def test_what_the_log_says_is_what_there_is_after_a_restart() -> None:
    machine = Machine()
    producer = machine.init(timeout_ms=12_345)
    assert machine.again().entry() == machine.entry()
    machine.add(producer, A, now_ms=100)
    machine.add(producer, A, B, now_ms=200)
    again = machine.again()
    assert again.entry() == machine.entry()
    assert (again.entry().start_ms, again.entry().timeout_ms) == (100, 12_345)
    assert again.transactions.next_deadline_ms() == 12_445
    assert again.end(producer) is E.NONE
    assert [each for each in again.happened if each[0] == "commit"] == [("commit", A), ("commit", B)]


@pytest.mark.parametrize(("status", "word"), [(S.PREPARE_COMMIT, "commit"), (S.PREPARE_ABORT, "abort")])
def test_every_decision_that_a_crash_interrupted_is_finished_once(status: S, word: str) -> None:
    entries = [
        TransactionEntry(
            transactional_id=name,
            producer_id=number,
            producer_epoch=3,
            timeout_ms=1000,
            status=status,
            partitions=(A, B),
            last_update_ms=1,
            start_ms=1,
        )
        for number, name in enumerate(("t", "u"))
    ]
    machine = Machine(entries)
    machine.transactions.finish_decided(50)
    complete = S.COMPLETE_COMMIT if word == "commit" else S.COMPLETE_ABORT
    assert machine.happened == 2 * [(word, A), (word, B), ("log", complete)]
    again = machine.again()
    again.transactions.finish_decided(60)
    assert again.happened == []


def test_open_and_ended_transactions_are_left_alone_at_a_start() -> None:
    machine = Machine()
    machine.add(machine.init(), A)
    again = machine.again()
    again.transactions.finish_decided(50)
    assert (again.happened, again.entry().status) == ([], S.ONGOING)


@pytest.mark.parametrize(
    ("timeout_ms", "fits"), [(0, False), (1, True), (MAX_TIMEOUT_MS, True), (MAX_TIMEOUT_MS + 1, False)]
)
def test_a_timeout_is_positive_and_at_most_the_brokers(timeout_ms: int, fits: bool) -> None:
    identity = Machine().transactions.init_producer_id(TXN, timeout_ms, (-1, -1), 0)
    assert identity.error is (E.NONE if fits else E.INVALID_TRANSACTION_TIMEOUT)


def test_a_new_producer_aborts_under_an_epoch_between_the_old_one_and_its_own() -> None:
    machine = Machine()
    old = machine.init()
    machine.add(old, A)
    machine.happened.clear()
    new = machine.init(now_ms=9, timeout_ms=5000)
    assert new == (old[0], old[1] + 2)
    assert machine.happened == [
        ("log", S.PREPARE_ABORT),
        ("abort", A),
        ("log", S.COMPLETE_ABORT),
        ("log", S.EMPTY),
    ]
    assert machine.entry().timeout_ms == 5000
    assert machine.end(new) is E.INVALID_TXN_STATE
    assert machine.add(old, A) is E.PRODUCER_FENCED
    assert machine.add(new, A) is E.NONE
    # And it goes the same way if the process dies in between.
    assert machine.again().end(old) is E.PRODUCER_FENCED


def test_a_new_producer_after_a_finished_transaction_ends_it_no_second_time() -> None:
    machine = Machine()
    old = machine.init()
    machine.add(old, A)
    machine.end(old)
    new = machine.init()
    assert new == (old[0], old[1] + 1)
    assert machine.entry().status is S.EMPTY
    assert machine.end(new, True) is E.INVALID_TXN_STATE


def test_partitions_add_up_and_the_first_ones_begin_the_time() -> None:
    machine = Machine()
    producer = machine.init(timeout_ms=1000)
    assert machine.transactions.next_deadline_ms() is None
    machine.add(producer, A, now_ms=100)
    machine.add(producer, A, B, now_ms=600)
    machine.add(producer, C, now_ms=700)
    assert machine.entry().partitions == (A, B, C)
    assert machine.transactions.next_deadline_ms() == 1100
    assert [machine.verify(producer, each) for each in (A, B, C)] == [E.NONE] * 3
    assert machine.verify(producer, ("b", 1)) is E.INVALID_TXN_STATE


def test_partitions_that_are_in_already_are_not_logged_again() -> None:
    machine = Machine()
    producer = machine.init()
    machine.add(producer, A, B)
    machine.happened.clear()
    assert machine.add(producer, B) is E.NONE
    assert machine.happened == []


def test_after_its_end_nothing_gets_into_a_transaction() -> None:
    machine = Machine()
    producer = machine.init()
    machine.add(producer, A)
    machine.end(producer)
    assert machine.verify(producer, A) is E.INVALID_TXN_STATE
    machine.add(producer, B)
    assert (machine.verify(producer, A), machine.verify(producer, B)) == (E.INVALID_TXN_STATE, E.NONE)


def test_epochs_that_were_never_given_out_are_refused() -> None:
    machine = Machine()
    producer_id, epoch = machine.init()
    for other in (epoch - 1, epoch + 1):
        assert machine.add((producer_id, other), A) is E.PRODUCER_FENCED
        assert machine.verify((producer_id, other), A) is E.INVALID_PRODUCER_EPOCH
        assert machine.end((producer_id, other)) is E.PRODUCER_FENCED


def test_what_takes_too_long_is_aborted_at_its_deadline_and_its_producer_fenced() -> None:
    machine = Machine()
    producer = machine.init(timeout_ms=1000)
    machine.add(producer, A, now_ms=100)
    machine.happened.clear()
    machine.transactions.expire(1099)
    assert machine.happened == []
    machine.transactions.expire(1100)
    assert machine.happened == [("log", S.PREPARE_ABORT), ("abort", A), ("log", S.COMPLETE_ABORT)]
    assert machine.transactions.next_deadline_ms() is None
    assert machine.end(producer) is E.PRODUCER_FENCED
    assert machine.entry().producer_epoch == producer[1] + 1


def test_the_earliest_deadline_counts() -> None:
    machine = Machine()
    for name, timeout_ms in (("t", 3000), ("u", 2000), ("v", 4000)):
        producer = machine.init(timeout_ms=timeout_ms, name=name)
        machine.transactions.add_partitions(name, producer, [A], 0)
    assert machine.transactions.next_deadline_ms() == 2000
    machine.transactions.expire(2000)
    assert machine.transactions.next_deadline_ms() == 3000


def test_the_last_epoch_of_an_id_is_for_fencing() -> None:
    """Short.MAX_VALUE - 1 is the last that a producer has (TransactionMetadata.isEpochExhausted)."""
    machine = Machine()
    producer_id, _ = machine.init()
    machine.transactions.restore(replace(machine.entry(), producer_epoch=32_766))
    producer = (producer_id, 32_766)
    assert machine.add(producer, A) is E.NONE
    identity = machine.transactions.end(TXN, producer, committed=True, bump_epoch=True, now_ms=3)
    assert (identity.error, identity.producer_epoch) == (E.NONE, 0)
    assert identity.producer_id != producer_id
    assert machine.again().entry() == machine.entry()


def test_an_epoch_before_the_last_goes_up_as_always() -> None:
    machine = Machine()
    producer_id, _ = machine.init()
    machine.transactions.restore(replace(machine.entry(), producer_epoch=32_765))
    machine.add((producer_id, 32_765), A)
    identity = machine.transactions.end(TXN, (producer_id, 32_765), committed=True, bump_epoch=True, now_ms=3)
    assert (identity.producer_id, identity.producer_epoch) == (producer_id, 32_766)


def test_topics_that_do_not_exist_are_refused_by_themselves(world: BrokerWorld) -> None:
    producer = init(world)
    add_group(world, producer)
    topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    of_partition = topic.TxnOffsetCommitRequestPartition
    request = TxnOffsetCommitRequest(
        version=3,
        transactional_id=TXN,
        group_id=GROUP,
        producer_id=producer[0],
        producer_epoch=producer[1],
        generation_id=-1,
        member_id="",
        topics=[
            topic(
                version=3,
                name=name,
                partitions=[
                    of_partition(version=3, partition_index=0, committed_offset=1, committed_metadata="")
                ],
            )
            for name in ("in", "nowhere")
        ],
    )
    answered = {each.name: each.partitions[0].error_code for each in world.ask(request).topics}
    assert answered == {"in": E.NONE, "nowhere": E.UNKNOWN_TOPIC_OR_PARTITION}


def test_an_epoch_that_would_overflow_brings_a_new_producer_id(world: BrokerWorld) -> None:
    producer = init(world)
    [entry] = world.cluster.transactions.all_entries()
    world.cluster.transactions.restore(replace(entry, producer_epoch=32_766))
    renewed = init(world)
    assert renewed[0] != producer[0]
    assert renewed[1] == 0


@pytest.mark.parametrize("status", list(TransactionStatus))
def test_the_transaction_log_says_what_was_said(status: TransactionStatus) -> None:
    ongoing = status not in (
        TransactionStatus.EMPTY,
        TransactionStatus.COMPLETE_COMMIT,
        TransactionStatus.COMPLETE_ABORT,
    )
    entry = TransactionEntry(
        transactional_id="t",
        producer_id=2**40,
        producer_epoch=3,
        timeout_ms=60_000,
        status=status,
        partitions=(("a", 0), ("a", 2), ("b", 1)) if ongoing else (),
        last_update_ms=5,
        start_ms=4,
    )
    key, value = encode_transaction(entry)
    assert decode_transaction(key, value) == entry
    assert decode_transaction(key, None) is None


class NotedLog(MemoryLog):
    """Says when it is written and when it is synced."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self._note = note

    def append(self, batch: bytes, leader_epoch: int) -> BatchHeader:
        self._note("marker" if read_header(batch).control else "append")
        return super().append(batch, leader_epoch)

    def sync(self) -> None:
        self._note("sync")


class NotedStorage(MemoryStorage):
    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> NotedLog:
        return NotedLog(lambda text: self.notes.append((topic.name, text)))


def test_where_syncs_count_a_decision_is_on_the_disk_before_its_markers_and_they_before_the_end() -> None:
    storage = NotedStorage()
    world = BrokerWorld(storage=storage, syncs_decisions=True)
    world.cluster.create_topic("in", 1, 1, {}, world.now_ms)
    producer = init(world)
    add_group(world, producer)
    commit(world, producer, 5)
    storage.notes.clear()
    assert end(world, producer, committed=True).error_code == E.NONE
    assert storage.notes == [
        (TRANSACTIONS_TOPIC, "append"),
        (TRANSACTIONS_TOPIC, "sync"),
        (OFFSETS_TOPIC, "marker"),
        (OFFSETS_TOPIC, "sync"),
        (TRANSACTIONS_TOPIC, "append"),
    ]
