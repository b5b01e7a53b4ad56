"""The JSON text of records, assembled from parts that many records share.

`RecordText.line(read)` is the text of `record_json(read)`, to the byte, at a fraction of the cost: what is
said of a batch and of a key is put into words once; commits, which nearly all records are, need no encoder.
"""

from json.encoder import encode_basestring
from typing import Final
from uuid import UUID

from kgroup.log.files.entries import ReadRecord
from kgroup.log.format.batch import Batch
from kgroup.protocol.records.entries import OffsetsEntry, TransactionOutcome
from kgroup.protocol.records.values import OffsetCommitValue
from kgroup.report.emit import JsonText, Row, to_json
from kgroup.report.records.entry_json import TopicNames, key_json, topic_id_json, value_json
from kgroup.report.records.record_json import batch_json, place_json, record_json

# A log repeats few keys many times; this many take about 30 MB.
_KEYS_MAX: Final = 1 << 16

# Which versions of OffsetCommitValue have which field.
_FIRST_WITH_LEADER_EPOCH: Final = 3
_ONLY_WITH_EXPIRY: Final = 1


class RecordText:
    """Remembers the words for the last batch and for the keys so far; one serves a whole run."""

    def __init__(self, topic_names: TopicNames) -> None:
        self._topic_names = topic_names
        self._front = ""
        self._batch: Batch | None = None
        self._batch_text = JsonText()
        self._keys: dict[bytes, tuple[str, str, JsonText]] = {}
        self._topic_ids: dict[int, str] = {}

    def line(self, read: ReadRecord, transaction: TransactionOutcome | None = None) -> str:
        """The record in the form of `record_json`."""
        record, entry = read.record, read.entry
        if record is None or record.key is None or not isinstance(entry, OffsetsEntry):
            return to_json(record_json(read, transaction=transaction, topic_names=self._topic_names))
        if read.batch is not self._batch:
            self._begin_batch(read)
        key_version, key_type, key = self._keys.get(record.key) or self._add_key(record.key, entry)
        value_size = -1 if record.value is None else len(record.value)
        value_version = "null" if entry.value_version is None else entry.value_version
        kind = "tombstone" if entry.value is None else "record"
        note = "" if entry.note is None else f', "note": {to_json(entry.note)}'
        outcome = "" if transaction is None else f', "transaction": {to_json(transaction.value)}'
        return (
            f'{self._front}{record.offset}, "timestamp": {record.timestamp_ms}, '
            f'"keySize": {len(record.key)}, "valueSize": {value_size}, '
            f'{key_version}, "valueVersion": {value_version}, "kind": "{kind}", '
            f'{key_type}{key}, "value": {self._value(entry)}{note}{outcome}, "batch": {self._batch_text}}}'
        )

    def flat(self, read: ReadRecord, transaction: TransactionOutcome | None = None) -> Row:
        """The same fields but for the sizes, with `key`, `value` and `batch` as text already."""
        record, entry = read.record, read.entry
        if record is None or record.key is None or not isinstance(entry, OffsetsEntry):
            return record_json(read, transaction=transaction, topic_names=self._topic_names)
        if read.batch is not self._batch:
            self._begin_batch(read)
        _, _, key = self._keys.get(record.key) or self._add_key(record.key, entry)
        return {
            **place_json(read.segment),
            "offset": record.offset,
            "timestamp": record.timestamp_ms,
            "kind": "tombstone" if entry.value is None else "record",
            "type": entry.type.name,
            "keyVersion": entry.type.value,
            "valueVersion": entry.value_version,
            "key": key,
            "value": None if entry.value is None else JsonText(self._value(entry)),
            "transaction": None if transaction is None else transaction.value,
            "note": entry.note,
            "batch": self._batch_text,
        }

    def _begin_batch(self, read: ReadRecord) -> None:
        self._batch = read.batch
        self._front = f'{to_json(place_json(read.segment))[:-1]}, "offset": '
        self._batch_text = to_json(batch_json(read.batch))

    def _add_key(self, key: bytes, entry: OffsetsEntry) -> tuple[str, str, JsonText]:
        if len(self._keys) == _KEYS_MAX:
            self._keys.clear()
        texts = self._keys[key] = (
            f'"keyVersion": {entry.type.value}',
            f'"type": "{entry.type.name}", "key": ',
            to_json(key_json(entry)),
        )
        return texts

    def _value(self, entry: OffsetsEntry) -> str:
        value, version = entry.value, entry.value_version
        if not isinstance(value, OffsetCommitValue) or version is None:
            return to_json(value_json(entry, self._topic_names))
        epoch = f', "leaderEpoch": {value.leader_epoch}' if version >= _FIRST_WITH_LEADER_EPOCH else ""
        metadata = encode_basestring(value.metadata)
        expiry = f', "expireTimestamp": {value.expire_timestamp}' if version == _ONLY_WITH_EXPIRY else ""
        topic_id = "" if value.topic_id is None else self.topic_id(value.topic_id)
        return (
            f'{{"offset": {value.offset}{epoch}, "metadata": {metadata}, '
            f'"commitTimestamp": {value.commit_timestamp}{expiry}{topic_id}}}'
        )

    def topic_id(self, topic_id: UUID) -> str:
        """`topic_id_text`, made once for each."""
        text = self._topic_ids.get(topic_id.int)
        if text is None:
            text = self._topic_ids[topic_id.int] = topic_id_text(topic_id, self._topic_names)
        return text


def topic_id_text(topic_id: UUID, names: TopicNames) -> str:
    """The JSON of a commit's value after its time."""
    return f", {to_json(topic_id_json('topicId', topic_id, names))[1:-1]}"
