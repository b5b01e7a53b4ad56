"""The inputs and outputs of a coordinator.

Tuples where one is made for every request: a frozen dataclass takes four times as long to make.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kgroup.group.coordinator.events import GroupEvent
from kgroup.protocol.records.entries import OffsetsEntry, TransactionMarker
from kgroup.protocol.requests.coordinator import ReplyBody, RequestBody

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


class Request(NamedTuple):
    """A request and who sent it. `id` is the sender's own; the reply carries it back."""

    id: int
    body: RequestBody
    client_id: str = ""
    client_host: str = ""


class Reply(NamedTuple):
    """The answer to the request with this id."""

    request_id: int
    body: ReplyBody


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsRecord:
    """One record to append to the offsets partition.

    With a `producer_id` it belongs to that producer's transaction. Consecutive records of the same
    producer may share a batch; a marker has a control batch to itself.
    """

    entry: OffsetsEntry | TransactionMarker
    timestamp_ms: int
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class Step(NamedTuple):
    """The outcome of one request or one passing of time.

    Append `append` to the log, in order, before sending `replies`, which may answer requests parked
    by earlier steps.
    """

    append: tuple[OffsetsRecord, ...] = ()
    replies: tuple[Reply, ...] = ()
    events: tuple[GroupEvent, ...] = ()


_NOTHING: Final = Step()


@dataclass(slots=True)
class Turn:
    """A step in the making: the rules add to it as they decide."""

    now_ms: int = 0
    records: list[OffsetsRecord] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    events: list[GroupEvent] = field(default_factory=list)

    def reply(self, request_id: int, body: ReplyBody) -> None:
        """Answer a request."""
        self.replies.append(Reply(request_id=request_id, body=body))

    def finish(self) -> Step:
        """The step, and a clean slate."""
        if not (self.records or self.replies or self.events):
            return _NOTHING
        step = Step(append=tuple(self.records), replies=tuple(self.replies), events=tuple(self.events))
        self.records, self.replies, self.events = [], [], []
        return step
