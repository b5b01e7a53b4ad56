"""Reads a message field by field under Kafka's own rules, to report what is wrong with it and where.

`payload.py` falls back to this reader whenever a message is not just as Kafka writes it. The rules are those
of Kafka's generated readers (`MessageDataGenerator`, 4.x) over `ByteBufferAccessor`.
"""

import re
from struct import Struct
from typing import Any, NoReturn
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.protocol.value_reader import INTEGERS, STRING_MAX_BYTES, FieldCodec, StructCodec

_INTEGERS = {name: Struct(f">{letter}") for name, letter in INTEGERS.items()}
_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


class StrictReader:
    """Reads one message from `data`, beginning at `position`.

    `notes` collects what Kafka tolerates and a reader should know of. The methods raise DecodeError
    with the field's dotted path and its position in `data` for whatever Kafka refuses.
    """

    def __init__(self, data: bytes, *, position: int) -> None:
        self.data = data
        self.position = position
        self.notes: list[str] = []

    def read(self, struct: StructCodec, path: str) -> Any:
        """The value of a struct; `path` is what errors call it."""
        values = {
            field.name: self._field(field, f"{path}.{field.name}", is_flexible=struct.is_flexible)
            if field.tag is None
            else field.default
            for field in struct.fields
        }
        if struct.is_flexible:
            values.update(self._tagged_fields(struct, path))
        return struct.value_class(**values)

    def _tagged_fields(self, struct: StructCodec, path: str) -> dict[str, Any]:
        tagged = {field.tag: field for field in struct.fields if field.tag is not None}
        values: dict[str, Any] = {}
        for _ in range(self._unsigned_varint(f"{path} tagged fields")):
            tag = self._unsigned_varint(f"{path} tag")
            size = self._unsigned_varint(f"{path} size of tag {tag}")
            if tag in tagged:
                # Kafka does not look whether the field fills the size it was given.
                field = tagged[tag]
                values[field.name] = self._field(field, f"{path}.{field.name}", is_flexible=True)
            else:
                self._take(size, f"{path} tag {tag}")
                self.notes.append(f"{path} has an unknown tagged field {tag} of {size} bytes")
        return values

    def _field(self, field: FieldCodec, path: str, *, is_flexible: bool) -> Any:
        if field.is_array:
            return self._array(field, path, is_flexible=is_flexible)
        if field.shape is not None:
            return self._struct(field, field.shape, path)
        return self._simple(field.type_name, path, nullable=field.is_nullable, is_flexible=is_flexible)

    def _struct(self, field: FieldCodec, shape: StructCodec, path: str) -> Any:
        present = True
        if field.is_nullable:
            # Behind a tag a 0 or 1 stands for whether it is there, else a -1 or 1.
            if field.tag is not None:
                present = self._unsigned_varint(path) > 0
            else:
                present = self._integer("int8", path) >= 0
        return self.read(shape, path) if present else None

    def _array(self, field: FieldCodec, path: str, *, is_flexible: bool) -> tuple[Any, ...] | None:
        start = self.position
        count = self._length("int32", path, is_flexible=is_flexible)
        if count < 0:
            self._allow_null(path, start, nullable=field.is_nullable)
            return None
        remaining = len(self.data) - self.position
        if count > remaining:
            self._refuse(path, start, f"an array of {count} in the {remaining} bytes that are left")
        paths = (f"{path}[{index}]" for index in range(count))
        if field.shape is not None:
            return tuple([self.read(field.shape, each) for each in paths])
        return tuple(
            [self._simple(field.element, each, nullable=False, is_flexible=is_flexible) for each in paths]
        )

    def _simple(self, type_name: str, path: str, *, nullable: bool, is_flexible: bool) -> Any:
        if type_name in _INTEGERS:
            return self._integer(type_name, path)
        if type_name == "uuid":
            bits = int.from_bytes(self._take(16, path))
            return UUID(int=bits) if bits else None
        start = self.position
        fixed = "int16" if type_name == "string" else "int32"
        length = self._length(fixed, path, is_flexible=is_flexible)
        if length < 0:
            self._allow_null(path, start, nullable=nullable)
            return None
        if type_name == "bytes":
            return self._take(length, path)
        if length > STRING_MAX_BYTES:
            self._refuse(path, start, f"a string of {length} bytes; {STRING_MAX_BYTES} are allowed")
        return self._text(self._take(length, path), path)

    def _text(self, text: bytes, path: str) -> str:
        try:
            return text.decode()
        except UnicodeDecodeError:
            self.notes.append(f"{path} is not UTF-8: bad bytes are shown as U+FFFD")
            return decode_as_java(text)

    def _allow_null(self, path: str, start: int, *, nullable: bool) -> None:
        if not nullable:
            self._refuse(path, start, "null, which this field cannot be")

    def _length(self, fixed: str, path: str, *, is_flexible: bool) -> int:
        if is_flexible:
            return self._unsigned_varint(path) - 1
        return self._integer(fixed, path)

    def _integer(self, type_name: str, path: str) -> int:
        codec = _INTEGERS[type_name]
        value: int = codec.unpack(self._take(codec.size, path))[0]
        return value

    def _unsigned_varint(self, path: str) -> int:
        start = self.position
        value = 0
        for shift in range(0, 35, 7):
            byte = self._take(1, path)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                # Java holds it in an int: what does not fit is cut off and the top bit is the sign.
                value &= 0xFFFFFFFF
                return value - (1 << 32) if value >> 31 else value
        return self._refuse(path, start, "a varint of more than 5 bytes")

    def _take(self, size: int, path: str) -> bytes:
        remaining = len(self.data) - self.position
        if not 0 <= size <= remaining:
            self._refuse(path, self.position, f"needs {size} bytes and {remaining} are left")
        start = self.position
        self.position += size
        return self.data[start : self.position]

    def _refuse(self, path: str, at: int, why: str) -> NoReturn:
        raise DecodeError(path, at=at, why=why)


def decode_as_java(text: bytes) -> str:
    """Decode UTF-8 with U+FFFD for what is malformed, as many as `new String(bytes, UTF_8)` puts (JDK 9+).

    Python's replacement agrees with Java's but for an encoded surrogate, which is one malformed
    sequence to Java and two or three to Python.
    """
    return _ENCODED_SURROGATE.sub(b"\xff", text).decode(errors="replace")
