from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgroup.errors import DecodeError
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    assigned_partitions,
    decode_assignment,
    decode_member,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tests.vectors import consumer_protocol

VECTORS = Path(__file__).parents[2] / "fixtures" / "vectors" / "consumer_protocol.jsonl"

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
blobs = st.none() | st.binary(max_size=9)
numbers = st.integers(-(1 << 31), (1 << 31) - 1)


@st.composite
def named_partitions(draw):
    by_topic = draw(st.dictionaries(names, st.lists(numbers, min_size=1, max_size=4), max_size=4))
    ordered = sorted(by_topic.items(), key=lambda item: item[0].encode("utf-16-be"))
    return tuple(NamedTopicPartitions(topic=topic, partitions=tuple(sorted(all_))) for topic, all_ in ordered)


def test_all_bytes_of_kafkas_consumer_protocol():
    cases = list(consumer_protocol.cases(VECTORS))
    assert len(cases) == 585
    assert [case for case in cases if case.failure] == []


@given(
    st.lists(names, max_size=4),
    st.none() | st.binary(max_size=9),
    named_partitions(),
    numbers,
    st.none() | names,
)
def test_a_subscription_comes_back_from_its_bytes(topics, user_data, owned, generation, rack):
    ordered = tuple(sorted(topics, key=lambda topic: topic.encode("utf-16-be")))
    subscription = Subscription(
        topics=ordered, user_data=user_data, owned_partitions=owned, generation_id=generation, rack_id=rack
    )
    assert decode_subscription(encode_subscription(subscription)) == subscription


@given(named_partitions(), blobs)
def test_an_assignment_comes_back_from_its_bytes(assigned, user_data):
    assignment = Assignment(assigned_partitions=assigned, user_data=user_data)
    assert decode_assignment(encode_assignment(assignment)) == assignment


@given(st.binary(max_size=80))
def test_random_bytes_are_read_or_refused_with_a_position_inside_them(data):
    for decode in (decode_subscription, decode_assignment):
        try:
            decode(data)
        except DecodeError as error:
            assert 0 <= error.at <= len(data)


def test_every_negative_generation_means_none():
    subscription = decode_subscription(encode_subscription(Subscription(topics=("t",), generation_id=-5)))
    assert (subscription.generation_id, subscription.generation) == (-5, -1)


def test_an_empty_rack_is_kept_as_it_was_sent_and_means_none():
    subscription = decode_subscription(bytes.fromhex("00030000000100027430ffffffff00000000000000070000"))
    assert (subscription.rack_id, subscription.rack) == ("", None)


def test_what_a_version_above_3_adds_is_left_over():
    data = encode_assignment(Assignment(assigned_partitions=()))
    assignment = decode_assignment(b"\x00\x09" + data[2:] + b"new")
    assert (assignment.version, assignment.trailing) == (9, b"new")


def test_topics_are_sorted_as_java_sorts_strings():
    # U+1F600 is a surrogate pair, which comes before U+FF5E.
    encoded = encode_subscription(Subscription(topics=("\uff5e", "\U0001f600")), version=0)
    assert decode_subscription(encoded).topics == ("\U0001f600", "\uff5e")


def test_the_partitions_of_an_assignment_come_in_the_order_of_its_bytes():
    # Version 0: t1 with partitions 2 and 0, t0 with 1, t1 again with 3; no user data.
    data = bytes.fromhex(
        "0000 00000003 0002 7431 00000002 00000002 00000000 0002 7430 00000001 00000001"
        "0002 7431 00000001 00000003 ffffffff"
    )
    assert assigned_partitions(data) == (("t1", 2), ("t1", 0), ("t0", 1), ("t1", 3))


def test_a_member_that_the_leader_left_out_has_no_bytes_and_no_partitions():
    assert assigned_partitions(b"") == ()


@pytest.mark.parametrize("data", [b"", b"\x00"])
def test_bytes_without_a_version_are_refused(data):
    with pytest.raises(DecodeError, match="version at byte 0"):
        decode_assignment(data)


SUBSCRIPTION = encode_subscription(Subscription(topics=("orders",)))
ASSIGNMENT = encode_assignment(
    Assignment(assigned_partitions=(NamedTopicPartitions(topic="orders", partitions=(1,)),))
)


def test_a_members_two_blobs_are_read_together():
    member = decode_member(SUBSCRIPTION, ASSIGNMENT)
    assert (member.subscription, member.owned) == (decode_subscription(SUBSCRIPTION), (("orders", 1),))
    assert member.error is None


def test_a_blob_that_cannot_be_read_does_not_hide_the_other():
    member = decode_member(SUBSCRIPTION[:4], ASSIGNMENT)
    assert (member.subscription, member.owned) == (None, (("orders", 1),))
    assert member.error is member.subscription_error is not None
    member = decode_member(SUBSCRIPTION, ASSIGNMENT[:4])
    assert (member.subscription, member.owned) == (decode_subscription(SUBSCRIPTION), ())
    assert member.error is member.assignment_error is not None


def test_of_two_unreadable_blobs_the_subscriptions_error_is_the_members():
    member = decode_member(b"", ASSIGNMENT[:4])
    assert member.error is member.subscription_error
    assert member.assignment_error is not None
