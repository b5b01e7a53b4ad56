"""Converts the bytes of a key or value to its dataclass and back, by Kafka's message definitions.

Two ways lead in. `value_reader.py` takes bytes that are just as Kafka writes them. Everything else (damage,
unknown tagged fields, bad UTF-8) goes through `strict.py`, which knows what Kafka's own readers take and what
they refuse. kafka-python reads the definitions, and has the objects that `strict.py` fills.
"""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from operator import attrgetter
from struct import error as StructError  # noqa: N812  it is an exception class
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

from kgroup.errors import InputError
from kgroup.protocol.messages import message_class
from kgroup.protocol.strict import StrictReader
from kgroup.protocol.value_reader import ODD, FieldCodec, StructCodec, struct_reader
from kgroup.protocol.value_writer import struct_writer

V = TypeVar("V")

PREFIX_BYTES = 2  # the int16 in front of a key (its record type) and a value (its version)


class Decoded(NamedTuple, Generic[V]):
    """A value and what was odd about its bytes.

    `end` is the position behind it, in the bytes it was read from. `canonical` is False if encoding
    `value` would not give those bytes back; `notes` then say why.
    """

    value: V
    end: int
    notes: tuple[str, ...] = ()
    canonical: bool = True


class Payload(Generic[V]):
    """The codec of one dataclass and of the message definition of its name, or of the class `message`.

    The bytes begin with an int16 that the caller reads and writes: this codec skips it in `decode`
    and leaves it out in `encode`. The definition is loaded when it is first needed.
    """

    def __init__(self, value_class: type[V], message: Any = None) -> None:
        self.name = value_class.__name__
        self.value_class = value_class
        self._given = message
        self._versions: dict[int, _VersionCodec[V]] = {}

    @cached_property
    def _message(self) -> Any:
        return message_class(self.name) if self._given is None else self._given

    @property
    def latest_version(self) -> int:
        """The highest version that the message has."""
        version: int = self._message.max_version
        return version

    def decode(self, data: bytes, version: int) -> Decoded[V]:
        """Decode what is behind the int16. DecodeError names field and position of what Kafka refuses."""
        return self._codec(version).decode(data)

    def encode(self, value: V, version: int) -> bytes:
        """The bytes of `value` as Kafka writes them; fields that `version` lacks are left out.

        Raises InputError for a number out of range, a string of more than 32767 bytes, or a lone surrogate.
        """
        codec = self._codec(version)
        try:
            return codec.encode(value)
        except (StructError, UnicodeEncodeError) as error:
            raise InputError(f"{self.name} version {version} cannot hold {value!r}: {error}") from error

    def json_fields(self, version: int) -> "tuple[JsonField, ...]":
        """The fields of `version` in wire order, tagged ones last, for printing by name."""
        return self._codec(version).shape.json_fields

    def _codec(self, version: int) -> "_VersionCodec[V]":
        codec = self._versions.get(version)
        if codec is None:
            codec = self._versions[version] = _VersionCodec(self.value_class, self._message, version)
        return codec


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonField:
    """A field as Kafka's JSON shows it: `json_name` is camelCase; a tagged one is absent at `default`.

    `fields` are those of the struct, or of the structs in the array, that it holds.
    """

    name: str
    json_name: str
    tagged: bool
    default: object
    is_topic_id: bool
    fields: "tuple[JsonField, ...]"


class _VersionCodec(Generic[V]):
    def __init__(self, value_class: type[V], message: Any, version: int) -> None:
        self._name = value_class.__name__
        self._message = message
        self._version = version
        self._flexible: bool = message.flexible_version_q(version)
        self.shape = _Shape(value_class, message._struct, version, is_flexible=self._flexible)
        self._read = struct_reader(self.shape.struct)
        self._write = struct_writer(self.shape.struct)

    def decode(self, data: bytes) -> Decoded[V]:
        try:
            value, end = self._read(data, PREFIX_BYTES)
        except ODD:
            return self._decode_strictly(data)
        return Decoded(value=value, end=end)

    def _decode_strictly(self, data: bytes) -> Decoded[V]:
        reader = StrictReader(data, position=PREFIX_BYTES, version=self._version, flexible=self._flexible)
        value = self.shape.to_value(reader.read(self._message, self._name))
        canonical = self._encodes_to(value, data[PREFIX_BYTES : reader.position])
        if not canonical and not reader.notes:
            reader.notes.append(f"{self._name} is not encoded as Kafka encodes it")
        return Decoded(value=value, end=reader.position, notes=tuple(reader.notes), canonical=canonical)

    def _encodes_to(self, value: V, data: bytes) -> bool:
        try:
            return self.encode(value) == data
        except StructError:  # U+FFFD is longer than what it stands for, which can pass the limit
            return False

    def encode(self, value: V) -> bytes:
        out = bytearray()
        self._write(value, out)
        return bytes(out)


class _Shape(Generic[V]):
    """The fields of a struct in one version, as those of a dataclass."""

    def __init__(self, value_class: type[V], struct: Any, version: int, *, is_flexible: bool) -> None:
        self._value_class = value_class
        self._version = version
        fields = [field for field in struct.fields.values() if field.for_version_q(version)]
        fields.sort(key=lambda field: bool(field.tagged_field_q(version)))
        self._names = tuple(field.name for field in fields)
        self._getter = _values_of(self._names)
        self._never_null = frozenset(
            field.name for field in fields if field.type_str != "uuid" and not _is_nullable(field, version)
        )
        self._arrays = tuple(field.name for field in fields if field.is_array())
        self._nested = {
            field.name: _nested_shape(value_class, field, version, is_flexible=is_flexible)
            for field in fields
            if field.is_struct() or field.is_struct_array()
        }
        self.json_fields = tuple(self._json_field(field) for field in fields)
        codecs = (self._field_codec(*each) for each in zip(fields, self.json_fields, strict=True))
        self.struct = StructCodec(
            value_class=value_class,
            is_flexible=is_flexible,
            fields=tuple(sorted(codecs, key=lambda codec: -1 if codec.tag is None else codec.tag)),
        )

    def to_value(self, message: Any) -> V:
        """Raises ValueError for a null in a field that cannot be null."""
        read = self._getter(message)
        values = dict(zip(self._names, read, strict=True))
        for name, shape in self._nested.items():
            values[name] = _map(values[name], shape.to_value)
        for name in self._arrays:
            if values[name] is not None:
                values[name] = tuple(values[name])
                if None in values[name]:
                    raise ValueError(f"null in {name}")
        if None in read:
            for name in self._never_null:
                if values[name] is None:
                    raise ValueError(f"{name} is null")
        return self._value_class(**values)

    def _field_codec(self, field: Any, json_field: JsonField) -> FieldCodec:
        nested = self._nested.get(field.name)
        is_array: bool = field.is_array()
        return FieldCodec(
            name=field.name,
            type_name="" if is_array or nested is not None else field.type_str,
            is_array=is_array,
            element=field.array_of.type_str if is_array and nested is None else "",
            is_nullable=_is_nullable(field, self._version),
            tag=field.tag if field.tagged_field_q(self._version) else None,
            default=json_field.default,
            shape=None if nested is None else nested.struct,
        )

    def _json_field(self, field: Any) -> JsonField:
        nested = self._nested.get(field.name)
        default = field.default if field.tag is not None else None
        if nested is not None and field.is_struct() and default is not None:
            default = nested.to_value(default)
        words = field.name.split("_")
        return JsonField(
            name=field.name,
            json_name=words[0] + "".join(word.capitalize() for word in words[1:]),
            tagged=bool(field.tagged_field_q(self._version)),
            default=tuple(default) if isinstance(default, list) else default,
            is_topic_id=field.type_str == "uuid",
            fields=nested.json_fields if nested is not None else (),
        )


def _is_nullable(field: Any, version: int) -> bool:
    # TaggedNullableStruct keeps its null to itself, so that kafka-python does not write its own.
    return bool(field.nullable_for_version_q(version) or (field.is_struct() and field.tag is not None))


def _nested_shape(value_class: type, field: Any, version: int, *, is_flexible: bool) -> _Shape[Any]:
    nested_class = dataclass_in(get_type_hints(value_class)[field.name])
    assert nested_class is not None, f"{value_class.__name__}.{field.name} has no dataclass for its struct"
    struct = field.array_of if field.is_array() else field
    return _Shape(nested_class, struct, version, is_flexible=is_flexible)


def dataclass_in(hint: Any) -> type | None:
    """The dataclass in a field's type, as `Endpoint` in `Endpoint | None` or `tuple[Endpoint, ...]`."""
    if isinstance(hint, type) and is_dataclass(hint):
        return hint
    for part in get_args(hint):
        if (nested := dataclass_in(part)) is not None:
            return nested
    return None


def _values_of(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda message: tuple(getattr(message, name) for name in names)


def _map(values: Any, convert: Callable[[Any], Any]) -> Any:
    if values is None:
        return None
    return [convert(value) for value in values] if isinstance(values, list | tuple) else convert(values)
