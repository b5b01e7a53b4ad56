"""A member's connections: requests out, answers in, and calls that end without an answer."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from kgroup.broker.direct import DirectAnswer
from kgroup.group.member.step import Send
from kgroup.protocol.requests.client import MemberRequest, MemberResponse
from kgroup.sim.watch.trace import RequestFailed, RequestSent, ResponseReceived, TraceEvent
from kgroup.sim.world.exchange import Connection, Exchange, begin_exchange, connect, read_answer
from kgroup.sim.world.network import Network
from kgroup.sim.world.node_host import NodeHost
from kgroup.sim.world.process import Process

_TO_OPEN: Final = 2
"""Round trips before a new connection carries the first request: TCP's handshake and ApiVersions."""


class Connections:
    """The client's end, as in `net/member/client.py`.

    A request that gets no answer in time ends its connection, and with it everything that waits there.
    `on_answer` and `on_failure` are called with ids of requests, while their process is the same and free;
    `on_second_answer` with a request that came twice, for the answer that nobody waits for.
    """

    def __init__(
        self,
        process: Process,
        *,
        address: str,
        first_token: int,
        network: Network,
        nodes: Mapping[str, NodeHost],
        codec: bool,
        on_answer: Callable[[int, MemberResponse], None],
        on_failure: Callable[[Iterable[int], str], None],
        on_second_answer: Callable[[MemberRequest, MemberResponse], None],
        tell: Callable[[TraceEvent], None] | None,
    ) -> None:
        self._process = process
        self.client_id = process.name
        self._schedule = process.schedule
        self._address = address
        self._next_token = first_token
        self._network = network
        self._nodes = nodes
        self._codec = codec
        self._on_answer = on_answer
        self._on_failure = on_failure
        self._on_second_answer = on_second_answer
        self._tell = tell
        self._open: dict[int, Connection] = {}
        self._timer_ms: int | None = None

    def send(self, send: Send) -> None:
        """Send a request on its connection, which is opened when it is first used or after it broke."""
        name, now_ms = self._process.name, self._schedule.now_ms
        connection = self._open.get(send.connection_id)
        is_new = connection is None
        if connection is None:
            self._next_token += 1
            connection = connect(self, (name, send.host), self._next_token, self.client_id, self._address)
            self._open[send.connection_id] = connection
        deadline_ms = now_ms + send.timeout_ms
        exchange = begin_exchange(send.request_id, send.body, self.client_id, deadline_ms, codec=self._codec)
        connection.waiting[send.request_id] = exchange
        arrive = partial(self._nodes[send.host].receive, connection, exchange)
        self._network.send(connection.up, arrive, _TO_OPEN if is_new else 0)
        if self._network.is_repeated():
            self._network.send(connection.up, arrive)
        if self._timer_ms is None or deadline_ms < self._timer_ms:
            self._watch(deadline_ms)
        if self._tell is not None:
            self._tell(
                RequestSent(
                    at_ms=now_ms, member=name, node=send.host, request_id=send.request_id, body=send.body
                )
            )

    def disconnect(self, connection_id: int) -> list[int]:
        """The member hangs up; returns the ids of the requests that waited there."""
        connection = self._open.pop(connection_id, None)
        if connection is None:
            return []
        self._hang_up(connection)
        return self._give_up(connection, "closed: the coordinator is another one, or is silent")

    def close(self) -> None:
        """The process is at its end: every connection is reset, and nobody waits any more."""
        for connection in self._open.values():
            self._hang_up(connection)
        self._open.clear()
        self._timer_ms = None

    # ---- what comes back --------------------------------------------------------------------------

    def answered(
        self, connection: Connection, exchange: Exchange, answer: DirectAnswer | MemberResponse | bytes
    ) -> None:
        """An answer has come."""
        if not connection.is_open:
            return
        if self._process.is_free:
            self._take(connection, exchange, answer)
        else:
            self._process.deliver(partial(self._take, connection, exchange, answer))

    def _take(
        self, connection: Connection, exchange: Exchange, answer: DirectAnswer | MemberResponse | bytes
    ) -> None:
        if not connection.is_open:
            return
        body = read_answer(exchange, answer)
        if connection.waiting.pop(exchange.request_id, None) is None:
            self._on_second_answer(exchange.body, body)
            return
        if self._tell is not None:
            self._tell(
                ResponseReceived(
                    at_ms=self._schedule.now_ms,
                    member=self._process.name,
                    node=connection.up.target,
                    request_id=exchange.request_id,
                    body=body,
                )
            )
        self._on_answer(exchange.request_id, body)

    def reset(self, connection: Connection) -> None:
        """Close a connection that has no other end."""
        if connection.is_open:
            self._process.deliver(partial(self._lose, connection, "the node closed the connection"))

    def _lose(self, connection: Connection, why: str) -> None:
        if not connection.is_open:
            return
        self._hang_up(connection)
        self._open = {number: each for number, each in self._open.items() if each is not connection}
        self._on_failure(self._give_up(connection, why), why)

    def _give_up(self, connection: Connection, why: str) -> list[int]:
        waiting, connection.waiting = connection.waiting, {}
        if self._tell is not None:
            for request_id in waiting:
                self._tell(
                    RequestFailed(
                        at_ms=self._schedule.now_ms,
                        member=self._process.name,
                        node=connection.up.target,
                        request_id=request_id,
                        why=why,
                    )
                )
        return list(waiting)

    def _hang_up(self, connection: Connection) -> None:
        connection.is_open = False
        self._network.send(connection.up, partial(self._nodes[connection.up.target].lost, connection))

    # ---- answers that do not come -----------------------------------------------------------------

    def _watch(self, time_ms: int) -> None:
        self._timer_ms = time_ms
        self._schedule.at(time_ms, partial(self._fire, time_ms))

    def _fire(self, time_ms: int) -> None:
        if self._timer_ms == time_ms:
            self._process.deliver(partial(self._end_late, time_ms))

    def _end_late(self, time_ms: int) -> None:
        if self._timer_ms != time_ms:
            return
        self._timer_ms = None
        now_ms = self._schedule.now_ms
        for connection in list(self._open.values()):
            if any(exchange.deadline_ms <= now_ms for exchange in connection.waiting.values()):
                self._lose(connection, "the broker did not answer in time")
        # What the lost requests brought about may have set a timer, for the deadlines of new requests alone.
        deadlines = [
            exchange.deadline_ms
            for connection in self._open.values()
            for exchange in connection.waiting.values()
        ]
        if deadlines and (self._timer_ms is None or min(deadlines) < self._timer_ms):
            self._watch(min(deadlines))
