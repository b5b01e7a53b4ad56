"""Converts the bytes of a key or value to its dataclass and back, by Kafka's message definitions.

Two ways lead in. `value_reader.py` takes bytes that are just as Kafka writes them. Everything else (damage,
unknown tagged fields, bad UTF-8) goes through `strict.py`, which knows what Kafka's own readers take and what
they refuse.
"""

from dataclasses import dataclass
from functools import cached_property
from struct import error as StructError  # noqa: N812  it is an exception class
from typing import Generic, NamedTuple, TypeVar

from kgroup.errors import InputError
from kgroup.protocol.definitions import Definition, definition
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
    """The codec of one dataclass, by the message definition of its name, or of `name`.

    The bytes begin with an int16 that the caller reads and writes: this codec skips it in `decode`
    and leaves it out in `encode`. The definition is loaded when it is first needed.
    """

    def __init__(self, value_class: type[V], name: str = "") -> None:
        self.name = value_class.__name__
        self.value_class = value_class
        self._defined_as = name or self.name
        self._versions: dict[int, _VersionCodec[V]] = {}

    @cached_property
    def _definition(self) -> Definition:
        return definition(self._defined_as)

    @property
    def latest_version(self) -> int:
        """The highest version that the message has."""
        return self._definition.latest_version

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
        return json_fields(self._codec(version).struct)

    def _codec(self, version: int) -> "_VersionCodec[V]":
        codec = self._versions.get(version)
        if codec is None:
            struct = self._definition.of_version(self.value_class, version)
            codec = self._versions[version] = _VersionCodec(self.name, struct)
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


def json_fields(struct: StructCodec) -> tuple[JsonField, ...]:
    """The fields of a struct, as Kafka's JSON shows them."""
    return tuple(_json_field(field) for field in struct.fields)


def _json_field(field: FieldCodec) -> JsonField:
    words = field.name.split("_")
    return JsonField(
        name=field.name,
        json_name=words[0] + "".join(word.capitalize() for word in words[1:]),
        tagged=field.tag is not None,
        default=field.default,
        is_topic_id=field.type_name == "uuid",
        fields=() if field.shape is None else json_fields(field.shape),
    )


class _VersionCodec(Generic[V]):
    def __init__(self, name: str, struct: StructCodec) -> None:
        self.struct = struct
        self._name = name
        self._read = struct_reader(struct)
        self._write = struct_writer(struct)

    def decode(self, data: bytes) -> Decoded[V]:
        try:
            value, end = self._read(data, PREFIX_BYTES)
        except ODD:
            return self._decode_strictly(data)
        return Decoded(value=value, end=end)

    def _decode_strictly(self, data: bytes) -> Decoded[V]:
        reader = StrictReader(data, position=PREFIX_BYTES)
        value: V = reader.read(self.struct, self._name)
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
