"""Converts the bytes of a key or value to its dataclass and back, through kafka-python's codec.

Two ways lead in. The plain one decodes with kafka-python's compiled decoder and believes it only if
encoding the result again gives the very bytes that were read. Everything else (damage, unknown
tagged fields, trailing bytes, bad UTF-8) goes through `strict.py`, which knows Kafka's rules. So do the first
messages of a kind: a small log has few of each, and compiling takes as long as reading a hundred of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from operator import attrgetter
from struct import error as StructError  # noqa: N812  it is an exception class
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_type_hints

from kafka.protocol.schemas.fields.codecs.encode_buffer import EncodeBuffer

from kgroup.errors import InputError
from kgroup.protocol.messages import message_class, new_message
from kgroup.protocol.strict import StrictReader

V = TypeVar("V")

COMPILED_AFTER = 100
"""The number of messages of a kind and version before its functions are compiled."""

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
            return codec.encode(codec.shape.to_message(value))
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


class _Compiled(NamedTuple):
    """kafka-python's functions, made as source text for one version of a message."""

    decode_from: Callable[[bytes, int], tuple[Any, int]]
    encode_into: Callable[[Any, EncodeBuffer], None]


class _VersionCodec(Generic[V]):
    def __init__(self, value_class: type[V], message: Any, version: int) -> None:
        self._name = value_class.__name__
        self._message = message
        self._version = version
        self._flexible: bool = message.flexible_version_q(version)
        self._compiled: _Compiled | None = None
        self._uses = 0
        struct = message._struct
        self.shape = _Shape(value_class, struct, version)
        self._tagged_defaults = [
            (field.name, field.default) for field in struct.fields.values() if field.tagged_field_q(version)
        ]

    def decode(self, data: bytes) -> Decoded[V]:
        if self._compiled is None:
            return self._decode_strictly(data)
        # What kafka-python raises on bytes that are not plainly right; StrictReader then says why.
        try:
            message, end = self._compiled.decode_from(data, PREFIX_BYTES)
            if message.tags is None:
                # Else kafka-python looks each of them up several times, and slowly.
                for name, default in self._tagged_defaults:
                    setattr(message, name, default)
            if end == len(data) and self.encode(message) == data[PREFIX_BYTES:]:
                return Decoded(value=self.shape.to_value(message), end=end)
        except (StructError, IndexError, OverflowError, ValueError, AssertionError):
            pass
        return self._decode_strictly(data)

    def _decode_strictly(self, data: bytes) -> Decoded[V]:
        reader = StrictReader(data, position=PREFIX_BYTES, version=self._version, flexible=self._flexible)
        message = reader.read(self._message, self._name)
        canonical = self._encodes_to(message, data[PREFIX_BYTES : reader.position])
        if not canonical and not reader.notes:
            reader.notes.append(f"{self._name} is not encoded as Kafka encodes it")
        return Decoded(
            value=self.shape.to_value(message),
            end=reader.position,
            notes=tuple(reader.notes),
            canonical=canonical,
        )

    def _encodes_to(self, message: Any, data: bytes) -> bool:
        try:
            return self.encode(message) == data
        except StructError:  # U+FFFD is longer than what it stands for, which can pass the limit
            return False

    def encode(self, message: Any) -> bytes:
        buffer = EncodeBuffer(256)
        if self._compiled is not None:
            self._compiled.encode_into(message, buffer)
        else:
            self._message._struct.encode_into(
                message, buffer, version=self._version, compact=self._flexible, tagged=self._flexible
            )
            self._uses += 1
            if self._uses >= COMPILED_AFTER:
                self._compile()
        return bytes(memoryview(buffer.buf)[: buffer.pos])

    def _compile(self) -> None:
        struct = self._message._struct
        options = {"compact": self._flexible, "tagged": self._flexible}
        self._compiled = _Compiled(
            struct.compiled_decode_from(self._version, data_class=self._message, **options),
            struct.compiled_encode_into(self._version, **options),
        )


class _Shape(Generic[V]):
    """The mapping between the fields of a struct in one version and those of a dataclass, both ways."""

    def __init__(self, value_class: type[V], struct: Any, version: int) -> None:
        self._value_class = value_class
        self._struct = struct
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
            field.name: _nested_shape(value_class, field, version)
            for field in fields
            if field.is_struct() or field.is_struct_array()
        }
        self.json_fields = tuple(self._json_field(field) for field in fields)

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

    def to_message(self, value: Any) -> Any:
        values = dict(zip(self._names, self._getter(value), strict=True))
        for name, shape in self._nested.items():
            values[name] = _map(values[name], shape.to_message)
        for name in self._arrays:
            if values[name] is not None:
                # kafka-python knows a tagged array at its default by comparing it with a list.
                values[name] = list(values[name])
        return new_message(self._struct, self._version, values)

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


def _nested_shape(value_class: type, field: Any, version: int) -> _Shape[Any]:
    nested_class = dataclass_in(get_type_hints(value_class)[field.name])
    assert nested_class is not None, f"{value_class.__name__}.{field.name} has no dataclass for its struct"
    return _Shape(nested_class, field.array_of if field.is_array() else field, version)


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
