"""Broker settings by Kafka's property names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kgroup.broker.security.listeners import is_used as is_security_property
from kgroup.errors import InputError
from kgroup.group.coordinator.settings import MAX_INT, POLICIES, GroupSettings
from kgroup.java_properties import assignments

_MINUTE_MS: Final = 60_000
MAX_SHORT: Final = (1 << 15) - 1
MAX_LONG: Final = (1 << 63) - 1
_WHOLE_NUMBER: Final = re.compile(r"[+-]?\d{1,40}")  # digits of any script, as Java reads them


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Settings of a node; defaults are Kafka 4's. `properties` are all that were given, as text."""

    group: GroupSettings = field(default_factory=GroupSettings)
    offsets_topic_partitions: int = 50
    offsets_topic_replication_factor: int = 3
    offsets_segment_bytes: int = 100 << 20
    transaction_state_partitions: int = 50
    transaction_max_timeout_ms: int = 900_000
    auto_create_topics: bool = True
    num_partitions: int = 1
    default_replication_factor: int = 1
    message_max_bytes: int = 1_048_588
    timestamp_before_max_ms: int = MAX_LONG
    timestamp_after_max_ms: int = 3_600_000
    segment_bytes: int = 1 << 30
    request_max_bytes: int = 100 << 20
    queued_max_request_bytes: int = -1  # no limit, as with any that is not positive
    fetch_max_bytes: int = 55 << 20
    max_connections: int = MAX_INT
    max_connections_per_ip: int = MAX_INT
    connections_max_idle_ms: int = 600_000
    # No property of Kafka's, which sends records from its files: answers that clients have yet to read.
    unsent_max_bytes: int = 128 << 20
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Property:
    """A property that kgroup obeys: its field in GroupSettings or BrokerSettings, and its smallest value."""

    field: str
    lowest: int = 0
    highest: int = MAX_INT
    in_group: bool = False
    unit_ms: int = 1


PROPERTIES: Final = {
    "group.initial.rebalance.delay.ms": Property("initial_rebalance_delay_ms", in_group=True),
    "group.min.session.timeout.ms": Property("min_session_timeout_ms", 1, in_group=True),
    "group.max.session.timeout.ms": Property("max_session_timeout_ms", 1, in_group=True),
    "group.max.size": Property("max_size", 1, in_group=True),
    "group.consumer.session.timeout.ms": Property("consumer_session_timeout_ms", 1, in_group=True),
    "group.consumer.heartbeat.interval.ms": Property("consumer_heartbeat_interval_ms", 1, in_group=True),
    "group.consumer.max.size": Property("consumer_max_size", 1, in_group=True),
    "group.consumer.assignment.interval.ms": Property("consumer_assignment_interval_ms", in_group=True),
    "group.consumer.regex.refresh.interval.ms": Property(
        "consumer_regex_refresh_interval_ms", 10_000, in_group=True
    ),
    "offset.metadata.max.bytes": Property("offset_metadata_max_bytes", in_group=True),
    "offsets.retention.minutes": Property("offsets_retention_ms", 1, in_group=True, unit_ms=_MINUTE_MS),
    "offsets.retention.check.interval.ms": Property("offsets_retention_check_interval_ms", 1, in_group=True),
    "offsets.topic.num.partitions": Property("offsets_topic_partitions", 1, 100_000),
    "offsets.topic.replication.factor": Property("offsets_topic_replication_factor", 1, MAX_SHORT),
    "offsets.topic.segment.bytes": Property("offsets_segment_bytes", 4096),
    "transaction.state.log.num.partitions": Property("transaction_state_partitions", 1, 100_000),
    "transaction.max.timeout.ms": Property("transaction_max_timeout_ms", 1),
    "num.partitions": Property("num_partitions", 1, 100_000),
    "default.replication.factor": Property("default_replication_factor", 1),
    "message.max.bytes": Property("message_max_bytes"),
    "log.message.timestamp.before.max.ms": Property("timestamp_before_max_ms", highest=MAX_LONG),
    "log.message.timestamp.after.max.ms": Property("timestamp_after_max_ms", highest=MAX_LONG),
    "log.segment.bytes": Property("segment_bytes", 4096),
    "socket.request.max.bytes": Property("request_max_bytes", 1),
    "queued.max.request.bytes": Property("queued_max_request_bytes", -1, MAX_LONG),
    "fetch.max.bytes": Property("fetch_max_bytes", 1024),
    "max.connections": Property("max_connections"),
    "max.connections.per.ip": Property("max_connections_per_ip"),
    "connections.max.idle.ms": Property("connections_max_idle_ms", 1),
}
_BETWEEN: Final = {
    # A consumer group's time, and the least and the most it may be, with Kafka 4.3's defaults.
    "group.consumer.session.timeout.ms": (45_000, 45_000, 60_000),
    "group.consumer.heartbeat.interval.ms": (5_000, 5_000, 15_000),
    "group.consumer.assignment.interval.ms": (1_000, 0, 15_000),
}
_ASSIGNORS: Final = "group.consumer.assignors"
_MIGRATION: Final = "group.consumer.migration.policy"
_FLAGS: Final = {"auto.create.topics.enable": "auto_create_topics"}
_OTHERS: Final = {
    _ASSIGNORS,
    _MIGRATION,
    *(
        name.replace("group.consumer.", f"group.consumer.{bound}.")
        for name in _BETWEEN
        for bound in ("min", "max")
    ),
}


def from_properties(properties: Mapping[str, str]) -> BrokerSettings:
    """The settings from these properties; names kgroup has no use for are kept as they are.

    Raises InputError for a value that the property cannot have.
    """
    group: dict[str, int] = {}
    broker: dict[str, int] = {}
    for name, rule in PROPERTIES.items():
        if name in properties:
            chosen = group if rule.in_group else broker
            chosen[rule.field] = _number(name, properties[name], rule) * rule.unit_ms
    _check_between(properties)
    flags = {name: _flag(key, properties[key]) for key, name in _FLAGS.items() if key in properties}
    settings = BrokerSettings(
        group=GroupSettings(**group, **_chosen(properties)),  # type: ignore[arg-type]  # as above
        properties=dict(properties),
        **broker,  # type: ignore[arg-type]  # the table names int fields only
        **flags,
    )
    bounds = settings.group
    if bounds.min_session_timeout_ms > bounds.max_session_timeout_ms:
        raise InputError("group.min.session.timeout.ms is above group.max.session.timeout.ms")
    if 0 < settings.queued_max_request_bytes < settings.request_max_bytes:  # KafkaConfig.validateValues
        raise InputError("queued.max.request.bytes is below socket.request.max.bytes")
    return settings


def _check_between(properties: Mapping[str, str]) -> None:
    """Raises InputError for a time that is outside of its own bounds, as Kafka refuses to start with it."""
    for name, defaults in _BETWEEN.items():
        middle = name.removeprefix("group.consumer.")
        names = (name, f"group.consumer.min.{middle}", f"group.consumer.max.{middle}")
        numbers = [
            _number(each, properties[each], Property("")) if each in properties else default
            for each, default in zip(names, defaults, strict=True)
        ]
        if not numbers[1] <= numbers[0] <= numbers[2]:
            raise InputError(
                f"{name}: {numbers[0]} is not between {numbers[1]} ({names[1]}) and {numbers[2]}"
            )


def _chosen(properties: Mapping[str, str]) -> dict[str, object]:
    """The settings of consumer groups that are no numbers."""
    chosen: dict[str, object] = {}
    if _ASSIGNORS in properties:
        names = tuple(name.strip() for name in properties[_ASSIGNORS].split(","))
        known = GroupSettings().consumer_assignors
        for name in names:
            if name not in known:
                raise InputError(f"{_ASSIGNORS}: {name!r} is not one of {', '.join(known)}")
        if len(set(names)) < len(names):
            raise InputError(f"{_ASSIGNORS}: {properties[_ASSIGNORS]!r} has one of them twice")
        chosen["consumer_assignors"] = names
    if _MIGRATION in properties:
        policy = properties[_MIGRATION].lower()
        if policy not in POLICIES:
            raise InputError(f"{_MIGRATION}: {properties[_MIGRATION]!r} is not one of {', '.join(POLICIES)}")
        chosen["consumer_migration_policy"] = policy
    return chosen


def unused(properties: Mapping[str, str]) -> list[str]:
    """Names among these that change nothing in kgroup."""
    return sorted(
        name
        for name in properties
        if name not in PROPERTIES
        and name not in _FLAGS
        and name not in _OTHERS
        and not is_security_property(name)
    )


def read_properties(text: str, where: str) -> dict[str, str]:
    """The settings of a server.properties file. Raises InputError, naming a line without `=` or `:`.

    Java would take that for a property with an empty value, which no broker setting that kgroup obeys can
    have. Values are trimmed, as Kafka does before it reads a number or a flag.
    """
    properties = {}
    for line in assignments(text):
        if not line.separator:
            raise InputError(f"{where}:{line.number}: {line.text.strip()!r} is not name=value")
        properties[line.name] = line.value.strip()
    return properties


def _number(name: str, text: str, rule: Property) -> int:
    if not _WHOLE_NUMBER.fullmatch(text.strip()):
        raise InputError(f"{name}: {text!r} is not a whole number")
    number = int(text)
    if not rule.lowest <= number <= rule.highest:
        raise InputError(f"{name}: {number} is not between {rule.lowest} and {rule.highest}")
    return number


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InputError(f"{name}: {text!r} is neither true nor false")
    return text.lower() == "true"
