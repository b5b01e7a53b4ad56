"""A member's subscription and assignment, which a group as it is now and its history both ask for."""

import pytest

from kgroup.history.groups import member_blobs
from kgroup.history.groups.member_blobs import member_topics
from kgroup.history.groups.model import OwnedPartition
from kgroup.history.groups.snapshot import read_groups
from kgroup.history.timeline.replay import replay
from kgroup.protocol.records import keys, values
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, RecordType
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    decode_member,
    encode_assignment,
    encode_subscription,
)

SUBSCRIPTION = encode_subscription(Subscription(topics=("orders", "audit")))
ASSIGNMENT = encode_assignment(
    Assignment(assigned_partitions=(NamedTopicPartitions(topic="orders", partitions=(1, 0)),))
)


ORDERS = (OwnedPartition("orders", 0), OwnedPartition("orders", 1))


def test_both_are_sorted():
    # As Kafka's clients write topics in order, these are written here: version 0, two topics, no user data.
    unsorted = b"\0\0\0\0\0\2\0\6orders\0\5audit\xff\xff\xff\xff"
    assert member_topics(unsorted, ASSIGNMENT) == (
        ("audit", "orders"),
        ORDERS,
        None,
        None,
    )


def test_one_that_cannot_be_read_does_not_hide_the_other():
    without_subscription = member_topics(b"", ASSIGNMENT)
    assert without_subscription.subscribed is None and without_subscription.subscription_error
    assert without_subscription.owned == ORDERS
    without_assignment = member_topics(SUBSCRIPTION, b"\0")
    assert without_assignment.owned == () and without_assignment.assignment_error
    assert without_assignment.subscribed == ("audit", "orders")


def test_a_group_and_its_history_read_a_member_once(monkeypatch: pytest.MonkeyPatch):
    read: list[bytes] = []

    def noted(subscription: bytes, assignment: bytes) -> object:
        read.append(subscription)
        return decode_member(subscription, assignment)

    monkeypatch.setattr(member_blobs, "decode_member", noted)
    subscription = encode_subscription(Subscription(topics=("read-once",)))
    member = values.MemberMetadata(
        member_id="m-1",
        client_id="c-1",
        client_host="/10.0.0.1",
        session_timeout=10_000,
        subscription=subscription,
        assignment=ASSIGNMENT,
    )
    entries = [
        LoggedEntry(
            partition=7,
            offset=generation,
            timestamp_ms=generation,
            leader_epoch=0,
            producer_id=None,
            entry=OffsetsEntry(
                type=RecordType.GROUP_METADATA,
                key=keys.GroupMetadataKey(group="g"),
                value=values.GroupMetadataValue(
                    protocol_type="consumer",
                    generation=generation,
                    protocol="range",
                    leader="m-1",
                    members=(member,),
                ),
                value_version=3,
            ),
        )
        for generation in (1, 2)
    ]
    (now,) = read_groups(entries[-1:], {})["g"].members
    generations = replay(entries, {})["g"].generations
    assert now.subscribed == ("read-once",)
    assert [one.roster.members[0].subscribed for one in generations] == [frozenset({"read-once"})] * 2
    assert read == [subscription]
