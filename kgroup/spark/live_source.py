"""A cluster's offsets topic as a Spark streaming source, `kgroup-live`: parts of the log, not its records.

Each micro-batch is a span of offsets of each partition, from one batch's boundary to another's, so reading it
again gives the same. Executors fetch the raw batches of a span and reduce them by the scan that reads files;
what reaches Spark is one row of LIVE_SCHEMA for each partition with something new. A partition whose log is
not the one any more that was read is begun again (`positions.py`), and its row says so.

On request there is a micro-batch, an empty one if need be, whenever all is read: what a silence means changes
with the time alone.
"""

import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StringType, StructField, StructType

from kgroup.errors import SourceError
from kgroup.spark.named_reductions import reduction_as_json, reduction_of_json
from kgroup.spark.positions import (
    EpochEnds,
    Position,
    Positions,
    Spans,
    SpanToRead,
    TopicNow,
    advanced,
    looked_at,
    to_read,
)
from kgroup.spark.reduced_source import SCHEMA, freeze_loaded, packed_row
from kgroup.spark.reductions import Reduction

if TYPE_CHECKING:
    from kgroup.scan.reductions.scan import Slice

SOURCE: Final = "kgroup-live"
_SECRET: Final = "secret"  # passwords are in it; by this name Spark's own spark.redaction.regex knows it
_REDUCTION: Final = "reduction"
_OFFSETS_MAX: Final = "offsets_max"
_TELLS_WHOLE: Final = "tells_whole"
_TASKS_MAX: Final = 8  # of one micro-batch; each opens a connection

ANEW: Final = "anew"
LIVE_SCHEMA: Final = StructType([*SCHEMA.fields, StructField(ANEW, StringType(), nullable=True)])
"""A part as SCHEMA has it; `anew` says why all that was before is to be forgotten, null if it is not."""


class OffsetsTopic(Protocol):
    """A cluster to read from."""

    @classmethod
    def of_description(cls, described: Mapping[str, Any]) -> Self:
        """The topic that `described` has described, anywhere."""
        ...

    def described(self) -> Mapping[str, Any]:
        """The way to reach it, in JSON types, passwords included."""
        ...

    @property
    def name(self) -> str:
        """The name in messages."""
        ...

    def ids(self) -> tuple[str | None, object]:
        """The ids of the cluster and of the topic, None where unknown."""
        ...

    def now_ms(self) -> int:
        """The time, in epoch ms."""
        ...

    def spans(self, leaderless: set[int] | None = None) -> Spans:
        """All that may be read now. Those without a leader are put into `leaderless`, else it raises."""
        ...

    def epoch_ends(self, epochs: Mapping[int, int]) -> EpochEnds:
        """The ends of leader epochs; without partitions that have to be asked again."""
        ...

    def epochs_before(self, offsets: Mapping[int, int]) -> Mapping[int, int | None]:
        """The leader epochs of the records before offsets; without partitions to be asked again."""
        ...

    def boundaries(self, spans: Spans) -> Mapping[int, int]:
        """The offset after the batch with the first offset of a span, or the span's end, by partition."""
        ...

    def copy(self, spans: Spans, folder: Path) -> Mapping[int, tuple[Path, int]]:
        """Write the batches of each span as a segment into `folder`, and from which offset on it is whole."""
        ...


class LiveDataSource(DataSource):
    """A data source whose options `source_options` makes."""

    TOPIC: ClassVar[type[OffsetsTopic]]

    @classmethod
    def of_topics(cls, topics: type[OffsetsTopic]) -> "type[LiveDataSource]":
        """The source of topics of a class, to be registered."""
        return type(cls.__name__, (cls,), {"TOPIC": topics, "__qualname__": f"of_topics.{cls.__name__}"})

    @classmethod
    def name(cls) -> str:
        """The name for `spark.readStream.format`."""
        return SOURCE

    def schema(self) -> StructType:
        """The schema of parts."""
        return LIVE_SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """The reader of the topic in the options."""
        topic = self.TOPIC.of_description(json.loads(self.options[_SECRET]))
        return LiveReader(
            topic,
            reduction_of_json(self.options[_REDUCTION]),
            int(self.options[_OFFSETS_MAX]),
            tells_whole=json.loads(self.options[_TELLS_WHOLE]),
        )


def source_options(
    topic: OffsetsTopic, reduction: Reduction[Any], offsets_max: int, *, tells_whole: bool = False
) -> dict[str, str]:
    """The topic to read, its reduction, and about how many offsets a micro-batch may have, as options.

    With `tells_whole` there is a micro-batch whenever all is read, and its `Positions` say so.
    """
    return {
        _SECRET: json.dumps(topic.described()),
        _REDUCTION: reduction_as_json(reduction),
        _OFFSETS_MAX: str(offsets_max),
        _TELLS_WHOLE: json.dumps(tells_whole),
    }


class SpanReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets of the stream are `Positions`; subclasses say what a span of the log becomes.

    With `tells_whole` they say when all was read.
    """

    def __init__(self, topic: OffsetsTopic, offsets_max: int, *, tells_whole: bool = False) -> None:
        self._topic = topic
        self._offsets_max = offsets_max
        self._tells_whole = tells_whole
        self._last: Mapping[int, int] | None = None
        self._last_ms: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """The offset at which each partition begins."""
        now = self._now()
        return Positions(
            cluster_id=now.cluster_id,
            topic_id=now.topic_id,
            partitions={
                partition: Position(offset=start, begin=start) for partition, (start, _) in now.spans.items()
            },
        ).as_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        """Admission control: about as many offsets as the options say."""
        return ReadMaxRows(self._offsets_max)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        """Go no further than the log goes now. Raises SourceError for a partition that has no leader."""
        self._last = {partition: end for partition, (_, end) in self._topic.spans().items()}
        self._last_ms = self._topic.now_ms()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next micro-batch, at boundaries of batches."""
        read, now = Positions.of_json(start), self._now()
        epochs = {
            partition: position.epoch
            for partition, position in read.partitions.items()
            if position.epoch is not None
        }
        looked, waiting = looked_at(read, now, self._topic.epoch_ends(epochs))
        backlog = {}
        for partition, (first, end) in now.spans.items():
            if partition not in waiting:
                known_end = end if self._last is None else min(end, self._last.get(partition, first))
                following = looked.partitions[partition].offset
                backlog[partition] = (following, max(known_end, following))
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        may_be = admitted(backlog, most, self._topic)
        ends = {partition: end for partition, end in may_be.items() if end > backlog[partition][0]}
        epochs_before = self._topic.epochs_before(ends)
        unsure = (waiting & now.spans.keys()) | (ends.keys() - epochs_before.keys())
        if self._last is not None and unsure:
            # All that is there was asked for, so nothing may be left for another time.
            raise SourceError(
                f"{self._topic.name}: partition {min(unsure)}: its leader cannot say yet how far the log goes"
            )
        is_all = not unsure and all(may_be[partition] == end for partition, (_, end) in backlog.items())
        reached = advanced(looked, ends, epochs_before)
        return replace(reached, whole_ms=self._whole_ms(read, is_all=is_all)).as_json()

    def _whole_ms(self, read: Positions, *, is_all: bool) -> int | None:
        if not self._tells_whole:
            return read.whole_ms  # as it is: nothing new by itself
        if not is_all:
            return None
        return self._topic.now_ms() if self._last_ms is None else self._last_ms

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Tasks of several spans each, the largest ones apart."""
        spans = to_read(Positions.of_json(start), Positions.of_json(end))
        return [InputPartition(task) for task in tasks_of(spans)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Fetch the spans of a task. Raises SourceError if the cluster cannot be read."""
        from kgroup.scan.reductions.scan import Slice

        spans: Sequence[SpanToRead] = partition.value
        with TemporaryDirectory(prefix="kgroup-live-") as folder:
            asked = {span.partition: (span.begin, span.end) for span in spans}
            copied = self._topic.copy(asked, Path(folder))
            for span in spans:
                segment, begin = copied[span.partition]
                size = segment.stat().st_size
                anew = span.anew
                if begin > span.begin:
                    anew = f"offsets {span.begin} to {begin - 1} were removed before they were read"
                whole = Slice(path=segment, offsets_partition=span.partition, start=0, end=size)
                yield from self.of_span(replace(span, begin=begin, anew=anew), whole)
        freeze_loaded()

    @abstractmethod
    def of_span(self, span: SpanToRead, fetched: "Slice") -> Iterator[pa.RecordBatch]:
        """The rows of a span, which is in a slice here. It begins where it could be read from."""

    def _now(self) -> TopicNow:
        leaderless: set[int] = set()
        spans = self._topic.spans(leaderless)
        if self._last is not None and leaderless:
            raise SourceError(f"{self._topic.name}: partition {min(leaderless)} has no leader")
        cluster_id, topic_id = self._topic.ids()
        return TopicNow(
            cluster_id=cluster_id, topic_id=None if topic_id is None else str(topic_id), spans=spans
        )


class LiveReader(SpanReader):
    """Reduces each span to a row of LIVE_SCHEMA."""

    def __init__(
        self,
        topic: OffsetsTopic,
        reduction: Reduction[Any],
        offsets_max: int,
        *,
        tells_whole: bool = False,
    ) -> None:
        super().__init__(topic, offsets_max, tells_whole=tells_whole)
        self._reduction = reduction

    def of_span(self, span: SpanToRead, fetched: "Slice") -> Iterator[pa.RecordBatch]:
        """See SpanReader."""
        row = packed_row(span.partition, span.begin, self._reduction.reduce([fetched]))
        yield row.append_column(ANEW, pa.array([span.anew], pa.string()))


def admitted(backlog: Spans, offsets_max: int | None, topic: OffsetsTopic) -> dict[int, int]:
    """The offset up to which to read each partition, so that all together are about `offsets_max` offsets.

    Each gets the same share, and what small ones leave of theirs goes to the larger ones. A share ends where
    a batch does, so that a span can be larger by one batch.
    """
    ends = {partition: end for partition, (_, end) in backlog.items()}
    sizes = {partition: end - start for partition, (start, end) in backlog.items() if end > start}
    if offsets_max is None or sum(sizes.values()) <= offsets_max:
        return ends
    left, share = offsets_max, 0
    for number, (_, size) in enumerate(sorted(sizes.items(), key=lambda item: item[1])):
        share = max(left // (len(sizes) - number), 1)
        left = max(left - min(size, share), 0)
    cut = {
        partition: (backlog[partition][0] + share - 1, ends[partition])
        for partition, size in sizes.items()
        if size > share
    }
    return {**ends, **topic.boundaries(cut)}


def tasks_of(spans: Sequence[SpanToRead]) -> list[list[SpanToRead]]:
    """The spans in a few tasks of about the same size; there is always one task, as Spark wants one."""
    largest_first = sorted(spans, key=lambda span: (span.begin - span.end, span.partition))
    tasks: list[list[SpanToRead]] = [[] for _ in range(max(1, min(_TASKS_MAX, len(spans))))]
    sizes = [0] * len(tasks)
    for span in largest_first:
        smallest = sizes.index(min(sizes))
        tasks[smallest].append(span)
        sizes[smallest] += span.end - span.begin
    return tasks
