"""The inputs and outputs of a coordinator.

Tuples where one is made for every request: a frozen dataclass takes four times as long to make.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from kgroup.group.coordinator.events import GroupEvent
from kgroup.protocol.records.entries import OffsetsEntry, RecordType, TransactionMarker
from kgroup.protocol.records.keys import OffsetCommitKey
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.protocol.requests.coordinator import CommitPartition, ReplyBody, RequestBody

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


class CommitRun(NamedTuple):
    """Commits of one request to one topic: as many records as there are partitions, in their order.

    They are kept together on their way to the log, where most records are commits: an object for each would
    take longer than all else. `expire_timestamp` is -1 except for clients that set a retention of their own.
    """

    group: str
    topic: str
    topic_id: UUID | None
    partitions: Sequence[CommitPartition]
    timestamp_ms: int
    expire_timestamp: int = -1
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH

    def records(self) -> Iterator[OffsetsRecord]:
        """The same, each by itself."""
        # Kafka 4.3: version 4 knows the topic id, and only version 1 can say when the offset expires.
        version = 4 if self.expire_timestamp == -1 else 1
        for partition, offset, leader_epoch, metadata in self.partitions:
            yield OffsetsRecord(
                entry=OffsetsEntry(
                    type=RecordType.OFFSET_COMMIT,
                    key=OffsetCommitKey(group=self.group, topic=self.topic, partition=partition),
                    value=OffsetCommitValue(
                        offset=offset,
                        leader_epoch=leader_epoch if version >= 3 else -1,
                        metadata=metadata or "",
                        commit_timestamp=self.timestamp_ms,
                        expire_timestamp=self.expire_timestamp,
                        topic_id=self.topic_id if version >= 4 else None,
                    ),
                    value_version=version,
                ),
                timestamp_ms=self.timestamp_ms,
                producer_id=self.producer_id,
                producer_epoch=self.producer_epoch,
            )


class Step(NamedTuple):
    """The outcome of one request or one passing of time.

    Append `append` to the log, in order, before sending `replies`, which may answer requests parked
    by earlier steps.
    """

    append: tuple[OffsetsRecord | CommitRun, ...] = ()
    replies: tuple[Reply, ...] = ()
    events: tuple[GroupEvent, ...] = ()

    def records(self) -> Iterator[OffsetsRecord]:
        """The records to append, one by one."""
        for each in self.append:
            if isinstance(each, CommitRun):
                yield from each.records()
            else:
                yield each


_NOTHING: Final = Step()


@dataclass(slots=True)
class Turn:
    """A step in the making: the rules add to it as they decide."""

    now_ms: int = 0
    records: list[OffsetsRecord | CommitRun] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    events: list[GroupEvent] = field(default_factory=list)

    def reply(self, request_id: int, body: ReplyBody) -> None:
        """Answer a request."""
        self.replies.append(Reply(request_id, body))

    def finish(self) -> Step:
        """The step, and a clean slate."""
        if not (self.records or self.replies or self.events):
            return _NOTHING
        step = Step(tuple(self.records), tuple(self.replies), tuple(self.events))
        self.records, self.replies, self.events = [], [], []
        return step
