"""The header of a v2 batch on its own: what cannot be true is refused with its place."""

import pytest

from kgroup.errors import DecodeError
from kgroup.log.format.batch import LogRecord, encode_batch
from kgroup.log.format.batch_header import HEADER_SIZE, check_batch, placed, read_header

BATCH = encode_batch(
    [LogRecord(offset=n, timestamp_ms=10 * n, key=None, value=b"v") for n in range(3)],
    producer_id=7,
    producer_epoch=1,
    base_sequence=5,
    transactional=True,
)


def changed(position: int, value: bytes) -> bytes:
    return BATCH[:position] + value + BATCH[position + len(value) :]


def test_a_header_says_what_the_batch_holds() -> None:
    header = read_header(b"before" + BATCH, 6)
    assert (header.size, header.records) == (len(BATCH), 3)
    assert (header.base_offset, header.last_offset, header.max_timestamp_ms) == (0, 2, 20)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 5)
    assert (header.transactional, header.control) == (True, False)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "batch header"),
        (BATCH[: HEADER_SIZE - 1], "60 of 61 bytes"),
        (changed(16, b"\x01"), "1 is not 2"),
        (changed(16, b"\xff"), "-1 is not 2"),
        (changed(8, b"\0\0\0\x30"), "48 is less than a batch header takes"),
        (changed(8, b"\xff\xff\xff\xff"), "-1 is less than a batch header takes"),
    ],
)
def test_what_is_no_header(raw: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        read_header(raw)


def test_a_batch_is_whole_and_has_its_checksum_or_is_refused() -> None:
    assert check_batch(BATCH).size == len(BATCH)
    for damaged in (BATCH[:-1], changed(len(BATCH) - 1, b"\x01"), changed(17, b"\0\0\0\0")):
        with pytest.raises(DecodeError):
            check_batch(damaged)


def test_a_batch_that_gets_its_place_keeps_its_checksum() -> None:
    header = check_batch(placed(BATCH, 1_000, 9))
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (1_000, 1_002, 9)
