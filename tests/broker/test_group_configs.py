"""Settings of single groups: what a broker of 4.3.1 takes, in its words."""

import pytest

from kgroup.broker.group_configs import CONFIGS, effective, group_config_problem
from kgroup.broker.settings import BrokerSettings, from_properties

SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
INTERVAL = "consumer.assignment.interval.ms"
WIDE = {"group.consumer.min.session.timeout.ms": "1000", "group.consumer.min.heartbeat.interval.ms": "1"}


def test_the_names_are_those_of_a_broker() -> None:
    """`GroupConfig.configNames()` of 4.3.1."""
    assert sorted(CONFIGS) == [
        "consumer.assignment.interval.ms",
        "consumer.heartbeat.interval.ms",
        "consumer.session.timeout.ms",
        "share.assignment.interval.ms",
        "share.auto.offset.reset",
        "share.delivery.count.limit",
        "share.heartbeat.interval.ms",
        "share.isolation.level",
        "share.partition.max.record.locks",
        "share.record.lock.duration.ms",
        "share.renew.acknowledge.enable",
        "share.session.timeout.ms",
        "streams.assignment.interval.ms",
        "streams.heartbeat.interval.ms",
        "streams.initial.rebalance.delay.ms",
        "streams.num.standby.replicas",
        "streams.session.timeout.ms",
    ]


@pytest.mark.parametrize(
    ("name", "value", "bound"),
    [
        (HEARTBEAT, "4999", "greater than or equal to group.consumer.min.heartbeat.interval.ms"),
        (HEARTBEAT, "15001", "less than or equal to group.consumer.max.heartbeat.interval.ms"),
        (SESSION, "44999", "greater than or equal to group.consumer.min.session.timeout.ms"),
        (SESSION, "60001", "less than or equal to group.consumer.max.session.timeout.ms"),
        (INTERVAL, "15001", "less than or equal to group.consumer.max.assignment.interval.ms"),
        (
            "share.session.timeout.ms",
            "44999",
            "greater than or equal to group.share.min.session.timeout.ms",
        ),
        (
            "share.record.lock.duration.ms",
            "60001",
            "less than or equal to group.share.max.record.lock.duration.ms",
        ),
        ("share.delivery.count.limit", "11", "less than or equal to group.share.max.delivery.count.limit"),
        (
            "streams.num.standby.replicas",
            "3",
            "less than or equal to group.streams.max.standby.replicas",
        ),
    ],
)
def test_what_is_out_of_the_brokers_bounds_is_refused(name: str, value: str, bound: str) -> None:
    assert group_config_problem({name: value}, BrokerSettings()) == f"{name} must be {bound}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (HEARTBEAT, "5000"),
        (HEARTBEAT, "15000"),
        (SESSION, "45000"),
        (SESSION, " 60000 "),
        (INTERVAL, "0"),
        ("share.auto.offset.reset", "earliest"),
        ("share.auto.offset.reset", "by_duration:P1DT2H30.5S"),
        ("share.isolation.level", "read_committed"),
        ("share.renew.acknowledge.enable", "FALSE"),
        ("streams.num.standby.replicas", "2"),
        ("streams.initial.rebalance.delay.ms", "2147483647"),
    ],
)
def test_what_is_within_them_is_taken(name: str, value: str) -> None:
    assert group_config_problem({name: value}, BrokerSettings()) is None


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        (SESSION, "soon", "Not a number of type INT"),
        (SESSION, "0", "Value must be at least 1"),
        (SESSION, "2147483648", "Not a number of type INT"),
        (INTERVAL, "-1", "Value must be at least 0"),
        ("share.record.lock.duration.ms", "999", "Value must be at least 1000"),
        ("share.isolation.level", "dirty", "String must be one of: read_committed, read_uncommitted"),
        ("share.renew.acknowledge.enable", "1", "Expected value to be either true or false"),
        ("share.auto.offset.reset", "none", "must be earliest, latest or by_duration:PnDTnHnMn.nS"),
        ("share.auto.offset.reset", "by_duration:P", "must be earliest, latest or by_duration:PnDTnHnMn.nS"),
        (
            "share.auto.offset.reset",
            "by_duration:-PT1S",
            "must be earliest, latest or by_duration:PnDTnHnMn.nS",
        ),
    ],
)
def test_what_is_no_value_is_refused(name: str, value: str, why: str) -> None:
    words = f"Invalid value {value} for configuration {name}: {why}"
    assert group_config_problem({name: value}, BrokerSettings()) == words


def test_an_unknown_name_is_refused() -> None:
    assert group_config_problem({"session.timeout.ms": "45000"}, BrokerSettings()) == (
        "Unknown group config name: session.timeout.ms"
    )


@pytest.mark.parametrize(
    ("configs", "properties"),
    [
        ({SESSION: "5000", HEARTBEAT: "5000"}, WIDE),
        ({SESSION: "5000"}, WIDE),  # the broker's own heartbeats come as seldom
        ({HEARTBEAT: "8000"}, WIDE | {"group.consumer.session.timeout.ms": "8000"}),
        (
            {HEARTBEAT: "45000"},  # the broker's own session is as short
            WIDE | {"group.consumer.max.heartbeat.interval.ms": "45000"},
        ),
    ],
)
def test_a_session_is_longer_than_the_time_between_heartbeats(
    configs: dict[str, str], properties: dict[str, str]
) -> None:
    words = "consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms"
    assert group_config_problem(configs, from_properties(properties)) == words
    assert group_config_problem({SESSION: "5001"}, from_properties(properties)) is None


def test_a_group_goes_by_its_own_numbers_and_else_by_the_brokers() -> None:
    settings = from_properties(
        {"group.consumer.heartbeat.interval.ms": "7000", "group.consumer.max.size": "9"}
    )
    group = effective({SESSION: "50000", INTERVAL: "0", "share.session.timeout.ms": "46000"}, settings)
    assert group.consumer_session_timeout_ms == 50_000
    assert group.consumer_heartbeat_interval_ms == 7_000
    assert group.consumer_assignment_interval_ms == 0
    assert group.consumer_max_size == 9
    assert effective({}, settings) == settings.group


def test_what_the_broker_no_longer_allows_becomes_its_bound() -> None:
    """`GroupConfig.evaluate` of 4.3.1, for a broker that was started with other bounds."""
    group = effective({SESSION: "70000", HEARTBEAT: "1000"}, BrokerSettings())
    assert (group.consumer_session_timeout_ms, group.consumer_heartbeat_interval_ms) == (60_000, 5_000)
