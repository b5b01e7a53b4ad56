"""A cluster's offsets topic as a streaming source of Spark, `kgroup-live`: parts of the log, not its records.

Each micro-batch is a span of offsets of each partition, from one batch's boundary to another's, so reading it
again gives the same. Executors fetch the raw batches of a span and reduce them by the scan that reads files;
what reaches Spark is one row of `kgroup.spark.reduced_source.SCHEMA` for each partition with something new.
"""

import base64
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from kgroup.spark.reduced_source import SCHEMA, freeze_compiler, packed_row
from kgroup.spark.reductions import Reduction

SOURCE: Final = "kgroup-live"
_SECRET: Final = "secret"  # passwords are in it; by this name Spark's own spark.redaction.regex knows it
_TASKS_MAX: Final = 8  # of one micro-batch; each opens a connection

Spans = Mapping[int, tuple[int, int]]
"""By offsets partition: the first offset, and the first one that is not meant."""


class OffsetsTopic(Protocol):
    """A cluster to read from; it is pickled on its way to executors."""

    @property
    def name(self) -> str:
        """The name in messages."""
        ...

    def spans(self) -> Spans:
        """All that may be read now."""
        ...

    def boundaries(self, spans: Spans) -> Mapping[int, int]:
        """By partition: the offset behind the batch with the first offset of a span, or the span's end."""
        ...

    def copy(self, spans: Spans, folder: Path) -> Mapping[int, Path]:
        """Write the batches of each span as a segment into `folder`."""
        ...


class LiveDataSource(DataSource):
    """Its options are what `source_options` makes."""

    @classmethod
    def name(cls) -> str:
        """The name for `spark.readStream.format`."""
        return SOURCE

    def schema(self) -> StructType:
        """That of parts."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """The reader of the topic in the options."""
        topic, reduction, offsets_max = pickle.loads(base64.b64decode(self.options[_SECRET]))
        return LiveReader(topic, reduction, offsets_max)


def source_options(topic: OffsetsTopic, reduction: Reduction[Any], offsets_max: int) -> dict[str, str]:
    """The topic to read, its reduction, and about how many offsets a micro-batch may have, as options."""
    return {_SECRET: base64.b64encode(cloudpickle.dumps((topic, reduction, offsets_max))).decode("ascii")}


class LiveReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets of the stream are the next offsets of all partitions, by number."""

    def __init__(self, topic: OffsetsTopic, reduction: Reduction[Any], offsets_max: int) -> None:
        self._topic = topic
        self._reduction = reduction
        self._offsets_max = offsets_max
        self._last: Mapping[int, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  Spark's name
        """The offset at which each partition begins."""
        return _as_offsets({partition: start for partition, (start, _) in self._topic.spans().items()})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        """Admission control: about as many offsets as the options say."""
        return ReadMaxRows(self._offsets_max)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        """Go no further than the log goes now."""
        self._last = {partition: end for partition, (_, end) in self._topic.spans().items()}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The end of the next micro-batch, at boundaries of batches."""
        following = {int(partition): offset for partition, offset in start.items()}
        backlog = {}
        for partition, (first, end) in self._topic.spans().items():
            known_end = end if self._last is None else min(end, self._last.get(partition, first))
            backlog[partition] = (following.get(partition, first), known_end)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        return _as_offsets({**following, **admitted(backlog, most, self._topic)})

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Tasks of several spans each, the largest ones apart."""
        spans = {
            int(partition): (start.get(partition, 0), last)
            for partition, last in end.items()
            if last > start.get(partition, 0)
        }
        return [InputPartition(task) for task in tasks_of(spans)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Fetch and reduce the spans of a task. Raises SourceError if the cluster cannot be read."""
        from kgroup.scan.reductions.scan import Slice

        spans: Spans = partition.value
        with TemporaryDirectory(prefix="kgroup-live-") as folder:
            for offsets_partition, segment in self._topic.copy(spans, Path(folder)).items():
                size = segment.stat().st_size
                part = self._reduction.reduce(
                    [Slice(path=segment, offsets_partition=offsets_partition, start=0, end=size)]
                )
                yield packed_row(offsets_partition, spans[offsets_partition][0], part)
        freeze_compiler()


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


def tasks_of(spans: Spans) -> list[dict[int, tuple[int, int]]]:
    """The spans in a few tasks of about the same size; there is always one task, as Spark wants one."""
    largest_first = sorted(spans.items(), key=lambda item: (item[1][0] - item[1][1], item[0]))
    tasks: list[dict[int, tuple[int, int]]] = [{} for _ in range(max(1, min(_TASKS_MAX, len(spans))))]
    sizes = [0] * len(tasks)
    for partition, span in largest_first:
        smallest = sizes.index(min(sizes))
        tasks[smallest][partition] = span
        sizes[smallest] += span[1] - span[0]
    return tasks


def _as_offsets(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(offsets.items())}
