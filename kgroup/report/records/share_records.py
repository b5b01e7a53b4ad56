"""Records of `__share_group_state` as JSON, in the form of `record_json`, and as rows of tables.

Kafka's own field names; delivery states are its numbers in JSON, and its words in tables.
"""

from typing import Final
from uuid import UUID

from kgroup.log.topics.share_state import ShareRecord
from kgroup.protocol.share_state import (
    VALUE_VERSION,
    ShareSnapshotValue,
    ShareStateEntry,
    ShareStateKey,
    StateBatch,
    key_fields,
    value_fields,
)
from kgroup.protocol.topic_id import topic_id_text
from kgroup.report.emit import Column, Kind, Row
from kgroup.report.records.columns import COLUMNS
from kgroup.report.records.entry_json import Json, TopicNames, struct_json
from kgroup.report.records.entry_text import table_row
from kgroup.report.records.record_json import batch_json, place_json, record_json, sizes_json

_STATES: Final = {0: "available", 1: "acquired", 2: "acknowledged", 3: "being archived", 4: "archived"}
_BATCHES_SHOWN: Final = 4
_NO_ID: Final = UUID(int=0)

ARROW_COLUMNS: Final = (
    *(column for column in COLUMNS if column.name not in ("transaction", "position", "bytes", "batch")),
    Column(name="position", kind=Kind.INTEGER),
    Column(name="bytes", kind=Kind.INTEGER),
    Column(name="path"),
    Column(name="batch", kind=Kind.NESTED),
)
"""Of Parquet files; `key`, `value` and `batch` are JSON text."""


def share_record_json(item: ShareRecord, topic_names: TopicNames) -> Json:
    """One record, or one batch that the cleaner emptied."""
    read, entry = item
    if entry is None or read.record is None:
        return record_json(read)
    shown: Json = {
        **place_json(read.segment),
        **sizes_json(read.record),
        "keyVersion": int(entry.type),
        "valueVersion": None if entry.value is None else VALUE_VERSION,
        "kind": "tombstone" if entry.value is None else "record",
        "type": entry.type.name,
        "key": struct_json(entry.key, key_fields(), topic_names),
        "value": None
        if entry.value is None
        else struct_json(entry.value, value_fields(entry.type), topic_names),
    }
    if entry.notes:
        shown["note"] = "; ".join(entry.notes)
    return {**shown, "batch": batch_json(read.batch)}


def share_csv_row(item: ShareRecord, topic_names: TopicNames) -> Row:
    """The same fields, and the group."""
    group = None if item.entry is None else item.entry.key.group_id
    return {**share_record_json(item, topic_names), "group": group}


def share_table_row(item: ShareRecord, topic_names: TopicNames) -> Row:
    """A few words for each, in TABLE_COLUMNS."""
    read, entry = item
    if entry is None or read.record is None:
        return table_row(read, None, topic_names)
    return {
        "partition": read.segment.partition,
        "offset": read.record.offset,
        "timestamp": read.record.timestamp_ms if read.record.timestamp_ms >= 0 else None,
        "group": entry.key.group_id,
        "what": _entry_text(entry, topic_names),
    }


def topic_of(key: ShareStateKey, topic_names: TopicNames) -> str:
    """The name of the topic, or its id if no name is known."""
    topic_id = key.topic_id or _NO_ID
    return topic_names.get(topic_id) or topic_id_text(topic_id)


def _entry_text(entry: ShareStateEntry, topic_names: TopicNames) -> str:
    subject = f"{topic_of(entry.key, topic_names)}-{entry.key.partition}"
    note = f" ({'; '.join(entry.notes)})" if entry.notes else ""
    value = entry.value
    if value is None:
        return f"{subject} deleted{note}"
    if isinstance(value, ShareSnapshotValue):
        kind = f"snapshot {value.snapshot_epoch}, state epoch {value.state_epoch}"
    else:
        kind = f"update of snapshot {value.snapshot_epoch}"
    said = [f"start offset {value.start_offset}"] if value.start_offset >= 0 else []
    if value.delivery_complete_count > 0:
        said.append(f"{value.delivery_complete_count} done with")
    said += [_batch_text(batch) for batch in value.state_batches[:_BATCHES_SHOWN]]
    more = len(value.state_batches) - _BATCHES_SHOWN
    if more > 0:
        said.append(f"and {more} more")
    return f"{subject} {kind}: {', '.join(said) or 'no offset yet'}{note}"


def _batch_text(batch: StateBatch) -> str:
    first, last = batch.first_offset, batch.last_offset
    offsets = str(first) if first == last else f"{first}-{last}"
    state = _STATES.get(batch.delivery_state, f"state {batch.delivery_state}")
    times = f" (delivered {batch.delivery_count} times)" if batch.delivery_count > 1 else ""
    return f"{offsets} {state}{times}"
