"""Message formats 0 and 1: against real segments, against kafka-python's writer, and rule by rule."""

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from kgroup.errors import DecodeError
from kgroup.log.files.segment import read_segment
from kgroup.log.format.batch import Batch, Codec, LogRecord, TimestampType
from kgroup.log.format.compression import compress
from kgroup.log.format.legacy import decode_message
from tests.log.legacy_writer import encode_message, encode_wrapper
from tests.log.truth import SEGMENTS, name_of

OLD_SEGMENTS = [path for path in SEGMENTS if "0.10.1.1" in path.parts or "format-0" in str(path)]
WRAPPER_CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def record(offset: int, timestamp_ms: int = 1_000) -> LogRecord:
    return LogRecord(offset=offset, timestamp_ms=timestamp_ms, key=b"key", value=b"value")


def wrap(inner: bytes, *, offset: int, magic: int = 1, append_time_ms: int | None = None) -> bytes:
    """A gzip wrapper around `inner`, whatever that is."""
    log_append_time = append_time_ms is not None
    return encode_message(
        LogRecord(
            offset=offset,
            timestamp_ms=append_time_ms if append_time_ms is not None else 1_000,
            key=None,
            value=compress(Codec.GZIP, inner),
        ),
        magic=magic,
        codec=Codec.GZIP,
        timestamp_type=TimestampType.LOG_APPEND_TIME if log_append_time else TimestampType.CREATE_TIME,
    )


@pytest.mark.parametrize("segment", OLD_SEGMENTS, ids=name_of)
def test_every_message_of_a_broker_encodes_to_what_it_was(segment: Path) -> None:
    raw = segment.read_bytes()
    for batch in read_segment(segment):
        assert isinstance(batch, Batch)
        if batch.codec is Codec.NONE:
            (message,) = batch.records()
            again = encode_message(message, magic=batch.magic, timestamp_type=batch.timestamp_type)
            assert again == raw[batch.position : batch.position + batch.size]
        else:
            again = encode_wrapper(batch.records(), magic=batch.magic, codec=batch.codec)
            assert decode_message(again).records() == batch.records()
            assert decode_message(again).base_offset == batch.base_offset


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1], ids=["none", "gzip"])
def test_messages_of_another_writer_are_read(magic: int, codec: int) -> None:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=codec, batch_size=1 << 20)
    written = [
        LogRecord(
            offset=offset,
            timestamp_ms=5_000 + offset if magic else -1,
            key=b"k" * offset if offset % 3 else None,
            value=b"v" * offset if offset % 5 else None,
        )
        for offset in range(50)
    ]
    for message in written:
        builder.append(message.offset, message.timestamp_ms, message.key, message.value)
    raw = bytes(builder.build())
    read = []
    if codec:
        # A producer leaves the offset of its wrapper to the broker, which writes that of the last message.
        raw = struct.pack(">q", 49) + raw[8:]
        assert (decode_message(raw).base_offset, decode_message(raw).last_offset) == (0, 49)
    while raw:
        batch = decode_message(raw)
        read += batch.records()
        raw = raw[batch.size :]
    assert read == written


@given(
    magic=st.sampled_from([0, 1]),
    codec=st.sampled_from(WRAPPER_CODECS),
    base=st.integers(0, 2**62),
    gaps=st.lists(st.integers(0, 50), min_size=1, max_size=5),
    key=st.none() | st.binary(max_size=40),
    value=st.none() | st.binary(max_size=40),
)
def test_what_is_wrapped_is_unwrapped(
    magic: int, codec: Codec, base: int, gaps: list[int], key: bytes | None, value: bytes | None
) -> None:
    written, offset = [], base
    for gap in gaps:
        offset += 1 + gap
        written.append(LogRecord(offset=offset, timestamp_ms=gap if magic else -1, key=key, value=value))
    batch = decode_message(encode_wrapper(written, magic=magic, codec=codec))
    assert batch.records() == written
    assert (batch.base_offset, batch.last_offset) == (written[0].offset, written[-1].offset)


def test_offsets_in_a_format_1_wrapper_are_relative_to_its_own() -> None:
    inner = b"".join(encode_message(record(offset), magic=1) for offset in (0, 1, 2))
    batch = decode_message(wrap(inner, offset=102))
    assert [message.offset for message in batch.records()] == [100, 101, 102]
    assert (batch.base_offset, batch.last_offset) == (100, 102)


def test_a_cleaned_format_1_wrapper_keeps_the_offsets_of_what_is_left() -> None:
    """KIP-31: the last message that is left has the wrapper's offset, the others their distance to it."""
    inner = b"".join(encode_message(record(offset), magic=1) for offset in (3, 8))
    batch = decode_message(wrap(inner, offset=108))
    assert [message.offset for message in batch.records()] == [103, 108]


def test_absolute_offsets_in_a_format_1_wrapper_come_out_as_they_are() -> None:
    inner = b"".join(encode_message(record(offset), magic=1) for offset in (103, 108))
    batch = decode_message(wrap(inner, offset=108))
    assert [message.offset for message in batch.records()] == [103, 108]


def test_offsets_in_a_format_0_wrapper_are_absolute() -> None:
    inner = b"".join(encode_message(record(offset), magic=0) for offset in (100, 103))
    batch = decode_message(wrap(inner, offset=103, magic=0))
    assert [(message.offset, message.timestamp_ms) for message in batch.records()] == [(100, -1), (103, -1)]
    assert batch.timestamp_type is TimestampType.NO_TIMESTAMP_TYPE


def test_a_stamped_wrapper_gives_its_time_to_every_message() -> None:
    """KIP-32: a broker that stamps on append writes its time into the wrapper only."""
    inner = b"".join(encode_message(record(offset, timestamp_ms=1), magic=1) for offset in (0, 1))
    batch = decode_message(wrap(inner, offset=1, append_time_ms=9_000))
    assert [message.timestamp_ms for message in batch.records()] == [9_000, 9_000]
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME


def test_messages_in_a_wrapper_keep_their_own_create_time() -> None:
    inner = b"".join(encode_message(record(offset, timestamp_ms=offset), magic=1) for offset in (0, 1))
    batch = decode_message(wrap(inner, offset=1))
    assert [message.timestamp_ms for message in batch.records()] == [0, 1]
    assert batch.max_timestamp_ms == 1_000


def test_a_stamped_message_has_the_time_of_the_append() -> None:
    raw = encode_message(record(0, timestamp_ms=77), magic=1, timestamp_type=TimestampType.LOG_APPEND_TIME)
    batch = decode_message(raw)
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert batch.records()[0].timestamp_ms == 77


def compressed(value: bytes | None) -> LogRecord:
    return LogRecord(offset=0, timestamp_ms=0, key=None, value=value)


INNER = encode_message(record(0), magic=1)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (wrap(b"", offset=5), "no messages inside"),
        (wrap(wrap(INNER, offset=0), offset=5), "compressed message inside"),
        (wrap(encode_message(record(0), magic=0), offset=5), "magic 0 in one of 1"),
        (wrap(INNER + INNER[:-1], offset=5), "cut short"),
        (wrap(INNER[:-1] + b"!", offset=5), "CRC-32"),
        (wrap(INNER + b"\0\0\0", offset=5), "3 bytes, while the smallest message"),
        (wrap(encode_message(record(9), magic=1), offset=5), "is before the messages inside"),
        (encode_message(compressed(None), magic=1, codec=Codec.GZIP), "null"),
        (encode_message(compressed(b"noise"), magic=1, codec=Codec.GZIP), "do not unpack"),
    ],
)
def test_a_damaged_wrapper_is_refused_with_the_reason(raw: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        decode_message(raw)


def with_right_crc(covered: bytes) -> bytes:
    return struct.pack(">qiI", 0, 4 + len(covered), zlib.crc32(covered)) + covered


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (INNER[:25], "25 bytes, while the smallest message"),
        (INNER[:-1], "cut short"),
        (INNER[:-1] + b"!", "CRC-32"),
        (INNER[:16] + b"\x07" + INNER[17:], "magic"),
        (b"\xff" + INNER[1:], "message offset"),
        (with_right_crc(struct.pack(">bbii", 0, 6, -1, -1)), "unknown compression codec 6"),
        (with_right_crc(struct.pack(">bbii", 0, 0, 5, -1)), "message key"),
        (with_right_crc(struct.pack(">bbii", 0, 0, -1, 5)), "message value"),
        (with_right_crc(struct.pack(">bbii", 0, 0, -1, -1) + b"?"), "1 bytes left"),
        (with_right_crc(struct.pack(">bbii", 1, 0, -1, -1) + b"1234"), "less than an empty message"),
    ],
)
def test_a_damaged_message_is_refused_with_the_reason(raw: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        decode_message(raw)
