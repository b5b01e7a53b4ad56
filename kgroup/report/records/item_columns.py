"""Records as Arrow columns: whole blocks where records are of frequent types, row by row otherwise."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgroup.log.files.entries import ReadRecord
from kgroup.log.files.log_dir import SegmentFile
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import RecordType, TransactionOutcome
from kgroup.protocol.topic_id import topic_id_text
from kgroup.report.emit import PARQUET_ROWS_AT_ONCE, Column, Row, arrow_batches, arrow_schema
from kgroup.report.records.arrow_types import batch_type, key_type, value_type
from kgroup.report.records.columns import ARROW_COLUMNS, SCHEMA_VERSION
from kgroup.report.records.entry_json import TopicNames
from kgroup.report.records.item_text import Transactions
from kgroup.report.records.programs import batch_words
from kgroup.report.records.record_json import damage_json, group_of_record, place_json, record_json
from kgroup.scan.kernels.gather import no_rows, strings_at
from kgroup.scan.kernels.keys import (
    GROUP,
    GROUP_TAG,
    PARTITION,
    START,
    TOPIC,
    TOPIC_TAG,
    Keys,
    ids_with_tag,
    string_bytes,
)
from kgroup.scan.kernels.records import Cell, Form, Head, Table
from kgroup.scan.reading.records import RecordBlock, RecordReader

if TYPE_CHECKING:
    ArrowColumn = pa.Array[Any]
else:
    ArrowColumn = pa.Array

Valid = NDArray[np.bool_]
Numbers = NDArray[np.int64]

_FIRST_WITH_LEADER_EPOCH: Final = Form.COMMIT_3
_MAGIC: Final = 2
_NULL_TYPES: Final = 32
_TIME: Final = pa.timestamp("ms", tz="UTC")
_REPEATED: Final = (
    *(
        "segment",
        "kind",
        "type",
        "group",
        "transaction",
        "control",
        "key.group",
        "key.topic",
        "value.metadata",
    ),
    *("value.topicId", "value.topicName", "batch.codec", "batch.timestampType"),
)
"""Columns of Parquet that are worth a dictionary; numbers and times are smaller as they are, or compress."""


def record_row(item: ReadRecord | Damage, outcome: TransactionOutcome | None, names: TopicNames) -> Row:
    """A record or damaged place in ARROW_COLUMNS, by the plain path."""
    if isinstance(item, Damage):
        return damage_json(item)
    row = record_json(item, transaction=outcome, topic_names=names)
    row["group"] = group_of_record(item)
    for size in ("keySize", "valueSize"):
        if row.get(size) == -1:
            row[size] = None
    value = row.get("value")
    if row.get("type") == RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION.name and isinstance(value, dict):
        row["value"] = value | {"topics": [{"topicName": name} for name in value["topics"]]}
    return row


class ItemColumns:
    """Makes tables of `arrow_schema(ARROW_COLUMNS)`; one serves a whole run."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._schema = arrow_schema(ARROW_COLUMNS)
        self._reader: RecordReader | None = None
        self._words = {head: _texts(words) for head, words in batch_words().items() if head in _WORDED}

    def flat(self, item: ReadRecord | Damage, outcome: TransactionOutcome | None) -> Row:
        """A record or damaged place by the plain path."""
        return record_row(item, outcome, self._names)

    def pieces(
        self,
        segment: SegmentFile,
        reader: RecordReader,
        block: RecordBlock,
        items: Numbers,
        transactions: Transactions | None,
        by_hand: Mapping[int, Row],
    ) -> Iterator[pa.Table | Row]:
        """These items of a block; `by_hand` has what `flat` says of those of form OTHER or EMPTY_BATCH."""
        plain = items[block.cells[Cell.FORM].take(items) < Form.OTHER]
        table = self._plain_table(segment, reader, block, plain, transactions)
        at = 0
        for number in sorted(by_hand):
            end = int(np.searchsorted(plain, number))
            if end > at:
                yield table.slice(at, end - at)
            yield by_hand[number]
            at = end
        yield table.slice(at)

    def _plain_table(
        self,
        segment: SegmentFile,
        reader: RecordReader,
        block: RecordBlock,
        plain: Numbers,
        transactions: Transactions | None,
    ) -> pa.Table:
        cells, count = block.cells, len(plain)
        forms = cells[Cell.FORM].take(plain)
        is_keyed, has_value = forms <= Form.TOMBSTONE, forms < Form.TOMBSTONE
        outcomes = np.zeros(count, np.int64) if transactions is None else transactions.take(plain)
        key_ids = cells[Cell.KEY_ID].take(plain)[is_keyed]
        groups = _names_of(reader.keys, key_ids, GROUP, GROUP_TAG, is_keyed)
        key_sizes, value_sizes = (cells[size].take(plain) for size in (Cell.KEY_SIZE, Cell.VALUE_SIZE))
        columns: dict[str, ArrowColumn] = {
            "partition": _constant(segment.partition, count),
            "segment": _constant(str(place_json(segment)["segment"]), count),
            "offset": _integers(cells[Cell.LOG_OFFSET].take(plain)),
            "timestamp": _integers(cells[Cell.TIMESTAMP].take(plain)).view(_TIME),
            "keySize": _integers(key_sizes, key_sizes >= 0),
            "valueSize": _integers(value_sizes, value_sizes >= 0),
            "keyVersion": _integers(np.full(count, int(RecordType.OFFSET_COMMIT), np.int64), is_keyed),
            "valueVersion": _integers(forms, has_value),
            "kind": _words(_KINDS, forms),
            "type": _words(_texts([RecordType.OFFSET_COMMIT.name]), np.zeros(count, np.int64), is_keyed),
            "group": groups,
            "key": _keys(reader.keys, key_ids, groups, is_keyed),
            "value": self._values(reader, block, plain, forms, has_value),
            "transaction": _words(_OUTCOMES, np.maximum(outcomes - 1, 0), outcomes > 0),
            "control": _words(_CONTROLS, forms, ~is_keyed),
            "coordinatorEpoch": _integers(cells[Cell.OFFSET].take(plain), ~is_keyed),
            "batch": self._batches(block.heads, cells[Cell.BATCH].take(plain)),
        }
        return pa.Table.from_arrays(
            [
                columns[field.name] if field.name in columns else _nulls(field.type, count)
                for field in self._schema
            ],
            schema=self._schema,
        )

    def _values(
        self, reader: RecordReader, block: RecordBlock, plain: Numbers, forms: Numbers, has_value: Valid
    ) -> ArrowColumn:
        cells = block.cells
        sizes = np.where(has_value, cells[Cell.TEXT_SIZE].take(plain), 0)
        expiry = np.where(forms == Form.COMMIT_1, cells[Cell.EXPIRE_TIMESTAMP].take(plain), -1)
        committed = np.where(has_value, cells[Cell.COMMIT_TIMESTAMP].take(plain), -1)
        topic_ids = np.where(has_value, cells[Cell.TOPIC_ID].take(plain), 0)
        self._begin(reader)
        while len(self._topic_ids) <= topic_ids.max(initial=0):
            topic_id = UUID(bytes=string_bytes(reader.topic_ids, len(self._topic_ids) - 1))
            self._topic_ids.append(topic_id_text(topic_id))
            self._topic_names.append(self._names.get(topic_id))
        has_epoch = has_value & (forms >= _FIRST_WITH_LEADER_EPOCH)
        return _structs(
            value_type(),
            {
                "offset": _integers(cells[Cell.OFFSET].take(plain), has_value),
                "leaderEpoch": _integers(cells[Cell.LEADER_EPOCH].take(plain), has_epoch),
                "metadata": _only(
                    strings_at(block.buffer, cells[Cell.TEXT_POSITION].take(plain), sizes), has_value
                ),
                "commitTimestamp": _integers(committed, committed >= 0).view(_TIME),
                "expireTimestamp": _integers(expiry, expiry >= 0).view(_TIME),
                "topicId": _words(_texts(self._topic_ids), topic_ids),
                "topicName": _words(_texts(self._topic_names), topic_ids),
            },
            has_value,
        )

    def _batches(self, heads: Table, numbers: Numbers) -> ArrowColumn:
        count = len(numbers)

        def of(head: Head) -> Numbers:
            values: Numbers = heads[head].take(numbers)
            return values

        newest = of(Head.MAX_TIMESTAMP)
        columns: dict[str, ArrowColumn] = {name: _integers(of(head)) for name, head in _HEADS.items()}
        columns |= {
            "magic": _constant(_MAGIC, count),
            "codec": _words(self._words[Head.CODEC], of(Head.CODEC)),
            "timestampType": _words(self._words[Head.LOG_APPEND_TIME], of(Head.LOG_APPEND_TIME)),
            "maxTimestamp": _integers(newest, newest >= 0).view(_TIME),
            "crcValid": _flags(np.ones(count, np.bool_)),
            "transactional": _flags(of(Head.TRANSACTIONAL) != 0),
            "control": _flags(of(Head.CONTROL) != 0),
            "deleteHorizonMs": _integers(of(Head.DELETE_HORIZON), of(Head.HAS_HORIZON) != 0).view(_TIME),
        }
        return _structs(batch_type(), columns, None)

    def _begin(self, reader: RecordReader) -> None:
        if reader is not self._reader:
            self._reader = reader
            self._topic_ids: list[str | None] = [None]
            self._topic_names: list[str | None] = [None]


def _keys(keys: Keys, key_ids: Numbers, groups: ArrowColumn, is_keyed: Valid) -> ArrowColumn:
    partitions = np.zeros(len(is_keyed), np.int64)
    partitions[is_keyed] = keys.strings[key_ids, PARTITION]
    return _structs(
        key_type(),
        {
            "group": groups,
            "topic": _names_of(keys, key_ids, TOPIC, TOPIC_TAG, is_keyed),
            "partition": _integers(partitions, is_keyed),
        },
        is_keyed,
    )


def _names_of(keys: Keys, key_ids: Numbers, column: int, tag: int, is_keyed: Valid) -> ArrowColumn:
    """The group or topic of each key, null for items without a key."""
    ids = ids_with_tag(keys, tag)[keys.strings[key_ids, column]]
    starts, sizes = np.zeros(len(is_keyed), np.int64), np.zeros(len(is_keyed), np.int64)
    starts[is_keyed] = keys.strings[ids, START]
    sizes[is_keyed] = keys.strings[ids + 1, START] - keys.strings[ids, START]
    return _only(strings_at(keys.arena, starts, sizes), is_keyed)


def row_groups(pieces: Iterable[pa.Table | Row]) -> Iterator[pa.Table]:
    """The same rows as tables, as many at a time as `arrow_batches` has; the last one may have none."""
    pending: list[pa.Table | Row] = []
    count = 0
    for piece in pieces:
        pending.append(piece)
        count += piece.num_rows if isinstance(piece, pa.Table) else 1
        if count >= PARQUET_ROWS_AT_ONCE:
            table = _together(pending)
            for start in range(0, count - count % PARQUET_ROWS_AT_ONCE, PARQUET_ROWS_AT_ONCE):
                yield table.slice(start, PARQUET_ROWS_AT_ONCE)
            count %= PARQUET_ROWS_AT_ONCE
            pending = [table.slice(table.num_rows - count)]
    yield _together(pending)


def _together(pieces: Sequence[pa.Table | Row]) -> pa.Table:
    """One table; the rows among them are made columns all at once."""
    schema = arrow_schema(ARROW_COLUMNS)
    rows = [piece for piece in pieces if not isinstance(piece, pa.Table)]
    of_rows = pa.Table.from_batches(arrow_batches(rows, ARROW_COLUMNS), schema)
    singles = (of_rows.slice(number, 1) for number in range(len(rows)))
    tables = [piece if isinstance(piece, pa.Table) else next(singles) for piece in pieces]
    return pa.concat_tables([no_rows(schema), *tables])


def write_records(
    tables: Iterable[pa.Table | pa.RecordBatch], columns: Sequence[Column], file: IO[bytes]
) -> None:
    """Write a Parquet file of `arrow_schema(columns)`, whose metadata have the version of the schema.

    A row group is encoded, which takes longest, while the next is made; Arrow holds no lock for that.
    """
    from pyarrow import parquet

    with (
        parquet.ParquetWriter(
            file,
            arrow_schema(columns),
            use_dictionary=list(_REPEATED),  # type: ignore[arg-type]  # the stubs do not know of names
        ) as writer,
        ThreadPoolExecutor(max_workers=1) as encoder,
    ):
        writer.add_key_value_metadata({"kgroup.schema": SCHEMA_VERSION})
        written: Future[None] | None = None
        for table in tables:
            if written is not None:
                written.result()
            written = encoder.submit(writer.write, table, PARQUET_ROWS_AT_ONCE)
        if written is not None:
            written.result()


def _integers(values: Numbers, valid: Valid | None = None) -> ArrowColumn:
    return pa.Array.from_buffers(
        pa.int64(), len(values), [_bits(valid), pa.py_buffer(np.ascontiguousarray(values).data)]
    )


def _flags(values: Valid) -> ArrowColumn:
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])


def _constant(value: str | int, count: int) -> ArrowColumn:
    return pa.repeat(value, count)


def _words(words: ArrowColumn, codes: NDArray[np.integer[Any]], valid: Valid | None = None) -> ArrowColumn:
    """The word for each code, null where it is not valid."""
    indices = pa.Array.from_buffers(
        pa.int64(), len(codes), [_bits(valid), pa.py_buffer(np.ascontiguousarray(codes, np.int64).data)]
    )
    return words.take(indices)


def _only(texts: ArrowColumn, valid: Valid) -> ArrowColumn:
    """The same with null where it is not valid."""
    return pa.Array.from_buffers(pa.string(), len(texts), [_bits(valid), *texts.buffers()[1:]])


def _structs(kind: pa.StructType, columns: Mapping[str, ArrowColumn], valid: Valid | None) -> ArrowColumn:
    """Structs of this type; fields without a column are null."""
    count = len(next(iter(columns.values())))
    empty: Any = _nulls(kind, count)
    children = [
        columns[field.name] if field.name in columns else empty.field(number)
        for number, field in enumerate(kind)
    ]
    return pa.Array.from_buffers(kind, count, [_bits(valid)], children=children)


def _nulls(kind: pa.DataType, count: int) -> ArrowColumn:
    """An array of this many nulls; of a struct all fields are null, too."""
    return _many_nulls(kind, 1 << count.bit_length()).slice(0, count)


@lru_cache(_NULL_TYPES)  # there are hundreds of fields, of which most records have few
def _many_nulls(kind: Any, count: int) -> ArrowColumn:
    nulls: ArrowColumn = pa.nulls(count, kind)
    return nulls


def _texts(texts: Sequence[str | None]) -> ArrowColumn:
    return pa.array(texts, pa.string())


def _bits(valid: Valid | None) -> pa.Buffer | None:
    return None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little").data)


_WORDED: Final = (Head.CODEC, Head.LOG_APPEND_TIME)
_HEADS: Final = {
    "position": Head.POSITION,
    "sizeInBytes": Head.SIZE,
    "baseOffset": Head.BASE_OFFSET,
    "lastOffset": Head.LAST_OFFSET,
    "count": Head.COUNT,
    "crc": Head.CRC,
    "producerId": Head.PRODUCER_ID,
    "producerEpoch": Head.PRODUCER_EPOCH,
    "baseSequence": Head.BASE_SEQUENCE,
    "leaderEpoch": Head.LEADER_EPOCH,
}
_KINDS: Final = _texts(
    ["record"] * Form.TOMBSTONE + ["tombstone", "control", "control"] + [""] * (len(Form) - Form.OTHER)
)
_CONTROLS: Final = _texts([{Form.COMMITTED: "COMMIT", Form.ABORTED: "ABORT"}.get(form, "") for form in Form])
_OUTCOMES: Final = _texts([outcome.value for outcome in TransactionOutcome])
