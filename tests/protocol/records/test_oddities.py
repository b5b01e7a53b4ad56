"""What `decode` says of records that Kafka takes: blobs of consumers that are none, and nothing of others."""

from dataclasses import replace

import pytest

from kgroup.protocol.records.consumer_group import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataValue,
)
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from kgroup.protocol.records.keys import ConsumerGroupMemberMetadataKey, GroupMetadataKey
from kgroup.protocol.records.oddities import oddities
from kgroup.protocol.records.values import GroupMetadataValue, MemberMetadata
from kgroup.protocol.subscription import Subscription, encode_subscription

SUBSCRIPTION = encode_subscription(Subscription(topics=("orders",)))
CUT = SUBSCRIPTION[:-5]
MEMBER = MemberMetadata(
    member_id="m-1",
    client_id="c",
    client_host="/10.0.0.1",
    session_timeout=10_000,
    subscription=SUBSCRIPTION,
    assignment=b"",
)


def classic(
    *members: MemberMetadata, protocol_type: str = "consumer", note: str | None = None
) -> OffsetsEntry:
    value = GroupMetadataValue(
        protocol_type=protocol_type, generation=1, protocol="range", leader="m-1", members=members
    )
    return OffsetsEntry(RecordType.GROUP_METADATA, GroupMetadataKey(group="g"), value, 3, note=note)


def modern(*protocols: bytes) -> OffsetsEntry:
    """A member of a KIP-848 group that joined by the classic protocol, with these subscriptions."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="c",
        client_host="/10.0.0.1",
        subscribed_topic_names=("orders",),
        subscribed_topic_regex=None,
        server_assignor=None,
        classic_member_metadata=ClassicMemberMetadata(
            session_timeout_ms=10_000,
            supported_protocols=tuple(ClassicProtocol(name="range", metadata=each) for each in protocols),
        ),
    )
    key = ConsumerGroupMemberMetadataKey(group_id="g", member_id="m-1")
    return OffsetsEntry(RecordType.CONSUMER_GROUP_MEMBER_METADATA, key, value, 0)


@pytest.mark.parametrize(
    "entry",
    [
        classic(MEMBER),
        classic(),
        classic(replace(MEMBER, subscription=b"")),
        classic(replace(MEMBER, subscription=b"anything"), protocol_type="connect"),
        modern(SUBSCRIPTION),
        OffsetsEntry(RecordType.GROUP_METADATA, GroupMetadataKey(group="g"), None, None),
    ],
)
def test_nothing_is_said_of_a_healthy_record_nor_of_other_protocols_bytes(entry: OffsetsEntry) -> None:
    assert oddities(entry) == []


def test_a_members_subscription_and_assignment_that_are_none_are_said_together() -> None:
    [said] = oddities(classic(MEMBER, replace(MEMBER, member_id="m-2", subscription=CUT, assignment=b"\0")))
    assert said.startswith("member m-2: ")
    subscription, assignment = said.removeprefix("member m-2: ").split(", ", 1)
    assert subscription.startswith("Subscription")
    assert assignment.startswith("Assignment")


def test_the_records_own_note_comes_first() -> None:
    odd = replace(MEMBER, subscription=CUT)
    assert oddities(classic(note="an older note")) == ["an older note"]
    assert [each.split(":")[0] for each in oddities(classic(odd, note="a note"))] == ["a note", "member m-1"]


def test_each_unreadable_protocol_of_a_member_that_came_from_the_classic_one_is_said() -> None:
    assert len(oddities(modern(SUBSCRIPTION, CUT, CUT[:-1]))) == 2
