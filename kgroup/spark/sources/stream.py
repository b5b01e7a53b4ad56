"""`spark.readStream.format("kafka-offsets")`: new rows of a live cluster's offsets topic, once each.

Where it has read to is in Spark's own checkpoint, as `kgroup.spark.positions` has it: the ids of cluster and
topic, and of each partition the next offset and the leader epoch of the record before it. A micro-batch is a
span of offsets of each partition, and reading it again gives the same rows. So with a sink that takes each
micro-batch once, as those for files do, nothing is lost or doubled whatever dies.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
from pyspark.sql.streaming.datasource import ReadLimit

from kgroup.errors import SourceError
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.spark.live_source import OffsetsTopic, SpanReader
from kgroup.spark.positions import Positions, SpanToRead, to_read
from kgroup.spark.sources.outcomes import Outcomes
from kgroup.spark.sources.stream_options import LogReset, StreamOptions

if TYPE_CHECKING:
    from kgroup.scan.reductions.scan import Slice


class Rows(Protocol):
    """Makes rows of a table of slices of the log."""

    def scanned(
        self, slices: "Iterable[Slice]", outcomes: Outcomes, since_offset: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """The rows from an offset on."""
        ...


class OffsetsStreamReader(SpanReader):
    """Yields what `reader` makes of spans."""

    def __init__(self, topic: OffsetsTopic, reader: Rows, options: StreamOptions) -> None:
        super().__init__(topic, options.offsets_max)
        self._reader = reader
        self._log_reset = options.log_reset

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """See SpanReader. Raises SourceError for a log that is another one, unless it is to be read again."""
        end = super().latestOffset(start, limit)
        for span in to_read(Positions.of_json(start), Positions.of_json(end)):
            self._check(span)
        return end

    def of_span(self, span: SpanToRead, fetched: "Slice") -> Iterator[pa.RecordBatch]:
        """The rows of a span, without those of its first batch that lie before it."""
        self._check(span)
        outcomes = Outcomes([fetched], lambda: iter(()))
        yield from self._reader.scanned([fetched], outcomes, since_offset=span.begin)

    def _check(self, span: SpanToRead) -> None:
        if span.anew is not None and self._log_reset is LogReset.FAIL:
            raise SourceError(
                f"{self._topic.name}: {OFFSETS_TOPIC}, partition {span.partition}: {span.anew}; option"
                " logReset=again reads it from where it begins now"
            )
