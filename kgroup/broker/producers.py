"""A partition's memory of its producers: sequences, open transactions, aborted ones (KIP-98)."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kgroup.log.format.batch_header import BatchHeader
from kgroup.protocol.error_codes import ErrorCode

NO_PRODUCER: Final = -1
NO_SEQUENCE: Final = -1
_SEQUENCE_RANGE: Final = 1 << 31
_REMEMBERED_BATCHES: Final = 5  # as many as a producer may have in flight


class AppendedBatch(NamedTuple):
    """A batch that a producer may send again when the answer was lost."""

    base_sequence: int
    last_sequence: int
    base_offset: int


class AbortedTransaction(NamedTuple):
    """Records of `producer_id` from `first_offset` up to its marker at `last_offset` do not count."""

    producer_id: int
    first_offset: int
    last_offset: int


class SequenceCheck(NamedTuple):
    """Either an error, or the offset that this very batch got before, or neither: append it."""

    error: ErrorCode = ErrorCode.NONE
    duplicate_offset: int | None = None


@dataclass(slots=True)
class Producer:
    """One producer id on one partition."""

    epoch: int
    batches: deque[AppendedBatch] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_BATCHES))
    transaction_start: int | None = None


class Producers:
    """All producers of one partition, rebuilt from the log's batch headers."""

    def __init__(self) -> None:
        self._producers: dict[int, Producer] = {}
        self.aborted: list[AbortedTransaction] = []

    def check(self, header: BatchHeader) -> SequenceCheck:
        """Whether a producer's batch is the next one, an old one again, or out of turn."""
        if header.producer_id == NO_PRODUCER:
            return SequenceCheck()
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return SequenceCheck()
        if header.producer_epoch < producer.epoch:
            return SequenceCheck(ErrorCode.INVALID_PRODUCER_EPOCH)
        if header.base_sequence == NO_SEQUENCE:
            return SequenceCheck()
        if header.producer_epoch > producer.epoch:
            first = header.base_sequence == 0
            return SequenceCheck(ErrorCode.NONE if first else ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        last_sequence = _last_sequence(header)
        for batch in producer.batches:
            if batch.base_sequence == header.base_sequence and batch.last_sequence == last_sequence:
                return SequenceCheck(duplicate_offset=batch.base_offset)
        # A producer that a marker alone has made known begins its epoch at 0.
        expected = (producer.batches[-1].last_sequence + 1) % _SEQUENCE_RANGE if producer.batches else 0
        if header.base_sequence != expected:
            return SequenceCheck(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        return SequenceCheck()

    def appended(self, header: BatchHeader) -> None:
        """Take note of a batch that is in the log, except of markers."""
        if header.producer_id == NO_PRODUCER:
            return
        producer = self._at_epoch(header)
        if header.base_sequence != NO_SEQUENCE:
            producer.batches.append(
                AppendedBatch(header.base_sequence, _last_sequence(header), header.base_offset)
            )
        if header.transactional and producer.transaction_start is None:
            producer.transaction_start = header.base_offset

    def ended(self, header: BatchHeader, *, committed: bool) -> None:
        """Take note of a marker that is in the log."""
        producer = self._at_epoch(header)
        if producer.transaction_start is not None and not committed:
            aborted = AbortedTransaction(header.producer_id, producer.transaction_start, header.base_offset)
            self.aborted.append(aborted)
        producer.transaction_start = None

    def last_stable_offset(self, end_offset: int) -> int:
        """The first offset of the oldest open transaction, or the end of the log."""
        starts = [
            producer.transaction_start
            for producer in self._producers.values()
            if producer.transaction_start is not None
        ]
        return min(starts, default=end_offset)

    def aborted_between(self, start_offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Aborted transactions that overlap the offsets from `start_offset` up to `end_offset`."""
        return [
            aborted
            for aborted in self.aborted
            if aborted.last_offset >= start_offset and aborted.first_offset < end_offset
        ]

    def _at_epoch(self, header: BatchHeader) -> Producer:
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._producers[header.producer_id] = Producer(header.producer_epoch)
        elif producer.epoch != header.producer_epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        return producer


def _last_sequence(header: BatchHeader) -> int:
    return (header.base_sequence + header.last_offset_delta) % _SEQUENCE_RANGE
