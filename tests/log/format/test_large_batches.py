"""Large batches are gone through bit by bit, and come to what the whole of them would."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.log.format import batch as batch_module
from kgroup.log.format import compression, record
from kgroup.log.format.batch import LogRecord, decode_batch, encode_batch
from kgroup.log.format.compression import (
    MAX_UNPACKED_BYTES,
    PIECE_BYTES,
    WHOLE_BYTES,
    Codec,
    compress,
    decompress_small,
    unpack_in_pieces,
)
from kgroup.log.format.record import RecordsInParts, decode_in_parts, decode_records, encode_records

MIB = 1 << 20
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
RECORDS = st.builds(
    LogRecord,
    offset=st.integers(0, 2**31 - 1),
    timestamp_ms=st.integers(-1, 2**40),
    key=st.none() | st.binary(max_size=20),
    value=st.none() | st.binary(max_size=300),
    headers=st.sampled_from([(), (("a", b"b"), ("c", None))]),
)


def cut(payload: bytes, size: int) -> Iterator[bytes]:
    return (payload[at : at + size] for at in range(0, len(payload), size))


def in_parts(payload: bytes, size: int, count: int) -> list[LogRecord] | str:
    try:
        return list(decode_in_parts(cut(payload, size), count=count, base_offset=0, base_timestamp_ms=0))
    except DecodeError as error:
        return error.field


def whole(payload: bytes, count: int) -> list[LogRecord] | str:
    try:
        return decode_records(payload, count=count, base_offset=0, base_timestamp_ms=0)
    except DecodeError as error:
        return error.field


@pytest.fixture(params=[1, 4 * MIB], ids=["each apart", "together"])
def large_record(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "_LARGE_RECORD_BYTES", request.param)
    monkeypatch.setattr(record, "_PART_RECORDS", 3)


@pytest.mark.usefixtures("large_record")
@given(records=st.lists(RECORDS, max_size=9), size=st.integers(1, 400))
def test_records_in_parts_are_those_of_the_whole(records: list[LogRecord], size: int) -> None:
    payload = encode_records(records, 0, 0)
    assert in_parts(payload, size, len(records)) == records


@pytest.mark.usefixtures("large_record")
@given(
    records=st.lists(RECORDS, min_size=1, max_size=9),
    size=st.integers(1, 400),
    more=st.integers(-2, 2),
    junk=st.binary(max_size=9),
    kept=st.integers(0, 3000),
)
def test_what_the_whole_refuses_is_refused_in_parts(
    records: list[LogRecord], size: int, more: int, junk: bytes, kept: int
) -> None:
    payload = encode_records(records, 0, 0)[:kept] + junk
    count = max(len(records) + more, 0)
    assert isinstance(in_parts(payload, size, count), str) == isinstance(whole(payload, count), str)


@pytest.mark.parametrize("codec", Codec)
def test_what_is_unpacked_in_pieces_is_the_whole(codec: Codec) -> None:
    payload = bytes(range(256)) * (3 * MIB // 256) + b"end"
    pieces = list(unpack_in_pieces(codec, compress(codec, payload)))
    assert b"".join(pieces) == payload
    assert max(map(len, pieces)) <= PIECE_BYTES


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_payload_that_is_cut_is_refused_bit_by_bit_too(codec: Codec) -> None:
    packed = compress(codec, bytes(range(256)) * 30_000)
    for size in (len(packed) - 1, len(packed) // 2):
        with pytest.raises(DecodeError, match=codec.name.lower()):
            list(unpack_in_pieces(codec, packed[:size]))


@pytest.mark.parametrize("codec", COMPRESSED)
def test_only_what_is_large_is_not_unpacked_as_a_whole(codec: Codec) -> None:
    assert decompress_small(codec, compress(codec, bytes(WHOLE_BYTES))) == bytes(WHOLE_BYTES)
    assert decompress_small(codec, compress(codec, bytes(WHOLE_BYTES + 1))) is None
    with pytest.raises(DecodeError, match="do not unpack to 256 MiB or less"):
        decompress_small(codec, b"noise, no more")


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_the_pieces_have_an_end_too(codec: Codec) -> None:
    member = compress(codec, bytes(MAX_UNPACKED_BYTES // 8))
    with pytest.raises(DecodeError, match="do not unpack to 256 MiB or less"):
        for _ in unpack_in_pieces(codec, member * 9):
            pass


def test_no_more_comes_out_of_a_bomb_than_it_takes_to_see_that_it_holds_no_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unpacked = 0

    def counted(codec: Codec, payload: bytes) -> Iterator[bytes]:
        nonlocal unpacked
        for piece in unpack_in_pieces(codec, payload):
            unpacked += len(piece)
            yield piece

    raw = encode_batch([LogRecord(0, 1, None, b"v")])
    raw = raw[:61] + compress(Codec.ZSTD, bytes(100 * MIB))
    monkeypatch.setattr(batch_module, "unpack_in_pieces", counted)
    with pytest.raises(DecodeError):
        batch_module._unpack_records(
            raw, codec=Codec.ZSTD, count=1, base_offset=0, base_timestamp_ms=0, append_time_ms=None
        )
    assert unpacked == PIECE_BYTES


def test_a_large_batch_is_read_whole() -> None:
    records = [LogRecord(number, 5, b"k", bytes([number % 256]) * MIB) for number in range(40)]
    decoded = decode_batch(encode_batch(records, codec=Codec.ZSTD)).records()
    assert isinstance(decoded, RecordsInParts)
    assert (len(decoded), decoded[7], decoded[-1]) == (40, records[7], records[-1])
    assert all(each == expected for each, expected in zip(decoded, records, strict=True))


def test_many_small_records_are_a_large_batch() -> None:
    count = record.WHOLE_RECORDS + 1
    raw = encode_batch([LogRecord(number, 5, None, None) for number in range(count)])
    decoded = decode_batch(raw).records()
    assert isinstance(decoded, RecordsInParts)
    assert [each.offset for each in decoded] == list(range(count))


def test_a_limit_of_pieces_is_one_of_the_whole() -> None:
    assert PIECE_BYTES <= WHOLE_BYTES <= MAX_UNPACKED_BYTES == 256 * MIB
    assert compression.WHOLE_BYTES == WHOLE_BYTES
