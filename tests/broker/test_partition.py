"""One partition: what it takes from clients, and what it is again after a restart."""

import pytest

from kgroup.broker.partition import Partition
from kgroup.broker.producers import AbortedTransaction
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.format.batch_header import read_header
from kgroup.log.store.record_log import MemoryLog
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.records.entries import TransactionMarker
from tests.broker.produced import produce

E = ErrorCode
LARGE = 1 << 20


def records(number: int = 1) -> list[LogRecord]:
    return [LogRecord(offset=n, timestamp_ms=5, key=None, value=b"v") for n in range(number)]


def batch(number: int = 1, *, sequence: int = -1, epoch: int = 0, transactional: bool = False) -> bytes:
    known = sequence >= 0 or transactional
    return encode_batch(
        records(number),
        producer_id=7 if known else -1,
        producer_epoch=epoch if known else -1,
        base_sequence=sequence,
        transactional=transactional,
    )


def marker(committed: bool, epoch: int = 0) -> TransactionMarker:
    return TransactionMarker(producer_id=7, producer_epoch=epoch, committed=committed, coordinator_epoch=0)


def new(log: MemoryLog | None = None) -> Partition:
    partition = Partition("orders", 0, (1, 2), log or MemoryLog())
    partition.lead(1)
    return partition


def restarted(partition: Partition) -> Partition:
    """The same log under another process."""
    assert isinstance(partition.log, MemoryLog)
    return new(partition.log)


# ---- what clients may write ---------------------------------------------------------------------------


def test_a_batch_may_be_as_large_as_the_limit() -> None:
    raw = batch(3)
    assert produce(new(), raw, len(raw)) == (E.NONE, 0)
    assert produce(new(), raw, len(raw) - 1) == (E.MESSAGE_TOO_LARGE, -1)


def test_clients_write_no_markers() -> None:
    control = encode_batch(
        [LogRecord(offset=0, timestamp_ms=0, key=b"\0\0\0\1", value=b"\0\0\0\0\0\0")],
        producer_id=7,
        producer_epoch=0,
        transactional=True,
        control=True,
    )
    assert produce(new(), control, LARGE) == (E.INVALID_RECORD, -1)


@pytest.mark.parametrize("last_offset", [3, 5])
def test_a_clients_batch_has_an_offset_for_each_record_and_no_other(last_offset: int) -> None:
    odd = encode_batch(records(5), last_offset=last_offset) if last_offset > 3 else None
    if last_offset == 5:
        assert odd is not None
        assert produce(new(), odd, LARGE) == (E.INVALID_RECORD, -1)
    else:
        assert produce(new(), batch(4), LARGE) == (E.NONE, 0)


def test_what_was_sent_again_has_the_offset_that_it_got() -> None:
    partition = new()
    for sequence in range(3):
        assert produce(partition, batch(sequence=sequence), LARGE) == (E.NONE, sequence)
    assert produce(partition, batch(sequence=1), LARGE) == (E.NONE, 1)
    assert partition.log.end_offset == 3


# ---- leaders and their epochs -------------------------------------------------------------------------


def test_each_new_leader_has_a_new_epoch_also_the_same_one_again() -> None:
    partition = new()
    epochs = [partition.leader_epoch]
    for node in (2, 2, 1, -1, 1):
        partition.lead(node)
        epochs.append(partition.leader_epoch)
    assert epochs == [0, 1, 2, 3, 4, 5]


def test_clients_hear_which_side_is_behind() -> None:
    partition = new()
    partition.lead(2)
    partition.lead(1)
    assert [partition.check_epoch(epoch) for epoch in (-1, 0, 1, 2, 3)] == [
        E.NONE,
        E.FENCED_LEADER_EPOCH,
        E.FENCED_LEADER_EPOCH,
        E.NONE,
        E.UNKNOWN_LEADER_EPOCH,
    ]


def with_three_epochs() -> Partition:
    """Epoch 0 has the offsets 0 and 1, epoch 2 has 2 to 4, epoch 3 has 5; nobody wrote in 1."""
    partition = new()
    partition.append(batch(2))
    partition.lead(2)
    partition.lead(1)
    partition.append(batch(2))
    partition.append(batch(1))
    partition.lead(2)
    partition.append(batch(1))
    return partition


ENDS = [(-1, (-1, -1)), (0, (0, 2)), (1, (0, 2)), (2, (2, 5)), (3, (3, 6)), (4, (-1, -1))]
"""Of each epoch the newest one up to it that has records, and where the next begins (KIP-101)."""


@pytest.mark.parametrize(("epoch", "end"), ENDS)
def test_an_epoch_ends_where_the_next_begins(epoch: int, end: tuple[int, int]) -> None:
    assert with_three_epochs().end_of_epoch(epoch) == end


# ---- a restart ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("epoch", "end"), ENDS[:-1])
def test_epochs_end_where_they_did_after_a_restart(epoch: int, end: tuple[int, int]) -> None:
    assert restarted(with_three_epochs()).end_of_epoch(epoch) == end


def test_epochs_that_began_at_offsets_above_their_number_are_all_there_after_a_restart() -> None:
    partition = new()
    for _ in range(3):
        partition.append(batch(9))
        partition.lead(1)
    assert [restarted(partition).end_of_epoch(epoch) for epoch in range(3)] == [(0, 9), (1, 18), (2, 27)]


def test_after_a_restart_the_leader_has_an_epoch_that_nobody_had() -> None:
    partition = restarted(with_three_epochs())
    assert partition.leader_epoch == 4
    header = partition.append(batch())
    assert header.leader_epoch == 4
    assert partition.end_of_epoch(4) == (4, 7)
    assert partition.check_epoch(3) is E.FENCED_LEADER_EPOCH


def test_after_a_restart_what_was_sent_again_is_known_and_a_gap_noticed() -> None:
    partition = new()
    produce(partition, batch(sequence=0, epoch=3), LARGE)
    produce(partition, batch(2, sequence=1, epoch=3), LARGE)
    partition = restarted(partition)
    assert produce(partition, batch(2, sequence=1, epoch=3), LARGE) == (E.NONE, 1)
    assert produce(partition, batch(sequence=4, epoch=3), LARGE) == (E.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert produce(partition, batch(sequence=3, epoch=2), LARGE) == (E.INVALID_PRODUCER_EPOCH, -1)
    assert produce(partition, batch(sequence=3, epoch=3), LARGE) == (E.NONE, 3)


@pytest.mark.parametrize("committed", [True, False])
def test_after_a_restart_an_ended_transaction_is_ended_and_an_open_one_open(committed: bool) -> None:
    partition = new()
    partition.append(batch(sequence=0, transactional=True))
    assert (partition.last_stable_offset, restarted(partition).last_stable_offset) == (0, 0)
    partition.append_marker(marker(committed), 0)
    again = restarted(partition)
    assert again.last_stable_offset == partition.last_stable_offset == 2
    assert again.producers.aborted == ([] if committed else [AbortedTransaction(7, 0, 1)])
    assert again.producers.aborted == partition.producers.aborted


def test_after_a_restart_a_marker_still_fences() -> None:
    partition = new()
    partition.append(batch(sequence=0, transactional=True))
    partition.append_marker(marker(False, epoch=1), 0)
    for each in (partition, restarted(partition)):
        assert produce(each, batch(sequence=1), LARGE) == (E.INVALID_PRODUCER_EPOCH, -1)


# ---- who hears of it ----------------------------------------------------------------------------------


def test_everything_that_is_appended_is_told() -> None:
    partition = new()
    told = []
    partition.on_append = lambda each: told.append(each.log.end_offset)
    produce(partition, batch(2), LARGE)
    partition.append_marker(marker(True), 9)
    produce(partition, b"no batch", LARGE)
    assert told == [2, 3]
    *_, raw = partition.batches()
    assert (read_header(raw).control, read_header(raw).max_timestamp_ms) == (True, 9)
