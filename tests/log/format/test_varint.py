"""Variable-length integers, against kafka-python's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.util import decode_varint, encode_varint

from kgroup.errors import DecodeError
from kgroup.log.format.varint import append_varint, read_varint, read_varlong


@given(number=st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_written_as_another_client_writes_them(number: int) -> None:
    ours, theirs = bytearray(), bytearray()
    append_varint(ours, number)
    encode_varint(number, theirs.append)
    assert ours == theirs
    assert read_varlong(b"??" + ours + b"??", 2) == (number, 2 + len(ours))


@given(octets=st.binary(min_size=5, max_size=5).filter(lambda octets: octets[4] < 8))
def test_numbers_are_read_as_another_client_reads_them(octets: bytes) -> None:
    assert read_varint(octets, 0) == decode_varint(memoryview(octets))


@pytest.mark.parametrize("octets", [b"", b"\x80", b"\xff\xff\xff\xff"])
def test_a_cut_number_is_refused(octets: bytes) -> None:
    with pytest.raises(DecodeError, match=f"cut short after {len(octets)} bytes"):
        read_varint(octets, 0)


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(DecodeError, match="does not end within 5 bytes"):
        read_varint(b"\xff" * 20, 0)
    with pytest.raises(DecodeError, match="does not end within 10 bytes"):
        read_varlong(b"\xff" * 20, 0)
