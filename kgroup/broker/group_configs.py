"""Settings of single groups by Kafka's names: their possible values, and the effect of those kgroup obeys.

Names, bounds, their order and the messages are those of a broker of 4.3.1 (`GroupConfig`; KIP-848, KIP-932,
KIP-1071, KIP-1263). Of the new kinds kgroup has consumer groups alone: what is set for share and streams
groups is checked, kept and shown, and changes nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from kgroup.broker.config_values import ConfigRule, value_problem, whole_number
from kgroup.broker.settings import BrokerSettings
from kgroup.group.coordinator.settings import GroupSettings

_SHOWN: Final = 200  # letters of a value that a message repeats
_FLAG: Final = ConfigRule(kind="BOOLEAN")
_OFFSET_RESET: Final = "share.auto.offset.reset"
# The ISO 8601 durations that Java reads, without those that are negative.
_RESET: Final = re.compile(
    r"earliest|latest|by_duration:P(?=\d|T\d)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d{0,9})?S)?)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """A setting: its rule, what holds without it, and the least and the most that brokers allow.

    `synonym` is the broker's own property of the same meaning, "" where it has none. Bounds are the names of
    two more properties of the broker, with their defaults; `bound` is None without such properties.
    """

    rule: ConfigRule
    default: str
    synonym: str = ""
    least: tuple[str, int] | None = None
    most: tuple[str, int] | None = None


def _bounded(name: str, default: int, least: int, most: int, *, lowest: int = 1) -> tuple[str, GroupConfig]:
    kind, _, rest = name.partition(".")
    return name, GroupConfig(
        ConfigRule(lowest=lowest),
        str(default),
        f"group.{name}",
        (f"group.{kind}.min.{rest}", least),
        (f"group.{kind}.max.{rest}", most),
    )


def _times(kind: str) -> list[tuple[str, GroupConfig]]:
    return [
        _bounded(f"{kind}.heartbeat.interval.ms", 5_000, 5_000, 15_000),
        _bounded(f"{kind}.session.timeout.ms", 45_000, 45_000, 60_000),
    ]


def _interval(kind: str) -> tuple[str, GroupConfig]:
    return _bounded(f"{kind}.assignment.interval.ms", 1_000, 0, 15_000, lowest=0)


CONFIGS: Final = dict(
    [
        *_times("consumer"),
        _interval("consumer"),
        *_times("share"),
        _bounded("share.record.lock.duration.ms", 30_000, 15_000, 60_000, lowest=1_000),
        _bounded("share.delivery.count.limit", 5, 2, 10, lowest=2),
        _bounded("share.partition.max.record.locks", 2_000, 100, 4_000, lowest=100),
        _interval("share"),
        (_OFFSET_RESET, GroupConfig(ConfigRule(kind="STRING"), "latest")),
        (
            "share.isolation.level",
            GroupConfig(
                ConfigRule(kind="STRING", choices=("read_committed", "read_uncommitted")), "read_uncommitted"
            ),
        ),
        ("share.renew.acknowledge.enable", GroupConfig(_FLAG, "true")),
        *_times("streams"),
        (
            "streams.num.standby.replicas",
            GroupConfig(
                ConfigRule(lowest=0),
                "0",
                "group.streams.num.standby.replicas",
                None,
                ("group.streams.max.standby.replicas", 2),
            ),
        ),
        (
            "streams.initial.rebalance.delay.ms",
            GroupConfig(ConfigRule(lowest=0), "3000", "group.streams.initial.rebalance.delay.ms"),
        ),
        _interval("streams"),
    ]
)
"""In the order in which a broker looks at their bounds."""
_KINDS: Final = ("consumer", "share", "streams")
_OBEYED: Final = {
    "consumer.session.timeout.ms": "consumer_session_timeout_ms",
    "consumer.heartbeat.interval.ms": "consumer_heartbeat_interval_ms",
    "consumer.assignment.interval.ms": "consumer_assignment_interval_ms",
}


def group_config_problem(configs: Mapping[str, str], settings: BrokerSettings) -> str | None:
    """The reason to refuse a group this full set of configs, in the words of INVALID_CONFIG; or None."""
    for name, value in configs.items():
        config = CONFIGS.get(name)
        if config is None:
            return f"Unknown group config name: {name[:_SHOWN]}"
        why = value_problem(config.rule, value.strip())
        if name == _OFFSET_RESET and not _RESET.fullmatch(value.strip()):
            why = "must be earliest, latest or by_duration:PnDTnHnMn.nS"
        if why:
            return f"Invalid value {value[:_SHOWN]} for configuration {name}: {why}"
    for name, config in CONFIGS.items():
        number = whole_number(configs[name].strip()) if name in configs else None
        if number is None:
            continue
        if config.least and number < _bound(config.least, settings):
            return f"{name} must be greater than or equal to {config.least[0]}"
        if config.most and number > _bound(config.most, settings):
            return f"{name} must be less than or equal to {config.most[0]}"
    for kind in _KINDS:
        session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        if _number(session, configs, settings) <= _number(heartbeat, configs, settings):
            return f"{session} must be greater than {heartbeat}"
    return None


def effective(configs: Mapping[str, str], settings: BrokerSettings) -> GroupSettings:
    """The settings a group with these configs uses; a number out of the broker's bounds becomes the bound."""
    changes: dict[str, int] = {}
    for name, field in _OBEYED.items():
        number = whole_number(configs[name].strip()) if name in configs else None
        least, most = CONFIGS[name].least, CONFIGS[name].most
        if number is not None and least and most:
            changes[field] = min(max(number, _bound(least, settings)), _bound(most, settings))
    return replace(settings.group, **changes) if changes else settings.group  # type: ignore[arg-type]


def broker_value(name: str, settings: BrokerSettings) -> tuple[str, bool]:
    """The value for groups that have not set `name`, and whether it comes from the broker's properties."""
    config = CONFIGS[name]
    given = settings.properties.get(config.synonym, "")
    return (given, True) if whole_number(given) is not None else (config.default, False)


def _number(name: str, configs: Mapping[str, str], settings: BrokerSettings) -> int:
    number = whole_number((configs.get(name) or broker_value(name, settings)[0]).strip())
    assert number is not None  # both are checked
    return number


def _bound(bound: tuple[str, int], settings: BrokerSettings) -> int:
    name, default = bound
    number = whole_number(settings.properties.get(name, ""))
    return default if number is None else number
