"""Broker settings by Kafka's names: what each means here, and what it cannot be."""

import pytest

from kgroup.broker.settings import BrokerSettings, from_properties, read_properties, unused
from kgroup.errors import InputError


def test_without_properties_everything_is_as_in_a_broker_as_it_comes() -> None:
    assert from_properties({}) == BrokerSettings()


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
