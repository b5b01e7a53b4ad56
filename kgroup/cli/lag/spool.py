"""The rows of one cluster of several, kept on disk until all are written together.

So a cluster that fails in the middle leaves no rows behind, and only a few thousand rows are in memory.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kgroup.report.emit import Column, OutputOptions, Row, arrow_schema, emit, to_json
from kgroup.report.emit_columns import Columns, column_batches, columns_of, emit_columns

if TYPE_CHECKING:
    import pyarrow as pa

CLUSTER: Final = Column(name="cluster")
ROWS: Final = "rows"
FINDINGS: Final = "findings"

_ROWS_AT_ONCE: Final = 8192


@dataclass(frozen=True, slots=True)
class Spool:
    """One cluster's report, in files of a folder: rows, findings, or both.

    Rows come in one of three forms, as `emit_columns`, `emit` and `emit_batches` take them.
    """

    cluster: str
    folder: Path
    columns: dict[str, Sequence[Column]] = field(default_factory=dict)

    def keep_chunks(self, chunks: Iterable[Columns], columns: Sequence[Column], name: str = ROWS) -> None:
        """Rows in columns."""
        with self._path(name, "chunks").open("w", encoding="utf-8") as file:
            for chunk in chunks:
                file.write(f"{to_json(chunk)}\n")
        self.columns[name] = columns

    def keep_rows(self, rows: Iterable[Row], columns: Sequence[Column], name: str = ROWS) -> None:
        """Rows as mappings."""
        with self._path(name, "rows").open("w", encoding="utf-8") as file:
            for row in rows:
                file.write(f"{to_json(row)}\n")
        self.columns[name] = columns

    def keep_batches(
        self, batches: "Iterable[pa.RecordBatch]", columns: Sequence[Column], name: str = ROWS
    ) -> None:
        """Rows as Arrow batches, each of which may have dictionaries of its own."""
        import pyarrow as pa

        with self._path(name, "batches").open("wb") as file:
            for batch in batches:
                with pa.ipc.new_stream(file, batch.schema) as writer:
                    writer.write_batch(batch)
        self.columns[name] = columns

    def has(self, name: str, form: str) -> bool:
        """Whether something was kept in a form."""
        return self._path(name, form).exists()

    def chunks(self, name: str = ROWS) -> Iterator[Columns]:
        """The chunks that `keep_chunks` kept, with the cluster's name."""
        for chunk in self._lines(name, "chunks"):
            count = len(next(iter(chunk.values()), ()))
            if count:
                yield {CLUSTER.name: [self.cluster] * count, **chunk}

    def rows(self, name: str = ROWS) -> Iterator[Row]:
        """The rows that `keep_rows` kept, likewise."""
        for row in self._lines(name, "rows"):
            yield {CLUSTER.name: self.cluster, **row}

    def batches(self, name: str = ROWS) -> "Iterator[pa.RecordBatch]":
        """The batches that `keep_batches` kept, likewise."""
        import pyarrow as pa

        path = self._path(name, "batches")
        with path.open("rb") as file:
            while file.tell() < path.stat().st_size:
                for batch in pa.ipc.open_stream(file):
                    names = pa.array([self.cluster] * batch.num_rows, pa.string())
                    yield batch.add_column(0, CLUSTER.name, names)

    def _lines(self, name: str, form: str) -> Iterator[Any]:
        with self._path(name, form).open(encoding="utf-8") as file:
            yield from map(json.loads, file)

    def _path(self, name: str, form: str) -> Path:
        return self.folder / f"{name}.{form}"


def emit_together(spools: Sequence[Spool], output: OutputOptions) -> None:
    """Write the rows of all clusters, one after the other, as one cluster's are written."""
    columns = [CLUSTER, *spools[0].columns[ROWS]]
    if spools[0].has(ROWS, "batches"):
        from kgroup.report.emit_batches import emit_batches

        emit_batches((batch for spool in spools for batch in spool.batches()), columns, output)
    elif spools[0].has(ROWS, "chunks"):
        emit_columns((chunk for spool in spools for chunk in spool.chunks()), columns, output)
    else:
        emit((row for spool in spools for row in spool.rows()), columns, output)


def arrow_together(spools: Sequence[Spool], name: str) -> "tuple[Iterator[pa.RecordBatch], Sequence[Column]]":
    """The same as batches of `arrow_schema`, with their columns."""
    columns = [CLUSTER, *spools[0].columns[name]]
    if spools[0].has(name, "batches"):
        schema = arrow_schema(columns)
        kept = (batch for spool in spools for batch in spool.batches(name))
        return (batch.select(schema.names).cast(schema) for batch in kept), columns
    return column_batches(_chunks(spools, name), columns), columns


def _chunks(spools: Sequence[Spool], name: str) -> Iterator[Columns]:
    for spool in spools:
        if spool.has(name, "chunks"):
            yield from spool.chunks(name)
            continue
        some: list[Row] = []
        for row in spool.rows(name):
            some.append(row)
            if len(some) == _ROWS_AT_ONCE:
                yield columns_of(some)
                some = []
        if some:
            yield columns_of(some)
