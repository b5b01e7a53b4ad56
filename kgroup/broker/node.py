"""One broker node: a request in, its answer out, immediately or when its time comes."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kgroup.broker.cluster import Cluster
from kgroup.broker.fetching import FetchWaits
from kgroup.broker.work import Slices
from kgroup.log.store.stretch import PIECE_BYTES, Stretch
from kgroup.wire.apis import APIS
from kgroup.wire.fetch_pieces import encode_in_pieces
from kgroup.wire.frames import NOBODY_SPECIAL, Call, Sender, read_call


class Answer(NamedTuple):
    """The answer to the request with this token and number: a frame, or nothing (a produce without acks).

    A long one is a frame's beginning; `rest` follows it, of which the stretches are yet to be read.
    """

    token: int
    frame: bytes | None
    rest: tuple[bytes | Stretch, ...] = ()
    number: int = 0

    @property
    def rest_bytes(self) -> int:
        """The size of the rest."""
        return sum(piece.size if isinstance(piece, Stretch) else len(piece) for piece in self.rest)

    @property
    def held_bytes(self) -> int:
        """The bytes of it that are in memory at a time while it is sent."""
        begun = len(self.frame or b"")
        return begun + min(self.rest_bytes, PIECE_BYTES) if self.rest else begun

    def pieces(self) -> Iterator[bytes | memoryview]:
        """The rest, read as it is asked for. Raises SourceError for records that can no longer be had."""
        for piece in self.rest:
            if isinstance(piece, Stretch):
                yield from piece.pieces()
            else:
                yield piece

    def whole(self) -> bytes | None:
        """The frame with all of its rest. Raises SourceError."""
        return self.frame if self.frame is None else b"".join([self.frame, *self.pieces()])


def raise_fault(call: Call, error: Exception) -> None:
    """A node's default reaction to a fault of kgroup's own."""
    raise error


class BrokerNode:
    """A node of a cluster. Pure: `dispatch.handle` brings a request and the time, `answers` collects answers.

    `on_fault` is handed what went wrong, by a fault of kgroup's own, on the way to the answer of a request
    that has waited: it gets no answer, and everyone else continues. Tests and simulations want to see it.

    Flush the cluster's coordinators before sending anything: an answer in `answers` may rest on records
    that only the flush writes.
    """

    def __init__(
        self,
        node_id: int,
        cluster: Cluster,
        waits: FetchWaits,
        on_fault: Callable[[Call, Exception], None] = raise_fault,
    ) -> None:
        self.node_id = node_id
        self.cluster = cluster
        self.waits = waits
        self.answers: list[Answer] = []
        self.on_fault = on_fault
        waits.on_fault = on_fault
        self.queued_bytes = 0
        self.has_room: Callable[[], bool] = lambda: True
        """Whether answers with records may be made now: not while clients leave too many of them unread."""
        self._unreadable: set[tuple[str, int]] = set()

    def read(
        self, frame: bytes, token: int, client_host: str, sender: Sender = NOBODY_SPECIAL, number: int = 0
    ) -> Call:
        """The request in a frame. Raises BadRequestError if its connection has to close."""
        return read_call(frame, token, client_host, APIS, sender, number)

    def answer(self, call: Call, body: Any) -> None:
        """Encode the answer to a call and queue it for sending."""
        if call.amend is not None:
            body = call.amend(body)
        frame = APIS[call.api_key].encode(body, call.version, call.correlation_id)
        self.answers.append(Answer(call.token, frame, number=call.number))
        self.queued_bytes += len(frame)

    def answer_with_records(self, call: Call, body: Any) -> None:
        """Queue a long answer to a Fetch, whose records are stretches, read as its client takes them."""
        if call.amend is not None:
            body = call.amend(body)
        frame, rest = encode_in_pieces(APIS[call.api_key], body, call.version, call.correlation_id)
        answer = Answer(call.token, frame, rest, call.number)
        self.answers.append(answer)
        self.queued_bytes += answer.held_bytes

    def answer_later(self, call: Call, answer: Callable[[], None]) -> None:
        """Run `answer`, which answers a request that has waited: its faults are its own (see `on_fault`)."""
        try:
            answer()
        except Exception as error:  # whatever it is, others wait for their answers, too
            self.on_fault(call, error)

    def answer_in_slices(self, call: Call, work: Slices[None]) -> None:
        """Do work at whose end the call is answered, between the requests of others (see `on_fault`)."""

        def guarded() -> Slices[None]:
            try:
                yield from work
            except Exception as error:  # as in `answer_later`
                self.on_fault(call, error)

        self.cluster.work.take(guarded())

    def cannot_read(self, topic: str, partition: int, error: Exception) -> None:
        """Say once that a log cannot be read, until it can again: its readers ask time and again."""
        if (topic, partition) not in self._unreadable:
            self._unreadable.add((topic, partition))
            self.cluster.warn(f"{topic}-{partition}: {error}")

    def could_read(self, topic: str, partition: int) -> None:
        """A log that could not be read can be again."""
        if self._unreadable:
            self._unreadable.discard((topic, partition))

    def no_answer(self, call: Call) -> None:
        """The call is done and its client expects nothing."""
        self.answers.append(Answer(call.token, None, number=call.number))

    def take_answers(self) -> list[Answer]:
        """Everything to send, oldest first."""
        answers, self.answers, self.queued_bytes = self.answers, [], 0
        return answers
