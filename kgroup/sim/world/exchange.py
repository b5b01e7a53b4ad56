"""Requests and answers between a member and a node of the world: as values, or through the wire's codec."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kgroup.broker.direct import DirectAnswer, DirectRequest
from kgroup.protocol.requests.client import MemberRequest, MemberResponse, Metadata
from kgroup.sim.world.network import Stream
from kgroup.wire.apis import APIS
from kgroup.wire.frames import Call
from kgroup.wire.member_requests import API_KEYS, api_of, choose_version, write_request
from kgroup.wire.member_responses import read_response

_LENGTH_BYTES: Final = 4


@dataclass(eq=False, slots=True, kw_only=True)
class Exchange:
    """A request on its way and what its answer needs; `frame` is None if it travels as a value.

    `is_taken`: a node has had it in hand; if it comes once more, it is a copy.
    """

    request_id: int
    body: MemberRequest
    deadline_ms: int
    version: int = 0
    frame: bytes | None = None
    response_class: Any = None
    is_taken: bool = False


def begin_exchange(
    request_id: int, body: MemberRequest, client_id: str, deadline_ms: int, *, codec: bool
) -> Exchange:
    """A request to send. Only some requests can travel as values; with `codec` none does."""
    exchange = Exchange(request_id=request_id, body=body, deadline_ms=deadline_ms)
    if codec or not isinstance(body, DirectRequest | Metadata):
        write(exchange, client_id)
    return exchange


def write(exchange: Exchange, client_id: str) -> None:
    """Give a request its frame."""
    api = APIS[API_KEYS[api_of(exchange.body)]]
    exchange.version = choose_version(api.name, api.lowest, api.highest)
    request = write_request(exchange.body, exchange.version)
    request.with_header(exchange.request_id, client_id)
    exchange.frame = bytes(request.encode(header=True, framed=True))[_LENGTH_BYTES:]
    exchange.response_class = request.header.get_response_class()


def read_answer(exchange: Exchange, answer: DirectAnswer | MemberResponse | bytes) -> MemberResponse:
    """The answer as a value."""
    if not isinstance(answer, bytes):
        assert isinstance(answer, MemberResponse)
        return answer
    body = exchange.response_class.decode(answer[_LENGTH_BYTES:], version=exchange.version, header=True)
    return read_response(exchange.body, exchange.version, body)


class Client(Protocol):
    """The owner of connections to nodes: a member's process."""

    def answered(
        self, connection: "Connection", exchange: Exchange, answer: DirectAnswer | MemberResponse | bytes
    ) -> None:
        """An answer has come."""

    def reset(self, connection: "Connection") -> None:
        """Called when the other end is gone."""


@dataclass(eq=False, slots=True, kw_only=True)
class Connection:
    """One client's connection to one node, with what each end knows of it; `call` says who the client is.

    The client: `waiting` requests in their order, and whether it `is_open` for it. The node: the `queue` of
    requests behind the one in hand (`busy`), and for which of its processes the connection was made.
    """

    client: "Client"
    call: Call
    up: Stream
    down: Stream
    is_open: bool = True
    waiting: dict[int, Exchange] = field(default_factory=dict)
    process: int | None = None
    queue: deque[Exchange] = field(default_factory=deque)
    busy: Exchange | None = None


def connect(client: Client, names: tuple[str, str], token: int, client_id: str, address: str) -> Connection:
    """A new connection; `names` are the client's and the node's on the network."""
    mine, theirs = names
    call = Call(
        token=token,
        api_key=-1,
        version=-1,
        correlation_id=-1,
        client_id=client_id,
        client_host=address,
        body=None,
    )
    return Connection(client=client, call=call, up=Stream(mine, theirs), down=Stream(theirs, mine))
