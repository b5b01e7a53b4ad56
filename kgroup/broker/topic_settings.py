"""Topic settings by Kafka's names: their possible values, and the effect of those kgroup obeys.

Names, bounds and messages are those of a broker of 4.3.1.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kgroup.broker.config_values import (
    ConfigRule,
    double,
    java_double,
    list_items,
    value_problem,
    whole_number,
)
from kgroup.broker.produced_batch import BatchRules
from kgroup.broker.settings import BrokerSettings

_REPLICA: Final = re.compile(r"[0-9]+:[0-9]+")
_SHOWN: Final = 200  # letters of a value that a message repeats
_FLAG: Final = ConfigRule(kind="BOOLEAN")
_LIST: Final = ConfigRule(kind="LIST")
_POLICY: Final = "cleanup.policy"
_MIN_ISR: Final = "min.insync.replicas"
"""A new cluster has it from its broker's file when it is formatted (KIP-966)."""
_GZIP_LEVEL: Final = "compression.gzip.level"
_RULES: Final = {
    "segment.bytes": ConfigRule(lowest=1 << 20),
    "segment.ms": ConfigRule("LONG", 1),
    "segment.jitter.ms": ConfigRule("LONG", 0),
    "segment.index.bytes": ConfigRule(lowest=4),
    "flush.messages": ConfigRule("LONG", 1),
    "flush.ms": ConfigRule("LONG", 0),
    "retention.bytes": ConfigRule("LONG"),
    "retention.ms": ConfigRule("LONG", -1),
    "max.message.bytes": ConfigRule(lowest=0),
    "index.interval.bytes": ConfigRule(lowest=0),
    "delete.retention.ms": ConfigRule("LONG", 0),
    "min.compaction.lag.ms": ConfigRule("LONG", 0),
    "max.compaction.lag.ms": ConfigRule("LONG", 1),
    "file.delete.delay.ms": ConfigRule("LONG", 0),
    "min.cleanable.dirty.ratio": ConfigRule("DOUBLE", 0, 1),
    _POLICY: ConfigRule(kind="LIST", choices=("compact", "delete")),
    "unclean.leader.election.enable": _FLAG,
    "min.insync.replicas": ConfigRule(lowest=1),
    "compression.type": ConfigRule(
        kind="STRING", choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
    ),
    _GZIP_LEVEL: ConfigRule(),
    "compression.lz4.level": ConfigRule(lowest=1, highest=17),
    "compression.zstd.level": ConfigRule(lowest=-131_072, highest=22),
    "preallocate": _FLAG,
    "message.timestamp.type": ConfigRule(kind="STRING", choices=("CreateTime", "LogAppendTime")),
    "message.timestamp.before.max.ms": ConfigRule("LONG", 0),
    "message.timestamp.after.max.ms": ConfigRule("LONG", 0),
    "leader.replication.throttled.replicas": _LIST,
    "follower.replication.throttled.replicas": _LIST,
    "remote.storage.enable": _FLAG,
    "local.retention.ms": ConfigRule("LONG", -2),
    "local.retention.bytes": ConfigRule("LONG", -2),
    "remote.log.copy.disable": _FLAG,
    "remote.log.delete.on.disable": _FLAG,
    "internal.segment.bytes": ConfigRule(),
}
"""In the order in which a broker looks at their values."""
_CONFIGS: Final = {
    "cleanup.policy": ("delete", "log.cleanup.policy"),
    "compression.gzip.level": ("-1", "compression.gzip.level"),
    "compression.lz4.level": ("9", "compression.lz4.level"),
    "compression.type": ("producer", "compression.type"),
    "compression.zstd.level": ("3", "compression.zstd.level"),
    "delete.retention.ms": ("86400000", "log.cleaner.delete.retention.ms"),
    "file.delete.delay.ms": ("60000", "log.segment.delete.delay.ms"),
    "flush.messages": ("9223372036854775807", "log.flush.interval.messages"),
    "flush.ms": ("9223372036854775807", ""),
    "follower.replication.throttled.replicas": ("", ""),
    "index.interval.bytes": ("4096", "log.index.interval.bytes"),
    "leader.replication.throttled.replicas": ("", ""),
    "local.retention.bytes": ("-2", "log.local.retention.bytes"),
    "local.retention.ms": ("-2", "log.local.retention.ms"),
    "max.compaction.lag.ms": ("9223372036854775807", "log.cleaner.max.compaction.lag.ms"),
    "max.message.bytes": ("1048588", "message.max.bytes"),
    "message.timestamp.after.max.ms": ("3600000", "log.message.timestamp.after.max.ms"),
    "message.timestamp.before.max.ms": ("9223372036854775807", "log.message.timestamp.before.max.ms"),
    "message.timestamp.type": ("CreateTime", "log.message.timestamp.type"),
    "min.cleanable.dirty.ratio": ("0.5", "log.cleaner.min.cleanable.ratio"),
    "min.compaction.lag.ms": ("0", "log.cleaner.min.compaction.lag.ms"),
    "min.insync.replicas": ("1", "min.insync.replicas"),
    "preallocate": ("false", "log.preallocate"),
    "remote.log.copy.disable": ("false", ""),
    "remote.log.delete.on.disable": ("false", ""),
    "remote.storage.enable": ("false", ""),
    "retention.bytes": ("-1", "log.retention.bytes"),
    "retention.ms": ("604800000", ""),
    "segment.bytes": ("1073741824", "log.segment.bytes"),
    "segment.index.bytes": ("10485760", "log.index.size.max.bytes"),
    "segment.jitter.ms": ("0", ""),
    "segment.ms": ("604800000", ""),
    "unclean.leader.election.enable": ("false", "unclean.leader.election.enable"),
}
"""What a topic shows of itself: the default, and the broker's property for it, "" if none has the same unit.

As a broker of 4.3.1 answered DescribeConfigs.
"""
SOURCE_TOPIC: Final = 1
SOURCE_CLUSTER: Final = 3
SOURCE_STATIC_BROKER: Final = 4
SOURCE_DEFAULT: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """A setting of a topic; `origins` are all that it could be from, as (name, value, source)."""

    name: str
    value: str
    source: int
    origins: tuple[tuple[str, str, int], ...]


def topic_configs(own: Mapping[str, str], of_broker: Mapping[str, str]) -> Iterator[TopicConfig]:
    """All settings of a topic by name: its own, its broker's, or those by default."""
    for name in sorted({*_CONFIGS, *own}):
        default, synonym = _CONFIGS.get(name, ("", ""))
        origins = []
        if name in own:
            origins.append((name, shown_value(name, own[name]), SOURCE_TOPIC))
        if name == _MIN_ISR:
            origins.append((name, shown_value(name, of_broker.get(name, default)), SOURCE_CLUSTER))
        if synonym in of_broker:
            origins.append((synonym, shown_value(name, of_broker[synonym]), SOURCE_STATIC_BROKER))
        if synonym:
            origins.append((synonym, default, SOURCE_DEFAULT))
        _, value, source = origins[0] if origins else (name, default, SOURCE_DEFAULT)
        yield TopicConfig(name=name, value=value, source=source, origins=tuple(origins))


def config_problem(configs: Mapping[str, str | None]) -> str | None:
    """The reason a topic cannot have these settings, in the words of INVALID_CONFIG, or None.

    As a broker of 4.3.1 answered (fixtures/vectors/create_topics.jsonl), which keeps no tiered storage.
    """
    unset = [name for name, value in configs.items() if value is None]
    if unset:
        return f"Null value not supported for topic configs: {','.join(unset)}"[:_SHOWN]
    for name in configs:
        if name not in _RULES:
            return f"Unknown topic config name: {name[:_SHOWN]}"
    given = {name: value for name in _RULES if (value := configs.get(name)) is not None}
    for name, value in given.items():
        problem = _problem(name, _RULES[name], value)
        if problem:
            return problem
    least, most = (
        whole_number(given.get(f"{bound}.compaction.lag.ms", "").strip()) for bound in ("min", "max")
    )
    if least is not None and most is not None and least > most:
        return (
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )
    if given.get("remote.storage.enable", "").strip().lower() == "true":
        return (
            "Tiered Storage functionality is disabled in the broker."
            " Topic cannot be configured with remote log storage."
        )
    return None


def _problem(name: str, rule: ConfigRule, value: str) -> str | None:
    if rule.kind == "LIST":
        return _list_problem(name, rule, list_items(value))
    why = value_problem(rule, value.strip())
    number = whole_number(value.strip())
    if not why and name == _GZIP_LEVEL and number != -1 and (number is None or not 1 <= number <= 9):
        why = "Value must be between 1 and 9 or equal to -1"
    if not why:
        return None
    # What was no value of its type is repeated as it came, and else the value.
    is_value = not why.startswith(("Not a number", "Expected value"))
    shown = shown_value(name, value) if is_value else value
    return f"Invalid value {shown[:_SHOWN]} for configuration {name}: {why}"


def _list_problem(name: str, rule: ConfigRule, items: list[str]) -> str | None:
    """What a list may not hold; what it has twice counts once."""
    if rule.choices:
        for item in items:
            if not item:
                return f"Configuration '{name}' values must not be empty."
            if item not in rule.choices:
                why = f"String must be one of: {', '.join(rule.choices)}"
                return f"Invalid value {item[:_SHOWN]} for configuration {name}: {why}"
        return None
    if items == ["*"] or all(_REPLICA.fullmatch(item) for item in items if item):
        return None
    return (
        f"Invalid value [{', '.join(items)[:_SHOWN]}] for configuration {name}: {name} must be the literal"
        " '*' or a list of replicas in the following format:"
        " [partitionId]:[brokerId],[partitionId]:[brokerId],..."
    )


def shown_value(name: str, value: str) -> str:
    """A value that a topic has, as a broker tells it: whatever was typed, the value of its type."""
    kind, value = _RULES[name].kind if name in _RULES else "STRING", value.strip()
    if kind == "LIST":
        items = list_items(value)
        return ",".join(dict.fromkeys(items) if name == _POLICY else items)
    if kind == "BOOLEAN":
        return value.lower()
    number = double(value) if kind == "DOUBLE" else whole_number(value) if kind in ("INT", "LONG") else None
    if number is None:
        return value
    return java_double(number) if isinstance(number, float) else str(number)


def config_kind(name: str) -> str:
    """The type of a topic's setting."""
    return _RULES[name].kind if name in _RULES else "STRING"


def batch_rules(configs: Mapping[str, str], settings: BrokerSettings, name: str) -> BatchRules:
    """The rules for batches produced to the partition `name` of a topic with these settings."""

    def number(config: str, default: int) -> int:
        configured = whole_number(configs.get(config, "").strip())
        return default if configured is None else configured

    return BatchRules(
        name=name,
        max_message_bytes=number("max.message.bytes", settings.message_max_bytes),
        compacted="compact" in configs.get("cleanup.policy", ""),
        log_append_time=configs.get("message.timestamp.type", "").strip() == "LogAppendTime",
        timestamp_before_max_ms=number("message.timestamp.before.max.ms", settings.timestamp_before_max_ms),
        timestamp_after_max_ms=number("message.timestamp.after.max.ms", settings.timestamp_after_max_ms),
    )
