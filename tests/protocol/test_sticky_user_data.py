"""User data of the sticky assignors: `fixtures/vectors/assignors` holds many more, as Kafka wrote them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.protocol.sticky_user_data import (
    StickyUserData,
    decode_cooperative,
    decode_sticky,
    encode_cooperative,
    encode_sticky,
)

int32s = st.integers(-(2**31), 2**31 - 1)
topic_names = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
by_topic = st.lists(st.tuples(topic_names, st.lists(int32s, max_size=6)), max_size=5)


def test_the_user_data_that_kafka_wrote_for_t0_0_and_2_in_generation_1():
    written = bytes.fromhex("00000001000274300000000200000000" + "00000002" + "00000001")
    assert decode_sticky(written) == StickyUserData(partitions=(("t0", 0), ("t0", 2)), generation=1)
    assert encode_sticky([("t0", [0, 2])], 1) == written


def test_version_0_has_no_generation():
    written = encode_sticky([("t0", [5])], None)
    assert decode_sticky(written) == StickyUserData(partitions=(("t0", 5),), generation=None)


@given(partitions=by_topic, generation=st.none() | int32s)
def test_what_is_encoded_decodes_to_the_same(partitions, generation):
    flat = tuple((topic, number) for topic, numbers in partitions for number in numbers)
    decoded = decode_sticky(encode_sticky(partitions, generation))
    assert decoded == StickyUserData(partitions=flat, generation=generation)


@given(partitions=by_topic, generation=int32s, behind=st.binary(max_size=8))
def test_bytes_behind_the_generation_are_ignored(partitions, generation, behind):
    written = encode_sticky(partitions, generation)
    assert decode_sticky(written + behind) == decode_sticky(written)


@given(data=st.binary(max_size=60))
def test_any_bytes_decode_or_name_the_place_at_fault(data):
    try:
        decode_sticky(data)
    except DecodeError as error:
        assert 0 <= error.at <= len(data)


@pytest.mark.parametrize(
    ("hex_bytes", "field"),
    [
        ("", "previous_assignment"),
        ("000000", "previous_assignment"),
        ("ffffffff", "previous_assignment"),
        ("7fffffff", "previous_assignment"),
        ("0000000100", "previous_assignment.topic"),
        ("00000001ffff", "previous_assignment.topic"),
        ("00000001000574", "previous_assignment.topic"),
        ("00000001000174fffffffe", "previous_assignment.partitions"),
        ("0000000100017400000002" + "00000000", "previous_assignment.partitions"),
    ],
)
def test_what_kafka_gives_up_on_is_an_error(hex_bytes, field):
    with pytest.raises(DecodeError) as error:
        decode_sticky(bytes.fromhex(hex_bytes))
    assert error.value.field == field


def test_a_count_above_the_bytes_that_are_left_is_refused_where_it_stands():
    # Kafka's ArrayOf.read, before any element: four bytes are left here, and five topics are announced.
    with pytest.raises(DecodeError) as error:
        decode_sticky(bytes.fromhex("00000005" + "00000000"))
    assert (error.value.field, error.value.at) == ("previous_assignment", 0)


def test_cooperative_user_data_is_the_generation():
    assert encode_cooperative(-1).hex() == "ffffffff"
    assert decode_cooperative(bytes.fromhex("0000000900")) == 9
    with pytest.raises(DecodeError):
        decode_cooperative(b"\0\0\0")


def test_a_topic_name_that_does_not_fit_is_refused():
    from kgroup.errors import KgroupError

    with pytest.raises(KgroupError, match="40000 bytes"):
        encode_sticky([("t" * 40000, [0])], 1)
