"""Batches of format 2: against real segments, against kafka-python's writer, and rule by rule."""

import struct
from pathlib import Path

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from kgroup.errors import DecodeError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import (
    Batch,
    Codec,
    LogRecord,
    TimestampType,
    decode_batch,
    encode_batch,
    encode_payload,
)
from kgroup.log.format.record import encode_records
from tests.log.truth import SEGMENTS, name_of

INT64 = st.integers(-(2**63), 2**63 - 1)
COMMIT = LogRecord(offset=7, timestamp_ms=1_700_000_000_000, key=b"key", value=b"value")


def encode_again(batch: Batch) -> bytes:
    return encode_batch(
        batch.records(),
        codec=batch.codec,
        timestamp_type=batch.timestamp_type,
        base_offset=batch.base_offset,
        last_offset=batch.last_offset,
        base_timestamp_ms=batch.base_timestamp_ms,
        max_timestamp_ms=batch.max_timestamp_ms,
        transactional=batch.transactional,
        control=batch.control,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        leader_epoch=batch.leader_epoch,
        delete_horizon_ms=batch.delete_horizon_ms,
    )


def header_fields(batch: Batch) -> tuple[object, ...]:
    return (
        batch.base_offset,
        batch.last_offset,
        batch.count,
        batch.codec,
        batch.timestamp_type,
        batch.base_timestamp_ms,
        batch.max_timestamp_ms,
        batch.transactional,
        batch.control,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.leader_epoch,
        batch.delete_horizon_ms,
    )


def with_payload(payload: bytes, *, count: int, attributes: int = 0, last_offset_delta: int = 0) -> bytes:
    """A batch of base offset 0 and base timestamp 0 whose length and CRC are right, whatever it holds."""
    covered = struct.pack(">hiqqqhii", attributes, last_offset_delta, 0, 5, -1, -1, -1, count) + payload
    return struct.pack(">qiibI", 0, 9 + len(covered), 0, 2, google_crc32c.value(covered)) + covered


@pytest.mark.parametrize("segment", SEGMENTS, ids=name_of)
def test_every_batch_of_a_broker_encodes_to_what_it_was(segment: Path) -> None:
    raw = segment.read_bytes()
    for batch in read_segment(segment):
        assert isinstance(batch, Batch)
        if batch.magic != 2:
            continue
        again = encode_again(batch)
        if batch.codec is Codec.NONE:
            assert again == raw[batch.position : batch.position + batch.size]
        else:
            assert header_fields(decode_batch(again)) == header_fields(batch)
            assert decode_batch(again).records() == batch.records()


@pytest.mark.parametrize("codec", [0, 1], ids=["none", "gzip"])
def test_batches_of_another_writer_are_read(codec: int) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=1,
        producer_id=2**40,
        producer_epoch=3,
        base_sequence=11,
        batch_size=1 << 20,
    )
    headers = [("trace", b"\x00\x01"), ("ärger", None), ("", b"")]
    for offset in range(300):
        builder.append(offset, 1_700_000_000_000 - 7 * offset, b"k" * offset, None, headers)
    batch = decode_batch(bytes(builder.build()))
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (2**40, 3, 11)
    assert batch.transactional
    assert not batch.control
    assert batch.count == 300
    assert batch.last_offset == 299
    assert batch.max_timestamp_ms == 1_700_000_000_000
    assert batch.records() == [
        LogRecord(
            offset=offset,
            timestamp_ms=1_700_000_000_000 - 7 * offset,
            key=b"k" * offset,
            value=None,
            headers=(("trace", b"\x00\x01"), ("ärger", None), ("", b"")),
        )
        for offset in range(300)
    ]


@given(
    base_offset=st.integers(0, 2**62),
    records=st.lists(
        st.tuples(
            st.integers(0, 1000),
            st.integers(-1, 2**48),
            st.none() | st.binary(max_size=300),
            st.none() | st.binary(max_size=300),
            st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2),
        ),
        min_size=1,
        max_size=5,
    ),
    codec=st.sampled_from(Codec),
)
def test_what_is_encoded_is_decoded(base_offset: int, records: list[tuple], codec: Codec) -> None:
    written, offset = [], base_offset
    for gap, timestamp_ms, key, value, headers in records:
        offset += gap
        written.append(
            LogRecord(offset=offset, timestamp_ms=timestamp_ms, key=key, value=value, headers=tuple(headers))
        )
        offset += 1
    batch = decode_batch(encode_batch(written, codec=codec))
    assert batch.records() == written
    assert (batch.base_offset, batch.last_offset) == (written[0].offset, written[-1].offset)
    assert batch.max_timestamp_ms == max(record.timestamp_ms for record in written)


def test_records_that_are_bytes_already_make_the_same_batch() -> None:
    records = [LogRecord(offset=n, timestamp_ms=100 - n, key=b"k", value=b"v" * n) for n in range(3)]
    encoded = encode_payload(
        encode_records(records, 0, 100),
        3,
        base_timestamp_ms=100,
        max_timestamp_ms=107,
        transactional=True,
        producer_id=7,
        producer_epoch=2,
        base_sequence=5,
    )
    assert encoded == encode_batch(
        records,
        base_timestamp_ms=100,
        max_timestamp_ms=107,
        transactional=True,
        producer_id=7,
        producer_epoch=2,
        base_sequence=5,
    )


def test_with_log_append_time_every_record_has_the_time_of_the_append() -> None:
    raw = encode_batch(
        [COMMIT, LogRecord(offset=8, timestamp_ms=1, key=None, value=None)],
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        max_timestamp_ms=1_800_000_000_000,
    )
    batch = decode_batch(raw)
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp_ms for record in batch.records()] == [1_800_000_000_000] * 2


def test_a_delete_horizon_takes_the_place_of_the_base_timestamp() -> None:
    """KIP-534: the deltas are then against the horizon, which lies after the records."""
    raw = encode_batch([COMMIT], delete_horizon_ms=1_700_086_400_000)
    batch = decode_batch(raw)
    assert batch.delete_horizon_ms == 1_700_086_400_000
    assert batch.records() == [COMMIT]
    assert encode_again(batch) == raw


def test_a_batch_that_the_cleaner_emptied_keeps_its_offsets() -> None:
    raw = encode_batch([], base_offset=40, last_offset=44, producer_id=9, codec=Codec.LZ4)
    batch = decode_batch(raw)
    assert (batch.base_offset, batch.last_offset, batch.count) == (40, 44, 0)
    assert batch.records() == []
    assert batch.size == 61


def test_bytes_after_the_batch_are_left_alone() -> None:
    raw = encode_batch([COMMIT])
    batch = decode_batch(raw + b"the next batch", position=1000)
    assert (batch.position, batch.size) == (1000, len(raw))
    assert batch.records() == [COMMIT]


def test_a_header_key_that_is_no_utf_8_is_shown_as_kafka_shows_it() -> None:
    record = bytes([24, 0, 0, 0, 1, 1, 2, 4]) + b"\xff!" + bytes([2]) + b"v"
    assert decode_batch(with_payload(bytes([len(record) * 2 - 2]) + record[1:], count=1)).records()[
        0
    ].headers == (("\ufffd!", b"v"),)


@pytest.mark.parametrize("cut", range(61))
def test_a_cut_header_is_named(cut: int) -> None:
    with pytest.raises(DecodeError, match="batch header"):
        decode_batch(encode_batch([COMMIT])[:cut])


@pytest.mark.parametrize(
    ("at", "octets", "why"),
    [
        (16, b"\x05", "magic"),
        (8, b"\xff\xff\xff\xfb", "length"),
        (8, b"\x00\x00\x00\x0a", "length"),
        (8, b"\x7f\xff\xff\xff", "cut short"),
        (17, b"\x00\x00\x00\x00", "CRC-32C"),
        (70, b"!", "CRC-32C"),
    ],
)
def test_a_damaged_batch_is_refused_with_the_reason(at: int, octets: bytes, why: str) -> None:
    raw = bytearray(encode_batch([COMMIT]))
    raw[at : at + len(octets)] = octets
    with pytest.raises(DecodeError, match=why):
        decode_batch(bytes(raw))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (with_payload(b"", count=0, attributes=5), "unknown compression codec 5"),
        (with_payload(b"", count=-1), "count -1"),
        (with_payload(b"", count=0, last_offset_delta=-1), "last offset delta -1"),
        (b"\xff" + with_payload(b"", count=0)[1:], "base offset -"),
    ],
)
def test_a_header_that_cannot_be_true_is_refused_though_its_crc_holds(raw: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        decode_batch(raw)


ONE_RECORD = bytes([12, 0, 0, 0, 1, 1, 0])


@pytest.mark.parametrize(
    ("payload", "count", "why"),
    [
        (ONE_RECORD, 2, "header says 2 records, the payload ends in number 2"),
        (ONE_RECORD * 2, 1, "7 bytes left after the 1 records"),
        (b"\x00", 0, "1 bytes left after the 0 records"),
        (b"", 1, "header says 1 records"),
        (ONE_RECORD[:-1], 1, "record length"),
        (bytes([14, 0, 0, 0, 1, 1, 0, 0]), 1, "7, while its fields take 6"),
        (bytes([5, 0, 0, 0, 1, 1, 0]), 1, "record length: -3|record length at byte 0: -3"),
        (bytes([12, 0, 0, 0, 20, 1, 0]), 1, "ends in number 1"),
        (b"\xff" * 12, 1, "does not end within 5 bytes"),
        (bytes([12, 0]) + b"\xff" * 12, 1, "does not end within 10 bytes"),
        (bytes([12, 0, 0, 0, 1, 1, 1]), 1, "impossible count -1"),
        (bytes([14, 0, 0, 0, 1, 1, 4, 0]), 1, "impossible count 2"),
        (bytes([16, 0, 0, 0, 1, 1, 2, 1, 1]), 1, "record header key"),
        (bytes([16, 0, 0, 0, 1, 1, 2, 40, 1]), 1, "record header"),
        (ONE_RECORD, 2_000_001, "2000001 records are more than"),
    ],
)
def test_records_that_are_not_what_the_header_says_are_refused(payload: bytes, count: int, why: str) -> None:
    batch = decode_batch(with_payload(payload, count=count))
    with pytest.raises(DecodeError, match=why):
        batch.records()


@given(base=INT64, delta=INT64)
def test_timestamps_wrap_around_as_in_java(base: int, delta: int) -> None:
    raw = encode_batch(
        [LogRecord(offset=0, timestamp_ms=base + delta, key=None, value=None)],
        base_timestamp_ms=base,
        max_timestamp_ms=0,
    )
    (record,) = decode_batch(raw).records()
    assert record.timestamp_ms == (base + delta + 2**63) % 2**64 - 2**63


def test_a_varint_is_read_in_any_length_that_java_takes() -> None:
    longer_than_needed = bytes([0x90, 0x80, 0x80, 0x80, 0x00]) + bytes([0, 0x80, 0x00, 0x82, 0x00, 1, 1, 0])
    (record,) = decode_batch(with_payload(longer_than_needed, count=1)).records()
    assert record == LogRecord(offset=1, timestamp_ms=0, key=None, value=None)
