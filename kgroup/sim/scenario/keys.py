"""The keys of a scenario file: how each value is read and what it means, for the reader and the man page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kgroup.assignors.registry import CLIENT_ASSIGNORS
from kgroup.durations import parse_duration
from kgroup.errors import InputError, nearest_or_all
from kgroup.group.member.settings import GroupProtocol, OffsetReset
from kgroup.sim.scenario.actions import DURATION_MAX_MS, LOSS_PERCENT_MAX
from kgroup.sim.scenario.scenario import CommitMode, FaultKind

NEVER: Final = "never"
MEMBERS_MAX: Final = 1_000
PARTITIONS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key: the `field` of the scenario's dataclass that it fills, and the form of its value.

    `read` raises InputError that says what the value should be.
    """

    field: str
    read: Callable[[object], object]
    form: str
    explained: str


def text(value: object) -> str:
    """Text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"should be text, and is {shown(value)}")
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of one text or more, none of them twice."""
    if not isinstance(value, list) or not value:
        raise InputError(f"should be a list of texts, and is {shown(value)}")
    read = tuple(text(item) for item in value)
    if len(set(read)) < len(read):
        raise InputError("has a text twice")
    return read


def flag(value: object) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise InputError(f"should be true or false, and is {shown(value)}")
    return value


def duration(value: object) -> int:
    """A duration, in ms."""
    read_ms = parse_duration(value) if isinstance(value, str) else None
    if read_ms is None or read_ms > DURATION_MAX_MS:
        raise InputError(f"should be a duration like '10s' or '1m30s', and is {shown(value)}")
    return read_ms


def positive_duration(value: object) -> int:
    """A duration that is not nothing, in ms."""
    read_ms = duration(value)
    if not read_ms:
        raise InputError("should be longer than nothing")
    return read_ms


def start(value: object) -> int | None:
    """A duration, in ms, or None for `never`."""
    return None if value == NEVER else duration(value)


def latency(value: object) -> tuple[int, int]:
    """Two durations, the shorter one first, in ms."""
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(f"should be two durations like ['1ms', '5ms'], and is {shown(value)}")
    shortest_ms, longest_ms = duration(value[0]), duration(value[1])
    if shortest_ms > longest_ms:
        raise InputError("has the longer duration first")
    return shortest_ms, longest_ms


def whole(least: int, most: int) -> Callable[[object], int]:
    """A reader of whole numbers."""

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise InputError(f"should be a whole number from {least} to {most}, and is {shown(value)}")
        return value

    return read


def number(least: float, most: float) -> Callable[[object], float]:
    """A reader of numbers."""

    def read(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
            raise InputError(f"should be a number from {least:g} to {most:g}, and is {shown(value)}")
        return float(value)

    return read


def assignors(value: object) -> tuple[str, ...]:
    """Names of client-side assignors."""
    names = texts(value)
    for name in names:
        if name not in CLIENT_ASSIGNORS:
            raise InputError(f"there is no assignor '{name}': {nearest_or_all(name, CLIENT_ASSIGNORS)}")
    return names


def commit_mode(value: object) -> CommitMode:
    """One of `CommitMode`."""
    if not isinstance(value, str) or value not in tuple(CommitMode):
        raise InputError(f"should be {' or '.join(CommitMode)}, and is {shown(value)}")
    return CommitMode(value)


def offset_reset(value: object) -> OffsetReset:
    """Earliest or latest: a member that fails for want of an offset shows nothing."""
    allowed = (OffsetReset.EARLIEST, OffsetReset.LATEST)
    if not isinstance(value, str) or value not in allowed:
        raise InputError(f"should be {' or '.join(allowed)}, and is {shown(value)}")
    return OffsetReset(value)


def protocol(value: object) -> GroupProtocol:
    """One of `GroupProtocol`."""
    if not isinstance(value, str) or value not in tuple(GroupProtocol):
        raise InputError(f"should be {' or '.join(GroupProtocol)}, and is {shown(value)}")
    return GroupProtocol(value)


def fault_kinds(value: object) -> tuple[FaultKind, ...]:
    """Kinds of faults."""
    names = texts(value)
    for name in names:
        if name not in tuple(FaultKind):
            raise InputError(f"'{name}' is not one of {', '.join(FaultKind)}")
    return tuple(FaultKind(name) for name in names)


def shown(value: object) -> str:
    """A wrong value in a message, not longer than a line."""
    as_text = repr(value)
    return as_text if len(as_text) <= 60 else as_text[:57] + "..."


SCENARIO_KEYS: Final[Mapping[str, Key]] = {
    "about": Key(field="about", read=text, form="TEXT", explained="One sentence on what it shows."),
    "duration": Key(
        field="duration_ms",
        read=positive_duration,
        form="DURATION",
        explained="How long it plays. The one key that must be there, with topics and members.",
    ),
    "settle": Key(
        field="settle_ms",
        read=duration,
        form="DURATION",
        explained="How much longer it goes on without faults, for every group to become stable (2m).",
    ),
    "nodes": Key(
        field="nodes", read=whole(1, 100), form="N", explained="Brokers, called node-1, node-2, ... (3)."
    ),
    "strangers": Key(
        field="strangers",
        read=whole(0, 100),
        form="N",
        explained="Clients that die, stall, come back changed and send what is stale; each third is a guest"
        " of the first member's group (0).",
    ),
    "producers": Key(
        field="producers",
        read=whole(0, 100),
        form="N",
        explained="Transactional producers that commit offsets of groups of their own (0).",
    ),
}
TOPIC_KEYS: Final[Mapping[str, Key]] = {
    "partitions": Key(
        field="partitions", read=whole(1, PARTITIONS_MAX), form="N", explained="How many partitions."
    ),
    "records_per_s": Key(
        field="records_per_s",
        read=number(0, 1e6),
        form="NUMBER",
        explained="Records that come in per second, evenly over the partitions (0).",
    ),
    "start": Key(
        field="start_ms",
        read=start,
        form="DURATION",
        explained="When it is created (0s: it is there before anybody); never: only when a fault creates it.",
    ),
    "linger": Key(
        field="linger_ms",
        read=positive_duration,
        form="DURATION",
        explained="How often producers send what has come in (1s).",
    ),
}
MEMBER_KEYS: Final[Mapping[str, Key]] = {
    "group": Key(field="group", read=text, form="GROUP", explained="The group (g)."),
    "topics": Key(field="topics", read=texts, form="[TOPIC, ...]", explained="Subscriptions (all topics)."),
    "pattern": Key(
        field="pattern",
        read=text,
        form="REGEX",
        explained="Instead of topics: all whose whole name this regular expression of RE2 matches.",
    ),
    "start": Key(
        field="start_ms",
        read=start,
        form="DURATION",
        explained="When it starts (0s); never: only when a fault starts it.",
    ),
    "protocol": Key(
        field="protocol",
        read=protocol,
        form="classic | consumer",
        explained="group.protocol. With consumer, group.consumer.session.timeout.ms and"
        " group.consumer.heartbeat.interval.ms of the brokers count, and their assignors (classic).",
    ),
    "assignors": Key(
        field="assignors",
        read=assignors,
        form="[ASSIGNOR, ...]",
        explained="partition.assignment.strategy (range, cooperative-sticky).",
    ),
    "session_timeout": Key(
        field="session_timeout_ms",
        read=positive_duration,
        form="DURATION",
        explained="session.timeout.ms (45s).",
    ),
    "heartbeat_interval": Key(
        field="heartbeat_interval_ms",
        read=positive_duration,
        form="DURATION",
        explained="heartbeat.interval.ms, below the session timeout; at most a third of it is wise (3s).",
    ),
    "max_poll_interval": Key(
        field="max_poll_interval_ms",
        read=positive_duration,
        form="DURATION",
        explained="max.poll.interval.ms (5m).",
    ),
    "max_poll_records": Key(
        field="max_poll_records", read=whole(1, 100_000), form="N", explained="max.poll.records (500)."
    ),
    "poll_timeout": Key(
        field="poll_timeout_ms",
        read=positive_duration,
        form="DURATION",
        explained="How long a poll waits for records (1s).",
    ),
    "fetch_max_wait": Key(
        field="fetch_max_wait_ms",
        read=positive_duration,
        form="DURATION",
        explained="fetch.max.wait.ms (500ms).",
    ),
    "processing_ms": Key(
        field="processing_ms",
        read=number(0, 3_600_000),
        form="NUMBER",
        explained="Milliseconds that each record takes before the member polls again (1).",
    ),
    "metadata_max_age": Key(
        field="metadata_max_age_ms",
        read=positive_duration,
        form="DURATION",
        explained="metadata.max.age.ms: how soon it sees that a topic has grown (5m).",
    ),
    "request_timeout": Key(
        field="request_timeout_ms",
        read=positive_duration,
        form="DURATION",
        explained="request.timeout.ms: longer than fetch_max_wait (30s).",
    ),
    "commit": Key(
        field="commit_mode",
        read=commit_mode,
        form="auto | after-processing",
        explained="enable.auto.commit, or a commit of its own after each batch (auto).",
    ),
    "auto_offset_reset": Key(
        field="auto_offset_reset",
        read=offset_reset,
        form="earliest | latest",
        explained="auto.offset.reset: with latest a partition without a committed offset is read from its end"
        " on, also one that came later (earliest, which is not Kafka's default).",
    ),
    "auto_commit_interval": Key(
        field="auto_commit_interval_ms",
        read=positive_duration,
        form="DURATION",
        explained="auto.commit.interval.ms (5s).",
    ),
}
MEMBERS_KEYS: Final[Mapping[str, Key]] = {
    "name": Key(field="name", read=text, form="NAME", explained="The member's name."),
    "count": Key(
        field="count",
        read=whole(1, MEMBERS_MAX),
        form="N",
        explained="This many identical members, with the numbers 1 to N after the name.",
    ),
    "every": Key(
        field="every_ms",
        read=duration,
        form="DURATION",
        explained="With count: each starts so much later than the one before (0s).",
    ),
    "static": Key(
        field="static",
        read=flag,
        form="true | false",
        explained="Whether the name is also the group.instance.id (false).",
    ),
}
"""In addition to `MEMBER_KEYS`: keys that make several members of one table."""
CHAOS_KEYS: Final[Mapping[str, Key]] = {
    "every": Key(
        field="mean_interval_ms",
        read=positive_duration,
        form="DURATION",
        explained="The mean time from one random fault to the next.",
    ),
    "lasting": Key(
        field="mean_duration_ms",
        read=positive_duration,
        form="DURATION",
        explained="How long they last on average (20s).",
    ),
    "kinds": Key(
        field="kinds", read=fault_kinds, form="[KIND, ...]", explained=f"Any of {', '.join(FaultKind)}."
    ),
}
NETWORK_KEYS: Final[Mapping[str, Key]] = {
    "latency": Key(
        field="latency",
        read=latency,
        form="[DURATION, DURATION]",
        explained="The shortest and the longest way of a packet (1ms, 5ms).",
    ),
    "loss_percent": Key(
        field="loss_percent",
        read=number(0, LOSS_PERCENT_MAX),
        form="NUMBER",
        explained="Packets that get lost (0).",
    ),
    "duplicate_percent": Key(
        field="duplicate_percent",
        read=number(0, 100),
        form="NUMBER",
        explained="Packets that arrive twice (0).",
    ),
}
ZOOKEEPER_KEYS: Final[Mapping[str, Key]] = {
    "session_timeout": Key(
        field="session_timeout_ms",
        read=positive_duration,
        form="DURATION",
        explained="zookeeper.session.timeout.ms (6s).",
    ),
    "rebalance_max_retries": Key(
        field="rebalance_max_retries",
        read=whole(1, 1000),
        form="N",
        explained="rebalance.max.retries (4).",
    ),
    "rebalance_backoff": Key(
        field="rebalance_backoff_ms",
        read=duration,
        form="DURATION",
        explained="rebalance.backoff.ms (2s).",
    ),
    "operation": Key(
        field="operation_ms",
        read=duration,
        form="DURATION",
        explained="The time that ZooKeeper takes for a consumer's request, one after the other: those of a"
        " herd wait for each other (0ms).",
    ),
}
