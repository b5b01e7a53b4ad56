"""ZooKeeper as its clients see it: a tree of znodes, sessions with ephemeral znodes, one-shot watches.

Pure: requests come in one at a time, and watch events go out through `notify`. Sessions time
out when `expire` says so; pings, latency and lost connections are the world's. Source: the ZooKeeper
programmer's guide ("Ephemeral Nodes", "ZooKeeper Sessions", "ZooKeeper Watches").
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum


class ZookeeperError(Enum):
    """The error of a failed request, in the words of ZooKeeper's KeeperException."""

    NO_NODE = "NoNode"
    NODE_EXISTS = "NodeExists"
    SESSION_EXPIRED = "SessionExpired"


class TreeChange(Enum):
    """A change to a znode, in the words of ZooKeeper's watch events."""

    CREATED = "NodeCreated"
    DATA_CHANGED = "NodeDataChanged"
    DELETED = "NodeDeleted"


@dataclass(frozen=True, slots=True)
class GetChildren:
    """The names under `path`, sorted. `watch`: tell the session once when a child comes or goes."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class GetData:
    """The znode's data. `watch`: tell the session once when it changes or goes."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """Whether there is such a znode. `watch`: tell the session once when it comes, changes or goes."""

    path: str
    watch: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    """Write the data of a persistent znode, which is made if it is not there."""

    path: str
    data: str


@dataclass(frozen=True, slots=True)
class CreateEphemeral:
    """Make a znode that lasts as long as its session."""

    path: str
    data: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a znode without children."""

    path: str


Operation = GetChildren | GetData | Exists | SetData | CreateEphemeral | Delete


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`children` of GetChildren, `data` of GetData, or an `error`."""

    children: tuple[str, ...] = ()
    data: str = ""
    error: ZookeeperError | None = None


@dataclass(slots=True)
class _Znode:
    data: str = ""
    session: int | None = None
    children: set[str] = field(default_factory=set)


OnChange = Callable[[str, TreeChange, str | None, int | None], None]
"""Called with a znode's path, its change, its data (None: gone) and its session if ephemeral."""


class Zookeeper:
    """The ensemble as one: every request is applied at one moment, in one order.

    `notify(session, path)` is called before the request that fires the watch is answered, and after
    `on_change` was called.
    """

    def __init__(
        self,
        notify: Callable[[int, str], None],
        on_change: OnChange = lambda path, change, data, session: None,
    ) -> None:
        self._notify = notify
        self._on_change = on_change
        self._znodes: dict[str, _Znode] = {"": _Znode()}
        self._ephemerals: dict[int, set[str]] = {}  # by session
        self._last_session = 0
        # Sessions by path, in the order in which they asked.
        self._child_watches: dict[str, dict[int, None]] = {}
        self._data_watches: dict[str, dict[int, None]] = {}

    # ---- sessions -----------------------------------------------------------------------------

    def open_session(self) -> int:
        """A new session's id."""
        self._last_session += 1
        self._ephemerals[self._last_session] = set()
        return self._last_session

    def is_open(self, session: int) -> bool:
        """Whether the session has neither expired nor been closed."""
        return session in self._ephemerals

    def expire(self, session: int) -> None:
        """The session is over, by its client's wish or by silence; its ephemeral znodes go."""
        for path in sorted(self._ephemerals.pop(session, ())):
            self._remove(path)

    # ---- requests -----------------------------------------------------------------------------

    def answer(self, session: int, operation: Operation) -> Answer:
        """Apply a request of a client."""
        if session not in self._ephemerals:
            return Answer(error=ZookeeperError.SESSION_EXPIRED)
        match operation:
            case GetChildren(path, watch):
                if path not in self._znodes:
                    return Answer(error=ZookeeperError.NO_NODE)
                if watch:
                    self._child_watches.setdefault(path, {})[session] = None
                return Answer(children=tuple(sorted(self._znodes[path].children)))
            case GetData(path, watch):
                if path not in self._znodes:
                    return Answer(error=ZookeeperError.NO_NODE)
                if watch:
                    self._data_watches.setdefault(path, {})[session] = None
                return Answer(data=self._znodes[path].data)
            case Exists(path, watch):
                if watch:
                    self._data_watches.setdefault(path, {})[session] = None
                return Answer() if path in self._znodes else Answer(error=ZookeeperError.NO_NODE)
            case SetData(path, data):
                self.write(path, data)
                return Answer()
            case CreateEphemeral(path, data):
                if path in self._znodes:
                    return Answer(error=ZookeeperError.NODE_EXISTS)
                self._create(path, data, session)
                return Answer()
            case Delete(path):
                if path not in self._znodes:
                    return Answer(error=ZookeeperError.NO_NODE)
                self._remove(path)
                return Answer()

    def write(self, path: str, data: str) -> None:
        """The effect of SetData, for brokers, which need no session here."""
        if path not in self._znodes:
            self._create(path, data, None)
            return
        znode = self._znodes[path]
        znode.data = data
        self._on_change(path, TreeChange.DATA_CHANGED, data, znode.session)
        self._fire(self._data_watches, path)

    def delete(self, path: str) -> None:
        """Remove a znode if it is there, as Delete does."""
        if path in self._znodes:
            self._remove(path)

    def _create(self, path: str, data: str, session: int | None) -> None:
        parent, _, name = path.rpartition("/")
        if parent not in self._znodes:
            self._create(parent, "", None)
        self._znodes[path] = _Znode(data, session)
        self._znodes[parent].children.add(name)
        if session is not None:
            self._ephemerals[session].add(path)
        self._on_change(path, TreeChange.CREATED, data, session)
        self._fire(self._data_watches, path)
        self._fire(self._child_watches, parent)

    def _remove(self, path: str) -> None:
        znode = self._znodes[path]
        assert not znode.children, path
        del self._znodes[path]
        if znode.session in self._ephemerals:
            self._ephemerals[znode.session].discard(path)
        parent, _, name = path.rpartition("/")
        self._znodes[parent].children.discard(name)
        self._on_change(path, TreeChange.DELETED, None, znode.session)
        self._fire(self._data_watches, path)
        self._fire(self._child_watches, parent)

    def _fire(self, watches: dict[str, dict[int, None]], path: str) -> None:
        for session in watches.pop(path, ()):
            if session in self._ephemerals:
                self._notify(session, path)
