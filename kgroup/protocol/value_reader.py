"""Reads values straight into their dataclasses, where the bytes are just as Kafka writes them.

A reader is made of a message's definition for one version, and takes nothing else: varints as short as they
can be, -1 for null, text that is UTF-8, tagged fields in order, known, and not at their default. So what it
has read is encoded to the same bytes, and need not be encoded to see it. For anything else it raises what ODD
names, and `strict.py`, which is slower, knows whether Kafka takes it and what to say of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import Struct
from struct import error as StructError  # noqa: N812  it is an exception class
from sys import intern
from typing import Any, Final
from uuid import UUID

INTEGERS: Final = {"int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q"}
"""The struct format of each type of number."""
STRING_MAX_BYTES: Final = 0x7FFF

Read = Callable[[bytes, int], tuple[Any, int]]
"""Reads a value at a position, and says where it ends."""


class _OddError(ValueError):
    """The bytes are not as Kafka writes them, or none that Kafka takes."""


ODD: Final = (StructError, IndexError, ValueError)
"""What a reader raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCodec:
    """A field in one version of a struct: `shape` is that of the struct, or of the array's structs, in it.

    `element` is the type of an array's elements, '' for structs.
    """

    name: str
    type_name: str
    is_array: bool = False
    element: str = ""
    is_nullable: bool = False
    tag: int | None = None
    default: Any = None
    shape: "StructCodec | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StructCodec:
    """A struct in one version: its fields in wire order, tagged ones last, by tag."""

    value_class: type
    is_flexible: bool
    fields: tuple[FieldCodec, ...]


def struct_reader(struct: StructCodec) -> Read:
    """The reader of a struct's values."""
    untagged = tuple(
        (field.name, _reader(field, is_flexible=struct.is_flexible))
        for field in struct.fields
        if field.tag is None
    )
    tagged = {field.tag: field for field in struct.fields if field.tag is not None}
    defaults = {field.name: field.default for field in tagged.values()}
    readers = {tag: _reader(field, is_flexible=True) for tag, field in tagged.items()}
    value_class, is_flexible = struct.value_class, struct.is_flexible

    def read(data: bytes, at: int) -> tuple[Any, int]:
        values = defaults.copy()
        for name, reader in untagged:
            values[name], at = reader(data, at)
        if is_flexible:
            if data[at]:
                at = _read_tagged(data, at, values, tagged, readers)
            else:
                at += 1
        return value_class(**values), at

    return read


def _read_tagged(
    data: bytes,
    at: int,
    values: dict[str, Any],
    tagged: Mapping[int, FieldCodec],
    readers: Mapping[int, Read],
) -> int:
    count, at = read_varint(data, at)
    last = -1
    for _ in range(count):
        tag, at = read_varint(data, at)
        size, at = read_varint(data, at)
        if tag <= last or tag not in tagged:
            raise _OddError
        last, end, field = tag, at + size, tagged[tag]
        values[field.name], at = readers[tag](data, at)
        if at != end or values[field.name] == field.default:
            raise _OddError
    return at


def _reader(field: FieldCodec, *, is_flexible: bool) -> Read:
    if field.is_array:
        return _array(field, is_flexible=is_flexible)
    if field.shape is not None:
        return _struct(field, struct_reader(field.shape))
    return _simple(field.type_name, is_nullable=field.is_nullable, is_flexible=is_flexible)


def _struct(field: FieldCodec, reader: Read) -> Read:
    if not field.is_nullable:
        return reader
    null, present = (0, 1) if field.tag is not None else (0xFF, 1)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        if data[at] == null:
            return None, at + 1
        if data[at] != present:
            raise _OddError
        return reader(data, at + 1)

    return read


def _array(field: FieldCodec, *, is_flexible: bool) -> Read:
    length = _length(">i", is_flexible=is_flexible)
    is_nullable = field.is_nullable
    if field.element in INTEGERS:
        letter = INTEGERS[field.element]
        width = Struct(f">{letter}").size

        def read_numbers(data: bytes, at: int) -> tuple[Any, int]:
            count, at = length(data, at)
            if count < 0:
                return _null(count, is_nullable), at
            return Struct(f">{count}{letter}").unpack_from(data, at), at + count * width

        return read_numbers
    if field.shape is not None:
        reader = struct_reader(field.shape)
    else:
        reader = _simple(field.element, is_nullable=False, is_flexible=is_flexible)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        count, at = length(data, at)
        if count < 0:
            return _null(count, is_nullable), at
        values = []
        for _ in range(count):
            value, at = reader(data, at)
            values.append(value)
        return tuple(values), at

    return read


def _simple(type_name: str, *, is_nullable: bool, is_flexible: bool) -> Read:
    match type_name:
        case "string":
            return _string(_length(">h", is_flexible=is_flexible), is_nullable)
        case "bytes":
            return _bytes(_length(">i", is_flexible=is_flexible), is_nullable)
        case "uuid":
            return _uuid
        case _:
            return _length(f">{INTEGERS[type_name]}", is_flexible=False)


def _string(length: Read, is_nullable: bool) -> Read:
    # Interned, as a group's records say the same of its members time and again: without it a history of
    # 16,000 generations takes 51 MB for 32, and no less time.
    def read(data: bytes, at: int) -> tuple[Any, int]:
        size, at = length(data, at)
        if size < 0:
            return _null(size, is_nullable), at
        end = at + size
        if end > len(data) or size > STRING_MAX_BYTES:
            raise _OddError
        return intern(data[at:end].decode()), end

    return read


def _bytes(length: Read, is_nullable: bool) -> Read:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        size, at = length(data, at)
        if size < 0:
            return _null(size, is_nullable), at
        end = at + size
        if end > len(data):
            raise _OddError
        return data[at:end], end

    return read


def _uuid(data: bytes, at: int) -> tuple[Any, int]:
    raw = data[at : at + 16]
    if len(raw) < 16:
        raise _OddError
    return (UUID(bytes=raw) if any(raw) else None), at + 16


def _null(length: int, is_nullable: bool) -> Any:
    if length != -1 or not is_nullable:
        raise _OddError
    return None


def _length(layout: str, *, is_flexible: bool) -> Read:
    if is_flexible:
        return _varint_length
    fixed = Struct(layout)
    unpack, size = fixed.unpack_from, fixed.size
    return lambda data, at: (unpack(data, at)[0], at + size)


def _varint_length(data: bytes, at: int) -> tuple[int, int]:
    if data[at] < 0x80:
        return data[at] - 1, at + 1
    value, at = read_varint(data, at)
    return value - 1, at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint of at most 31 bits, as short as can be, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if (byte == 0 and shift) or value > 0x7FFFFFFF:
                raise _OddError
            return value, at
        shift += 7
        if shift > 28:
            raise _OddError
