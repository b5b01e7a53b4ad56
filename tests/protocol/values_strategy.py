"""Hypothesis strategies for the keys and values of every record type, from their own type hints."""

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from hypothesis import strategies as st

from kgroup.protocol.payload import Payload
from kgroup.protocol.records.codec import record_schema
from kgroup.protocol.records.entries import OffsetsEntry, RecordType
from tests.protocol.kafka_messages import message_class

INTEGERS = {
    "int8": (8, True),
    "int16": (16, True),
    "uint16": (16, False),
    "int32": (32, True),
    "int64": (64, True),
}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@st.composite
def entries(draw: st.DrawFn) -> OffsetsEntry:
    """Any record that Kafka could write, in any version of its value; some are tombstones."""
    record_type = draw(st.sampled_from(RecordType))
    schema = record_schema(record_type)
    key = draw(instances(schema.key, 0))
    if draw(st.booleans()) and draw(st.booleans()):
        return OffsetsEntry(type=record_type, key=key, value=None, value_version=None)
    version = draw(st.integers(0, schema.latest_value_version))
    value = draw(instances(schema.value, version))
    return OffsetsEntry(type=record_type, key=key, value=value, value_version=version)


def instances(payload: Payload[Any], version: int) -> st.SearchStrategy[Any]:
    return structs(payload.value_class, message_class(payload.name)._struct, version)


def structs(value_class: type, struct: Any, version: int) -> st.SearchStrategy[Any]:
    """Instances with the fields that `version` has; the others are at their defaults."""
    hints = get_type_hints(value_class)
    present = [field for field in struct.fields.values() if field.for_version_q(version)]
    return st.builds(
        value_class, **{field.name: field_values(hints[field.name], field, version) for field in present}
    )


def field_values(hint: Any, field: Any, version: int) -> st.SearchStrategy[Any]:
    if get_origin(hint) in (UnionType, Union) and UUID not in get_args(hint):
        (present,) = [part for part in get_args(hint) if part is not NoneType]
        return st.none() | field_values(present, field, version)
    if is_dataclass(hint):
        return structs(hint, field, version)
    if field.is_array():
        (element, _) = get_args(hint)
        if is_dataclass(element):
            return st.lists(structs(element, field.array_of, version), max_size=3).map(tuple)
        return st.lists(simple(field.array_of.type_str), max_size=4).map(tuple)
    return simple(field.type_str)


def simple(type_name: str) -> st.SearchStrategy[Any]:
    if type_name in INTEGERS:
        bits, signed = INTEGERS[type_name]
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return st.integers(low, high)
    if type_name == "uuid":
        return st.none() | st.uuids().filter(lambda topic_id: topic_id.int != 0)
    return TEXT if type_name == "string" else st.binary(max_size=20)


def required_defaults(value_class: type) -> dict[str, Any]:
    """The defaults that a dataclass gives to its fields."""
    instance_fields = fields(value_class)  # type: ignore[arg-type]  # any dataclass
    return {field.name: field.default for field in instance_fields}
