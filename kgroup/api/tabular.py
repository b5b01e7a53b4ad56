"""Results as tables: Arrow for programs, HTML for notebooks."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from kgroup.report.emit import Column, Row


class Tabular:
    """A base of results. polars, DuckDB and pandas 3 take them as they are, by Arrow's C stream interface."""

    __slots__ = ()

    def arrow_columns(self) -> "Sequence[Column]":
        """The columns, as the command's `-o parquet` has them."""
        raise NotImplementedError

    def arrow_rows(self) -> "Iterator[Row]":
        """A row for each line of the table, made again at each call."""
        raise NotImplementedError

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """The table in pieces of some ten thousand rows, each made when it is asked for."""
        from kgroup.report.emit import arrow_batches

        return arrow_batches(self.arrow_rows(), self.arrow_columns())

    def to_arrow(self) -> "pa.Table":
        """The whole table."""
        import pyarrow as pa

        from kgroup.report.emit import arrow_schema

        return pa.Table.from_batches(self.batches(), arrow_schema(self.arrow_columns()))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a stream of batches for other libraries; see Arrow's PyCapsule interface."""
        import pyarrow as pa

        from kgroup.report.emit import arrow_schema

        reader = pa.RecordBatchReader.from_batches(arrow_schema(self.arrow_columns()), self.batches())
        return reader.__arrow_c_stream__(requested_schema)  # type: ignore[no-untyped-call]
