"""Arrow types of keys, values and batches: structs with the fields of all record types, named as in JSON.

They are made of the record schemas, so a field that a new version brings is there at once. Numbers are int64,
what JSON has as epoch ms of a commit, state or assignment is a timestamp, bytes are hex.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin, get_type_hints

from kgroup.protocol.definitions import dataclass_in
from kgroup.protocol.payload import JsonField
from kgroup.protocol.records.codec import RecordSchema, record_schema
from kgroup.protocol.records.entries import RecordType

if TYPE_CHECKING:
    import pyarrow as pa

Fields = dict[str, Any]
"""Name -> a leaf's word, the Fields of a struct, or a list of one of them."""

_TEXT: Final = "text"
_NUMBER: Final = "number"
_BOOLEAN: Final = "boolean"
_TIME: Final = "time"
_TIMES: Final = frozenset(
    {"assignmentTimestamp", "commitTimestamp", "currentStateTimestamp", "expireTimestamp", "timestamp"}
)
_NAMED: Final = {"topic": _TEXT, "partitions": [_NUMBER]}
_BLOB: Final = {
    "version": _NUMBER,
    "userData": _TEXT,
    "trailingBytes": _NUMBER,
    "text": _TEXT,
    "error": _TEXT,
}
_SUBSCRIPTION: Final = {
    **_BLOB,
    "topics": [_TEXT],
    "ownedPartitions": [_NAMED],
    "generationId": _NUMBER,
    "rackId": _TEXT,
}
_ASSIGNMENT: Final = {**_BLOB, "assignedPartitions": [_NAMED]}
_BATCH: Final = {
    "position": _NUMBER,
    "sizeInBytes": _NUMBER,
    "magic": _NUMBER,
    "baseOffset": _NUMBER,
    "lastOffset": _NUMBER,
    "count": _NUMBER,
    "codec": _TEXT,
    "timestampType": _TEXT,
    "maxTimestamp": _TIME,
    "crcValid": _BOOLEAN,
    "crc": _NUMBER,
    "transactional": _BOOLEAN,
    "control": _BOOLEAN,
    "producerId": _NUMBER,
    "producerEpoch": _NUMBER,
    "baseSequence": _NUMBER,
    "leaderEpoch": _NUMBER,
    "deleteHorizonMs": _TIME,
}


@cache
def key_type() -> "pa.StructType":
    """The type of keys."""
    return _struct(_merged([_fields_of(schema.key, 0) for schema in _schemas()]))


@cache
def value_type() -> "pa.StructType":
    """The type of values. `topics` of a regular expression, names in JSON, are structs with only the name."""
    fields = _merged(
        [
            _fields_of(schema.value, version)
            for schema in _schemas()
            for version in range(schema.latest_value_version + 1)
        ]
    )
    (member,) = fields["members"]
    member |= {"subscriptionDecoded": _SUBSCRIPTION, "assignmentDecoded": _ASSIGNMENT}
    (protocol,) = fields["classicMemberMetadata"]["supportedProtocols"]
    protocol["metadataDecoded"] = _SUBSCRIPTION
    return _struct(fields)


@cache
def batch_type() -> "pa.StructType":
    """The type of batches."""
    return _struct(_BATCH)


def _schemas() -> list[RecordSchema]:
    # OFFSET_COMMIT first: what nearly all records have comes first.
    return [record_schema(kind) for kind in sorted(RecordType, key=lambda kind: (kind != 1, kind))]


def _fields_of(payload: Any, version: int) -> Fields:
    return _fields(payload.value_class, payload.json_fields(version))


def _fields(value_class: type, of_json: tuple[JsonField, ...]) -> Fields:
    hints = get_type_hints(value_class)
    fields: Fields = {}
    for field in of_json:
        if field.is_topic_id:
            fields |= {field.json_name: _TEXT, "topicName": _TEXT}
        else:
            fields[field.json_name] = _kind(hints[field.name], field)
    return fields


def _kind(hint: Any, field: JsonField) -> Any:
    hint = next((part for part in _parts(hint) if part is not type(None)), hint)
    if get_origin(hint) is tuple:
        return [_kind(get_args(hint)[0], field)]
    if field.fields:
        nested = dataclass_in(hint)
        assert nested is not None
        return _fields(nested, field.fields)
    if hint is bool:
        return _BOOLEAN
    if hint is int:
        return _TIME if field.json_name in _TIMES else _NUMBER
    return _TEXT


def _parts(hint: Any) -> tuple[Any, ...]:
    is_union = get_origin(hint) is Union or type(hint).__name__ == "UnionType"
    return get_args(hint) if is_union else (hint,)


def _merged(every: list[Fields]) -> Fields:
    """All fields of structs that share names; a struct and a text under one name is the struct."""
    merged: Fields = {}
    for fields in every:
        for name, kind in fields.items():
            merged[name] = _both(merged[name], kind) if name in merged else kind
    return merged


def _both(one: Any, other: Any) -> Any:
    if isinstance(one, list) and isinstance(other, list):
        return [_both(one[0], other[0])]
    if isinstance(one, dict) and isinstance(other, dict):
        return _merged([one, other])
    if isinstance(one, dict) or isinstance(other, dict):
        return one if isinstance(one, dict) else other
    assert one == other, (one, other)
    return one


def _struct(fields: Fields) -> "pa.StructType":
    import pyarrow as pa

    return pa.struct([(name, _arrow(kind)) for name, kind in fields.items()])


def _arrow(kind: Any) -> "pa.DataType":
    import pyarrow as pa

    if isinstance(kind, dict):
        return _struct(kind)
    if isinstance(kind, list):
        return pa.list_(_arrow(kind[0]))
    leaves: dict[str, pa.DataType] = {
        _TEXT: pa.string(),
        _NUMBER: pa.int64(),
        _BOOLEAN: pa.bool_(),
        _TIME: pa.timestamp("ms", tz="UTC"),
    }
    return leaves[kind]
