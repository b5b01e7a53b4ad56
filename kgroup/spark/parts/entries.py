"""Records that are not commits, and damage, as tables: a record as its key and value, as in the log."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from kgroup.log.format.batch import Damage
from kgroup.protocol.records.codec import decode_entry, decode_key, encode_entry
from kgroup.protocol.records.entries import LoggedEntry, OffsetsEntry, TransactionMarker, Undecodable
from kgroup.protocol.records.keys import group_of
from kgroup.scan.reductions.newest import FirstMarker, FirstMarkers
from kgroup.scan.reductions.packed import PackedRecord, pack
from kgroup.spark.parts.packing import DamagedPartError

_FIELDS: Final[list[tuple[str, pa.DataType]]] = [
    ("offsets_partition", pa.int32()),
    ("log_offset", pa.int64()),
    ("timestamp", pa.int64()),
    ("leader_epoch", pa.int32()),
    ("producer_id", pa.int64()),
    ("kind", pa.int8()),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("key_version", pa.int16()),
    ("value_version", pa.int16()),
    ("why", pa.binary()),
    ("producer_epoch", pa.int16()),
    ("coordinator_epoch", pa.int32()),
    ("marker_producer_id", pa.int64()),
]
ENTRIES: Final = pa.schema(_FIELDS)
"""A logged entry; `key` to `value_version` are of records, `why` of undecodable ones, the rest of markers."""
_DAMAGE: Final[list[tuple[str, pa.DataType]]] = [
    ("segment", pa.binary()),
    ("position", pa.int64()),
    ("size", pa.int64()),
    ("why", pa.binary()),
]
DAMAGE: Final = pa.schema(_DAMAGE)
_MARKERS: Final[list[tuple[str, pa.DataType]]] = [
    ("offsets_partition", pa.int32()),
    ("producer_id", pa.int64()),
    ("committed", pa.bool_()),
    ("log_offset", pa.int64()),
]
FIRST_MARKERS: Final = pa.schema(_MARKERS)

_ENTRY, _UNDECODABLE, _ABORTED, _COMMITTED = range(4)
_NO_VERSIONS_OR_WHY: Final = (None, None, None)
_NO_MARKER: Final = (None, None, None)


def table_of_rows(rows: Iterable[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    """Rows as a table; each has a value for each column."""
    columns = list(zip(*rows, strict=True)) or [() for _ in schema.names]
    return pa.Table.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def rows_of_table(table: pa.Table) -> Iterable[tuple[Any, ...]]:
    """The rows of a table again."""
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def text_bytes(text: str) -> bytes:
    """Text that may name a file: what is not UTF-8 in such a name is half a character in Python."""
    return text.encode("utf-8", "surrogatepass")


def bytes_text(text: bytes) -> str:
    """The text again."""
    return text.decode("utf-8", "surrogatepass")


def entries_table(entries: Iterable[LoggedEntry]) -> pa.Table:
    """Logged entries as ENTRIES."""
    return table_of_rows(((*_place(logged), *_entry_columns(logged.entry)) for logged in entries), ENTRIES)


def entries_of(table: pa.Table) -> tuple[LoggedEntry, ...]:
    """The logged entries of ENTRIES. Raises DamagedPartError for an invalid entry."""
    return tuple(
        LoggedEntry(
            partition=partition,
            offset=offset,
            timestamp_ms=timestamp_ms,
            leader_epoch=leader_epoch,
            producer_id=producer_id,
            entry=_entry(*columns),
        )
        for partition, offset, timestamp_ms, leader_epoch, producer_id, *columns in rows_of_table(table)
    )


def packed_table(records: Iterable[PackedRecord]) -> pa.Table:
    """Records of groups as ENTRIES, which compresses them as a whole."""
    return table_of_rows(
        (
            (*_place(each), _ENTRY, each.key, each.value, *_NO_VERSIONS_OR_WHY, *_NO_MARKER)
            for each in records
        ),
        ENTRIES,
    )


def packed_of(table: pa.Table) -> Iterator[tuple[str, PackedRecord]]:
    """The records of `packed_table`, each with its group. Raises DamagedPartError for any of no group."""
    columns = rows_of_table(table.select(ENTRIES.names[:8]))
    for partition, offset, timestamp_ms, leader_epoch, producer_id, kind, key, value in columns:
        decoded = decode_key(key) if kind == _ENTRY and key is not None else None
        if decoded is None:
            raise DamagedPartError("a part of a log has rounds of no group")
        packed = None if value is None else pack(value)
        record = PackedRecord(partition, offset, timestamp_ms, leader_epoch, producer_id, key, packed)
        yield group_of(decoded[1]), record


def _place(record: LoggedEntry | PackedRecord) -> tuple[int | None, ...]:
    place = (record.partition, record.offset, record.timestamp_ms)
    return (*place, record.leader_epoch, record.producer_id)


def damage_table(damage: Iterable[Damage]) -> pa.Table:
    """Damage as DAMAGE."""
    return table_of_rows(
        ((text_bytes(each.segment), each.position, each.size, text_bytes(each.why)) for each in damage),
        DAMAGE,
    )


def damage_of(table: pa.Table) -> tuple[Damage, ...]:
    """The damage of DAMAGE."""
    return tuple(
        Damage(segment=bytes_text(segment), position=position, size=size, why=bytes_text(why))
        for segment, position, size, why in rows_of_table(table)
    )


def markers_table(markers: FirstMarkers) -> pa.Table:
    """First markers as FIRST_MARKERS."""
    return table_of_rows(
        ((*place, marker.committed, marker.log_offset) for place, marker in markers.items()), FIRST_MARKERS
    )


def markers_of(table: pa.Table) -> FirstMarkers:
    """The first markers of FIRST_MARKERS."""
    return {
        (partition, producer_id): FirstMarker(committed=committed, log_offset=log_offset)
        for partition, producer_id, committed, log_offset in rows_of_table(table)
    }


def _entry_columns(entry: OffsetsEntry | Undecodable | TransactionMarker) -> tuple[Any, ...]:
    match entry:
        case OffsetsEntry():
            return (_ENTRY, *encode_entry(entry), *_NO_VERSIONS_OR_WHY, *_NO_MARKER)
        case Undecodable():
            versions = (entry.key_version, entry.value_version)
            return (_UNDECODABLE, entry.key, entry.value, *versions, text_bytes(entry.why), *_NO_MARKER)
        case TransactionMarker():
            kind = _COMMITTED if entry.committed else _ABORTED
            epochs = (entry.producer_epoch, entry.coordinator_epoch, entry.producer_id)
            return (kind, None, None, *_NO_VERSIONS_OR_WHY, *epochs)


def _entry(
    kind: int,
    key: bytes | None,
    value: bytes | None,
    key_version: int | None,
    value_version: int | None,
    why: bytes,
    producer_epoch: int,
    coordinator_epoch: int,
    producer_id: int,
) -> OffsetsEntry | Undecodable | TransactionMarker:
    if kind == _ENTRY:
        entry = decode_entry(key, value)
        if isinstance(entry, Undecodable):
            raise DamagedPartError(f"a part of a log has a record that cannot be read: {entry.why}")
        return entry
    if kind == _UNDECODABLE:
        return Undecodable(
            key=key,
            value=value,
            key_version=key_version,
            value_version=value_version,
            why=bytes_text(why),
        )
    return TransactionMarker(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        committed=kind == _COMMITTED,
        coordinator_epoch=coordinator_epoch,
    )
