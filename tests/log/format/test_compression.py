"""Codecs: Kafka's framings, and payloads that are damaged or made to exhaust memory."""

import gzip
import struct
import tracemalloc
from pathlib import Path

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.log.format.compression import MAX_UNPACKED_BYTES, Codec, compress, decompress
from tests.log.truth import FIXTURES

COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]
FORMAT_0_LZ4 = FIXTURES / "1.1.1/format-0.9-lz4"
XERIAL_HEADER = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def xerial_block(plain: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(plain))
    return struct.pack(">i", len(block)) + block


def lz4_frame_of(segment: Path) -> bytes:
    """The payload of the first lz4 wrapper in a segment: the value of a message, behind its size."""
    raw = segment.read_bytes()
    at = raw.index(b"\x04\x22\x4d\x18")
    return raw[at : at + int.from_bytes(raw[at - 4 : at], "big")]


@given(payload=st.binary(max_size=2000), repeats=st.integers(1, 200), codec=st.sampled_from(Codec))
def test_what_is_packed_is_unpacked(payload: bytes, repeats: int, codec: Codec) -> None:
    assert decompress(codec, compress(codec, payload * repeats)) == payload * repeats


@pytest.mark.parametrize("codec", COMPRESSED)
def test_megabytes_are_unpacked(codec: Codec) -> None:
    payload = bytes(range(256)) * 40_000
    assert decompress(codec, compress(codec, payload)) == payload


def test_snappy_is_read_without_framing() -> None:
    """As librdkafka and Go clients write it."""
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(b"plain " * 50))) == b"plain " * 50


def test_snappy_is_read_in_the_blocks_of_snappy_java() -> None:
    packed = XERIAL_HEADER + xerial_block(b"one ") + xerial_block(b"two")
    assert decompress(Codec.SNAPPY, packed) == b"one two"


def test_streams_of_snappy_java_one_after_another_are_one() -> None:
    packed = XERIAL_HEADER + xerial_block(b"one ") + XERIAL_HEADER + xerial_block(b"two")
    assert decompress(Codec.SNAPPY, packed) == b"one two"


def test_several_gzip_members_are_one_stream() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


def test_lz4_is_written_as_the_only_frames_that_kafka_reads() -> None:
    """KafkaLZ4BlockInputStream: version 1, independent blocks, and no checksums of blocks."""
    flags = compress(Codec.LZ4, b"anything")[4]
    assert flags & 0b1111_0000 == 0b0110_0000


def test_the_header_checksum_of_old_lz4_frames_does_not_count() -> None:
    """KIP-57: before 0.10 Kafka computed it over the wrong bytes, and brokers still do for format 0."""
    frame = lz4_frame_of(FORMAT_0_LZ4 / "__consumer_offsets-20/00000000000000000000.log")
    with pytest.raises(DecodeError, match="lz4"):
        decompress(Codec.LZ4, frame)
    assert b"brief" in decompress(Codec.LZ4, frame, any_lz4_checksum=True)


def test_a_right_lz4_header_checksum_is_left_as_it_is() -> None:
    frame = compress(Codec.LZ4, b"plain " * 50)
    assert decompress(Codec.LZ4, frame, any_lz4_checksum=True) == b"plain " * 50
    frame = bytes(cramjam.lz4.compress(b"with a content size in its header"))
    assert decompress(Codec.LZ4, frame, any_lz4_checksum=True) == b"with a content size in its header"


@pytest.mark.parametrize("codec", COMPRESSED)
@pytest.mark.parametrize(
    "payload",
    [b"", b"\0", b"noise, no more", b"\x82SNAPPY\x00", b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd\0\0"],
)
def test_noise_is_refused(codec: Codec, payload: bytes) -> None:
    if codec is Codec.SNAPPY and payload == b"\0":
        return  # well-formed: nothing
    with pytest.raises(DecodeError, match=codec.name.lower()):
        decompress(codec, payload, any_lz4_checksum=True)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_cut_payload_is_refused(codec: Codec) -> None:
    packed = compress(codec, bytes(range(256)) * 300)
    for size in (len(packed) - 1, len(packed) // 2, 10):
        with pytest.raises(DecodeError, match=codec.name.lower()):
            decompress(codec, packed[:size])


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_a_payload_that_would_exhaust_memory_is_refused(codec: Codec) -> None:
    member = compress(codec, bytes(MAX_UNPACKED_BYTES // 8))
    assert len(member) < 40_000
    with pytest.raises(DecodeError, match="do not unpack to 256 MiB or less"):
        decompress(codec, member * 9)


@pytest.mark.parametrize("block", [b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x01abc"])
def test_a_snappy_block_that_claims_too_much_costs_nothing(block: bytes) -> None:
    tracemalloc.start()
    tracemalloc.reset_peak()
    try:
        for packed in (block, XERIAL_HEADER + struct.pack(">i", len(block)) + block):
            with pytest.raises(DecodeError, match="claims"):
                decompress(Codec.SNAPPY, packed)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000


@pytest.mark.parametrize("size", [-5, 0, 400])
def test_a_snappy_java_block_of_an_impossible_size_is_refused(size: int) -> None:
    with pytest.raises(DecodeError, match=f"block of {size} bytes at byte 16"):
        decompress(Codec.SNAPPY, XERIAL_HEADER + struct.pack(">i", size) + b"abc")
