"""A Java consumer's properties: what they mean to a member, and which it cannot follow."""

import pytest

from kgroup.errors import InputError
from kgroup.group.member.settings import GroupProtocol, MemberSettings, OffsetReset
from kgroup.net.connect.consumer_properties import member_settings


def test_without_properties_a_member_is_kafkas_consumer_as_it_comes() -> None:
    assert member_settings("g", {}) == MemberSettings(group_id="g", client_id="")


def test_every_property_that_a_member_has_a_use_for() -> None:
    properties = {
        "client.id": "till",
        "client.rack": "north",
        "group.instance.id": "till-1",
        "partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor, range",
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "1000",
        "max.poll.interval.ms": "60000",
        "max.poll.records": "10",
        "auto.offset.reset": "EARLIEST",
        "enable.auto.commit": "false",
        "auto.commit.interval.ms": "200",
        "metadata.max.age.ms": "1001",
        "request.timeout.ms": "1002",
        "default.api.timeout.ms": "1003",
        "retry.backoff.ms": "10",
        "retry.backoff.max.ms": "20",
        "fetch.max.wait.ms": "30",
        "fetch.min.bytes": "2",
        "fetch.max.bytes": "1024",
        "max.partition.fetch.bytes": "512",
        "exclude.internal.topics": "false",
        "isolation.level": "read_committed",
        "group.protocol": "classic",
    }
    assert member_settings("g", properties) == MemberSettings(
        group_id="g",
        client_id="till",
        client_rack="north",
        group_instance_id="till-1",
        partition_assignment_strategy=("cooperative-sticky", "range"),
        session_timeout_ms=6000,
        heartbeat_interval_ms=1000,
        max_poll_interval_ms=60_000,
        max_poll_records=10,
        auto_offset_reset=OffsetReset.EARLIEST,
        enable_auto_commit=False,
        auto_commit_interval_ms=200,
        metadata_max_age_ms=1001,
        request_timeout_ms=1002,
        default_api_timeout_ms=1003,
        retry_backoff_ms=10,
        retry_backoff_max_ms=20,
        fetch_max_wait_ms=30,
        fetch_min_bytes=2,
        fetch_max_bytes=1024,
        max_partition_fetch_bytes=512,
        exclude_internal_topics=False,
        read_committed=True,
    )


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("session.timeout.ms", "soon", "a whole number from 1 to 2147483647 is needed"),
        ("max.poll.records", "0", "a whole number from 1 to 2147483647 is needed"),
        ("enable.auto.commit", "yes", "true or false"),
        ("auto.offset.reset", "newest", "earliest, latest or none"),
        ("isolation.level", "committed", "read_committed or read_uncommitted"),
        ("group.protocol", "streams", "classic or consumer"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_what_would(key: str, value: str, why: str) -> None:
    with pytest.raises(InputError) as refusal:
        member_settings("g", {key: value})
    assert str(refusal.value) == f"{key}={value}: {why}"


def test_settings_that_cannot_work_together_are_refused() -> None:
    with pytest.raises(InputError, match=r"heartbeat\.interval\.ms=6000 is not below"):
        member_settings("g", {"session.timeout.ms": "6000"} | {"heartbeat.interval.ms": "6000"})


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        (
            {"group.protocol": "consumer", "session.timeout.ms": "6000"},
            "session.timeout.ms has no effect with group.protocol=consumer: "
            "the broker has group.consumer.session.timeout.ms",
        ),
        (
            {"group.protocol": "consumer", "partition.assignment.strategy": "range"},
            "partition.assignment.strategy has no effect with group.protocol=consumer: "
            "the coordinator assigns, and group.remote.assignor says how",
        ),
        ({"group.remote.assignor": "range"}, "group.remote.assignor needs group.protocol=consumer"),
    ],
)
def test_a_property_that_its_protocol_has_no_use_for_is_refused(properties: dict[str, str], why: str) -> None:
    with pytest.raises(InputError) as refusal:
        member_settings("g", properties)
    assert str(refusal.value) == why


def test_the_consumer_protocol_and_its_assignor_are_settings_of_a_member() -> None:
    settings = member_settings("g", {"group.protocol": "CONSUMER", "group.remote.assignor": "range"})
    assert (settings.group_protocol, settings.group_remote_assignor) == (GroupProtocol.CONSUMER, "range")
