"""Events of worlds where consumers coordinate through ZooKeeper, in addition to those of `trace`."""

from dataclasses import dataclass

from kgroup.sim.watch.trace import TraceEvent
from kgroup.sim.zookeeper.ensemble import TreeChange, ZookeeperError


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRegistered:
    """A consumer has a session; it will be under the group's `ids` as `consumer_id`."""

    at_ms: int
    member: str
    group: str
    consumer_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchFired:
    """A consumer hears that something under `path` has changed."""

    at_ms: int
    member: str
    group: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceAttempted:
    """A consumer tries to rebalance by itself, for the `attempt`-th time (from 0) since it heard."""

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

    The consumer does not know yet: it may continue reading what others own now.
    """

    at_ms: int
    member: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodeOperation:
    """ZooKeeper has served a request of a consumer, `waited_ms` after it came: behind those before it.

    `operation` is ZooKeeper's word for it. `watch`: it asks to be told once of the next change. `answer` is
    the data or the names of the children, None for what only writes or failed with `error`.
    """

    at_ms: int
    member: str
    group: str
    session: int
    operation: str
    path: str
    watch: bool
    data: str | None
    answer: str | tuple[str, ...] | None
    error: ZookeeperError | None
    waited_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodeChanged:
    """The tree has changed, by a consumer, a broker, or the end of a session. From the start: all of it.

    `session` is whose ephemeral znode it is, None for a persistent one; `data` None: it is gone.
    """

    at_ms: int
    path: str
    change: TreeChange
    data: str | None
    session: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTriggered:
    """A watch is used up: ZooKeeper sends word of it, and `WatchFired` follows when the consumer hears it."""

    at_ms: int
    path: str
    session: int


ZookeeperEvent = (
    TraceEvent
    | ConsumerRegistered
    | WatchFired
    | RebalanceAttempted
    | RebalanceGivenUp
    | SessionExpired
    | ZnodeOperation
    | ZnodeChanged
    | WatchTriggered
)
