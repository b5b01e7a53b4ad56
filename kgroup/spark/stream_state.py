"""The state of a stream in its checkpoint: the result of each micro-batch, and sometimes of all so far.

    kgroup-state-4/7        the parts of micro-batch 7, a row for each offsets partition with something new
    kgroup-state-4/base-4   what the log came to as of micro-batch 4

So a micro-batch writes what is new, whatever came before. Each is one Parquet file in a folder of Spark's,
whole when Spark's `_SUCCESS` is in it; the parts in it have checksums of their own (`kgroup.spark.parts`). A
base is made of micro-batches that Spark has noted as done, so none of them is ever made again, and those
before it are removed only when it is whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Generic

from kgroup.spark.checkpoint_folder import CheckpointFolder
from kgroup.spark.reductions import Part, Reduction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_STATES: Final = "kgroup-state-"
_STATE: Final = f"{_STATES}4"
"""In the checkpoint folder. Another number when the form of states changes; parts have their own versions."""

_BASE: Final = "base-"
_FEW: Final = 32  # micro-batches that are kept apart at least
_MANY: Final = 256  # and at most, however small they are compared with the base
_MERGED_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Advanced(Generic[Part]):
    """The state of the log, and why partitions were begun again in this micro-batch."""

    whole: Part
    anew: Mapping[int, str]


class StreamState(Generic[Part]):
    """The state next to Spark's own checkpoint, and in memory as of the last micro-batch."""

    def __init__(self, session: "SparkSession", checkpoint: str, reduction: Reduction[Part]) -> None:
        self._session = session
        self._folder = CheckpointFolder(session, checkpoint, _STATE)
        self._reduction = reduction
        self._number: int | None = None
        self._parts: dict[int, Part] = {}
        self._base: int | None = None
        self._since_base = 0

    def check_version(self) -> None:
        """Raises InputError where the folder has states, and none that this version can read."""
        self._folder.check_version(_STATES)

    def advance(self, rows: "DataFrame", number: int) -> Advanced[Part]:
        """Take micro-batch `number`, LIVE_SCHEMA's rows, and return what all so far comes to.

        Raises InputError for a checkpoint that is damaged.
        """
        if number == 0:
            self._folder.remove()
            self._parts, self._base, self._since_base = {}, None, 0
        elif self._number != number - 1:
            self._load(number - 1)
        if number > 0:
            self._compact(number - 1)
        rows.repartition(1).write.mode("overwrite").parquet(self._folder.path(str(number)))
        parts, anew = dict(self._parts), {}
        with self._folder.damage_named():
            for row in self._rows(str(number)):
                partition = row["offsets_partition"]
                parts[partition] = followed(parts.get(partition), [row], self._reduction)
                if row["anew"] is not None:
                    anew[partition] = row["anew"]
        self._parts, self._number = parts, number
        self._since_base += 1
        return Advanced(self._reduction.merge(part for _, part in sorted(parts.items())), anew)

    def _load(self, number: int) -> None:
        """Load the state that micro-batch `number` left."""
        names = self._folder.whole()
        bases = sorted(int(name.removeprefix(_BASE)) for name in names if name.startswith(_BASE))
        if bases and bases[-1] > number:
            raise self._folder.damaged(
                f"it has the state of micro-batch {bases[-1]}, and Spark's notes go to {number}"
            )
        self._base = bases[-1] if bases else None
        first = 0 if self._base is None else self._base + 1
        missing = [each for each in range(first, number + 1) if str(each) not in names]
        if missing:
            raise self._folder.damaged(f"what micro-batch {missing[0]} came to is not in it")
        self._parts = {}
        read = [] if self._base is None else [f"{_BASE}{self._base}"]
        with self._folder.damage_named():
            for name in [*read, *map(str, range(first, number + 1))]:
                for row in self._rows(name):
                    partition = row["offsets_partition"]
                    self._parts[partition] = followed(self._parts.get(partition), [row], self._reduction)
        self._since_base = number + 1 - first

    def _compact(self, number: int) -> None:
        """Make a base of all up to `number`, if it is time to, and remove what it has taken in."""
        if self._since_base < _FEW:
            return
        first = 0 if self._base is None else self._base + 1
        names = [str(each) for each in range(first, number + 1)]
        base = [] if self._base is None else [f"{_BASE}{self._base}"]
        if base and self._since_base < _MANY and self._folder.bytes_of(names) < self._folder.bytes_of(base):
            return
        self._merged([*base, *names]).write.mode("overwrite").parquet(self._folder.path(f"{_BASE}{number}"))
        for name in [*base, *names]:
            self._folder.remove(name)
        self._base, self._since_base = number, 0

    def _merged(self, names: Iterable[str]) -> "DataFrame":
        """One row for each offsets partition, of states that follow each other; executors make it."""
        from pyspark.sql.functions import lit

        from kgroup.spark.live_source import LIVE_SCHEMA

        frames = [self._frame(name).withColumn("number", lit(place)) for place, name in enumerate(names)]
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.union(frame)
        return (
            rows.repartition("offsets_partition")
            .sortWithinPartitions("offsets_partition", "number")
            .mapInArrow(partial(merge_following, reduction=self._reduction), LIVE_SCHEMA)
            .repartition(1)
        )

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        table = self._frame(name).toArrow()
        for batch in table.to_batches(1):
            yield from batch.to_pylist()

    def _frame(self, name: str) -> "DataFrame":
        from kgroup.spark.live_source import LIVE_SCHEMA

        return self._session.read.schema(LIVE_SCHEMA).parquet(self._folder.path(name))


def followed(before: Any, rows: Iterable[Mapping[str, Any]], reduction: Reduction[Any]) -> Any:
    """The state after rows of one offsets partition; `before` is None if there was none."""
    from kgroup.spark.parts.kinds import unpack

    parts = [] if before is None else [before]
    for row in rows:
        if row["anew"] is not None:
            parts = []
        parts.append(unpack(row["part"]))
        if len(parts) == _MERGED_AT_ONCE:
            parts = [reduction.merge(parts)]
    return parts[0] if len(parts) == 1 else reduction.merge(parts)


def merge_following(
    batches: "Iterator[pa.RecordBatch]", reduction: Reduction[Any]
) -> "Iterator[pa.RecordBatch]":
    """Merge rows of LIVE_SCHEMA that are sorted by offsets partition and number: one row per partition."""
    import pyarrow as pa

    from kgroup.spark.live_source import ANEW
    from kgroup.spark.reduced_source import packed_row

    rows = (row for batch in batches for row in batch.to_pylist())
    for partition, of_one in groupby(rows, key=lambda row: row["offsets_partition"]):
        part = followed(None, of_one, reduction)
        yield packed_row(partition, 0, part).append_column(ANEW, pa.array([None], pa.string()))
