"""The state of a stream in its checkpoint: what each micro-batch came to, and now and then all so far.

    kgroup-state-4/7        the parts of micro-batch 7, a row for each offsets partition with something new
    kgroup-state-4/base-4   what the log came to as of micro-batch 4

So a micro-batch writes what is new, whatever came before. Each is one Parquet file in a folder of Spark's,
whole when Spark's `_SUCCESS` is in it; the parts in it have checksums of their own (`kgroup.spark.parts`). A
base is made of micro-batches that Spark has noted as done, so none of them is ever made again, and those
before it are removed only when it is whole.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Generic

from kgroup.errors import InputError
from kgroup.spark.reductions import Part, Reduction

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_STATES: Final = "kgroup-state-"
_STATE: Final = f"{_STATES}4"
"""In the checkpoint folder. Another number when the form of states changes; parts have their own versions."""

_BASE: Final = "base-"
_DONE: Final = "_SUCCESS"
_FILE: Final = ".parquet"
_FEW: Final = 32  # micro-batches that are kept apart at least
_MANY: Final = 256  # and at most, however small they are beside the base
_MERGED_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class Advanced(Generic[Part]):
    """What the log has come to, and why partitions were begun anew in this micro-batch."""

    whole: Part
    anew: Mapping[int, str]


class StreamState(Generic[Part]):
    """The state beside Spark's own checkpoint, and in memory as of the last micro-batch."""

    def __init__(self, session: "SparkSession", checkpoint: str, reduction: Reduction[Part]) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self._folder = f"{checkpoint.rstrip('/')}/{_STATE}"
        self._reduction = reduction
        self._number: int | None = None
        self._parts: dict[int, Part] = {}
        self._base: int | None = None
        self._since_base = 0

    def check_version(self) -> None:
        """Raises InputError where the folder has states, and none that this version can read."""
        names = self._names(self._checkpoint)
        states = [name for name in names if name.startswith(_STATES)]
        if states and _STATE not in states:
            raise InputError(
                f"--checkpoint {self._checkpoint}: made by another version of kgroup, which this one cannot"
                " go on from; give a new folder, and the log is read from its beginning"
            )

    def advance(self, rows: "DataFrame", number: int) -> Advanced[Part]:
        """Take micro-batch `number`, LIVE_SCHEMA's rows, and return what all so far comes to.

        Raises InputError for a checkpoint that is damaged.
        """
        if number == 0:
            self._remove(self._folder)
            self._parts, self._base, self._since_base = {}, None, 0
        elif self._number != number - 1:
            self._load(number - 1)
        if number > 0:
            self._compact(number - 1)
        rows.repartition(1).write.mode("overwrite").parquet(self._path(number))
        parts, anew = dict(self._parts), {}
        with self._damage_named():
            for row in self._rows(str(number)):
                partition = row["offsets_partition"]
                parts[partition] = followed(parts.get(partition), [row], self._reduction)
                if row["anew"] is not None:
                    anew[partition] = row["anew"]
        self._parts, self._number = parts, number
        self._since_base += 1
        return Advanced(self._reduction.merge(part for _, part in sorted(parts.items())), anew)

    def _load(self, number: int) -> None:
        """What micro-batch `number` left."""
        names = self._whole_states()
        bases = sorted(int(name.removeprefix(_BASE)) for name in names if name.startswith(_BASE))
        if bases and bases[-1] > number:
            raise self._damaged(
                f"it has the state of micro-batch {bases[-1]}, and Spark's notes go to {number}"
            )
        self._base = bases[-1] if bases else None
        first = 0 if self._base is None else self._base + 1
        missing = [each for each in range(first, number + 1) if str(each) not in names]
        if missing:
            raise self._damaged(f"what micro-batch {missing[0]} came to is not in it")
        self._parts = {}
        read = [] if self._base is None else [f"{_BASE}{self._base}"]
        with self._damage_named():
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
        if base and self._since_base < _MANY and self._bytes(names) < self._bytes(base):
            return
        self._merged([*base, *names]).write.mode("overwrite").parquet(f"{self._folder}/{_BASE}{number}")
        for name in [*base, *names]:
            self._remove(f"{self._folder}/{name}")
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

        return self._session.read.schema(LIVE_SCHEMA).parquet(f"{self._folder}/{name}")

    def _path(self, number: int) -> str:
        return f"{self._folder}/{number}"

    def _whole_states(self) -> set[str]:
        """Those whose folder has Spark's mark and the one file."""
        return {
            name
            for name in self._names(self._folder)
            if {_DONE, _FILE} <= {_kind_of(file) for file in self._names(f"{self._folder}/{name}")}
        }

    def _damaged(self, why: str) -> InputError:
        return InputError(
            f"--checkpoint {self._checkpoint}: damaged: {why}; give a new folder, and the log is read from"
            " its beginning"
        )

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from kgroup.spark.failure import cause_of
        from kgroup.spark.parts.packing import DamagedPartError

        try:
            yield
        except DamagedPartError as error:
            raise self._damaged(str(error)) from error
        except (PySparkException, Py4JError) as error:
            raise self._damaged(cause_of(error)) from error

    # Through Hadoop, as the folder may be anywhere that Spark can write to.

    def _names(self, path: str) -> list[str]:
        files, folder = self._hadoop(path)
        return [each.getPath().getName() for each in files.listStatus(folder)] if files.exists(folder) else []

    def _bytes(self, names: Iterable[str]) -> int:
        total = 0
        for name in names:
            files, folder = self._hadoop(f"{self._folder}/{name}")
            total += files.getContentSummary(folder).getLength()
        return total

    def _remove(self, path: str) -> None:
        files, folder = self._hadoop(path)
        files.delete(folder, True)

    def _hadoop(self, path: str) -> tuple[Any, Any]:
        """The file system of a path, and the path as it takes it."""
        jvm: Any = self._session._jvm
        hadoop_path = jvm.org.apache.hadoop.fs.Path(path)
        return hadoop_path.getFileSystem(self._session._jsc.hadoopConfiguration()), hadoop_path


def _kind_of(file: str) -> str:
    return _FILE if file.endswith(_FILE) else file


def followed(before: Any, rows: Iterable[Mapping[str, Any]], reduction: Reduction[Any]) -> Any:
    """What rows of one offsets partition make of what was before, which is None if there was nothing."""
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
