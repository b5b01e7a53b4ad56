"""The state of a stream in its checkpoint: the result of each micro-batch, and sometimes of all so far.

    kgroup-state-5/7        the parts of micro-batch 7, a row for each offsets partition with something new
    kgroup-state-5/base-4   what the log came to as of micro-batch 4, a row for each piece (`state_pieces.py`)

So a micro-batch writes what is new, whatever came before. Each is one Parquet file in a folder of Spark's,
whole when Spark's `_SUCCESS` is in it; the parts in it have checksums of their own (`kgroup.spark.parts`). A
base is made of micro-batches that Spark has noted as done, so none of them is ever made again, and those
before it are removed only when it is whole.

A small state is held here, too, from one micro-batch to the next. Of a large one the driver knows no more
than how many bytes each offsets partition has: executors put it together for who asks.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic

from kgroup.spark.checkpoint_folder import CheckpointFolder
from kgroup.spark.reductions import Part, Reduction

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_STATES: Final = "kgroup-state-"
_STATE: Final = f"{_STATES}5"
"""In the checkpoint folder. Another number when the form of states changes; parts have their own versions."""

_BASE: Final = "base-"
_FEW: Final = 32  # micro-batches that are kept apart at least
_MANY: Final = 256  # and at most, however small they are compared with the base
# Of a large state: whoever looks at all of it puts them together again each time, and each costs as much as
# there are offsets partitions, however little is in it.
_LARGE: Final = 8
_TASKS_PER_CORE: Final = 2
_TASK_BYTES: Final = 32 << 20  # that one puts together at most, about
_HERE_BYTES: Final = 4 << 20
"""Of parts, packed: a state beyond it is not held here. A commit takes about 16 bytes and up of that."""


@dataclass(frozen=True, slots=True)
class Advanced(Generic[Part]):
    """The state of the log after a micro-batch, and why partitions were begun again in it.

    `is_here` says whether it is small enough to be held in the driver.
    """

    anew: Mapping[int, str]
    is_here: bool
    _state: "StreamState[Part]"

    def whole(self) -> Part:
        """The state here, if `is_here`."""
        return self._state.whole()

    @contextmanager
    def there(self) -> "Iterator[DataFrame]":
        """The state as executors keep it for now: a row with a part for each piece of whole groups.

        Raises InputError for a checkpoint that is damaged.
        """
        with self._state.there() as parts:
            yield parts


class StreamState(Generic[Part]):
    """The state next to Spark's own checkpoint, and in memory as of the last micro-batch if it is small."""

    def __init__(self, session: "SparkSession", checkpoint: str, reduction: Reduction[Part]) -> None:
        self._session = session
        self._folder = CheckpointFolder(session, checkpoint, _STATE)
        self._reduction = reduction
        self._begin_empty()

    def _begin_empty(self) -> None:
        self._number: int | None = None
        self._base: int | None = None
        self._parts: dict[int, Part] | None = {}  # None while the state is large
        self._of_base: dict[int, int] = {}  # bytes by offsets partition
        self._new: defaultdict[int, int] = defaultdict(int)  # and those of micro-batches since the base
        self._pieces: dict[int, int] = {}

    def check_version(self) -> None:
        """Raises InputError where the folder has states, and none that this version can read."""
        self._folder.check_version(_STATES)

    def advance(self, rows: "DataFrame", number: int) -> Advanced[Part]:
        """Take micro-batch `number`, LIVE_SCHEMA's rows.

        Raises InputError for a checkpoint that is damaged.
        """
        from kgroup.spark.state_pieces import as_state, followed, pieces_for

        if number == 0:
            self._folder.remove()
            self._begin_empty()
        elif self._number != number - 1:
            self._load(number - 1)
        if number > 0:
            self._compact(number - 1)
        name, anew = str(number), {}
        self._write(as_state(rows, number), name)
        self._number = None  # until all of it is known
        with self._folder.damage_named():
            if self._parts is not None and self._bytes() + self._folder.bytes_of(name) > _HERE_BYTES:
                self._parts = None
            for row in self._rows([name], with_parts=self._parts is not None):
                partition = row["offsets_partition"]
                self._new[partition] += row["bytes"]
                if row["anew"] is not None:
                    anew[partition] = row["anew"]
                if self._parts is not None:
                    self._parts[partition] = followed(self._parts.get(partition), [row], self._reduction)
        for partition, size in self._new.items():
            so_far = size + self._of_base.get(partition, 0)
            self._pieces[partition] = pieces_for(so_far, self._pieces.get(partition, 1))
        self._number = number
        return Advanced(anew, self._parts is not None, self)

    def whole(self) -> Part:
        """All so far, of a state that is held here."""
        assert self._parts is not None, "the state is not here"
        return self._reduction.merge(part for _, part in sorted(self._parts.items()))

    @contextmanager
    def there(self) -> "Iterator[DataFrame]":
        """All so far in pieces, on the executors' disks."""
        from pyspark import StorageLevel

        assert self._number is not None, "a micro-batch was taken"
        with self._folder.damage_named():
            parts = self._put_together(self._names(self._number)).persist(StorageLevel.DISK_ONLY)
        try:
            with self._folder.damage_named():
                parts.count()
            yield parts
        finally:
            parts.unpersist()

    def _bytes(self) -> int:
        return sum(self._of_base.values()) + sum(self._new.values())

    def _names(self, number: int) -> list[str]:
        """What the state of micro-batch `number` is made of."""
        base = [] if self._base is None else [f"{_BASE}{self._base}"]
        return [*base, *map(str, range(self._first(), number + 1))]

    def _first(self) -> int:
        return 0 if self._base is None else self._base + 1

    def _load(self, number: int) -> None:
        """Load what is to be known of the state that micro-batch `number` left."""
        from kgroup.spark.state_pieces import followed

        self._begin_empty()
        there = self._folder.whole()
        bases = sorted(int(name.removeprefix(_BASE)) for name in there if name.startswith(_BASE))
        if bases and bases[-1] > number:
            raise self._folder.damaged(
                f"it has the state of micro-batch {bases[-1]}, and Spark's notes go to {number}"
            )
        self._base = bases[-1] if bases else None
        names = self._names(number)
        missing = [name for name in names if name not in there]
        if missing:
            raise self._folder.damaged(f"what micro-batch {missing[0]} came to is not in it")
        for name in there - {*names, str(number + 1)}:
            self._folder.remove(name)  # the base has it, and whoever made that died before this was done
        with self._folder.damage_named():
            if sum(map(self._folder.bytes_of, names)) > _HERE_BYTES:
                self._parts = None
            for row in self._rows(names, with_parts=self._parts is not None):
                partition = row["offsets_partition"]
                self._pieces[partition] = max(row["pieces"], self._pieces.get(partition, 1))
                sizes = self._of_base if row["number"] == self._base else self._new
                sizes[partition] = sizes.get(partition, 0) + row["bytes"]
                if self._parts is not None:
                    self._parts[partition] = followed(self._parts.get(partition), [row], self._reduction)
        self._number = number

    def _compact(self, number: int) -> None:
        """Make a base of all up to `number`, if it is time to, and remove what it has taken in.

        Groups that are long deleted are forgotten, or the state would grow for ever.
        """
        from kgroup.scan.reductions.gone import without_gone

        since_base = number + 1 - self._first()
        if since_base < (_LARGE if self._parts is None else _FEW):
            return
        is_small = sum(self._new.values()) < sum(self._of_base.values())
        if self._parts is not None and since_base < _MANY and is_small:
            return
        names, base = self._names(number), f"{_BASE}{number}"
        self._write(self._put_together(names, forgets=True), base)
        for name in names:
            self._folder.remove(name)
        self._base, self._of_base = number, {}
        self._new.clear()
        with self._folder.damage_named():
            for row in self._rows([base], with_parts=False):
                partition = row["offsets_partition"]
                self._of_base[partition] = self._of_base.get(partition, 0) + row["bytes"]
        if self._parts is not None:
            self._parts = {partition: without_gone(part) for partition, part in self._parts.items()}
        elif 2 * self._bytes() < _HERE_BYTES:
            self._load(number)  # and what it has shrunk to may be held here

    def _put_together(self, names: Iterable[str], *, forgets: bool = False) -> "DataFrame":
        from kgroup.spark.jobs import cores_of
        from kgroup.spark.state_pieces import put_together

        # Spark's own number, 200, costs more than all else where each has next to nothing to do.
        tasks = max(_TASKS_PER_CORE * cores_of(self._session), self._bytes() // _TASK_BYTES)
        return put_together(self._frame(names), self._pieces, self._reduction, tasks, forgets=forgets)

    def _rows(self, names: Iterable[str], *, with_parts: bool) -> Iterator[dict[str, Any]]:
        """The rows in their order, with the bytes that each part has, and with the part if that is needed."""
        columns = ["offsets_partition", "anew", "number", "pieces", "length(part) AS bytes"]
        frame = self._frame(names).selectExpr(*columns, *(["part"] if with_parts else []))
        table = frame.toArrow().sort_by([("number", "ascending"), ("offsets_partition", "ascending")])
        for batch in table.to_batches(1):
            yield from batch.to_pylist()

    def _write(self, rows: "DataFrame", name: str) -> None:
        """Parts are packed already; so a file is as large as they are, which says whether they fit here."""
        writer = rows.repartition(1).write.mode("overwrite").option("compression", "none")
        writer.parquet(self._folder.path(name))

    def _frame(self, names: Iterable[str]) -> "DataFrame":
        from kgroup.spark.state_pieces import STATE_SCHEMA

        return self._session.read.schema(STATE_SCHEMA).parquet(*map(self._folder.path, names))
