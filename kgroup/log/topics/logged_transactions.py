"""The transactions in one partition's log (KIP-98): which producer wrote what, and how each one ended.

Read from the headers of batches; of payloads only those of markers. A transaction of a producer is all of its
transactional batches up to its next marker.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from kgroup.errors import DecodeError
from kgroup.log.files.entries import decode_marker
from kgroup.log.files.headers import HeaderAt, batch_bytes, read_headers
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.format.batch import Damage, decode_batch
from kgroup.log.format.batch_header import BatchHeader
from kgroup.protocol.records.codec import decode_key
from kgroup.protocol.records.entries import TransactionMarker, TransactionOutcome
from kgroup.protocol.records.keys import group_of

_NO_PRODUCER: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTransaction:
    """One partition's records of a transaction. Times are epoch ms.

    `begun_ms` is the time of its first record there and `written_ms` the largest in its last batch, as its
    producer gave them, or of offsets the broker; `ended_ms` is the marker's, by the broker's clock.
    `marker_epoch` and `ended_ms` are None of one that is open. Offsets are those of its first and last
    record, `records` how many it has, `ended_at` the marker's offset.
    """

    producer_id: int
    producer_epoch: int
    marker_epoch: int | None
    outcome: TransactionOutcome
    first_offset: int
    last_offset: int
    records: int
    begun_ms: int
    written_ms: int
    ended_ms: int | None
    ended_at: int | None

    @property
    def ends_epoch(self) -> bool:
        """Whether its end raised its producer's epoch, so that no other transaction of the cluster has both
        its producer id and its epoch.

        So it is of transactions of the second version (KIP-890; Kafka 4.0), and of those that a coordinator
        aborted for a producer that was fenced or too late.
        """
        return self.marker_epoch is not None and self.marker_epoch > self.producer_epoch


@dataclass(slots=True)
class _Open:
    producer_epoch: int
    first_offset: int
    begun_ms: int
    last_offset: int = -1
    records: int = 0
    written_ms: int = -1

    def ended(
        self,
        producer_id: int,
        outcome: TransactionOutcome = TransactionOutcome.PENDING,
        *,
        marker_epoch: int | None = None,
        ended_ms: int | None = None,
        ended_at: int | None = None,
    ) -> LoggedTransaction:
        return LoggedTransaction(
            producer_id=producer_id,
            producer_epoch=self.producer_epoch,
            marker_epoch=marker_epoch,
            outcome=outcome,
            first_offset=self.first_offset,
            last_offset=self.last_offset,
            records=self.records,
            begun_ms=self.begun_ms,
            written_ms=self.written_ms,
            ended_ms=ended_ms,
            ended_at=ended_at,
        )


class TransactionReader:
    """The transactions of one partition, made from its batches in log order."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self.outside = 0
        """Records outside transactions: who wrote them no log tells."""
        self.newest_ms = _NO_PRODUCER
        """The largest time of a record, epoch ms; -1 without any."""
        self.longest_gap_ms: int | None = None
        """The longest time from a batch to the next newer one; None without two."""

    def add(
        self, header: BatchHeader, marker: Callable[[], TransactionMarker | None]
    ) -> LoggedTransaction | None:
        """Take the next batch; return the transaction that it ends. `marker` reads a control batch.

        A marker of a producer that wrote nothing here since its last one ends nothing: the log may begin
        behind the transaction, or its records were compacted away.
        """
        if header.control:
            return self._end(header, marker())
        if header.max_timestamp_ms > self.newest_ms:
            if self.newest_ms >= 0:
                gap_ms = header.max_timestamp_ms - self.newest_ms
                self.longest_gap_ms = max(gap_ms, self.longest_gap_ms or 0)
            self.newest_ms = header.max_timestamp_ms
        if not header.transactional or header.producer_id == _NO_PRODUCER:
            self.outside += header.records
            return None
        begun = self._open.get(header.producer_id)
        if begun is None:
            # The cleaner may put a delete horizon, which is later, into the base timestamp (KIP-534).
            begun_ms = min(header.base_timestamp_ms, header.max_timestamp_ms)
            begun = _Open(header.producer_epoch, header.base_offset, begun_ms)
            self._open[header.producer_id] = begun
        begun.last_offset = header.last_offset
        begun.records += header.records
        begun.written_ms = header.max_timestamp_ms
        return None

    def still_open(self) -> Iterator[LoggedTransaction]:
        """The transactions that no marker ended, by producer id."""
        for producer_id, begun in sorted(self._open.items()):
            yield begun.ended(producer_id)

    def _end(self, header: BatchHeader, marker: TransactionMarker | None) -> LoggedTransaction | None:
        begun = None if marker is None else self._open.pop(header.producer_id, None)
        if marker is None or begun is None:
            return None
        return begun.ended(
            header.producer_id,
            TransactionOutcome.COMMITTED if marker.committed else TransactionOutcome.ABORTED,
            marker_epoch=header.producer_epoch,
            ended_ms=header.max_timestamp_ms,
            ended_at=header.base_offset,
        )


def logged_transactions(
    segments: Iterable[SegmentFile],
    reader: TransactionReader,
    *,
    from_offset: int = 0,
    seen: Callable[[SegmentFile, HeaderAt], None] = lambda segment, at: None,
) -> Iterator[LoggedTransaction | Damage]:
    """The transactions of a partition's segments, given in order, as they end, and then the open ones.

    Batches before `from_offset`, the log's start, are left out. `seen` is called with every transactional
    batch of data. Raises SourceError if a file cannot be read.
    """
    for segment in segments:
        for item in read_headers(segment.path):
            if isinstance(item, Damage):
                yield item
                continue
            if item.header.last_offset < from_offset:
                continue
            if item.header.transactional and not item.header.control:
                seen(segment, item)
            ended = reader.add(item.header, partial(read_marker, segment.path, item))
            if ended is not None:
                yield ended
    yield from reader.still_open()


class GroupsTransaction(NamedTuple):
    """A transaction in a partition of the offsets topic, and the groups whose offsets it commits."""

    transaction: LoggedTransaction
    groups: frozenset[str]


def offsets_transactions(segments: Iterable[SegmentFile]) -> Iterator[GroupsTransaction | Damage]:
    """The transactions of one partition of the offsets topic. Raises SourceError if a file cannot be read."""
    groups: defaultdict[int, set[str]] = defaultdict(set)
    damaged: list[Damage] = []

    def seen(segment: SegmentFile, at: HeaderAt) -> None:
        try:
            records = decode_batch(batch_bytes(segment.path, at), at.position).records()
        except DecodeError as error:
            why = f"{error.field}: {error.why}"
            damaged.append(Damage(segment=segment.path, position=at.position, size=at.header.size, why=why))
            return
        keys = (decode_key(record.key) for record in records if record.key is not None)
        groups[at.header.producer_id].update(group_of(key) for _, key in filter(None, keys))

    for item in logged_transactions(segments, TransactionReader(), seen=seen):
        yield from damaged
        damaged.clear()
        if isinstance(item, Damage):
            yield item
        else:
            yield GroupsTransaction(item, frozenset(groups.pop(item.producer_id, ())))
    yield from damaged


def read_marker(path: str, at: HeaderAt) -> TransactionMarker | None:
    """The marker in a control batch; None if it holds another control record, or is damaged."""
    try:
        batch = decode_batch(batch_bytes(path, at), at.position)
        markers = [decode_marker(batch, record) for record in batch.records()]
    except DecodeError:
        return None
    return next((marker for marker in markers if isinstance(marker, TransactionMarker)), None)
