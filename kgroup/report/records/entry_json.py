"""Keys and values of the offsets topic as JSON: Kafka's own field names and forms.

As Kafka's generated JsonConverters show them (4.3.1): a field that a version does not have is absent, and so
is a tagged field at its default; bytes are hex and topic ids URL-safe base64. The bytes that members of
classic groups sent are shown decoded next to them where kgroup can read them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import cast
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.protocol.connect_protocol import assignment_text, connect_version, worker_state_text
from kgroup.protocol.payload import JsonField
from kgroup.protocol.records.codec import record_schema
from kgroup.protocol.records.entries import OffsetsEntry
from kgroup.protocol.records.values import ConsumerGroupMemberMetadataValue, GroupMetadataValue
from kgroup.protocol.subscription import (
    Assignment,
    NamedTopicPartitions,
    Subscription,
    decode_assignment,
    decode_subscription,
)
from kgroup.protocol.topic_id import topic_id_text

Json = dict[str, object]
TopicNames = Mapping[UUID, str]

_NO_ID = UUID(int=0)
_KEY_VERSION = 0


def key_json(entry: OffsetsEntry) -> Json:
    """The key's fields."""
    return struct_json(entry.key, record_schema(entry.type).key.json_fields(_KEY_VERSION), {})


def value_json(entry: OffsetsEntry, topic_names: TopicNames) -> Json | None:
    """The value's fields, None for a tombstone; a topic id in `topic_names` has its `topicName` behind it."""
    if entry.value is None or entry.value_version is None:
        return None
    fields = record_schema(entry.type).value.json_fields(entry.value_version)
    shown = struct_json(entry.value, fields, topic_names)
    match entry.value:
        case GroupMetadataValue():
            _add_member_blobs(entry.value, cast(list[Json], shown["members"]))
        case ConsumerGroupMemberMetadataValue() if shown.get("classicMemberMetadata") is not None:
            _add_protocol_blobs(entry.value, cast(Json, shown["classicMemberMetadata"]))
    return shown


def subscription_json(data: bytes) -> Json:
    """A consumer's subscription, or an error if it is not one."""
    return _blob_json(data, lambda: _subscription_fields(decode_subscription(data)))


def assignment_json(data: bytes) -> Json:
    """A consumer's assignment, or an error if it is not one."""
    return _blob_json(data, lambda: _assignment_fields(decode_assignment(data)))


def struct_json(struct: object, fields: Sequence[JsonField], topic_names: TopicNames) -> Json:
    """The fields of a struct; a topic id in `topic_names` has its `topicName` behind it."""
    shown: Json = {}
    for field in fields:
        value = getattr(struct, field.name)
        if field.tagged and value == field.default:
            continue
        if field.is_topic_id:
            shown |= topic_id_json(field.json_name, value, topic_names)
        else:
            shown[field.json_name] = _field_json(value, field, topic_names)
    return shown


def topic_id_json(name: str, topic_id: UUID | None, topic_names: TopicNames) -> Json:
    """The field `name` with a topic id, and the name of the topic behind it if that is known."""
    shown: Json = {name: topic_id_text(topic_id or _NO_ID)}
    if topic_id is not None and topic_id in topic_names:
        shown["topicName"] = topic_names[topic_id]
    return shown


def _field_json(value: object, field: JsonField, topic_names: TopicNames) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if field.fields and value is not None:
        if isinstance(value, tuple):
            return [struct_json(element, field.fields, topic_names) for element in value]
        return struct_json(value, field.fields, topic_names)
    return list(value) if isinstance(value, tuple) else value


def _add_member_blobs(value: GroupMetadataValue, members: list[Json]) -> None:
    """Other protocol types, as `sr` of the schema registry, put what they like in these bytes."""
    for member, shown in zip(value.members, members, strict=True):
        if value.protocol_type == "consumer":
            shown["subscriptionDecoded"] = subscription_json(member.subscription)
            shown["assignmentDecoded"] = assignment_json(member.assignment)
        elif value.protocol_type == "connect":
            shown["subscriptionDecoded"] = _connect_json(member.subscription, worker_state_text)
            shown["assignmentDecoded"] = _connect_json(member.assignment, assignment_text)


def _add_protocol_blobs(value: ConsumerGroupMemberMetadataValue, classic: Json) -> None:
    assert value.classic_member_metadata is not None
    shown = cast(list[Json], classic["supportedProtocols"])
    for protocol, protocol_json in zip(value.classic_member_metadata.supported_protocols, shown, strict=True):
        protocol_json["metadataDecoded"] = subscription_json(protocol.metadata)


def _connect_json(data: bytes, text: Callable[[bytes], str]) -> Json:
    return _blob_json(data, lambda: {"version": connect_version(data), "text": text(data)})


def _blob_json(data: bytes, decode: Callable[[], Json]) -> Json:
    try:
        return decode()
    except DecodeError as error:
        version: Json = {"version": int.from_bytes(data[:2], signed=True)} if len(data) >= 2 else {}
        return {**version, "error": str(error)}


def _subscription_fields(subscription: Subscription) -> Json:
    shown: Json = {
        "version": subscription.version,
        "topics": list(subscription.topics),
        "userData": _hex(subscription.user_data),
    }
    if subscription.version >= 1:
        shown["ownedPartitions"] = [_named_json(owned) for owned in subscription.owned_partitions]
    if subscription.version >= 2:
        shown["generationId"] = subscription.generation_id
    if subscription.version >= 3:
        shown["rackId"] = subscription.rack_id
    shown["trailingBytes"] = len(subscription.trailing)
    return shown


def _assignment_fields(assignment: Assignment) -> Json:
    return {
        "version": assignment.version,
        "assignedPartitions": [_named_json(assigned) for assigned in assignment.assigned_partitions],
        "userData": _hex(assignment.user_data),
        "trailingBytes": len(assignment.trailing),
    }


def _named_json(named: NamedTopicPartitions) -> Json:
    return {"topic": named.topic, "partitions": list(named.partitions)}


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex()
