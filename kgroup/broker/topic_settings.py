"""Topic settings by Kafka's names: their possible values, and the effect of those kgroup obeys.

Names, bounds and messages are those of a broker of 4.3.1.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kgroup.broker.produced_batch import BatchRules
from kgroup.broker.settings import BrokerSettings

_INT: Final = (1 << 31) - 1
_LONG: Final = (1 << 63) - 1
_WHOLE_NUMBER: Final = re.compile(r"[+-]?\d+")
_SHOWN: Final = 200  # letters of a value that a message repeats


@dataclass(frozen=True, slots=True)
class ConfigRule:
    """The rule for a setting: a number's type and bounds, or a choice's values, one or `several`."""

    kind: str = "INT"
    lowest: float | None = None
    highest: float | None = None
    choices: tuple[str, ...] = ()
    several: bool = False


_ANY: Final = ConfigRule(kind="STRING")
_FLAG: Final = ConfigRule(kind="BOOLEAN")
_RULES: Final = {
    "cleanup.policy": ConfigRule(kind="STRING", choices=("compact", "delete"), several=True),
    "compression.gzip.level": ConfigRule(),
    "compression.lz4.level": ConfigRule(lowest=1, highest=17),
    "compression.type": ConfigRule(
        kind="STRING", choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
    ),
    "compression.zstd.level": ConfigRule(highest=22),
    "delete.retention.ms": ConfigRule("LONG", 0),
    "file.delete.delay.ms": ConfigRule("LONG", 0),
    "flush.messages": ConfigRule("LONG", 1),
    "flush.ms": ConfigRule("LONG", 0),
    "follower.replication.throttled.replicas": _ANY,
    "index.interval.bytes": ConfigRule(lowest=0),
    "leader.replication.throttled.replicas": _ANY,
    "local.retention.bytes": ConfigRule("LONG", -2),
    "local.retention.ms": ConfigRule("LONG", -2),
    "max.compaction.lag.ms": ConfigRule("LONG", 1),
    "max.message.bytes": ConfigRule(lowest=0),
    "message.timestamp.after.max.ms": ConfigRule("LONG", 0),
    "message.timestamp.before.max.ms": ConfigRule("LONG", 0),
    "message.timestamp.type": ConfigRule(kind="STRING", choices=("CreateTime", "LogAppendTime")),
    "min.cleanable.dirty.ratio": ConfigRule("DOUBLE", 0, 1),
    "min.compaction.lag.ms": ConfigRule("LONG", 0),
    "min.insync.replicas": ConfigRule(lowest=1),
    "preallocate": _FLAG,
    "remote.log.copy.disable": _FLAG,
    "remote.log.delete.on.disable": _FLAG,
    "remote.storage.enable": _FLAG,
    "retention.bytes": ConfigRule("LONG"),
    "retention.ms": ConfigRule("LONG", -1),
    "segment.bytes": ConfigRule(lowest=1 << 20),
    "segment.index.bytes": ConfigRule(lowest=4),
    "segment.jitter.ms": ConfigRule("LONG", 0),
    "segment.ms": ConfigRule("LONG", 1),
    "unclean.leader.election.enable": _FLAG,
}


def config_problem(configs: Mapping[str, str | None]) -> str | None:
    """The reason a topic cannot have these settings, in the words of INVALID_CONFIG, or None."""
    unset = [name for name, value in configs.items() if value is None]
    if unset:
        return f"Null value not supported for topic configs: {','.join(sorted(unset))}"[:_SHOWN]
    for name, value in configs.items():
        rule = _RULES.get(name)
        if rule is None:
            return f"Unknown topic config name: {name[:_SHOWN]}"
        why = value_problem(rule, (value or "").strip())
        if why:
            return f"Invalid value {(value or '')[:_SHOWN]} for configuration {name}: {why}"
    return None


def value_problem(rule: ConfigRule, value: str) -> str | None:
    """The reason a setting cannot have this value, or None: the end of `ConfigDef`'s message about it."""
    if rule.kind == "BOOLEAN":
        flag = value.lower() in ("true", "false")
        return None if flag else "Expected value to be either true or false"
    if rule.kind == "STRING":
        chosen = [each.strip() for each in value.split(",") if each] if rule.several else [value]
        wrong = rule.choices and not set(chosen).issubset(rule.choices)
        return f"String must be one of: {', '.join(rule.choices)}" if wrong else None
    number = _double(value) if rule.kind == "DOUBLE" else whole_number(value)
    most = {"INT": _INT, "LONG": _LONG}.get(rule.kind)
    if number is None or (most is not None and not -most - 1 <= number <= most):
        return f"Not a number of type {rule.kind}"
    if rule.lowest is not None and number < rule.lowest:
        return f"Value must be at least {rule.lowest}"
    if rule.highest is not None and number > rule.highest:
        return f"Value must be no more than {rule.highest}"
    return None


def whole_number(text: str) -> int | None:
    """The number that Java's `Integer.parseInt` reads: decimal digits of any script, no underscores."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) and len(text) <= _SHOWN else None


def _double(text: str) -> float | None:
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


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
