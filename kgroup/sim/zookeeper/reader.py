"""An old consumer's fetchers and the work behind them: records come in, take their time, are done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kgroup.protocol.topic_partition import TopicPartition
from kgroup.sim.scenario.scenario import SimMember
from kgroup.sim.watch.tallies import Measures
from kgroup.sim.world.schedule import Schedule


@dataclass(frozen=True, slots=True)
class _Chunk:
    partition: TopicPartition
    first: int
    count: int


class Inflow:
    """The number of records that partitions have at a time, without keeping them."""

    def __init__(self, records_per_s: float, partitions: int, now_ms: int) -> None:
        self._records_per_s = records_per_s
        self._partitions = partitions
        self._since_ms = now_ms
        self._bases: list[int] = [0] * partitions

    def grow(self, partitions: int, now_ms: int) -> None:
        """The records come in over more partitions from now on."""
        ends = [self.end(number, now_ms) for number in range(self._partitions)]
        self._bases = ends + [0] * (partitions - self._partitions)
        self._partitions, self._since_ms = partitions, now_ms

    def end(self, partition: int, now_ms: int) -> int:
        """The log end offset: the topic's n-th record is partition n mod partitions' next one."""
        came = int((max(now_ms, self._since_ms) - self._since_ms) * self._records_per_s // 1000)
        return self._bases[partition] + (came + self._partitions - 1 - partition) // self._partitions


class Reader:
    """Reads and processes what one consumer owns, its `processing_ms` for each record.

    `end_of(partition)` is the log end offset, or None where no leader can be reached.
    """

    def __init__(
        self,
        member: SimMember,
        schedule: Schedule,
        measures: Measures,
        *,
        end_of: Callable[[TopicPartition], int | None],
        on_processed: Callable[[TopicPartition, int, int], None],
        on_batch_done: Callable[[dict[TopicPartition, int]], None],
    ) -> None:
        self._name = member.name
        self._group = member.group
        self._schedule = schedule
        self._measures = measures
        self._processing_ms = member.processing_ms
        self._records_max = member.max_poll_records
        self._fetch_max_wait_ms = member.fetch_max_wait_ms
        self._end_of = end_of
        self._on_processed = on_processed
        self._on_batch_done = on_batch_done
        self._positions: dict[TopicPartition, int] = {}
        self._chunks: list[_Chunk] = []
        self._batch_began_ms = 0
        self._round = 0
        self._still = False
        self._slowness = 1
        self.fetches = 0

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """The next offset to process, by partition."""
        return dict(self._positions)

    def start(self, positions: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets."""
        self._positions = dict(positions)
        self._go_on()

    def stop(self) -> dict[TopicPartition, int]:
        """Read no more; what was not processed yet is forgotten. Answers the positions."""
        self._halt()
        positions, self._positions, self._chunks = self._positions, {}, []
        return positions

    def stand_still(self) -> None:
        """The process does nothing any more, in the middle of whatever it does."""
        self._halt()
        self._still = True

    def wake(self) -> None:
        """It continues where it was, unaware of the time that has passed."""
        self._still = False
        self._go_on()

    def slow(self, factor: int) -> None:
        """From now on each record takes `factor` times its processing time."""
        if self._still or not self._chunks:
            self._slowness = factor
            return
        self._account(self._schedule.now_ms)
        self._slowness = factor
        self._round += 1
        self._next(self._batch_end_ms())

    def _halt(self) -> None:
        """Take stock of a batch that is cut short."""
        now_ms = self._schedule.now_ms
        if not self._still:
            self._account(now_ms)
            for partition in self._positions:
                self._measures.release((self._group, partition), self._name, now_ms)
        self._round += 1

    def _go_on(self) -> None:
        if self._still:
            return
        for partition in self._positions:
            self._measures.hold((self._group, partition), self._name, self._schedule.now_ms)
        self._batch_began_ms = self._schedule.now_ms
        self._next(self._batch_end_ms() if self._chunks else self._schedule.now_ms)

    def _next(self, at_ms: int) -> None:
        round_ = self._round
        self._schedule.at(at_ms, lambda: self._poll() if round_ == self._round else None)

    def _poll(self) -> None:
        """The batch is done: fetch the next one, or ask again when a fetch would have waited long enough."""
        now_ms = self._schedule.now_ms
        if self._chunks:
            self._account(now_ms)
            self._on_batch_done(self.positions)
        self._chunks = self._fetch()
        self.fetches += bool(self._positions)
        self._batch_began_ms = now_ms
        self._next(self._batch_end_ms() if self._chunks else now_ms + self._fetch_max_wait_ms)

    def _fetch(self) -> list[_Chunk]:
        chunks: list[_Chunk] = []
        room = self._records_max
        for partition, position in self._positions.items():
            end = self._end_of(partition)
            count = min(room, end - position) if end is not None else 0
            if count > 0:
                chunks.append(_Chunk(partition, position, count))
                room -= count
        return chunks

    def _batch_end_ms(self) -> int:
        left = sum(chunk.count for chunk in self._chunks)
        return self._batch_began_ms + max(1, int(left * self._processing_ms * self._slowness))

    def _account(self, now_ms: int) -> None:
        """Count what was processed since the batch, or what was left of it, began."""
        if not self._chunks:
            return
        left = sum(chunk.count for chunk in self._chunks)
        each_ms = self._processing_ms * self._slowness
        passed_ms = now_ms - self._batch_began_ms
        done = left if now_ms >= self._batch_end_ms() else min(left, int(passed_ms / each_ms))
        self._batch_began_ms = now_ms
        rest = []
        for chunk in self._chunks:
            count = min(done, chunk.count)
            done -= count
            if count:
                last = chunk.first + count - 1
                self._positions[chunk.partition] = last + 1
                self._measures.process((self._group, chunk.partition), chunk.first, last)
                self._on_processed(chunk.partition, chunk.first, last)
            if count < chunk.count:
                rest.append(_Chunk(chunk.partition, chunk.first + count, chunk.count - count))
        self._chunks = rest
