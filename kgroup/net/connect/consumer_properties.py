"""A member's settings from a Java consumer's properties, as `--command-config` and `-X` give them."""

from collections.abc import Mapping
from typing import Any, Final

from kgroup.errors import InputError
from kgroup.group.member.settings import GroupProtocol, MemberSettings, OffsetReset

_INTEGERS: Final = (
    "session_timeout_ms",
    "heartbeat_interval_ms",
    "max_poll_interval_ms",
    "max_poll_records",
    "auto_commit_interval_ms",
    "metadata_max_age_ms",
    "request_timeout_ms",
    "default_api_timeout_ms",
    "retry_backoff_ms",
    "retry_backoff_max_ms",
    "fetch_max_wait_ms",
    "fetch_min_bytes",
    "fetch_max_bytes",
    "max_partition_fetch_bytes",
)
_TEXTS: Final = {
    "client.id": "client_id",
    "group.instance.id": "group_instance_id",
    "client.rack": "client_rack",
    "group.remote.assignor": "group_remote_assignor",
}
_FLAGS: Final = {
    "enable.auto.commit": "enable_auto_commit",
    "exclude.internal.topics": "exclude_internal_topics",
}
_ASSIGNORS: Final = {
    f"org.apache.kafka.clients.consumer.{name}Assignor": ours
    for name, ours in (
        ("Range", "range"),
        ("RoundRobin", "roundrobin"),
        ("Sticky", "sticky"),
        ("CooperativeSticky", "cooperative-sticky"),
    )
}
OF_CLASSIC_MEMBERS: Final[Mapping[str, str]] = {
    "session.timeout.ms": "the broker has group.consumer.session.timeout.ms",
    "heartbeat.interval.ms": "the broker has group.consumer.heartbeat.interval.ms",
    "partition.assignment.strategy": "the coordinator assigns, and group.remote.assignor says how",
}
"""Properties that Kafka's consumer refuses with `group.protocol=consumer`, and where they went."""
OF_MEMBERS: Final = frozenset(
    [
        *(name.replace("_", ".") for name in _INTEGERS),
        *_TEXTS,
        *_FLAGS,
        *("auto.offset.reset", "group.protocol", "isolation.level", "partition.assignment.strategy"),
    ]
)
"""Every property that `member_settings` reads."""


def member_settings(group: str, properties: Mapping[str, str]) -> MemberSettings:
    """The settings of a member of `group`; properties that no member has a use for are passed over.

    Without a `net.member.client.id` it is empty: a caller with several members names them.
    Raises InputError, naming the property, for a value that makes no sense, and for one that its protocol has
    no use for, as Kafka's consumer does.
    """
    protocol = _one_of("group.protocol", properties.get("group.protocol", "classic"), tuple(GroupProtocol))
    given: dict[str, Any] = {"client_id": "", "group_protocol": GroupProtocol(protocol)}
    if protocol == GroupProtocol.CONSUMER:
        for key in OF_CLASSIC_MEMBERS:
            if key in properties:
                raise InputError(
                    f"{key} has no effect with group.protocol=consumer: {OF_CLASSIC_MEMBERS[key]}"
                )
    elif "group.remote.assignor" in properties:
        raise InputError("group.remote.assignor needs group.protocol=consumer")
    for name in _INTEGERS:
        key = name.replace("_", ".")
        if key in properties:
            given[name] = _positive(key, properties[key])
    for key, name in _TEXTS.items():
        if key in properties:
            given[name] = properties[key]
    for key, name in _FLAGS.items():
        if key in properties:
            given[name] = _one_of(key, properties[key], ("true", "false")) == "true"
    if "isolation.level" in properties:
        level = _one_of(
            "isolation.level", properties["isolation.level"], ("read_committed", "read_uncommitted")
        )
        given["read_committed"] = level == "read_committed"
    if "auto.offset.reset" in properties:
        reset = _one_of("auto.offset.reset", properties["auto.offset.reset"], tuple(OffsetReset))
        given["auto_offset_reset"] = OffsetReset(reset)
    given["group_remote_assignor"] = given.get("group_remote_assignor") or None
    given["client_rack"] = given.get("client_rack") or None
    strategy = properties.get("partition.assignment.strategy", "")
    names = [name.strip() for name in strategy.split(",") if name.strip()]
    if names:
        given["partition_assignment_strategy"] = tuple(_ASSIGNORS.get(name, name) for name in names)
    return MemberSettings(group_id=group, **given)


def _positive(key: str, text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**31:
        raise InputError(f"{key}={text}: a whole number from 1 to 2147483647 is needed")
    return int(text)


def _one_of(key: str, text: str, allowed: tuple[str, ...]) -> str:
    if text.lower() not in allowed:
        raise InputError(f"{key}={text}: {', '.join(allowed[:-1])} or {allowed[-1]}")
    return text.lower()
