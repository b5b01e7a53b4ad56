"""Writes values from their dataclasses as Kafka writes them: the way back of `value_reader.py`."""

from collections.abc import Callable, Iterable
from itertools import groupby
from operator import attrgetter
from struct import Struct
from struct import error as StructError  # noqa: N812  it is an exception class
from typing import Any

from kgroup.protocol.value_reader import INTEGERS, STRING_MAX_BYTES, FieldCodec, StructCodec

Write = Callable[[Any, bytearray], None]
"""Appends a value. Raises struct.error for what is too large, UnicodeEncodeError for a lone surrogate."""
_NO_ID = bytes(16)


def struct_writer(struct: StructCodec) -> Write:
    """The writer of a struct's values."""
    untagged = [field for field in struct.fields if field.tag is None]
    parts = tuple(_parts(untagged, is_flexible=struct.is_flexible))
    tagged = [
        (field, attrgetter(field.name), _writer(field, is_flexible=True))
        for field in struct.fields
        if field.tag is not None
    ]
    is_flexible = struct.is_flexible

    def write(value: Any, out: bytearray) -> None:
        for part in parts:
            part(value, out)
        if is_flexible:
            if tagged:
                _write_tagged(value, out, tagged)
            else:
                out.append(0)

    return write


def _write_tagged(
    value: Any, out: bytearray, tagged: Iterable[tuple[FieldCodec, Callable[[Any], Any], Write]]
) -> None:
    present = [
        (field.tag, held, writer) for field, get, writer in tagged if (held := get(value)) != field.default
    ]
    write_varint(len(present), out)
    for tag, held, writer in present:
        assert tag is not None
        content = bytearray()
        writer(held, content)
        write_varint(tag, out)
        write_varint(len(content), out)
        out += content


def _parts(fields: list[FieldCodec], *, is_flexible: bool) -> Iterable[Write]:
    for is_number, run in groupby(fields, key=lambda field: field.type_name in INTEGERS):
        if is_number:
            numbers = tuple(run)
            layout = Struct(">" + "".join(INTEGERS[field.type_name] for field in numbers))
            yield _numbers(tuple(field.name for field in numbers), layout)
        else:
            yield from (
                _one(attrgetter(field.name), _writer(field, is_flexible=is_flexible)) for field in run
            )


def _numbers(names: tuple[str, ...], layout: Struct) -> Write:
    get, pack = attrgetter(*names), layout.pack
    if len(names) == 1:
        return lambda value, out: out.extend(pack(get(value)))
    return lambda value, out: out.extend(pack(*get(value)))


def _one(get: Callable[[Any], Any], writer: Write) -> Write:
    return lambda value, out: writer(get(value), out)


def _writer(field: FieldCodec, *, is_flexible: bool) -> Write:
    if field.is_array:
        return _array(field, is_flexible=is_flexible)
    if field.shape is not None:
        return _struct(field, struct_writer(field.shape))
    return _simple(field.type_name, is_flexible=is_flexible)


def _struct(field: FieldCodec, writer: Write) -> Write:
    if not field.is_nullable:
        return writer
    null = 0 if field.tag is not None else 0xFF

    def write(value: Any, out: bytearray) -> None:
        if value is None:
            out.append(null)
        else:
            out.append(1)
            writer(value, out)

    return write


def _array(field: FieldCodec, *, is_flexible: bool) -> Write:
    length = _length(">i", is_flexible=is_flexible)
    if field.shape is not None:
        writer = struct_writer(field.shape)
    else:
        writer = _simple(field.element, is_flexible=is_flexible)

    def write(values: Any, out: bytearray) -> None:
        if values is None:
            length(-1, out)
            return
        length(len(values), out)
        for value in values:
            writer(value, out)

    return write


def _simple(type_name: str, *, is_flexible: bool) -> Write:
    match type_name:
        case "string":
            return _string(_length(">h", is_flexible=is_flexible))
        case "bytes":
            return _bytes(_length(">i", is_flexible=is_flexible))
        case "uuid":
            return lambda value, out: out.extend(_NO_ID if value is None else value.bytes)
        case _:
            pack = Struct(f">{INTEGERS[type_name]}").pack
            return lambda value, out: out.extend(pack(value))


def _string(length: Write) -> Write:
    def write(value: Any, out: bytearray) -> None:
        if value is None:
            length(-1, out)
            return
        text = value.encode()
        if len(text) > STRING_MAX_BYTES:
            raise StructError(f"a string of {len(text)} bytes; {STRING_MAX_BYTES} are allowed")
        length(len(text), out)
        out += text

    return write


def _bytes(length: Write) -> Write:
    def write(value: Any, out: bytearray) -> None:
        if value is None:
            length(-1, out)
            return
        length(len(value), out)
        out += value

    return write


def _length(layout: str, *, is_flexible: bool) -> Write:
    if is_flexible:
        return lambda value, out: write_varint(value + 1, out)
    pack = Struct(layout).pack
    return lambda value, out: out.extend(pack(value))


def write_varint(value: int, out: bytearray) -> None:
    """An unsigned varint."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
