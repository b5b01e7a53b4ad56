"""Writes of groups' transactions: the same producer in the offsets topic and in data logs.

The id of a producer belongs to one transactional.id, which has one transaction at a time (KIP-98). From Kafka
4.0 on each transaction has an epoch of its own (KIP-890), so that id and epoch name it. Before, many have the
same, and what is of one transaction is concluded from time: a producer's transactions do not overlap, and it
hands over offsets after the records that it made of what it read.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from kgroup.history.feeds.model import Feed, FeedKind, MatchedBy, TopicWriters
from kgroup.history.timeline.model import Grade
from kgroup.log.topics.logged_transactions import LoggedTransaction
from kgroup.protocol.records.entries import TransactionOutcome

_NEVER = -1
_BEYOND = 1 << 62
_NEAREST = 8  # the number of transactions to either side looked at for one that overlaps


@dataclass(slots=True)
class _Committed:
    """The transactions of one producer that commit one group's offsets, in log order.

    An open one has ended at -1. `committed` is when its last offsets were written.
    """

    epochs: "array[int]" = field(default_factory=lambda: array("i"))
    begun: "array[int]" = field(default_factory=lambda: array("q"))
    committed: "array[int]" = field(default_factory=lambda: array("q"))
    ended: "array[int]" = field(default_factory=lambda: array("q"))
    ends_epoch: bytearray = field(default_factory=bytearray)

    def add(self, transaction: LoggedTransaction) -> None:
        self.epochs.append(transaction.producer_epoch)
        self.begun.append(transaction.begun_ms)
        self.committed.append(transaction.written_ms)
        self.ended.append(_NEVER if transaction.ended_ms is None else transaction.ended_ms)
        self.ends_epoch.append(transaction.ends_epoch)

    def match(self, transaction: LoggedTransaction) -> tuple[int, MatchedBy] | None:
        """The number of the one that is this one, which was found in another log, and how that is known."""
        first = bisect_left(self.epochs, transaction.producer_epoch)
        behind = bisect_right(self.epochs, transaction.producer_epoch)
        if first == behind:
            return None
        last = behind - 1
        if transaction.ended_ms is None:
            # Of a producer's transactions only the last can be open.
            return (last, MatchedBy.EPOCH) if self.ended[last] == _NEVER else None
        if transaction.ends_epoch and first == last and self.ends_epoch[last]:
            return last, MatchedBy.EPOCH
        if transaction.ends_epoch:
            # Fenced, or of clients of before KIP-890: what ended the epoch is the last of many.
            first = last
        near = bisect_left(self.ended, transaction.ended_ms, first, behind)
        matched = [
            (abs(self._ended_ms(number) - transaction.ended_ms), number)
            for number in range(max(near - _NEAREST, first), min(near + _NEAREST, behind))
            # A client may begin the next one before the markers of the last are written, not before it was
            # told to end that, so the marker's time is no bound.
            if self.begun[number] <= transaction.ended_ms and transaction.begun_ms <= self.committed[number]
        ]
        return (min(matched)[1], MatchedBy.TIME) if matched else None

    def _ended_ms(self, number: int) -> int:
        return _BEYOND if self.ended[number] == _NEVER else self.ended[number]


@dataclass(slots=True)
class _Written:
    """Records that a group's producers wrote to a topic.

    `counted` has a byte for each transaction of each producer, 1 once it is counted: it may have written to
    several partitions. `beside` is by partition.
    """

    partitions: set[int] = field(default_factory=set)
    counted: dict[int, bytearray] = field(default_factory=dict)
    by_outcome: dict[TransactionOutcome, int] = field(
        default_factory=lambda: dict.fromkeys(TransactionOutcome, 0)
    )
    beside: Counter[int] = field(default_factory=Counter)
    producer_ids: set[int] = field(default_factory=set)
    records: int = 0
    first_ms: int | None = None
    last_ms: int | None = None
    by_time: bool = False

    def add(self, partition: int, transaction: LoggedTransaction, number: int, by: MatchedBy) -> None:
        self.partitions.add(partition)
        self.producer_ids.add(transaction.producer_id)
        self.by_time = self.by_time or by is MatchedBy.TIME
        if transaction.outcome is TransactionOutcome.COMMITTED:
            self.records += transaction.records
        counted = self.counted.setdefault(transaction.producer_id, bytearray())
        if len(counted) <= number:
            counted.extend(bytes(number + 1 - len(counted)))
        if not counted[number]:
            counted[number] = 1
            self.by_outcome[transaction.outcome] += 1
        if transaction.ended_ms is not None and transaction.outcome is TransactionOutcome.COMMITTED:
            self.first_ms = min(transaction.ended_ms, self.first_ms or transaction.ended_ms)
            self.last_ms = max(transaction.ended_ms, self.last_ms or transaction.ended_ms)

    def add_beside(self, partition: int, transaction: LoggedTransaction) -> None:
        self.beside[partition] += 1
        self.producer_ids.add(transaction.producer_id)

    def feed(self, group: str, topic: str) -> Feed:
        is_seen = bool(self.partitions)
        matched_by = MatchedBy.TIME if self.by_time else MatchedBy.EPOCH
        return Feed(
            group=group,
            topic=topic,
            kind=FeedKind.WRITES,
            grade=Grade.RECORDED if is_seen else Grade.INFERRED,
            partitions=tuple(sorted(self.partitions or self.beside)),
            transactions=self.by_outcome[TransactionOutcome.COMMITTED],
            aborted=self.by_outcome[TransactionOutcome.ABORTED],
            open=self.by_outcome[TransactionOutcome.PENDING],
            beside=max(self.beside.values(), default=0),
            records=self.records,
            first_ms=self.first_ms,
            last_ms=self.last_ms,
            producer_ids=tuple(sorted(self.producer_ids)),
            matched_by=matched_by if is_seen else None,
        )


class FeedFinder:
    """Takes first all transactions of the offsets topic, then those of data logs.

    Grades: an edge is recorded if the same transaction commits and writes. It is inferred if the same
    producer does both and never in one transaction.
    """

    def __init__(self) -> None:
        self._committed: dict[int, dict[str, _Committed]] = {}
        self._written: dict[tuple[str, str], _Written] = {}
        self._writers: dict[str, TopicWriters] = {}

    def add_commits(self, transaction: LoggedTransaction, groups: Iterable[str]) -> None:
        """A transaction in the offsets topic, and the groups whose offsets it commits."""
        of_producer = self._committed.setdefault(transaction.producer_id, {})
        for group in groups:
            of_producer.setdefault(group, _Committed()).add(transaction)

    @property
    def groups(self) -> set[str]:
        """The groups that commit in transactions."""
        return {group for of_producer in self._committed.values() for group in of_producer}

    def add_written(self, topic: str, partition: int, transaction: LoggedTransaction) -> None:
        """A transaction in the log of a data topic's partition."""
        is_a_groups = False
        for group, committed in self._committed.get(transaction.producer_id, {}).items():
            written = self._written.setdefault((group, topic), _Written())
            matched = committed.match(transaction)
            if matched is None:
                written.add_beside(partition, transaction)
            else:
                is_a_groups = True
                written.add(partition, transaction, *matched)
        so_far = self._writers_of(topic)
        if is_a_groups:
            self._writers[topic] = replace(so_far, by_groups=so_far.by_groups + transaction.records)
        else:
            self._writers[topic] = replace(so_far, in_others=so_far.in_others + transaction.records)

    def add_outside(self, topic: str, records: int) -> None:
        """Records of a partition that were written outside of transactions."""
        so_far = self._writers_of(topic)
        self._writers[topic] = replace(so_far, outside=so_far.outside + records)

    def feeds(self) -> Iterator[Feed]:
        """The edges from groups to topics, by group and topic."""
        for (group, topic), written in sorted(self._written.items()):
            yield written.feed(group, topic)

    def writers(self) -> tuple[TopicWriters, ...]:
        """The writers of the records in each examined topic's log, by topic."""
        return tuple(writers for _, writers in sorted(self._writers.items()))

    def _writers_of(self, topic: str) -> TopicWriters:
        return self._writers.get(topic) or TopicWriters(topic=topic)
