"""One broker node: a request in, its answer out, now or when the time has come."""

from dataclasses import dataclass
from typing import Any

from kgroup.broker.cluster import Cluster
from kgroup.broker.fetching import FetchWaits
from kgroup.wire.apis import APIS
from kgroup.wire.frames import NOBODY_SPECIAL, Call, Sender, read_call


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the request with this token: a frame, or nothing (a produce without acks)."""

    token: int
    frame: bytes | None


class BrokerNode:
    """A node of a cluster. Pure: `dispatch.handle` brings a request and the time, `answers` collects answers.

    Flush the cluster's coordinators before sending anything: an answer in `answers` may rest on records
    that only the flush writes.
    """

    def __init__(self, node_id: int, cluster: Cluster, waits: FetchWaits) -> None:
        self.node_id = node_id
        self.cluster = cluster
        self.waits = waits
        self.answers: list[Answer] = []

    def read(self, frame: bytes, token: int, client_host: str, sender: Sender = NOBODY_SPECIAL) -> Call:
        """The request in a frame. Raises BadRequestError if its connection has to close."""
        return read_call(frame, token, client_host, APIS, sender)

    def answer(self, call: Call, body: Any) -> None:
        """Encode the answer to a call and queue it for sending."""
        if call.amend is not None:
            body = call.amend(body)
        frame = APIS[call.api_key].encode(body, call.version, call.correlation_id)
        self.answers.append(Answer(call.token, frame))

    def no_answer(self, call: Call) -> None:
        """The call is done and its client expects nothing."""
        self.answers.append(Answer(call.token, None))

    def take_answers(self) -> list[Answer]:
        """Everything to send, oldest first."""
        answers, self.answers = self.answers, []
        return answers
