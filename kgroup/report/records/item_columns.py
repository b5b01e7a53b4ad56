"""Blocks of records as Arrow columns: what `flat_rows` come to, without a mapping for each row.

Texts that many rows share are dictionaries, which a Parquet file has anyway.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.log.files.entries import ReadRecord
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import RecordType, TransactionOutcome
from kgroup.report.emit import (
    PARQUET_ROWS_AT_ONCE,
    Column,
    Kind,
    Row,
    arrow_schema,
    parquet_converter,
    to_json,
)
from kgroup.report.records.columns import COLUMNS
from kgroup.report.records.item_text import ItemText, Transactions
from kgroup.report.records.programs import Programs, programs_of, sample_read, value_pieces
from kgroup.report.records.record_json import damage_json, group_of_record, place_json
from kgroup.scan.kernels.bytes_at import Bytes
from kgroup.scan.kernels.gather import strings_at
from kgroup.scan.kernels.records import Cell, Form
from kgroup.scan.reading.records import RecordBlock, RecordReader

if TYPE_CHECKING:
    ArrowColumn = pa.Array[Any]
else:
    ArrowColumn = pa.Array

_UNIQUE: Final = "value"
"""The column of texts of which hardly two are equal."""
_KINDS: Final = dict.fromkeys(list(Form)[: Form.TOMBSTONE], "record") | {
    Form.TOMBSTONE: "tombstone",
    Form.COMMITTED: "control",
    Form.ABORTED: "control",
}
_CONTROLS: Final = {Form.COMMITTED: "COMMIT", Form.ABORTED: "ABORT"}


def encoded_schema() -> pa.Schema:
    """`arrow_schema(COLUMNS)` with dictionaries in place of texts."""
    shared = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            (field.name, shared if field.type == pa.string() and field.name != _UNIQUE else field.type)
            for field in arrow_schema(COLUMNS)
        ]
    )


class ItemColumns(ItemText):
    """Makes tables of `encoded_schema`; one serves a whole run."""

    def flat(self, item: ReadRecord | Damage, outcome: TransactionOutcome | None) -> Row:
        """A record or damaged place by the plain path."""
        if isinstance(item, Damage):
            return damage_json(item)
        return {**self._plain.flat(item, outcome), "group": group_of_record(item)}

    def table_of_rows(self, rows: Sequence[Row]) -> pa.Table:
        """Rows of `flat`."""
        schema = arrow_schema(COLUMNS)
        converters = [(column.name, parquet_converter(column.kind)) for column in COLUMNS]
        plain = [{name: convert(row.get(name)) for name, convert in converters} for row in rows]
        batch = pa.RecordBatch.from_pylist(plain, schema)
        columns = [
            column.dictionary_encode() if pa.types.is_dictionary(field.type) else column
            for column, field in zip(batch.columns, encoded_schema(), strict=True)
        ]
        return pa.Table.from_arrays(columns, schema=encoded_schema())

    def table(
        self,
        segment: SegmentFile,
        reader: RecordReader,
        block: RecordBlock,
        items: NDArray[np.int64],
        transactions: Transactions | None,
        by_hand: Mapping[int, Row],
    ) -> pa.Table:
        """These items of a block; `by_hand` has what `flat` says of those of form OTHER or EMPTY_BATCH."""
        cells = block.cells
        plain = items[cells[Cell.FORM].take(items) < Form.OTHER]
        table = self._plain_table(segment, reader, block, plain, transactions)
        if not by_hand:
            return table
        numbers = np.concatenate([plain, np.array(list(by_hand), np.int64)])
        both = pa.concat_tables([table, self.table_of_rows(list(by_hand.values()))]).unify_dictionaries()
        return both.combine_chunks().take(_integers(np.argsort(numbers, kind="stable")))

    def _plain_table(
        self,
        segment: SegmentFile,
        reader: RecordReader,
        block: RecordBlock,
        plain: NDArray[np.int64],
        transactions: Transactions | None,
    ) -> pa.Table:
        cells, count = block.cells, len(plain)
        sizes, texts = [np.zeros(0, np.int64)], bytearray()
        batches, spans = np.empty(0, np.uint8), np.zeros(0, np.int64)
        for written in self._written(segment, reader, block, plain, transactions, {}):
            sizes.append(np.diff(written.ends, prepend=0))
            texts += written.text.tobytes()
            batches, spans = written.block_texts, written.block_spans
        forms = cells[Cell.FORM].take(plain)
        is_keyed, has_value = forms <= Form.TOMBSTONE, forms < Form.TOMBSTONE
        kept = self._kept
        place = place_json(segment)
        outcomes = np.zeros(count, np.int64) if transactions is None else transactions.take(plain)
        nothing = np.zeros(count, np.bool_)
        zeros = np.zeros(count, np.int64)
        columns: dict[str, ArrowColumn] = {
            "partition": _integers(np.full(count, segment.partition, np.int64)),
            "segment": _coded(zeros, _texts([str(place["segment"])]), None),
            "offset": _integers(cells[Cell.LOG_OFFSET].take(plain)),
            "timestamp": _integers(cells[Cell.TIMESTAMP].take(plain)).view(pa.timestamp("ms", tz="UTC")),
            "kind": _coded(forms, _texts([_KINDS.get(form, "") for form in Form]), None),
            "type": _coded(zeros, _texts([RecordType.OFFSET_COMMIT.name]), is_keyed),
            "group": _of_arena(cells[Cell.GROUP_TEXT].take(plain), kept.texts, kept.spans, is_keyed),
            "keyVersion": _integers(np.full(count, int(RecordType.OFFSET_COMMIT), np.int64), is_keyed),
            "valueVersion": _integers(forms, has_value),
            "key": _of_arena(cells[Cell.KEY_TEXT].take(plain), kept.texts, kept.spans, is_keyed),
            "value": _strings(bytes(texts), np.concatenate(sizes), has_value),
            "transaction": _coded(
                np.maximum(outcomes - 1, 0),
                _texts([outcome.value for outcome in TransactionOutcome]),
                outcomes > 0,
            ),
            "control": _coded(forms, _texts([_CONTROLS.get(form, "") for form in Form]), ~is_keyed),
            "batch": _of_arena(cells[Cell.BATCH].take(plain), batches, spans, None),
        }
        schema = encoded_schema()
        for field in schema:
            if field.name not in columns:
                is_text = pa.types.is_dictionary(field.type)
                columns[field.name] = (
                    _coded(zeros, _texts([""]), nothing) if is_text else _integers(zeros, nothing)
                )
        return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)

    # ---- what a format is ---------------------------------------------------------------------------

    def line(self, item: ReadRecord | Damage, outcome: TransactionOutcome | None) -> str:
        """The value alone."""
        assert not isinstance(item, Damage)
        value = self._plain.flat(item, outcome).get("value")
        return "" if value is None else to_json(value)

    def _shown_json(self, text: str) -> str:
        return text

    def _group_text(self, group: str) -> str:
        return group

    def _outcome_text(self, outcome: TransactionOutcome) -> str:
        return outcome.value

    def _programs(self, segment: SegmentFile) -> Programs:
        samples = []
        for form in list(Form)[: Form.OTHER]:
            has_value = form < Form.TOMBSTONE
            text = self.line(*sample_read(form)) if has_value else ""
            samples.append((text, value_pieces(form, self._inside_json) if has_value else []))
        return programs_of(samples)


def row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, as many at a time as `arrow_batches` has; the last table may have none."""
    pending = encoded_schema().empty_table()
    for table in tables:
        pending = pa.concat_tables([pending, table])
        while pending.num_rows >= PARQUET_ROWS_AT_ONCE:
            yield pending.slice(0, PARQUET_ROWS_AT_ONCE)
            pending = pending.slice(PARQUET_ROWS_AT_ONCE)
    yield pending


def write_tables(tables: Iterable[pa.Table], columns: Sequence[Column], file: IO[bytes]) -> None:
    """Write a Parquet file of `arrow_schema(columns)`."""
    from base64 import b64encode

    from pyarrow import parquet

    shared = [column.name for column in columns if column.kind in (Kind.TEXT, Kind.NESTED)]
    shared.remove(_UNIQUE)
    # Parquet knows no dictionaries, but a reader of Arrow's takes the types that it finds written there.
    types = {"ARROW:schema": b64encode(arrow_schema(columns).serialize().to_pybytes()).decode()}
    with parquet.ParquetWriter(
        file,
        encoded_schema(),
        store_schema=False,
        use_dictionary=shared,  # type: ignore[arg-type]  # the stubs do not know of names
    ) as writer:
        writer.add_key_value_metadata(types)
        for table in tables:
            writer.write_table(table.unify_dictionaries(), PARQUET_ROWS_AT_ONCE)


def _integers(values: NDArray[np.int64], valid: NDArray[np.bool_] | None = None) -> ArrowColumn:
    return pa.Array.from_buffers(
        pa.int64(), len(values), [_bits(valid), pa.py_buffer(np.ascontiguousarray(values).data)]
    )


def _coded(codes: NDArray[np.int64], dictionary: ArrowColumn, valid: NDArray[np.bool_] | None) -> ArrowColumn:
    indices = pa.Array.from_buffers(
        pa.int32(), len(codes), [_bits(valid), pa.py_buffer(codes.astype(np.int32).data)]
    )
    return pa.DictionaryArray.from_arrays(indices, dictionary, safe=False)


def _of_arena(
    numbers: NDArray[np.int64], texts: Bytes, spans: NDArray[np.int64], valid: NDArray[np.bool_] | None
) -> ArrowColumn:
    """Texts by their numbers; where they are not valid the number may be anything."""
    if valid is not None:
        numbers = np.where(valid, numbers, 0)
    used, codes = np.unique(numbers, return_inverse=True)
    starts = spans[2 * used]
    return _coded(codes, strings_at(texts, starts, spans[2 * used + 1] - starts), valid)


def _strings(texts: bytes, sizes: NDArray[np.int64], valid: NDArray[np.bool_]) -> ArrowColumn:
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]).astype(np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(sizes), [_bits(valid), pa.py_buffer(offsets.data), pa.py_buffer(texts)]
    )


def _texts(texts: list[str]) -> ArrowColumn:
    return pa.array(texts, pa.string())


def _bits(valid: NDArray[np.bool_] | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little").data)
