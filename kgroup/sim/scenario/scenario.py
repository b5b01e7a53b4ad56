"""A scenario to play: topics, members, faults and settings, all as data. Times are ms since the start."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from kgroup.group.member.settings import GroupProtocol, OffsetReset

COORDINATOR: Final = "coordinator"
"""A fault's target: whichever node coordinates the first member's group when the fault strikes."""

NODE_PREFIX: Final = "node-"
"""Nodes are called `node-1`, `node-2`, ..."""


class FaultKind(StrEnum):
    """The faults of a member, a node or a topic; the values are the words of a scenario file."""

    START = "start"
    """A member or node that is not running starts, a member as a new process without a member id."""
    LEAVE = "leave"
    """A member closes in order: it commits, and leaves unless it is static."""
    KILL = "kill"
    """A member or node is gone without a word; with a duration it starts again after that."""
    RESTART = "restart"
    """A member closes in order, or a node hands over and stops; it starts again after the duration."""
    PAUSE = "pause"
    """A member's or node's process stands still for the duration (a GC pause) and then continues, unaware."""
    SLOW = "slow"
    """A member's processing takes `amount` times as long, for the duration."""
    CUT = "cut"
    """No packet passes between the target and the others (or only `other`), for the duration."""
    LOSE = "lose"
    """The network loses `amount` percent of all packets, for the duration. No target."""
    DELAY = "delay"
    """Each packet takes `amount` ms longer, for the duration. No target."""
    DUPLICATE = "duplicate"
    """`amount` percent of all requests are sent twice, for the duration. No target."""
    SLOW_DISK = "slow-disk"
    """Each append on a node takes `amount` ms, for the duration."""
    SKEW = "skew"
    """The clock of a node or member jumps by `amount` ms (negative: back); back again after the duration."""
    CREATE = "create"
    """A topic of the scenario comes into being, if it is not there."""
    GROW = "grow"
    """A topic gets partitions, up to `amount`."""
    NARROW = "narrow"
    """A member subscribes to the first of its topics alone, for the duration."""
    SUBSCRIBE = "subscribe"
    """A member's user subscribes to `topics` instead, between two polls; with a duration back after it."""
    UNSUBSCRIBE = "unsubscribe"
    """A member's user unsubscribes between two polls; with a duration it subscribes again after it."""
    LAG_REPLICAS = "lag-replicas"
    """A topic's followers have each record `amount` ms late, and so readers see it late, for the duration."""
    FAIL_APPENDS = "fail-appends"
    """`amount` percent of the appends to a topic fail, and are tried again, for the duration."""
    FAIL_DISK = "fail-disk"
    """`amount` percent of the coordinators' appends fail, for the duration. No target."""
    CUT_POWER = "cut-power"
    """All nodes die in the middle of the next append and start again from their logs. No target.

    `amount`: that many appends from now; negative: only those to the log of transactions count.
    """
    LOSE_WRITES = "lose-writes"
    """All nodes die, and the last `amount` batches of the group `target` were never written."""
    MOVE = "move"
    """Another node takes over the offsets partition of the group `target`; with an `amount`, in a step."""


class CommitMode(StrEnum):
    """The times at which a member commits."""

    AUTO = "auto"
    """`enable.auto.commit`: every `auto_commit_interval_ms`, and before it gives partitions up."""
    AFTER_PROCESSING = "after-processing"
    """By itself, after each batch of records is processed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimTopic:
    """`records_per_s` come in evenly over the topic's partitions; producers send them every `linger_ms`.

    `start_ms`: when it is created; 0: it is there before anybody, None: only when a fault creates it.
    """

    name: str
    partitions: int
    records_per_s: float = 0.0
    linger_ms: int = 1_000
    start_ms: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimMember:
    """A consumer. `start_ms` None: it is there only when a fault starts it.

    It subscribes to `topics`, or instead to all that the regular expression `pattern` matches as a whole.

    Settings have Kafka's names and defaults. Each record takes `processing_ms` of the member's time before
    it polls again.
    """

    name: str
    group: str = "g"
    topics: tuple[str, ...]
    pattern: str | None = None
    start_ms: int | None = 0
    protocol: GroupProtocol = GroupProtocol.CLASSIC
    switches_ms: tuple[int, ...] = ()
    """When it restarts in order with the other protocol, as in a rolling migration."""
    assignors: tuple[str, ...] = ("range", "cooperative-sticky")
    instance_id: str | None = None
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    max_poll_records: int = 500
    poll_timeout_ms: int = 1_000
    fetch_max_wait_ms: int = 500
    metadata_max_age_ms: int = 300_000
    request_timeout_ms: int = 30_000
    processing_ms: float = 1.0
    commit_mode: CommitMode = CommitMode.AUTO
    auto_commit_interval_ms: int = 5_000
    auto_offset_reset: OffsetReset = OffsetReset.EARLIEST
    """What `latest` passes over is measured; that nothing else is passed over is a promise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something done at `at_ms`. `target` is a member, a node, COORDINATOR, a topic, or empty (the network).

    `amount` is what the kind says: a factor, percent, ms or partitions. `other` is only for CUT: the
    other end of the cut, `topics` only for SUBSCRIBE. `duration_ms` None: once and for all.
    """

    at_ms: int
    kind: FaultKind
    target: str = ""
    duration_ms: int | None = None
    amount: int | None = None
    other: str | None = None
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chaos:
    """Random faults drawn from the seed, one every `mean_interval_ms` on average (exponential)."""

    mean_interval_ms: int
    mean_duration_ms: int = 20_000
    kinds: tuple[FaultKind, ...] = (
        FaultKind.KILL,
        FaultKind.RESTART,
        FaultKind.PAUSE,
        FaultKind.SLOW,
        FaultKind.CUT,
        FaultKind.LOSE,
        FaultKind.DELAY,
        FaultKind.DUPLICATE,
        FaultKind.SLOW_DISK,
        FaultKind.MOVE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """Each packet takes `latency_min_ms` to `latency_max_ms`; loses and repeats that many percent of them."""

    latency_min_ms: int = 1
    latency_max_ms: int = 5
    loss_percent: float = 0.0
    duplicate_percent: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZookeeperSettings:
    """Settings of Kafka 0.8's consumers in addition to those of `SimMember`, with their defaults."""

    session_timeout_ms: int = 6_000
    rebalance_max_retries: int = 4
    rebalance_backoff_ms: int = 2_000
    operation_ms: int = 0
    """The time that ZooKeeper takes for each request of a consumer, one after the other; 0: none waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A play of `duration_ms`, then `settle_ms` without faults in which every group has to become stable.

    `properties` are the brokers', by Kafka's names. `epoch_ms` is what the clocks show at the start.
    """

    name: str
    about: str = ""
    duration_ms: int
    settle_ms: int = 120_000
    nodes: int = 3
    topics: tuple[SimTopic, ...]
    members: tuple[SimMember, ...]
    faults: tuple[Fault, ...] = ()
    chaos: Chaos | None = None
    more_chaos: Chaos | None = None
    """Not for scenario files. Drawn by a chance of its own, so that what `chaos` draws stays the same."""
    network: NetworkSettings = field(default_factory=NetworkSettings)
    strangers: int = 0
    """Clients of a group of their own, and guests of the first member's, that behave badly."""
    producers: int = 0
    """Transactional producers that commit offsets, each of a group of its own."""
    zookeeper: ZookeeperSettings = field(default_factory=ZookeeperSettings)
    properties: Mapping[str, str] = field(default_factory=dict)
    epoch_ms: int = 1_767_225_600_000
    """2026-01-01T00:00Z."""


def node_name(node_id: int) -> str:
    """`node-1` for 1."""
    return f"{NODE_PREFIX}{node_id}"
