"""Broker settings by Kafka's names: what each means here, and what it cannot be."""

import pytest

from kgroup.broker.settings import (
    PROPERTIES,
    BrokerSettings,
    from_properties,
    read_properties,
    unused,
)
from kgroup.errors import InputError
from kgroup.group.coordinator.settings import GroupSettings


def test_without_properties_everything_is_as_in_a_broker_as_it_comes() -> None:
    assert from_properties({}) == BrokerSettings()


DEFAULTS = {
    # Kafka 4.3: GroupCoordinatorConfig, TransactionStateManagerConfig, SocketServerConfigs,
    # ServerLogConfigs, ReplicationConfigs, ServerConfigs.
    "group.initial.rebalance.delay.ms": 3_000,
    "group.min.session.timeout.ms": 6_000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": 2_147_483_647,
    "offset.metadata.max.bytes": 4_096,
    "offsets.retention.minutes": 10_080,
    "offsets.retention.check.interval.ms": 600_000,
    "offsets.topic.num.partitions": 50,
    "offsets.topic.replication.factor": 3,
    "offsets.topic.segment.bytes": 104_857_600,
    "group.consumer.session.timeout.ms": 45_000,
    "group.consumer.heartbeat.interval.ms": 5_000,
    "group.consumer.max.size": 2_147_483_647,
    "group.consumer.assignment.interval.ms": 1_000,
    "group.consumer.regex.refresh.interval.ms": 600_000,
    "transaction.state.log.num.partitions": 50,
    "transaction.max.timeout.ms": 900_000,
    "num.partitions": 1,
    "default.replication.factor": 1,
    "message.max.bytes": 1_048_588,
    "log.message.timestamp.before.max.ms": 9_223_372_036_854_775_807,
    "log.message.timestamp.after.max.ms": 3_600_000,
    "log.segment.bytes": 1_073_741_824,
    "socket.request.max.bytes": 104_857_600,
    "queued.max.request.bytes": -1,  # ServerConfigs: no limit
    "fetch.max.bytes": 57_671_680,
    "max.connections": 2_147_483_647,
    "max.connections.per.ip": 2_147_483_647,
    "connections.max.idle.ms": 600_000,
}


def test_a_total_of_queued_requests_has_room_for_one() -> None:
    """KafkaConfig.validateValues; a limit that is not positive is none."""
    with pytest.raises(InputError, match=r"queued\.max\.request\.bytes is below socket\.request\.max\.bytes"):
        from_properties({"queued.max.request.bytes": "999", "socket.request.max.bytes": "1000"})
    for limit in ("1000", "0", "-1"):
        from_properties({"queued.max.request.bytes": limit, "socket.request.max.bytes": "1000"})


def test_every_default_is_kafkas() -> None:
    settings = from_properties({})
    has = {
        name: getattr(settings.group if rule.in_group else settings, rule.field) // rule.unit_ms
        for name, rule in PROPERTIES.items()
    }
    assert has == DEFAULTS
    assert settings.auto_create_topics


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_number_may_be_as_low_and_as_high_as_its_bounds_and_no_further(name: str) -> None:
    rule = PROPERTIES[name]
    # Settings that bound others.
    room = {"group.min.session.timeout.ms": "1", "group.max.session.timeout.ms": "2147483647"}
    for each in ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"):
        room |= {f"group.consumer.min.{each}": "0", f"group.consumer.max.{each}": "2147483647"}
    for number in (rule.lowest, rule.highest):
        settings = from_properties(room | {name: str(number)})
        holder = settings.group if rule.in_group else settings
        assert getattr(holder, rule.field) == number * rule.unit_ms
    for number in (rule.lowest - 1, rule.highest + 1):
        with pytest.raises(InputError, match=f"{name}: {number} is not between"):
            from_properties(room | {name: str(number)})


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"group.consumer.session.timeout.ms": "44999"}, "44999 is not between 45000"),
        ({"group.consumer.session.timeout.ms": "60001"}, "60001 is not between 45000"),
        ({"group.consumer.min.heartbeat.interval.ms": "5001"}, "5000 is not between 5001"),
        ({"group.consumer.max.assignment.interval.ms": "999"}, "1000 is not between 0"),
        ({"group.consumer.assignors": "uniform,sticky"}, "'sticky' is not one of uniform, range"),
        ({"group.consumer.assignors": "range,range"}, "has one of them twice"),
        ({"group.consumer.migration.policy": "sideways"}, "'sideways' is not one of bidirectional"),
    ],
)
def test_settings_of_consumer_groups_are_checked(properties: dict[str, str], why: str) -> None:
    with pytest.raises(InputError, match=why):
        from_properties(properties)


def test_settings_of_consumer_groups_that_are_no_numbers() -> None:
    group = from_properties(
        {"group.consumer.assignors": "range, uniform", "group.consumer.migration.policy": "UPGRADE"}
    ).group
    assert group.consumer_assignors == ("range", "uniform")
    assert group.consumer_migration_policy == "upgrade"
    assert GroupSettings().consumer_migration_policy == "bidirectional"


def test_settings_have_kafkas_names_and_units() -> None:
    settings = from_properties(
        {
            "group.initial.rebalance.delay.ms": "0",
            "offsets.retention.minutes": "2",
            "offsets.topic.num.partitions": "3",
            "num.partitions": "6",
            "auto.create.topics.enable": "FALSE",
        }
    )
    assert settings.group.initial_rebalance_delay_ms == 0
    assert settings.group.offsets_retention_ms == 120_000
    assert (settings.offsets_topic_partitions, settings.num_partitions) == (3, 6)
    assert not settings.auto_create_topics


def test_what_kgroup_has_no_use_for_is_kept_and_can_be_named() -> None:
    given = {
        "log.dirs": "/kafka",
        "num.partitions": "1",
        "auto.create.topics.enable": "true",
        "broker.id": "1",
    }
    assert from_properties(given).properties == given
    assert unused(given) == ["broker.id", "log.dirs"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("num.partitions", "many", "'many' is not a whole number"),
        ("num.partitions", "\u00b2", "'\u00b2' is not a whole number"),
        ("num.partitions", "1_0", "'1_0' is not a whole number"),
        ("num.partitions", "9" * 5000, f"'{'9' * 5000}' is not a whole number"),
        ("num.partitions", "0", "0 is not between 1 and 100000"),
        ("group.max.size", str(1 << 31), "2147483648 is not between 1 and 2147483647"),
        ("auto.create.topics.enable", "yes", "'yes' is neither true nor false"),
    ],
)
def test_a_value_that_cannot_be_is_refused(name: str, value: str, why: str) -> None:
    with pytest.raises(InputError) as refusal:
        from_properties({name: value})
    assert str(refusal.value) == f"{name}: {why}"


def test_session_timeouts_need_room() -> None:
    with pytest.raises(InputError, match=r"group\.min\.session\.timeout\.ms is above"):
        from_properties({"group.min.session.timeout.ms": "7000", "group.max.session.timeout.ms": "6000"})


def test_a_file_may_have_comments_and_either_separator() -> None:
    text = "# a comment\n! another\n\n num.partitions = 3 \nlisteners:PLAINTEXT://:9092\nlog.dirs="
    assert read_properties(text, "server.properties") == {
        "num.partitions": "3",
        "listeners": "PLAINTEXT://:9092",
        "log.dirs": "",
    }


def test_a_line_may_go_on_in_the_next_as_java_reads_it() -> None:
    text = "listeners=PLAINTEXT://:9092,\\\n  SSL://:9093\r\nlog.dirs=C:\\\\kafka"
    assert read_properties(text, "server.properties") == {
        "listeners": "PLAINTEXT://:9092,SSL://:9093",
        "log.dirs": "C:\\kafka",
    }


def test_a_line_of_a_file_that_sets_nothing_is_named() -> None:
    with pytest.raises(InputError, match=r"^server\.properties:2: 'oops' is not name=value$"):
        read_properties("a=1\noops", "server.properties")
