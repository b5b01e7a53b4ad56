"""`spark.readStream.format("kafka-offsets")`: new rows of a live cluster's offsets topic, once each.

Where it has read to is in Spark's own checkpoint, as `kgroup.spark.positions` has it: the ids of cluster and
topic, and of each partition the next offset and the leader epoch of the record before it. A micro-batch is a
span of offsets of each partition, and reading it again gives the same rows. So with a sink that takes each
micro-batch once, as those for files do, nothing is lost or doubled whatever dies.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Protocol

import pyarrow as pa
from pyspark.sql.streaming.datasource import ReadLimit

from kgroup.errors import InputError, SourceError
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.spark.live_source import OffsetsTopic, SpanReader
from kgroup.spark.positions import Positions, SpanToRead, to_read
from kgroup.spark.sources.options import GivenOptions
from kgroup.spark.sources.outcomes import Outcomes

if TYPE_CHECKING:
    from kgroup.scan.reductions.scan import Slice

Connect = Callable[[str, str | None], OffsetsTopic]
"""Finds the topic of a cluster by its servers and a file of client properties. Raises InputError."""

STREAM_OPTIONS: Final = ("bootstrapServers", "commandConfig", "maxOffsets", "logReset")

_OFFSETS_MAX: Final = 1_000_000


class LogReset(StrEnum):
    """Values of the option `logReset`: what to do where a log is not the one any more that was read."""

    FAIL = "fail"
    AGAIN = "again"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """The options of a stream, checked."""

    servers: str
    config: str | None
    offsets_max: int
    log_reset: LogReset

    @classmethod
    def of(cls, given: GivenOptions) -> "StreamOptions":
        """Raises InputError for a wrong one, and for those of logs in files."""
        servers = given.text("bootstrapServers")
        if servers is None:
            raise InputError(
                f"{given.source}: a stream is of a live cluster: give the option bootstrapServers,"
                " like host:9092"
            )
        if given.has_paths:
            raise InputError(f"{given.source}: a stream is of a live cluster, and load() takes no path")
        return cls(
            servers=servers,
            config=given.text("commandConfig"),
            offsets_max=given.number("maxOffsets", _OFFSETS_MAX, "offsets"),
            log_reset=given.choice("logReset", LogReset.FAIL),
        )


def refuse_stream_options(given: GivenOptions) -> None:
    """Refuse stream options for files, which do not stream. Raises InputError."""
    for name in STREAM_OPTIONS:
        if name in given:
            raise InputError(f"{given.source}: option {name} is for readStream")


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
