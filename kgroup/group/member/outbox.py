"""Requests in flight: their ids, their nodes, and when to retry."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from kgroup.group.member.settings import MemberSettings
from kgroup.group.member.step import MemberTurn, Send
from kgroup.protocol.requests.client import MemberRequest, Node

COORDINATOR_CONNECTION: Final = 2147483647
"""Less the coordinator's node id, this is the id of its connection (Kafka: AbstractCoordinator)."""

NEVER_MS: Final = 1 << 62
"""The deadline of what waits for no time."""

_GROWTH: Final = 2
_JITTER: Final = 0.2


class Backoff:
    """Retry times for one kind of request: doubling pauses, each up to a fifth longer or shorter (KIP-144).

    `random` gives numbers in [0, 1).
    """

    def __init__(self, settings: MemberSettings, random: Callable[[], float]) -> None:
        self._settings = settings
        self._random = random
        self._failures = 0
        self.ready_ms = 0

    def failed(self, now_ms: int) -> None:
        """Pause, longer each time."""
        # 2 to the 20th is beyond any maximum, and stays a number that is quick to make.
        pause = min(
            self._settings.retry_backoff_ms * _GROWTH ** min(self._failures, 20),
            self._settings.retry_backoff_max_ms,
        )
        self._failures += 1
        self.ready_ms = now_ms + int(pause * (1 - _JITTER + 2 * _JITTER * self._random()))

    def succeeded(self) -> None:
        """The next failure pauses for the shortest time again."""
        self._failures = 0
        self.ready_ms = 0

    def is_ready(self, now_ms: int) -> bool:
        """Whether the pause is over."""
        return now_ms >= self.ready_ms


@dataclass(slots=True)
class InFlight:
    """A request without its answer. `abandoned`: whatever comes back changes nothing any more."""

    node_id: int
    connection_id: int
    body: MemberRequest
    abandoned: bool = False


class Outbox:
    """Gives requests their ids and connections, and remembers them until they end."""

    def __init__(self, settings: MemberSettings, random: Callable[[], float]) -> None:
        self.settings = settings
        self.turn = MemberTurn()
        self._random = random
        self._in_flight: dict[int, InFlight] = {}
        self._next_id = 0
        self._cut_off: list[int] = []

    def backoff(self) -> Backoff:
        """A back-off of its own for one subject."""
        return Backoff(self.settings, self._random)

    def send(
        self, body: MemberRequest, node: Node, *, coordinator: bool = False, timeout_ms: int | None = None
    ) -> int:
        """Send in this turn; returns the request's id."""
        request_id = self._next_id
        self._next_id += 1
        connection_id = COORDINATOR_CONNECTION - node.node_id if coordinator else node.node_id
        self._in_flight[request_id] = InFlight(node.node_id, connection_id, body)
        self.turn.requests.append(
            Send(
                request_id=request_id,
                connection_id=connection_id,
                host=node.host,
                port=node.port,
                timeout_ms=self.settings.request_timeout_ms if timeout_ms is None else timeout_ms,
                body=body,
            )
        )
        return request_id

    def take(self, request_id: int) -> InFlight | None:
        """The request that ended; None if nobody waits for it."""
        ended = self._in_flight.pop(request_id, None)
        return None if ended is None or ended.abandoned else ended

    def disconnect(self, connection_id: int) -> None:
        """Close a connection in this turn; what is in flight there fails in it (`next_cut_off`)."""
        self.turn.disconnects.append(connection_id)
        self._cut_off.extend(
            number for number, each in self._in_flight.items() if each.connection_id == connection_id
        )

    def next_cut_off(self) -> int | None:
        """The id of a request whose connection the member has closed, once each."""
        return self._cut_off.pop(0) if self._cut_off else None

    def is_under_way(self, request_id: int | None) -> bool:
        """Whether the request has neither an answer nor failed."""
        return request_id in self._in_flight

    def abandon(self, request_id: int | None) -> None:
        """Stop waiting for this answer."""
        if request_id is not None and request_id in self._in_flight:
            self._in_flight[request_id].abandoned = True

    def least_loaded(self, nodes: Collection[Node]) -> Node:
        """The node with the fewest requests in flight; among equals, one by chance."""
        load = dict.fromkeys((node.node_id for node in nodes), 0)
        for request in self._in_flight.values():
            if request.node_id in load:
                load[request.node_id] += 1
        least = min(load.values())
        candidates = sorted(
            (node for node in nodes if load[node.node_id] == least), key=lambda node: node.node_id
        )
        return candidates[int(self._random() * len(candidates))]
