"""The events of worlds where consumers agree through ZooKeeper, besides those of `trace`."""

from dataclasses import dataclass

from kgroup.sim.watch.trace import TraceEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRegistered:
    """A consumer has a session; it will be under the group's `ids` as `consumer_id`."""

    at_ms: int
    member: str
    group: str
    consumer_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFired:
    """A consumer is told that something under `path` has changed."""

    at_ms: int
    member: str
    group: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceAttempted:
    """A consumer tries to rebalance by itself, for the `attempt`-th time (from 0) since it was told."""

    at_ms: int
    member: str
    group: str
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceGivenUp:
    """A consumer has tried `rebalance.max.retries` times; it reads nothing until a watch fires."""

    at_ms: int
    member: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionExpired:
    """ZooKeeper did not hear of a consumer for a session timeout: its ephemeral znodes are gone.

    The consumer does not know yet: it may go on reading what others own now.
    """

    at_ms: int
    member: str
    group: str


ZookeeperEvent = (
    TraceEvent | ConsumerRegistered | WatchFired | RebalanceAttempted | RebalanceGivenUp | SessionExpired
)
