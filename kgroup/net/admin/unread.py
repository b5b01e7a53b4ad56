"""The first unread records in a live cluster's topics, by a fetch at each committed offset."""

import io
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from kafka.protocol.consumer import FetchRequest

from kgroup.errors import SourceError
from kgroup.log.files.entries import decode_marker
from kgroup.log.files.segment import read_stream
from kgroup.log.format.batch import Batch, Damage
from kgroup.log.topics.unread import PlacedBatch, first_data
from kgroup.net.admin.cluster import Cluster, error_name
from kgroup.net.admin.raw_logs import whole_batches
from kgroup.protocol.log_listing import FirstUnread
from kgroup.protocol.records.entries import TransactionMarker, TransactionOutcome
from kgroup.protocol.requests.client import READ_COMMITTED, READ_UNCOMMITTED

_PARTITIONS_AT_ONCE: Final = 100
_PARTITION_BYTES: Final = 64 * 1024  # some batches, as a rule
_ANSWER_BYTES: Final = 16 * 1024 * 1024
_NOT_LEADER: Final = 6
_TRIES: Final = 8
_PAUSE_S: Final = 0.25


class UnreadPlace(NamedTuple):
    """The start of the unread part of a partition: a committed offset, not before the log's start."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadAnswers:
    """The first data record at or after each start, None if there is none up to the high watermark.

    A start whose record could not be fetched has no answer, and a line in `problems` says why.
    """

    records: Mapping[UnreadPlace, FirstUnread | None]
    problems: tuple[str, ...]


def fetch_first_unread(
    cluster: Cluster, starts: Collection[UnreadPlace], sleep: Callable[[float], None] = time.sleep
) -> UnreadAnswers:
    """Fetch at every start, many partitions at once. Raises SourceError if the cluster does not answer."""
    records: dict[UnreadPlace, FirstUnread | None] = {}
    problems: list[str] = []
    queues: dict[tuple[str, int], list[UnreadPlace]] = {}
    for start in sorted(set(starts), reverse=True):
        queues.setdefault((start.topic, start.partition), []).append(start)
    partitions = sorted(queues)
    for first in range(0, len(partitions), _PARTITIONS_AT_ONCE):
        chunk = {
            partition: queues[partition] for partition in partitions[first : first + _PARTITIONS_AT_ONCE]
        }
        _Chunk(cluster, chunk, records, problems, sleep).run()
    return UnreadAnswers(records=records, problems=tuple(problems))


@dataclass(slots=True)
class _Search:
    """The search from one start: its position, and how its next request goes out."""

    start: UnreadPlace
    position: int
    read_committed: bool = True
    alone: bool = False
    tries: int = _TRIES


@dataclass(slots=True)
class _Chunk:
    """The starts in some partitions, each partition's in a queue whose next is its last."""

    cluster: Cluster
    queues: dict[tuple[str, int], list[UnreadPlace]]
    records: dict[UnreadPlace, FirstUnread | None]
    problems: list[str]
    sleep: Callable[[float], None]
    searches: dict[tuple[str, int], _Search] = field(default_factory=dict)
    moving: bool = False

    def run(self) -> None:
        for partition in self.queues:
            self._begin_next(partition)
        while self.searches:
            self._round()

    def _begin_next(self, partition: tuple[str, int]) -> None:
        self.searches.pop(partition, None)
        if self.queues[partition]:
            start = self.queues[partition].pop()
            self.searches[partition] = _Search(start, start.offset)

    def _round(self) -> None:
        """Ask once for every partition that has a search; each of them gets on, or uses up a try."""
        leaders = self.cluster.leaders({topic for topic, _ in self.searches})
        by_leader: dict[int, list[_Search]] = {}
        for partition, search in list(self.searches.items()):
            if partition in leaders:
                by_leader.setdefault(leaders[partition], []).append(search)
            else:
                self._give_up(search, "no leader, or it may not be seen")
        for leader, searches in sorted(by_leader.items()):
            in_company = [search for search in searches if not search.alone]
            for together in [in_company, *([search] for search in searches if search.alone)]:
                if together:
                    self._ask(leader, together)
        if self.moving:
            self.moving = False
            self.sleep(_PAUSE_S)

    def _ask(self, leader: int, searches: Sequence[_Search]) -> None:
        unanswered = {(search.start.topic, search.start.partition): search for search in searches}
        # One request has one isolation level; what lies beyond the last stable offset is asked for by itself.
        read_committed = all(search.read_committed for search in searches)
        for topic in self.cluster.ask(_request(searches, read_committed=read_committed), leader).responses:
            for answer in topic.partitions:
                search = unanswered.pop((topic.topic, answer.partition_index), None)
                if search is not None:
                    self._tell(search, answer)
        for search in unanswered.values():
            self._try_again(search, "its leader does not answer")

    def _tell(self, search: _Search, answer: Any) -> None:
        if answer.error_code == _NOT_LEADER:
            self._try_again(search, error_name(answer.error_code))
            return
        if answer.error_code:
            self._give_up(search, error_name(answer.error_code))
            return
        sent = bytes(answer.records or b"")
        size, behind = whole_batches(sent)
        if size:
            self._read(search, answer, sent[:size], behind)
        elif sent:
            self._ask_alone(search)
        elif search.position < answer.last_stable_offset and not search.alone:
            search.alone = True  # other partitions have taken all the answer's bytes
        elif search.read_committed and search.position < answer.high_watermark:
            search.read_committed, search.alone = False, True
        else:
            self._settle(search, None)

    def _read(self, search: _Search, answer: Any, batches: bytes, behind: int) -> None:
        source = f"{self.cluster.name}/{search.start.topic}-{search.start.partition}"
        items = [
            item if isinstance(item, Damage) else PlacedBatch(source, item)
            for item in read_stream(io.BytesIO(batches), source)
        ]
        try:
            data = first_data(iter(items), search.start.offset)
        except SourceError as error:
            self._give_up(search, str(error))
            return
        if data is not None:
            batch, record = data
            outcome = _outcome(batch, items, answer.aborted_transactions or (), search.read_committed)
            first = FirstUnread(offset=record.offset, timestamp_ms=record.timestamp_ms, outcome=outcome)
            self._settle(search, first)
        elif behind <= search.position or behind >= answer.high_watermark:
            self._settle(search, None)
        else:
            search.position = behind

    def _ask_alone(self, search: _Search) -> None:
        """A batch was cut. The first batch of an answer is sent whole, however large (KIP-74)."""
        if search.alone:
            self._try_again(search, "its leader sends no whole batch")
        search.alone = True

    def _try_again(self, search: _Search, why: str) -> None:
        search.tries -= 1
        self.moving = True
        if not search.tries:
            self._give_up(search, why)

    def _give_up(self, search: _Search, why: str) -> None:
        topic, partition, offset = search.start
        self.problems.append(f"{self.cluster.name}: {topic} partition {partition} at offset {offset}: {why}")
        self._begin_next((topic, partition))

    def _settle(self, search: _Search, record: FirstUnread | None) -> None:
        """The answer is that of all starts between the one asked for and the record."""
        topic, partition, _ = search.start
        self.records[search.start] = record
        queue = self.queues[topic, partition]
        while queue and (record is None or queue[-1].offset <= record.offset):
            self.records[queue.pop()] = record
        self._begin_next((topic, partition))


def _outcome(
    batch: Batch, sent: Sequence[PlacedBatch | Damage], aborted: Collection[Any], read_committed: bool
) -> TransactionOutcome | None:
    """The outcome of the batch's transaction (KIP-98): answers name the aborted, and end before open ones."""
    if not batch.transactional:
        return None
    if not read_committed:
        return TransactionOutcome.PENDING
    markers = [offset for offset in _markers(sent, batch.producer_id) if offset < batch.base_offset]
    begun_after = max(markers, default=-1)
    is_aborted = any(
        transaction.producer_id == batch.producer_id
        and begun_after < transaction.first_offset <= batch.base_offset
        for transaction in aborted
    )
    return TransactionOutcome.ABORTED if is_aborted else TransactionOutcome.COMMITTED


def _markers(sent: Sequence[PlacedBatch | Damage], producer_id: int) -> Iterator[int]:
    for item in sent:
        if isinstance(item, Damage) or not item.batch.control or item.batch.producer_id != producer_id:
            continue
        for record in item.batch.records():
            if isinstance(decode_marker(item.batch, record), TransactionMarker):
                yield record.offset


def _request(searches: Sequence[_Search], *, read_committed: bool) -> Any:
    topic = FetchRequest.FetchTopic
    by_topic: dict[str, list[_Search]] = {}
    for search in searches:
        by_topic.setdefault(search.start.topic, []).append(search)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=_ANSWER_BYTES,
        isolation_level=READ_COMMITTED if read_committed else READ_UNCOMMITTED,
        topics=[
            topic(
                topic=name,
                partitions=[
                    topic.FetchPartition(
                        partition=search.start.partition,
                        fetch_offset=search.position,
                        partition_max_bytes=_PARTITION_BYTES,
                    )
                    for search in of_topic
                ],
            )
            for name, of_topic in sorted(by_topic.items())
        ],
        max_version=12,  # from 13 on topics go by id
    )
