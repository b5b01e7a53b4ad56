"""`kafka-offsets`: one row per commit, and per tombstone of one, in logs of the offsets topic.

    kgroup.spark.register(spark)
    commits = spark.read.format("kafka-offsets").load("/var/lib/kafka/data")

Executors scan slices of segments at the speed of the columnar scan and drop rows before they reach the JVM.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kgroup.errors import InputError, SourceError
from kgroup.protocol.topic_id import topic_id_text
from kgroup.spark.remote import Likeness, fetched
from kgroup.spark.sources.filters import mask_of
from kgroup.spark.sources.options import CLUSTERS, GivenOptions, OnDamage
from kgroup.spark.sources.outcomes import Outcomes
from kgroup.spark.sources.planning import (
    FoundLogs,
    found_logs,
    late_enough,
    of_partitions,
    refuse_unread,
    whole_segments,
)
from kgroup.spark.sources.stream_options import (
    STREAM_OPTIONS,
    Connect,
    StreamOptions,
    refuse_stream_options,
)
from kgroup.spark.sources.table_reader import TableReader
from kgroup.spark.sources.tables import TIME, TableSource, arrow_schema, conditions_in, table
from kgroup.spark.stream_support import check_streams
from kgroup.spark.tasks import TASK_BYTES_MAX, Run, Task, pack, split_segments

if TYPE_CHECKING:
    from kgroup.log.files.log_dir import SegmentFile
    from kgroup.scan.reductions.scan import Slice

COMMIT: Final = "commit"
TOMBSTONE: Final = "tombstone"

OFFSETS_TABLE: Final = table(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("type", pa.string()),
        ("offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("metadata", pa.string()),
        ("commit_timestamp", TIME),
        ("expire_timestamp", TIME),
        ("topic_id", pa.string()),
        ("transaction", pa.string()),
        ("producer_id", pa.int64()),
        ("offsets_partition", pa.int32()),
        ("log_offset", pa.int64()),
        ("record_timestamp", TIME),
    ],
    required=("group", "topic", "partition", "type", "offsets_partition", "log_offset"),
)
"""Version 1. `type` is commit or tombstone, which has no offset; what a record does not say is null.

`transaction` is null outside of one, else committed, aborted, or pending: no end of it is in the log.
"""

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "type": ("tombstone",),
    "offset": ("tombstone", "offset"),
    "metadata": ("tombstone", "metadata"),
    "transaction": ("producer_id", "log_offset"),
}
"""The columns of the scan that a column is made of, if not of the one of the same name."""

_UNKNOWN_IS_NEGATIVE: Final = frozenset(
    {"leader_epoch", "producer_id", "commit_timestamp", "expire_timestamp", "record_timestamp"}
)
_NOT_CUT: Final = 2**62


class OffsetsSource(TableSource):
    """`kafka-offsets`."""

    NAME: ClassVar[str] = "kafka-offsets"
    TABLE: ClassVar[pa.Schema] = OFFSETS_TABLE
    OPTIONS: ClassVar[tuple[str, ...]] = ("damage", "since", "topic", "until")
    CONNECTIONS: ClassVar[tuple[Connect, ...]] = ()
    """How a stream finds its cluster, if it may; `streaming` sets it."""

    @classmethod
    def streaming(cls, connect: Connect) -> "type[OffsetsSource]":
        """The source as a session registers it that may read live clusters, too."""
        members = {"CONNECTIONS": (connect,), "__qualname__": f"streaming.{cls.__name__}"}
        return type(cls.__name__, (cls,), members)

    def options_known(self) -> tuple[str, ...]:
        """The options; those of streams only if one is given, as the schema may be asked for either."""
        given = {name.lower() for name in self.options}
        is_stream = any(name.lower() in given for name in STREAM_OPTIONS)
        return (*self.OPTIONS, *STREAM_OPTIONS) if is_stream else self.OPTIONS

    def table_reader(self, given: GivenOptions, schema: pa.Schema) -> "OffsetsReader":
        """See TableSource."""
        refuse_stream_options(given)
        return OffsetsReader(OffsetsOptions.of(given), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """The rows that a live cluster's offsets topic gets.

        Raises InputError for a wrong option, KgroupError where PySpark is too old.
        """
        check_streams()
        from kgroup.spark.sources.stream import OffsetsStreamReader

        (connect,) = self.CONNECTIONS  # as the session registers it
        given = self.given()
        if CLUSTERS in given:
            raise InputError(f"{self.NAME}: option {CLUSTERS} is for read, and a stream is of one cluster")
        stream = StreamOptions.of(given)
        reader = OffsetsReader(OffsetsOptions.of_stream(given), arrow_schema(schema))
        reader.conditions.extend(conditions_in(given, self.TABLE))
        topic = connect(stream.servers, stream.config)
        return OffsetsStreamReader(topic, reader, stream)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetsOptions:
    """The options of one read, checked. `offsets_partitions` is as `GivenOptions` has it."""

    paths: tuple[str, ...]
    damage: OnDamage
    task_bytes: int
    offsets_partitions: int | None

    @classmethod
    def of_stream(cls, given: GivenOptions) -> "OffsetsOptions":
        """The options that also apply to streams."""
        damage = given.choice("damage", OnDamage.FAIL)
        return cls(paths=(), damage=damage, task_bytes=TASK_BYTES_MAX, offsets_partitions=0)

    @classmethod
    def of(cls, given: GivenOptions) -> "OffsetsOptions":
        """Raises InputError for a wrong one."""
        return cls(
            paths=given.paths(),
            damage=given.choice("damage", OnDamage.FAIL),
            task_bytes=given.number("taskBytes", TASK_BYTES_MAX, "bytes"),
            offsets_partitions=given.offsets_partitions(),
        )


class OffsetsTask(InputPartition):
    """One task's slices, and what follows them in the log for as long as a transaction is open."""

    @classmethod
    def made(
        cls, task: Task, found: FoundLogs, wholes: "Mapping[int, Sequence[SegmentFile]]"
    ) -> "OffsetsTask":
        """A task of slices and all segments of their partitions, which are only needed for transactions."""
        behind = []
        for run in task.runs():
            last = run.slices[-1]
            whole = split_segments(wholes.get(run.offsets_partition, ()), _NOT_CUT)
            later = [replace(part, path=part.path.absolute()) for part in whole]
            at = next((number for number, part in enumerate(later) if part.path == last.path), len(later))
            rest = [replace(part, start=last.end) for part in later[at : at + 1] if part.end > last.end]
            behind.append([(str(part.path), part.start, part.end) for part in (*rest, *later[at + 1 :])])
        return cls((json.dumps({"task": task.value, "behind": behind}), found.likenesses))

    @property
    def likenesses(self) -> tuple[Likeness, ...]:
        """The folders that are likenesses of URIs."""
        likenesses: tuple[Likeness, ...] = self.value[1]
        return likenesses

    def runs(self) -> "Iterator[tuple[Run, list[Slice]]]":
        """Each run, and what follows it."""
        from kgroup.scan.reductions.scan import Slice

        decoded = json.loads(self.value[0])
        for run, behind in zip(Task(decoded["task"]).runs(), decoded["behind"], strict=True):
            number = run.offsets_partition
            yield (
                run,
                [
                    Slice(path=Path(path), offsets_partition=number, start=start, end=end)
                    for path, start, end in behind
                ],
            )


class OffsetsReader(TableReader):
    """Reads slices of segments; which ones, it plans by what was pushed down."""

    def __init__(self, options: OffsetsOptions, schema: pa.Schema) -> None:
        super().__init__(OFFSETS_TABLE, schema)
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        """One per task. Raises SourceError for a path that cannot be read or holds no offsets topic."""
        with found_logs(self._options.paths, self.storage) as found:
            sources = of_partitions(found, self.conditions, self._options.offsets_partitions)
            refuse_unread(found, sources, self._options.damage)
            by_partition = whole_segments(sources)
            slices = [part for segments in by_partition.values() for part in self._slices(found, segments)]
            tasks = pack(slices, self._options.task_bytes)
            wholes = by_partition if "transaction" in self.schema.names else {}
            return [OffsetsTask.made(task, found, wholes) for task in tasks]

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Scan the slices of a task. Raises SourceError for damage, unless it is to be skipped."""
        assert isinstance(partition, OffsetsTask)
        for run, behind in partition.runs():
            with fetched(run.slices, partition.likenesses) as slices:
                outcomes = Outcomes(slices, partial(_each_fetched, behind, partition.likenesses))
                yield from self.scanned(slices, outcomes)

    def _slices(self, found: FoundLogs, segments: Sequence["SegmentFile"]) -> "Iterator[Slice]":
        for number, segment in enumerate(segments):
            parts = split_segments([segment], self._options.task_bytes)
            if found.remote is None:  # else their indexes are not here
                parts = late_enough(parts, self.conditions, is_last=number == len(segments) - 1)
            yield from parts

    def scanned(
        self, slices: Iterable["Slice"], outcomes: Outcomes, since_offset: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """The rows of slices, from an offset of their log on.

        Raises SourceError for damage, unless it is to be skipped.
        """
        from kgroup.scan.reductions.scan import scan

        asked = [*self.schema.names, *(each.column for each in self.conditions)]
        needed = {needed for name in asked for needed in _NEEDED.get(name, (name,))}
        columns = sorted(needed | {"log_offset"} if since_offset else needed)
        for block in scan(slices, columns=columns, others=False):
            if block.damage and self._options.damage is OnDamage.FAIL:
                damage = block.damage[0]
                where = f"{damage.segment}: byte {damage.position}"
                raise SourceError(f"{where}: {damage.why}; option damage=skip goes on behind it")
            rows = block.commits
            if since_offset:
                rows = rows.filter(pc.greater_equal(rows["log_offset"], pa.scalar(since_offset)))
            mask = mask_of(self.conditions, partial(_column, rows, outcomes))
            if mask is not None:
                rows = rows.filter(mask)
            if rows.num_rows:
                arrays = [_column(rows, outcomes, each.name).cast(each.type) for each in self.schema]
                yield pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _each_fetched(slices: Iterable["Slice"], likenesses: Sequence[Likeness]) -> "Iterator[Slice]":
    for part in slices:
        with fetched([part], likenesses) as local:
            yield from local


def _column(rows: pa.RecordBatch, outcomes: Outcomes, name: str) -> Any:
    """A column of OFFSETS_TABLE out of those of the scan."""
    if name == "type":
        return pc.if_else(rows["tombstone"], TOMBSTONE, COMMIT)
    if name == "transaction":
        answers = outcomes.of(rows["producer_id"].to_numpy(), rows["log_offset"].to_numpy())
        return pa.array(answers, pa.string())
    values: Any = rows[name]
    if name in ("offset", "metadata"):
        return pc.if_else(rows["tombstone"], None, values)
    if name == "topic_id":
        return _topic_ids(values)
    if name in _UNKNOWN_IS_NEGATIVE:
        values = pc.if_else(pc.less(values, pa.scalar(0, values.type)), None, values)
    table_type = OFFSETS_TABLE.field(name).type
    if table_type == TIME:
        values = values.cast(pa.timestamp("ms", "UTC"))
    return values.cast(table_type)


def _topic_ids(values: Any) -> Any:
    """Topic ids as Kafka writes them."""
    encoded = values.dictionary_encode()
    texts = [topic_id_text(UUID(bytes=raw)) for raw in encoded.dictionary.to_pylist()]
    return pc.take(pa.array(texts, pa.string()), encoded.indices)
