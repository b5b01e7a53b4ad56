"""A record of the offsets topic as one JSON object: its place, its batch, and its contents.

The fields are those of the captures' `truth.jsonl` (`fixtures/README.md`). kgroup adds `transaction`
(pending, committed or aborted) to a transaction's records, `note` where something is odd, and
`topicName` where it knows the name of a topic id. Damage is an object of kind `error`.
"""

from functools import lru_cache
from pathlib import PurePath

from kgroup.log.files.entries import ReadRecord
from kgroup.log.files.log_dir import SegmentFile, parse_folder_name
from kgroup.log.format.batch import Batch, Damage, LogRecord, TimestampType
from kgroup.protocol.records.entries import OffsetsEntry, TransactionMarker, TransactionOutcome, Undecodable
from kgroup.protocol.records.keys import group_of
from kgroup.report.records.entry_json import Json, TopicNames, key_json, value_json

_TIMESTAMP_TYPES = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
_FIRST_MAGIC_WITH_PRODUCERS = 2


def record_json(
    read: ReadRecord, *, transaction: TransactionOutcome | None = None, topic_names: TopicNames | None = None
) -> Json:
    """One record, or one batch that the cleaner emptied."""
    front = place_json(read.segment)
    if read.record is None or read.entry is None:
        return {**front, "kind": "empty-batch", "batch": batch_json(read.batch)}
    shown = {**front, **sizes_json(read.record), **_entry_json(read.entry, topic_names or {})}
    if transaction is not None:
        shown["transaction"] = transaction.value
    shown["batch"] = batch_json(read.batch)
    return shown


def group_of_record(read: ReadRecord) -> str | None:
    """The group that a record is about, whatever its key calls it."""
    return group_of(read.entry.key) if isinstance(read.entry, OffsetsEntry) else None


def damage_json(damage: Damage) -> Json:
    """Damaged bytes; `path` is the whole path of the segment, as the user gave it."""
    return {
        "partition": parse_folder_name(PurePath(damage.segment).parent.name)[1],
        "segment": PurePath(damage.segment).name,
        "kind": "error",
        "position": damage.position,
        "bytes": damage.size,
        "error": damage.why,
        "path": damage.segment,
    }


def place_json(segment: SegmentFile) -> Json:
    """The segment that a record is in."""
    return {"partition": segment.partition, "segment": _file_name(segment.path)}


@lru_cache(maxsize=2)
def _file_name(path: str) -> str:
    return PurePath(path).name


# All records of a batch share its JSON, and they come one after the other.
@lru_cache(maxsize=2)
def batch_json(batch: Batch) -> Json:
    """The header of the batch. A damaged one does not come this far, so `crcValid` is always true."""
    shown: Json = {
        "position": batch.position,
        "sizeInBytes": batch.size,
        "magic": batch.magic,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "count": batch.count,
        "codec": batch.codec.name.lower(),
        "timestampType": _TIMESTAMP_TYPES[batch.timestamp_type],
        "maxTimestamp": batch.max_timestamp_ms,
        "crcValid": True,
    }
    if batch.magic >= _FIRST_MAGIC_WITH_PRODUCERS:
        shown |= {
            "crc": batch.crc,
            "transactional": batch.transactional,
            "control": batch.control,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "baseSequence": batch.base_sequence,
            "leaderEpoch": batch.leader_epoch,
        }
        if batch.delete_horizon_ms is not None:
            shown["deleteHorizonMs"] = batch.delete_horizon_ms
    return shown


def sizes_json(record: LogRecord) -> Json:
    """The offset and time of a record, and how long its bytes are."""
    return {
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "keySize": -1 if record.key is None else len(record.key),
        "valueSize": -1 if record.value is None else len(record.value),
    }


def _entry_json(entry: OffsetsEntry | Undecodable | TransactionMarker, topic_names: TopicNames) -> Json:
    match entry:
        case OffsetsEntry():
            return _decoded_json(entry, topic_names)
        case Undecodable(key=None):
            return {"kind": "no-key", "valueHex": _hex(entry.value)}
        case Undecodable():
            return _undecoded_json(entry)
        case TransactionMarker():
            return {
                "kind": "control",
                "control": "COMMIT" if entry.committed else "ABORT",
                "coordinatorEpoch": entry.coordinator_epoch,
            }


def _decoded_json(entry: OffsetsEntry, topic_names: TopicNames) -> Json:
    shown: Json = {
        "keyVersion": int(entry.type),
        "valueVersion": entry.value_version,
        "kind": "tombstone" if entry.value is None else "record",
        "type": entry.type.name,
        "key": key_json(entry),
        "value": value_json(entry, topic_names),
    }
    if entry.note is not None:
        shown["note"] = entry.note
    return shown


def _undecoded_json(entry: Undecodable) -> Json:
    shown: Json = {"keyVersion": -1 if entry.key_version is None else entry.key_version}
    if entry.value is None or entry.value_version is not None:
        shown["valueVersion"] = entry.value_version
    return {
        **shown,
        "kind": "undecoded",
        "error": entry.why,
        "keyHex": _hex(entry.key),
        "valueHex": _hex(entry.value),
    }


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
