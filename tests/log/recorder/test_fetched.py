"""What is taken of a leader's answer, and which holes it shows."""

import pytest

from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.recorder.fetched import COMPACTED, Gap, behind, joined, whole_batches_from
from tests.log.recorder.batches import cleaned, commit


def sent(*batches: bytes) -> bytes:
    return b"".join(batches)


def test_batches_that_follow_each_other_are_one_run_byte_for_byte() -> None:
    answer = sent(commit(5), commit(6), commit(7))
    fetched = whole_batches_from(5, answer)
    assert [run for run, _ in fetched.runs] == [answer]
    assert [header.base_offset for header in fetched.runs[0][1]] == [5, 6, 7]
    assert (fetched.gaps, fetched.next_offset) == ([], 8)


def test_a_batch_that_was_cut_at_the_end_is_left_for_the_next_time() -> None:
    answer = sent(commit(5), commit(6))
    for cut in range(1, len(commit(6))):
        fetched = whole_batches_from(5, answer[:-cut])
        assert [run for run, _ in fetched.runs] == [commit(5)]
        assert fetched.next_offset == 6


def test_nothing_sent_is_nothing_to_do() -> None:
    fetched = whole_batches_from(5, b"")
    assert (fetched.runs, fetched.gaps, fetched.next_offset) == ([], [], 5)


def test_offsets_between_batches_were_taken_by_the_cleaner() -> None:
    fetched = whole_batches_from(5, sent(commit(9), commit(10), commit(20)))
    assert fetched.gaps == [Gap(5, 19, COMPACTED)]
    assert len(fetched.runs) == 1


@pytest.mark.parametrize(
    ("left", "gaps"),
    [
        ([7, 9], [Gap(6, 9, COMPACTED)]),
        ([6, 7, 9], [Gap(6, 9, COMPACTED)]),
        ([], [Gap(6, 9, COMPACTED)]),
        ([6, 7, 8, 9], []),
    ],
)
def test_so_were_records_out_of_a_batch(left: list[int], gaps: list[Gap]) -> None:
    fetched = whole_batches_from(5, sent(commit(5), cleaned(6, 9, left)))
    assert fetched.gaps == gaps
    assert fetched.next_offset == 10


def test_batches_that_are_there_already_are_not_taken_twice() -> None:
    fetched = whole_batches_from(6, sent(commit(4), commit(5), commit(6)))
    assert [run for run, _ in fetched.runs] == [commit(6)]
    assert (fetched.gaps, fetched.next_offset) == ([], 7)


def test_a_batch_that_reaches_back_into_the_recording_is_a_hole() -> None:
    answer = sent(cleaned(4, 8, [4, 5, 6, 7, 8]), commit(9))
    fetched = whole_batches_from(6, answer)
    assert [run for run, _ in fetched.runs] == [commit(9)]
    assert [(gap.first_offset, gap.last_offset) for gap in fetched.gaps] == [(6, 8)]
    assert "overlaps" in fetched.gaps[0].why


def test_a_damaged_batch_is_a_hole_and_those_around_it_are_taken() -> None:
    damaged = bytearray(commit(6))
    damaged[-1] ^= 1
    fetched = whole_batches_from(5, sent(commit(5), bytes(damaged), commit(7)))
    assert [run for run, _ in fetched.runs] == [commit(5), commit(7)]
    assert [(gap.first_offset, gap.last_offset) for gap in fetched.gaps] == [(6, 6)]
    assert "CRC" in fetched.gaps[0].why


def test_messages_of_before_kafka_0_11_are_a_hole() -> None:
    old = bytearray(commit(5))
    old[16] = 1
    fetched = whole_batches_from(5, bytes(old))
    assert fetched.runs == []
    assert fetched.next_offset == 6
    assert "magic" in fetched.gaps[0].why


def test_gaps_of_one_reason_are_told_as_one() -> None:
    gaps = [Gap(1, 2, "a"), Gap(5, 5, "b"), Gap(7, 9, "a")]
    assert list(joined(gaps)) == [Gap(1, 9, "a"), Gap(5, 5, "b")]


def test_what_was_gone_before_the_recording_began_is_no_hole_of_it() -> None:
    gaps = [Gap(0, 9, "a"), Gap(15, 25, "a"), Gap(30, 31, "a")]
    assert list(behind(gaps, 20)) == [Gap(20, 25, "a"), Gap(30, 31, "a")]


def test_a_transactions_marker_is_taken_as_it_is() -> None:
    marker = encode_batch(
        [LogRecord(5, 1000, b"\0\0\0\1", b"\0\0\0\0\0\0")],
        control=True,
        transactional=True,
        producer_id=7,
        producer_epoch=0,
    )
    assert [run for run, _ in whole_batches_from(5, marker).runs] == [marker]
