"""What a partition remembers of its producers: ProducerStateManager and ProducerAppendInfo of Kafka 4.3."""

import pytest

from kgroup.broker.producers import AbortedTransaction, Producers, SequenceCheck
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.format.batch_header import BatchHeader, placed, read_header
from kgroup.protocol.error_codes import ErrorCode

E = ErrorCode
LAST = 2**31 - 1


def header(
    sequence: int,
    records: int = 1,
    *,
    offset: int = 0,
    epoch: int = 0,
    producer: int = 7,
    transactional: bool = False,
    control: bool = False,
) -> BatchHeader:
    raw = encode_batch(
        [LogRecord(offset=n, timestamp_ms=0, key=None, value=b"") for n in range(records)],
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
        control=control,
    )
    return read_header(placed(raw, offset, 0))


def after(*headers: BatchHeader) -> Producers:
    producers = Producers()
    for each in headers:
        producers.appended(each)
    return producers


def marker(offset: int, *, epoch: int = 0, producer: int = 7) -> BatchHeader:
    return header(-1, offset=offset, epoch=epoch, producer=producer, transactional=True, control=True)


OK = SequenceCheck()
OUT_OF_ORDER = SequenceCheck(E.OUT_OF_ORDER_SEQUENCE_NUMBER)
FENCED = SequenceCheck(E.INVALID_PRODUCER_EPOCH)


# ---- sequences ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        (3, OK),
        (4, OUT_OF_ORDER),
        (5, OUT_OF_ORDER),
        (2, OUT_OF_ORDER),
        (0, SequenceCheck(duplicate_offset=40)),
    ],
)
def test_the_next_batch_begins_where_the_last_ended(sequence: int, expected: SequenceCheck) -> None:
    producers = after(header(0, 3, offset=40))
    records = 3 if sequence == 0 else 1
    assert producers.check(header(sequence, records)) == expected


def test_a_batch_is_the_same_again_with_the_same_end_only() -> None:
    producers = after(header(0, 3, offset=40))
    assert producers.check(header(0, 2)) == OUT_OF_ORDER
    assert producers.check(header(0, 4)) == OUT_OF_ORDER
    assert producers.check(header(1, 2)) == OUT_OF_ORDER


def test_the_last_five_batches_are_known_again_with_their_offsets() -> None:
    """ProducerStateEntry.NUM_BATCHES_TO_RETAIN."""
    producers = after(*(header(n, offset=100 + n) for n in range(6)))
    assert producers.check(header(0)) == OUT_OF_ORDER
    for sequence in range(1, 6):
        assert producers.check(header(sequence)) == SequenceCheck(duplicate_offset=100 + sequence)
    assert producers.check(header(6)) == OK


def test_sequences_go_on_at_0_after_the_last() -> None:
    assert after(header(LAST - 1, 2)).check(header(0)) == OK
    assert after(header(LAST, 2)).check(header(1)) == OK
    assert after(header(LAST, 2)).check(header(0)) == OUT_OF_ORDER
    assert after(header(LAST, 2, offset=5)).check(header(LAST, 2)) == SequenceCheck(duplicate_offset=5)


def test_an_unknown_producer_may_begin_anywhere_and_others_have_nothing_to_do_with_it() -> None:
    """Its records may have been deleted, or have expired."""
    assert Producers().check(header(77)) == OK
    assert after(header(0, 3)).check(header(77, producer=8)) == OK
    assert after(header(0, 3)).check(header(-1, producer=-1)) == OK


# ---- epochs -------------------------------------------------------------------------------------------


def test_an_older_epoch_is_fenced_and_a_newer_one_begins_at_0() -> None:
    producers = after(header(0, 3, epoch=5))
    assert producers.check(header(3, epoch=4)) == FENCED
    assert producers.check(header(3, epoch=6)) == OUT_OF_ORDER
    assert producers.check(header(1, epoch=6)) == OUT_OF_ORDER
    assert producers.check(header(0, epoch=6)) == OK


def test_batches_of_an_older_epoch_are_not_taken_for_the_same_again() -> None:
    producers = after(header(0, offset=10, epoch=5), header(0, offset=20, epoch=6))
    assert producers.check(header(0, epoch=6)) == SequenceCheck(duplicate_offset=20)
    producers = after(
        header(0, offset=10, epoch=5), header(1, offset=11, epoch=5), header(0, offset=20, epoch=6)
    )
    assert producers.check(header(1, epoch=6)) == OK


def test_a_marker_of_a_newer_epoch_fences_the_older_one() -> None:
    producers = after(header(0, offset=10, epoch=5, transactional=True))
    producers.ended(marker(11, epoch=6), committed=False)
    assert producers.check(header(1, epoch=5, transactional=True)) == FENCED
    assert producers.check(header(0, epoch=6, transactional=True)) == OK


def test_after_such_a_marker_the_epoch_begins_at_0() -> None:
    """The entry has an epoch and no batches: lastSeq is NO_SEQUENCE, and only 0 follows it."""
    producers = after(header(0, offset=10, epoch=5, transactional=True))
    producers.ended(marker(11, epoch=6), committed=True)
    assert producers.check(header(1, epoch=6, transactional=True)) == OUT_OF_ORDER


def test_a_marker_of_the_same_epoch_changes_no_sequence() -> None:
    producers = after(header(0, 3, offset=10, transactional=True))
    producers.ended(marker(13), committed=True)
    assert producers.check(header(3)) == OK
    assert producers.check(header(0)) == OUT_OF_ORDER
    assert producers.check(header(0, 3)) == SequenceCheck(duplicate_offset=10)


# ---- transactions -------------------------------------------------------------------------------------


def test_the_last_stable_offset_is_the_first_of_the_oldest_open_transaction() -> None:
    producers = after(
        header(0, offset=0),
        header(0, offset=10, producer=8, transactional=True),
        header(0, offset=20, producer=9, transactional=True),
        header(1, offset=30, producer=8, transactional=True),
    )
    assert producers.last_stable_offset(40) == 10
    producers.ended(marker(40, producer=8), committed=True)
    assert producers.last_stable_offset(41) == 20
    producers.ended(marker(41, producer=9), committed=False)
    assert producers.last_stable_offset(42) == 42


def test_the_next_transaction_of_a_producer_begins_anew() -> None:
    producers = after(header(0, offset=10, transactional=True))
    producers.ended(marker(11), committed=True)
    producers.appended(header(1, offset=12, transactional=True))
    assert producers.last_stable_offset(13) == 12


def test_idempotent_producers_hold_nobody_up() -> None:
    assert after(header(0, offset=3)).last_stable_offset(4) == 4


def test_aborted_transactions_are_those_that_overlap_what_is_read() -> None:
    producers = after(header(0, offset=10, transactional=True), header(1, offset=12, transactional=True))
    producers.ended(marker(14), committed=False)
    producers.appended(header(0, offset=20, producer=8, transactional=True))
    producers.ended(marker(21, producer=8), committed=True)
    aborted = [AbortedTransaction(7, 10, 14)]
    assert producers.aborted == aborted
    for start, end in ((0, 11), (10, 30), (12, 13), (13, 30), (0, 30)):
        assert producers.aborted_between(start, end) == aborted
    for start, end in ((0, 10), (15, 30)):
        assert producers.aborted_between(start, end) == []


def test_a_marker_without_records_aborts_nothing() -> None:
    producers = Producers()
    producers.ended(marker(5), committed=False)
    assert producers.aborted == []
    producers = after(header(0, offset=3))
    producers.ended(marker(5), committed=False)
    assert producers.aborted == []
