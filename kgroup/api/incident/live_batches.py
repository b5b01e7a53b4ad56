"""Batches of a live cluster's topics as evidence: those that a claim may need, each fetched by itself.

A cluster's logs are too large to copy. But it tells where a log ended at a time (`ListOffsets`), and the
batches on both sides of that place prove it; some between the log's ends show how it grew.
"""

import io
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from kgroup.log.files.segment import read_stream
from kgroup.log.format.batch import Batch
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.single_batches import BatchAt, fetch_batches
from kgroup.net.admin.timestamps import TimeInLog, first_newer
from kgroup.protocol.topic_partition import TopicPartition

_BYTES_MAX: Final = 256 * 1024 * 1024
_SAMPLES_MAX: Final = 4096
_SAMPLES_MIN: Final = 8

Held = tuple[Batch, bytes]
"""A batch with its bytes."""


class LiveBatches:
    """Fetches batches and keeps them, in the order of their logs."""

    def __init__(self, cluster: Cluster) -> None:
        self.is_cut = False
        """Whether sampling ended early: the batches of some partitions are too large."""
        self.silent: tuple[TopicPartition, ...] = ()
        """Partitions that have records, of which none could be fetched when they were sampled."""
        self._cluster = cluster
        self._held: dict[TopicPartition, list[Held]] = {}
        self._bytes = 0
        self._looked: set[TimeInLog] = set()

    @property
    def number(self) -> int:
        """The batches that were fetched."""
        return sum(map(len, self._held.values()))

    def all(self, place: TopicPartition) -> Sequence[Held]:
        """What there is of a partition, in log order. The log may have more between."""
        return self._held.get(place, ())

    def at(self, place: TopicPartition, offset: int) -> Held | None:
        """The batch that holds the offset, or the first behind it, fetched if need be; None without one."""
        found = self._holding(place, offset)
        if found is None:
            self._fetch([BatchAt(*place, offset)])
            held = self._held.get(place, [])
            number = bisect_left(held, offset, key=lambda each: each[0].last_offset)
            return held[number] if number < len(held) else None
        return found

    def look(self, times: Mapping[TopicPartition, Iterable[int]]) -> None:
        """Fetch what proves where these partitions' logs ended at these times (epoch ms)."""
        wanted = {TimeInLog(*place, time_ms) for place, of_place in times.items() for time_ms in of_place}
        wanted -= self._looked
        if not wanted:
            return
        self._looked |= wanted
        newer = first_newer(self._cluster, wanted)
        behind = {time[:2] for time, offset in newer.items() if offset is None}
        around = [
            BatchAt(*time[:2], at) for time, offset in newer.items() if offset for at in (offset - 1, offset)
        ]
        ends = self._spans(behind)
        self._fetch(
            [*around, *(BatchAt(*place, end - 1) for place, (start, end) in ends.items() if end > start)]
        )

    def sample(self, places: Collection[TopicPartition], some: int) -> None:
        """Fetch the first and the last batch of these logs, and about `some` between them, evenly.

        Of very many partitions fewer, and no more once what is held is large.
        """
        some = min(some, max(_SAMPLES_MAX // max(len(places), 1), _SAMPLES_MIN))
        spans = {place: span for place, span in self._spans(places).items() if span[0] < span[1]}
        self._fetch(BatchAt(*place, at) for place, (start, end) in spans.items() for at in (start, end - 1))
        self.silent = tuple(sorted(place for place in spans if not self._held.get(place)))
        for number in range(1, some):
            if self._bytes > _BYTES_MAX:
                self.is_cut = True
                return
            self._fetch(
                BatchAt(*place, start + (end - start) * number // some)
                for place, (start, end) in spans.items()
            )

    def _spans(self, places: Collection[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        if not places:
            return {}
        listed = self._cluster.log_listing({topic for topic, _ in places}).logs
        return {
            (log.topic, log.partition): (log.log_start_offset, log.log_end_offset)
            for log in listed
            if (log.topic, log.partition) in places
            and log.log_start_offset is not None
            and log.log_end_offset is not None
        }

    def _holding(self, place: TopicPartition, offset: int) -> Held | None:
        held = self._held.get(place, [])
        number = bisect_left(held, offset, key=lambda each: each[0].last_offset)
        return held[number] if number < len(held) and held[number][0].base_offset <= offset else None

    def _fetch(self, wanted: Iterable[BatchAt]) -> None:
        missing = {each for each in wanted if self._holding(each[:2], each.offset) is None}
        for each, sent in fetch_batches(self._cluster, missing) if missing else ():
            for batch in read_stream(io.BytesIO(sent), f"{self._cluster.name}/{each.topic}-{each.partition}"):
                if isinstance(batch, Batch):
                    self._keep(each[:2], batch, sent)

    def _keep(self, place: TopicPartition, batch: Batch, sent: bytes) -> None:
        held = self._held.setdefault(place, [])
        number = bisect_left(held, batch.base_offset, key=lambda each: each[0].base_offset)
        if number == len(held) or held[number][0].base_offset != batch.base_offset:
            held.insert(number, (batch, sent))
            self._bytes += len(sent)
