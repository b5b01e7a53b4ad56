"""Values that executors pass to each other, and the batches of rows they finally make and keep.

A value is what `kgroup.spark.parts` can pack, a row of Spark's each. Importing this module does not import
PySpark.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from kgroup.spark.parts.kinds import Note

Values = Iterator[Any]

ROWS: Final = "rows"
"""The default name of the result."""

_SENT: Final = "to int, part binary"
_KEPT: Final = "name string, part binary"
_NOTE: Final = "note"
_NOTES: Final = "messages of executors"


@dataclass(frozen=True, slots=True)
class Beside:
    """Some rows of another table than the one that is made, kept by its name."""

    name: str
    batch: "pa.RecordBatch"


def sent(values: "DataFrame", send: Callable[[Values], Iterator[tuple[int, Any]]], tasks: int) -> "DataFrame":
    """The values that `send` makes of each task's, each for one of the `tasks` of the next step, from 0."""
    return values.mapInArrow(partial(_send, send=send), _SENT).repartitionById(tasks, "to")


def kept_batches(
    values: "DataFrame",
    make: "Callable[[Values], Iterator[pa.RecordBatch | Beside | Note]]",
    schema: "pa.Schema",
) -> "KeptBatches":
    """Run all tasks; the rows `make` makes of their values stay on the executors' disks, notes come here.

    The order is that of the tasks. `schema` is that of the batches, but that texts may be dictionaries.
    Raises KgroupError if the notes are too much for the driver.
    """
    from pyspark import StorageLevel

    from kgroup.spark.parts.kinds import unpack
    from kgroup.spark.room import fetched

    frame = values.mapInArrow(partial(_keep, make=make), _KEPT).persist(StorageLevel.DISK_ONLY)
    kept = KeptBatches(frame, schema)
    try:
        notes = fetched(frame.filter(f"name = '{_NOTE}'"), _NOTES)
    except BaseException:
        kept.forget()
        raise
    kept.notes.extend(unpack(part.as_py()).value for part in notes["part"])
    return kept


@dataclass(frozen=True, slots=True)
class KeptBatches:
    """Rows that executors have made, and the notes that came with them."""

    frame: "DataFrame"
    schema: "pa.Schema"
    notes: list[Any] = field(default_factory=list)

    def forget(self) -> None:
        """Free the executors' disks."""
        self.frame.unpersist()

    def fetched(self, name: str = ROWS) -> "Iterator[pa.RecordBatch]":
        """The batches in their order; those of one task are held at a time."""
        for row in self._named(name).select("part").toLocalIterator():
            yield _batch(row["part"])

    def as_frame(self) -> "DataFrame":
        """The rows as rows of Spark."""
        schema = self.schema
        return self.turned(ROWS, schema, partial(_as_schema, schema=schema))

    def turned(
        self, name: str, schema: "pa.Schema", turn: "Callable[[pa.RecordBatch], pa.RecordBatch]"
    ) -> "DataFrame":
        """The batches as turned by executors, of `schema`, as rows of Spark."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return self._named(name).mapInArrow(partial(_unfold, turn=turn), from_arrow_schema(schema))

    def _named(self, name: str) -> "DataFrame":
        return self.frame.filter(f"name = '{name}'")


def _send(
    batches: "Iterator[pa.RecordBatch]", send: Callable[[Values], Iterator[tuple[int, Any]]]
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    from kgroup.spark.parts.kinds import pack

    columns: list[tuple[str, pa.DataType]] = [("to", pa.int32()), ("part", pa.binary())]
    schema = pa.schema(columns)
    for task, value in send(_values(batches)):
        yield pa.RecordBatch.from_pylist([{"to": task, "part": pack(value)}], schema)


def _keep(
    batches: "Iterator[pa.RecordBatch]",
    make: "Callable[[Values], Iterator[pa.RecordBatch | Beside | Note]]",
) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    from kgroup.spark.parts.kinds import Note, pack

    columns: list[tuple[str, pa.DataType]] = [("name", pa.string()), ("part", pa.binary())]
    schema = pa.schema(columns)
    for made in make(_values(batches)):
        match made:
            case Note():
                row = {"name": _NOTE, "part": pack(made)}
            case Beside(name, batch):
                row = {"name": name, "part": _ipc(batch)}
            case _:
                row = {"name": ROWS, "part": _ipc(made)}
        yield pa.RecordBatch.from_pylist([row], schema)


def _unfold(
    batches: "Iterator[pa.RecordBatch]", turn: "Callable[[pa.RecordBatch], pa.RecordBatch]"
) -> "Iterator[pa.RecordBatch]":
    for batch in batches:
        for packed in batch["part"]:
            yield turn(_batch(packed.as_py()))


def _as_schema(batch: "pa.RecordBatch", schema: "pa.Schema") -> "pa.RecordBatch":
    return batch.select(schema.names).cast(schema)


def _values(batches: "Iterator[pa.RecordBatch]") -> Values:
    from kgroup.spark.parts.kinds import unpack

    return (unpack(packed.as_py()) for batch in batches for packed in batch["part"])


def _ipc(batch: "pa.RecordBatch") -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _batch(packed: bytes) -> "pa.RecordBatch":
    import pyarrow as pa

    with pa.ipc.open_stream(packed) as reader:
        return reader.read_next_batch()
