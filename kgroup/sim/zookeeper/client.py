"""A ZooKeeper client in the world: a connection that keeps order, and a session that silence ends."""

from collections.abc import Callable
from random import Random

from kgroup.sim.world.network import Network, Stream
from kgroup.sim.world.schedule import Schedule
from kgroup.sim.zookeeper.ensemble import Answer, Operation, Zookeeper, ZookeeperError

ZOOKEEPER = "zookeeper"
"""The ensemble's name on the network."""
PINGS_PER_SESSION = 3
"""ZooKeeper's client sends a ping whenever it was silent for a third of the session timeout."""


Ask = Callable[[int, Operation, Callable[[Answer], None]], None]
"""Has a session's request served, and what comes of it handed on."""


class Lane:
    """One direction of a connection, in order; what is sent into a cut waits for a new connection."""

    def __init__(self, network: Network, source: str, target: str) -> None:
        self._network = network
        self._stream = Stream(source, target)
        self._unsent: list[Callable[[], None]] = []
        self._unread: list[Callable[[], None]] = []
        self._is_read = True

    def send(self, deliver: Callable[[], None]) -> None:
        """Have `deliver` called when the message is read."""
        if self._unsent or self._network.is_cut(self._stream.source, self._stream.target):
            self._unsent.append(deliver)
        else:
            self._network.send(self._stream, lambda: self._arrive(deliver))

    def reconnect(self) -> None:
        """Send what waits, unless the way is cut still."""
        waiting, self._unsent = self._unsent, []
        for deliver in waiting:
            self.send(deliver)

    def read(self, is_read: bool) -> None:
        """Whether the process at the end takes messages; what it did not take it gets when it does again."""
        self._is_read = is_read
        while self._unread and self._is_read:
            self._unread.pop(0)()

    def _arrive(self, deliver: Callable[[], None]) -> None:
        if self._unread or not self._is_read:
            self._unread.append(deliver)
        else:
            deliver()


class ZookeeperClient:
    """A session and its connection.

    Pings are not played one by one: a client that falls silent sent its last one at most a third of the
    session timeout ago, drawn from `rng`. `ask` has a request served that has come. `on_session` is called
    when the client has a session, the first time and again after each that expired; answers to requests of an
    older one are dropped. `on_expired` is called when ZooKeeper drops the session, of which the client hears
    later.
    """

    def __init__(
        self,
        *,
        name: str,
        schedule: Schedule,
        network: Network,
        rng: Random,
        zookeeper: Zookeeper,
        session_timeout_ms: int,
        ask: Ask,
        on_session: Callable[[], None],
        on_watch: Callable[[str], None],
        on_expired: Callable[[], None],
    ) -> None:
        self._schedule = schedule
        self._rng = rng
        self._zookeeper = zookeeper
        self._session_timeout_ms = session_timeout_ms
        self._up = Lane(network, name, ZOOKEEPER)
        self._down = Lane(network, ZOOKEEPER, name)
        self._ask = ask
        self._on_session = on_session
        self._on_watch = on_watch
        self._on_expired = on_expired
        self._connected_since_ms = schedule.now_ms
        self._connected_ms = 0
        self._is_cut = False
        self._silences = 0  # reasons for it to be silent now
        self._spoke = 0  # how often it fell silent or spoke again
        self._closed = False
        self.session = 0
        self._requests = 0

    def requests_and_pings(self) -> int:
        """The number of requests it has sent, pings included."""
        connected_ms = self._connected_ms
        if not self._silences:
            connected_ms += self._schedule.now_ms - self._connected_since_ms
        return self._requests + connected_ms * PINGS_PER_SESSION // self._session_timeout_ms

    def connect(self) -> None:
        """Ask for a session."""
        self._requests += 1
        self._up.send(self._open)

    def request(self, operation: Operation, then: Callable[[Answer], None]) -> None:
        """Send a request; `then` gets the answer, unless the session ends before."""
        self._requests += 1
        session = self.session

        def serve() -> None:
            self._ask(session, operation, lambda answer: self._down.send(lambda: reply(answer)))

        def reply(answer: Answer) -> None:
            expired = answer.error is ZookeeperError.SESSION_EXPIRED
            if session == self.session and not self._closed and not expired:
                then(answer)

        self._up.send(serve)

    def watch_fired(self, path: str) -> None:
        """ZooKeeper has something to tell; it comes before the answers to later requests."""
        self._down.send(lambda: None if self._closed else self._on_watch(path))

    def close(self) -> None:
        """End the session in order."""
        session = self.session
        self._closed = True
        self._up.send(lambda: self._zookeeper.expire(session))
        self._requests += 1

    def die(self) -> None:
        """The process is gone without a word: the session ends by its timeout."""
        self._closed = True
        self._fall_silent()

    # ---- silence ------------------------------------------------------------------------------

    def stand_still(self) -> None:
        """The process does not run."""
        self._down.read(False)
        self._fall_silent()

    def wake(self) -> None:
        """The process runs again."""
        self._speak_again()
        self._down.read(True)

    def cut(self, is_cut: bool) -> None:
        """Whether the way to ZooKeeper is cut."""
        if is_cut == self._is_cut:
            return
        self._is_cut = is_cut
        if is_cut:
            self._fall_silent()
        else:
            self._speak_again()

    def _fall_silent(self) -> None:
        """Nothing of this client reaches ZooKeeper from now on."""
        self._silences += 1
        if self._silences > 1:
            return
        self._spoke += 1
        self._connected_ms += self._schedule.now_ms - self._connected_since_ms
        spoke, session = self._spoke, self.session
        since_ping_ms = self._rng.randrange(max(1, self._session_timeout_ms // PINGS_PER_SESSION))

        def expire() -> None:
            if spoke == self._spoke and self._zookeeper.is_open(session):
                self._on_expired()
                self._zookeeper.expire(session)

        self._schedule.at(self._schedule.now_ms - since_ping_ms + self._session_timeout_ms, expire)

    def _speak_again(self) -> None:
        """One reason of silence is over; after the last it finds out whether it still has its session."""
        self._silences -= 1
        if self._silences:
            return
        self._spoke += 1
        self._connected_since_ms = self._schedule.now_ms
        session = self.session
        self._up.reconnect()
        self._down.reconnect()
        self._up.send(lambda: self._down.send(lambda: self._reconnected(session)))

    def _reconnected(self, session: int) -> None:
        if session == self.session and not self._closed and not self._zookeeper.is_open(session):
            self.connect()

    def _open(self) -> None:
        if not self._closed:
            session = self._zookeeper.open_session()
            self._down.send(lambda: self._opened(session))

    def _opened(self, session: int) -> None:
        if self._closed:
            self._zookeeper.expire(session)
            return
        self.session = session
        self._on_session()
