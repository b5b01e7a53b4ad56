"""One broker node: a request in, its answer out, now or when the time has come."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kgroup.broker import admin_apis, data_apis, group_apis, log_offset_apis, offset_apis, transaction_apis
from kgroup.broker.api_table import APIS
from kgroup.broker.cluster import Cluster
from kgroup.broker.fetching import FetchWaits
from kgroup.broker.wire import Call, read_call

Handler = Callable[["BrokerNode", Call, int], None]

_HANDLERS: Final[dict[int, Handler]] = {
    **group_apis.HANDLERS,
    **offset_apis.HANDLERS,
    **data_apis.HANDLERS,
    **log_offset_apis.HANDLERS,
    **transaction_apis.HANDLERS,
    **admin_apis.HANDLERS,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What to send for the request with this token: a frame, or nothing (a produce without acks)."""

    token: int
    frame: bytes | None


class BrokerNode:
    """A node of a cluster. Pure: `handle` takes a request and the time, `answers` collects what to send.

    Call `Cluster.flush` before sending anything: an answer in `answers` may rest on records that only
    the flush writes.
    """

    def __init__(self, node_id: int, cluster: Cluster, waits: FetchWaits) -> None:
        self.node_id = node_id
        self.cluster = cluster
        self.waits = waits
        self.answers: list[Answer] = []

    def read(self, frame: bytes, token: int, client_host: str) -> Call:
        """The request in a frame. Raises BadRequestError if its connection has to close."""
        return read_call(frame, token, client_host, APIS)

    def handle(self, call: Call, now_ms: int) -> None:
        """Answer a request, or let it wait. Raises BadRequestError if its connection has to close."""
        if call.body is None:
            self.answer(call, admin_apis.unsupported_api_versions())
            return
        _HANDLERS[call.api_key](self, call, now_ms)

    def answer(self, call: Call, body: Any) -> None:
        """Encode the answer to a call and queue it for sending."""
        frame = APIS[call.api_key].encode(body, call.version, call.correlation_id)
        self.answers.append(Answer(call.token, frame))

    def no_answer(self, call: Call) -> None:
        """The call is done and its client expects nothing."""
        self.answers.append(Answer(call.token, None))

    def take_answers(self) -> list[Answer]:
        """Everything to send, oldest first."""
        answers, self.answers = self.answers, []
        return answers


assert set(_HANDLERS) == set(APIS), "an api without a handler, or the other way round"
