"""The brokers' own rule on who can change over, asked of the coordinator."""

from dataclasses import replace

import pytest

from kgroup.api.protocol_advice import conversion_refusal
from kgroup.protocol.records.entries import LoggedEntry
from kgroup.protocol.subscription import Assignment, NamedTopicPartitions, encode_assignment
from tests.history.group_log import GROUP, GroupLog, member


def logged(user_data: bytes = b"", subscription: bytes | None = None) -> LoggedEntry:
    """The record of a group with one member."""
    owned = (NamedTopicPartitions(topic="t", partitions=(0,)),)
    assignment = encode_assignment(Assignment(assigned_partitions=owned, user_data=user_data))
    one = replace(member("m", 0), assignment=assignment)
    if subscription is not None:
        one = replace(one, subscription=subscription)
    log = GroupLog()
    log.generation(1, 3, one)
    [entry] = log.entries
    assert isinstance(entry, LoggedEntry)
    return entry


def test_a_plain_group_is_taken_along() -> None:
    assert conversion_refusal(GROUP, logged()) is None


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        pytest.param(logged(user_data=b"mine"), "its user data would be lost", id="KAFKA-18134"),
        pytest.param(logged(subscription=b"\x00\x03\x00"), "malformed", id="no subscription"),
    ],
)
def test_what_would_be_lost_keeps_a_group_classic(entry: LoggedEntry, says: str) -> None:
    assert says in (conversion_refusal(GROUP, entry) or "")
