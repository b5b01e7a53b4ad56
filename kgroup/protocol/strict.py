"""Reads a message field by field under Kafka's own rules, to report what is wrong with it and where.

kafka-python's decoder is quick and lenient: it takes any negative length for null, reads past the
end, and names no place. `payload.py` falls back to this reader whenever a message is not plainly
right. The rules are those of Kafka's generated readers (`MessageDataGenerator`, 4.x) over
`ByteBufferAccessor`; the fields, their order and their nullability come from kafka-python's fields.
"""

import re
from struct import Struct
from typing import Any, NoReturn
from uuid import UUID

from kgroup.errors import DecodeError
from kgroup.protocol.messages import new_message

_INTEGERS = {
    "int8": Struct(">b"),
    "int16": Struct(">h"),
    "uint16": Struct(">H"),
    "int32": Struct(">i"),
    "int64": Struct(">q"),
}
_STRING_MAX_BYTES = 0x7FFF
_ENCODED_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


class StrictReader:
    """Reads one message of `version` from `data`, beginning at `position`.

    `notes` collects what Kafka tolerates and a reader should know of. The methods raise DecodeError
    with the field's dotted path and its position in `data` for whatever Kafka refuses.
    """

    def __init__(self, data: bytes, *, position: int, version: int, flexible: bool) -> None:
        self.data = data
        self.position = position
        self.notes: list[str] = []
        self._version = version
        self._flexible = flexible

    def read(self, message: Any, path: str) -> Any:
        """An object of the kafka-python class `message`; `path` is what errors call it."""
        return self._struct(message._struct, path)

    def _struct(self, struct: Any, path: str) -> Any:
        values = {
            field.name: self._field(field, f"{path}.{field.name}")
            for field in struct.untagged_fields(self._version)
        }
        if self._flexible:
            values.update(self._tagged_fields(struct, path))
        return new_message(struct, self._version, values)

    def _tagged_fields(self, struct: Any, path: str) -> dict[str, Any]:
        tagged = {field.tag: field for field in struct.fields.values() if field.tag is not None}
        values: dict[str, Any] = {}
        for _ in range(self._unsigned_varint(f"{path} tagged fields")):
            tag = self._unsigned_varint(f"{path} tag")
            size = self._unsigned_varint(f"{path} size of tag {tag}")
            if tag in tagged:
                # Kafka does not look whether the field fills the size it was given.
                field = tagged[tag]
                values[field.name] = self._field(field, f"{path}.{field.name}", tagged=True)
            else:
                self._take(size, f"{path} tag {tag}")
                self.notes.append(f"{path} has an unknown tagged field {tag} of {size} bytes")
        return values

    def _field(self, field: Any, path: str, *, tagged: bool = False) -> Any:
        if field.is_array():
            return self._array(field, path)
        if field.is_struct():
            return self._nullable_struct(field, path, tagged=tagged)
        return self._simple(field.type_str, path, nullable=field.nullable_for_version_q(self._version))

    def _nullable_struct(self, field: Any, path: str, *, tagged: bool) -> Any:
        if tagged:
            present = self._unsigned_varint(path) > 0
        elif field.nullable_for_version_q(self._version):
            present = self._integer("int8", path) >= 0
        else:
            present = True
        return self._struct(field, path) if present else None

    def _array(self, field: Any, path: str) -> list[Any] | None:
        start = self.position
        count = self._length("int32", path)
        if count < 0:
            self._allow_null(path, start, nullable=field.nullable_for_version_q(self._version))
            return None
        remaining = len(self.data) - self.position
        if count > remaining:
            self._refuse(path, start, f"an array of {count} in the {remaining} bytes that are left")
        element = field.array_of
        if field.is_struct_array():
            return [self._struct(element, f"{path}[{index}]") for index in range(count)]
        return [self._simple(element.type_str, f"{path}[{index}]", nullable=False) for index in range(count)]

    def _simple(self, type_name: str, path: str, *, nullable: bool) -> Any:
        if type_name in _INTEGERS:
            return self._integer(type_name, path)
        if type_name == "uuid":
            bits = int.from_bytes(self._take(16, path))
            return UUID(int=bits) if bits else None
        start = self.position
        length = self._length("int16" if type_name == "string" else "int32", path)
        if length < 0:
            self._allow_null(path, start, nullable=nullable)
            return None
        if type_name == "bytes":
            return self._take(length, path)
        if length > _STRING_MAX_BYTES:
            self._refuse(path, start, f"a string of {length} bytes; {_STRING_MAX_BYTES} are allowed")
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

    def _length(self, fixed: str, path: str) -> int:
        if self._flexible:
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
